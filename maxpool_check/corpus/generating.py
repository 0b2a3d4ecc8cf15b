"""Cases by a covering array: every possible combination of bins of so many factors is in some case.

The array is made by covertable. A row contains the bins of a case; its geometry and its values are drawn from them. The
same arguments give the same text, byte for byte.
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

from maxpool_check.corpus.bins import FACTORS, OUTPUTS, Bins, values
from maxpool_check.corpus.clauses import BY_BINS
from maxpool_check.corpus.random_tensors import stream
from maxpool_check.corpus.space import BESIDE_GEOMETRY, Space, space
from maxpool_check.corpus.tensors import recipe
from maxpool_check.reference.numbering import Layout
from maxpool_check.specifications.roles import Role

_CELLS = 200
"""A tensor has no more cells, where its bins allow that."""
_MOST_SET = 8
"""At most so many single cells are overwritten."""
_DISTINCT = 128
"""Every dtype has so many consecutive integers without its extremes."""
_TRIES = 1000


@dataclass(frozen=True)
class Generated:
    """A case as it is written, and the bins it was drawn for, all but that of ``outputs``."""

    id: str
    title: str
    input: Mapping[str, Any]
    attributes: Mapping[str, Any]
    bins: Bins


def generate(name: str, strength: int, seed: int) -> list[Generated]:
    """The cases of a document, in the order of their ids. ``strength`` factors at a time are covered."""
    allowed = space(name)
    return sorted((_case(allowed, row, seed) for row in _array(allowed, strength, seed)), key=lambda case: case.id)


def written(name: str, strength: int, seed: int) -> str:
    """The cases as a case file."""
    cases = generate(name, strength, seed)
    what = {1: "bin", 2: "pair of bins"}.get(strength, f"combination of bins of {strength} factors")
    title = space(name).document.title
    head = [
        f"# maxpool-check generate --spec {name} --strength {strength} --seed {seed}",
        "# Written by this command; not to be edited.",
        f"spec: {name}",
        f"about: Every {what} that {title} allows, in some case. An id and a title name what is not usual.",
        f"defaults: {{covers: {BY_BINS}}}",
        "cases:",
    ]
    entries = [
        f"  - id: {case.id}\n    title: {case.title}\n"
        f"    input: {flow(case.input)}\n    attributes: {flow(case.attributes)}"
        for case in cases
    ]
    return "\n".join([*head, *entries]) + "\n"


def _array(allowed: Space, strength: int, seed: int) -> list[Bins]:
    factors = {name: list(bins) for name, bins in allowed.factors.items() if name != OUTPUTS}

    def holds(row: Mapping[str, str]) -> bool | None:
        # None: a row that is not complete can still become one.
        return (True if len(row) == len(factors) else None) if allowed.possible(row) else False

    constraint = {"operator": "fn", "requires": [], "evaluate": holds}
    rows: list[Bins] = covertable.make(factors, strength=strength, salt=str(seed), constraints=[constraint])
    return [{name: row[name] for name in factors} for row in rows]


def _case(allowed: Space, row: Bins, seed: int) -> Generated:
    unusual = {factor: bin_ for factor, bin_ in row.items() if bin_ != FACTORS[factor].usual}
    name = "-".join(FACTORS[factor].prefix + bin_ for factor, bin_ in unusual.items())
    case_seed = zlib.crc32(f"{seed} {name}".encode())
    batch, channels = (
        allowed.sizes[factor, row.get(factor, next(bin_ for name, bin_ in allowed.sizes if name == factor))]
        for factor in ("batch", "channels")
    )
    geometries = allowed.drawn(row)
    small = [drawn for drawn in geometries if batch * channels * math.prod(drawn.sizes) <= _CELLS]
    if small:
        drawn = small[int(stream(case_seed, 1)[0] % np.uint64(len(small)))]
    else:
        drawn = min(geometries, key=lambda drawn: math.prod(drawn.sizes))
    more: dict[Role, Any] = {}
    for factor, choices in BESIDE_GEOMETRY.items():
        more |= choices[row[factor]] if factor in row else {}
    shape = (batch, channels, *drawn.sizes)
    titles = [
        bin_ if factor in ("rank", "dtype") else f"{factor.replace('_', ' ')} {bin_}"
        for factor, bin_ in unusual.items()
    ]
    return Generated(
        id=name,
        title=", ".join(titles),
        input=input_with(row.get("dtype", allowed.dtypes[0]), row["values"], shape, allowed.document.layout, case_seed),
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


def flow(value: Mapping[str, Any] | list[Any]) -> str:
    """A map or a list on one line of YAML."""
    plain = dict(value) if isinstance(value, Mapping) else value
    return yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=math.inf).strip()
