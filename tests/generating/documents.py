"""Cases of one document by a covering array: every possible pair of bins is in some case.

The array is made by covertable. A row contains the bins of a case; its geometry and its values are drawn from them.
"""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import covertable
import numpy as np
import yaml

from maxpool_check.corpus.features import Bins
from maxpool_check.corpus.random_tensors import stream
from maxpool_check.corpus.tensors import recipe
from maxpool_check.reference.numbering import Layout
from tests.generating.space import BESIDE_GEOMETRY, Space, space, values

NAMES = ("onnx-22", "sonnx", "openvino-14", "ort-nhwc-11", "ngraph-0", "xmos-maxpool2d")

_PREFIXED = ("batch", "channels", "kernel", "stride", "dilation", "pads", "index_type", "index_axis", "activation")
"""The factors whose first letter precedes a bin in an id; that of ``batch`` is ``n``."""
_USUAL = {
    **dict.fromkeys(("batch", "channels", "dilation"), "1"),
    "pads": "0",
    "auto_pad": "explicit",
    "storage_order": "row",
    "index_type": "int64",
    "index_axis": "whole",
    "activation": "none",
}
"""The bin that ids and titles omit, by factor."""

_CELLS = 200
"""A tensor has no more cells, where its bins allow that."""
_MOST_SET = 8
"""At most so many single cells are overwritten."""
_DISTINCT = 128
"""Every dtype has so many consecutive integers without its extremes."""
_TRIES = 1000


@dataclass(frozen=True)
class Generated:
    """A case as it is written, and the bins it was drawn for."""

    id: str
    title: str
    input: Mapping[str, Any]
    attributes: Mapping[str, Any]
    bins: Bins


def generate(name: str) -> list[Generated]:
    """The cases of a document, in the order of their ids."""
    allowed = space(name)
    factors = {factor: list(bins) for factor, bins in allowed.factors.items()}

    def is_possible(row: Bins) -> bool | None:
        # None: a row that is not complete can still become one.
        return (True if len(row) == len(factors) else None) if allowed.possible(row) else False

    constraint = {"operator": "fn", "requires": [], "evaluate": is_possible}
    rows: list[Bins] = covertable.make(factors, strength=2, salt="0", constraints=[constraint])
    cases = [_case(allowed, {factor: row[factor] for factor in factors}) for row in rows]
    return sorted(cases, key=lambda case: case.id)


def written(name: str) -> str:
    """The cases as a case file."""
    title = space(name).document.title
    about = f"Every pair of bins that {title} allows, in some case. An id and a title name what is not usual."
    entries = [
        f"  - id: {case.id}\n    title: {case.title}\n"
        f"    input: {flow(case.input)}\n    attributes: {flow(case.attributes)}\n"
        for case in generate(name)
    ]
    return head(name, about) + "".join(entries)


def head(spec: str, about: str) -> str:
    """The lines of a generated file in front of its cases."""
    return (
        "# python -m tests.generating\n# Written by this command; not to be edited.\n"
        f"spec: {spec}\nabout: {about}\ndefaults: {{covers: by-bins}}\ncases:\n"
    )


def flow(value: Mapping[str, Any] | list[Any]) -> str:
    """A map or a list on one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=math.inf).strip()


def _case(allowed: Space, row: Bins) -> Generated:
    unusual = {factor: bin_ for factor, bin_ in row.items() if bin_ != _USUAL.get(factor)}
    letters = {factor: f"{'n' if factor == 'batch' else factor[0]}-" for factor in _PREFIXED}
    name = "-".join(letters.get(factor, "") + bin_ for factor, bin_ in unusual.items())
    seed = zlib.crc32(f"0 {name}".encode())
    batch, channels = (
        allowed.sizes[factor, row.get(factor, next(bin_ for name, bin_ in allowed.sizes if name == factor))]
        for factor in ("batch", "channels")
    )
    geometries = allowed.drawn(row)
    small = [drawn for drawn in geometries if batch * channels * math.prod(drawn.sizes) <= _CELLS]
    if small:
        drawn = small[int(stream(seed, 1)[0] % np.uint64(len(small)))]
    else:
        drawn = min(geometries, key=lambda drawn: math.prod(drawn.sizes))
    more = {
        role: meaning
        for factor, choices in BESIDE_GEOMETRY.items()
        if factor in row
        for role, meaning in choices[row[factor]].items()
    }
    shape = (batch, channels, *drawn.sizes)
    titles = [
        bin_ if factor in ("rank", "dtype") else f"{factor.replace('_', ' ')} {bin_}"
        for factor, bin_ in unusual.items()
    ]
    return Generated(
        id=name,
        title=", ".join(titles),
        input=input_with(row.get("dtype", allowed.dtypes[0]), row["values"], shape, allowed.document.layout, seed),
        attributes=drawn.attributes(allowed.document, more),
        bins=row,
    )


def input_with(dtype: str, values_bin: str, shape: tuple[int, ...], layout: Layout, seed: int) -> dict[str, Any]:
    """An input whose values are in this bin: the first of a few draws, since a small random tensor may miss it."""
    for draw_seed in range(seed, seed + _TRIES):
        fields = {"dtype": dtype, **_form(values_bin, shape, layout, draw_seed)}
        if values(layout.to_core(recipe(fields, Path(), Path()).tensor())) == values_bin:
            return fields
    raise AssertionError(f"no {dtype} tensor of shape {shape} with values {values_bin} in {_TRIES} draws")


_FORMS: Mapping[str, tuple[str, float | str, tuple[float | str, ...]]] = {
    "distinct": ("random", "distinct", ()),
    "ties": ("random", "ties", ()),
    "constant": ("fill", 3, ()),
    "fraction": ("random", "normal", ()),
    "wide": ("random", "normal", ()),
    "negative": ("fill", -9, (-1, -8, -2, -7)),
    "extremes": ("fill", "lowest", ("highest",)),
    "lowest": ("fill", "lowest", ()),
    "neg-inf": ("fill", -math.inf, (-1, 2, -3)),
    "all-neg-inf": ("fill", -math.inf, ()),
    "inf": ("random", "normal", (math.inf,)),
    "zeros": ("fill", 0.0, (-0.0,)),
    "subnormal": ("fill", "smallest_subnormal", (0.0,)),
    "nan": ("random", "normal", (math.nan,)),
    "nan-planes": ("fill", math.nan, (-1, 2)),
}
"""For each bin of values: the form of the input, its value or kind of random values, and others in single cells."""


def _form(values_bin: str, shape: tuple[int, ...], layout: Layout, seed: int) -> dict[str, Any]:
    """The fields of an input for a bin of values; ``shape`` is N x C x D1 x ... x Dn."""
    if values_bin == "distinct" and math.prod(shape) > _DISTINCT:
        # Each plane for itself: together they have more cells than a small dtype has numbers.
        order = np.argsort(stream(seed, math.prod(shape)).reshape(*shape[:2], -1), axis=-1, kind="stable")
        return {"data": layout.from_core(order.reshape(shape)).tolist()}
    form, value, others = _FORMS[values_bin]
    fields: dict[str, Any] = {"shape": list(layout.arranged(shape))}
    fields[form] = {"seed": seed, "values": value} if form == "random" else value
    # The first plane stays NaN as a whole.
    first = math.prod(shape[2:]) if values_bin == "nan-planes" else 0
    size = math.prod(shape) - first
    if others and size:
        order = first + np.argsort(stream(seed, size), kind="stable")[: max(1, min(_MOST_SET, size // 4))]
        places = np.transpose(np.unravel_index(np.sort(order), shape)).tolist()
        fields["set"] = [
            {"at": list(layout.arranged(place)), "to": others[i % len(others)]} for i, place in enumerate(places)
        ]
    return fields
