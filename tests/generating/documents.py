"""Cases of one document by a covering array: every possible pair of bins is in some case.

The array is made by covertable. A row contains the bins of a case; its geometry and its values are drawn from them.
"""

import math
import zlib
from functools import cache
from pathlib import Path

import covertable
import numpy as np
import yaml

from maxpool_check.corpus.random_tensors import stream
from maxpool_check.corpus.tensors import recipe
from tests.generating.space import BESIDE_GEOMETRY, space, values

TABLES = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text())
NAMES = ("onnx-22", "sonnx", "openvino-14", "ort-nhwc-11", "ngraph-0", "xmos-maxpool2d")

# What precedes a bin in an id, by factor.
PREFIXES = {"batch": "n-", "channels": "c-", "kernel": "k-", "stride": "s-", "dilation": "d-", "pads": "p-"}
PREFIXES |= {"index_type": "i-", "index_axis": "i-", "activation": "a-"}
# The bin that ids and titles omit, by factor.
USUAL = {
    **dict.fromkeys(("batch", "channels", "dilation"), "1"), "pads": "0", "auto_pad": "explicit",
    "storage_order": "row", "index_type": "int64", "index_axis": "whole", "activation": "none",
}  # fmt: skip


@cache
def generate(name):
    """The cases of a document in the order of their ids: id, title, input, attributes and the bins it was drawn for."""
    allowed = space(name)
    factors = {factor: list(bins) for factor, bins in allowed.factors.items()}

    def is_possible(row):
        # None: a row that is not complete can still become one.
        return (True if len(row) == len(factors) else None) if allowed.possible(row) else False

    constraint = {"operator": "fn", "requires": [], "evaluate": is_possible}
    rows = covertable.make(factors, strength=2, salt="0", constraints=[constraint])
    cases = (case_of(allowed, {factor: row[factor] for factor in factors}) for row in rows)
    return sorted(cases, key=lambda case: case[0])


def written(name):
    """The cases as a case file."""
    title = space(name).document.title
    about = f"Every pair of bins that {title} allows, in some case. An id and a title name what is not usual."
    entries = [
        f"  - id: {id_}\n    title: {title}\n    input: {flow(X)}\n    attributes: {flow(attributes)}\n"
        for id_, title, X, attributes, _ in generate(name)
    ]
    return head(name, about) + "".join(entries)


def head(spec, about):
    """The lines of a generated file in front of its cases."""
    return (
        "# python -m tests.generating\n# Written by this command; not to be edited.\n"
        f"spec: {spec}\nabout: {about}\ndefaults: {{covers: by-bins}}\ncases:\n"
    )


def flow(value):
    """A map or a list on one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=math.inf).strip()


def case_of(allowed, row):
    """The case of a row of bins."""
    unusual = {factor: bin_ for factor, bin_ in row.items() if bin_ != USUAL.get(factor)}
    id_ = "-".join(PREFIXES.get(factor, "") + bin_ for factor, bin_ in unusual.items())
    words = [
        ("" if name in ("rank", "dtype") else f"{name.replace('_', ' ')} ") + bin_ for name, bin_ in unusual.items()
    ]
    seed = zlib.crc32(f"0 {id_}".encode())
    batch, channels = (
        allowed.sizes[factor, row.get(factor, next(bin_ for name, bin_ in allowed.sizes if name == factor))]
        for factor in ("batch", "channels")
    )
    # A tensor has at most 200 cells, where its bins allow that.
    geometries = allowed.drawn(row)
    if small := [drawn for drawn in geometries if batch * channels * math.prod(drawn.sizes) <= 200]:
        drawn = small[int(stream(seed, 1)[0] % np.uint64(len(small)))]
    else:
        drawn = min(geometries, key=lambda drawn: math.prod(drawn.sizes))
    more = {}
    for factor, choices in BESIDE_GEOMETRY.items():
        more |= choices[row[factor]] if factor in row else {}
    shape = (batch, channels, *drawn.sizes)
    X = input_with(row.get("dtype", allowed.dtypes[0]), row["values"], shape, allowed.document.layout, seed)
    return id_, ", ".join(words), X, drawn.attributes(allowed.document, more), row


def input_with(dtype, values_bin, shape, layout, seed):
    """An input whose values are in this bin: the first of a few draws, since a small random tensor may miss it."""
    for draw_seed in range(seed, seed + 1000):
        fields = {"dtype": dtype, **form_of(values_bin, shape, layout, draw_seed)}
        if values(layout.to_core(recipe(fields, Path(), Path()).tensor())) == values_bin:
            return fields
    raise AssertionError(f"no {dtype} tensor of shape {shape} with values {values_bin} in 1000 draws")


def form_of(values_bin, shape, layout, seed):
    """The fields of an input for a bin of values; ``shape`` is N x C x D1 x ... x Dn."""
    # Every dtype has 128 consecutive integers without its extremes.
    if values_bin == "distinct" and math.prod(shape) > 128:
        # Each plane for itself: together they have more cells than a small dtype has numbers.
        order = np.argsort(stream(seed, math.prod(shape)).reshape(*shape[:2], -1), axis=-1, kind="stable")
        return {"data": layout.from_core(order.reshape(shape)).tolist()}
    form, value, others = TABLES["forms"][values_bin]
    fields = {"shape": list(layout.arranged(shape))}
    fields[form] = {"seed": seed, "values": value} if form == "random" else value
    # The first plane stays NaN as a whole.
    first = math.prod(shape[2:]) if values_bin == "nan-planes" else 0
    size = math.prod(shape) - first
    if others and size:
        order = first + np.argsort(stream(seed, size), kind="stable")[: max(1, min(8, size // 4))]
        places = np.transpose(np.unravel_index(np.sort(order), shape)).tolist()
        fields["set"] = [
            {"at": list(layout.arranged(place)), "to": others[i % len(others)]} for i, place in enumerate(places)
        ]
    return fields
