"""Cases of MaxPool in graphs: every possible pair of bins of :data:`FACTORS` is in some case.

Each template is in each operator set that has it, with the bins of the other factors that cover the most pairs.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.graph_fields import context_of
from maxpool_check.corpus.problems import BadValue
from maxpool_check.corpus.random_tensors import stream
from maxpool_check.corpus.tensors import recipe
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from tests.generating.documents import flow, head, input_with
from tests.generating.space import has

_POOL = {"op": "MaxPool"}
_PADS = [0, 0, 1, 0, 0, 0, 0, 1]
_FIRST, _LAST = {"op": "Transpose", "perm": [0, 3, 1, 2]}, {"op": "Transpose", "perm": [0, 2, 3, 1]}
_QUANTIZE = {"op": "QuantizeLinear", "y_scale": 0.5, "y_zero_point": 100}
_DEQUANTIZE = {"op": "DequantizeLinear", "x_scale": 0.5}
_NEGATIVE = {"op": "DequantizeLinear", "x_scale": -0.5, "x_zero_point": {"dtype": "$dtype", "data": 101}}
_SLICE = {"op": "Slice", "starts": [1], "ends": [5], "axes": [2]}
_CONV = {"op": "Conv", "weights": "depthwise", "kernel_shape": [1, 1]}


@dataclass(frozen=True)
class Template:
    """A graph around MaxPool: ``graph`` of a case file, in which ``$dtype`` is that of X, and the shape of X."""

    graph: Any
    shape: tuple[int, ...] = (1, 2, 5, 6)
    is_initializer: bool = False
    outputs: tuple[str, ...] = ("Y", "Indices")


TEMPLATES: Mapping[str, Template] = {
    "pad-zero": Template([{"op": "Pad", "pads": _PADS, "constant_value": 0}, _POOL]),
    "pad-number": Template([{"op": "Pad", "pads": _PADS, "constant_value": 3}, _POOL]),
    "pad-neg-inf": Template([{"op": "Pad", "pads": _PADS, "constant_value": -np.inf}, _POOL]),
    "pad-edge": Template([{"op": "Pad", "mode": "edge", "pads": _PADS}, _POOL]),
    "pad-reflect": Template([{"op": "Pad", "mode": "reflect", "pads": _PADS}, _POOL]),
    "pad-wrap": Template([{"op": "Pad", "mode": "wrap", "pads": _PADS}, _POOL]),
    "pad-behind": Template([_POOL, {"op": "Pad", "pads": _PADS, "constant_value": 3}]),
    "pad-inside-if": Template(
        {"nodes": [{"op": "Pad", "pads": _PADS, "constant_value": 0}, _POOL], "inside": "If", "shape": "dynamic"}
    ),
    "pad-as-constant": Template([{"op": "Pad", "pads": _PADS, "constant_value": 0, "as": "constant"}, _POOL]),
    "transpose-around": Template([_FIRST, _POOL, _LAST], (1, 5, 6, 2)),
    "transpose-of-planes": Template([{"op": "Transpose", "perm": [0, 1, 3, 2]}, _POOL]),
    "relu-before": Template([{"op": "Relu"}, _POOL]),
    "relu-behind-twice": Template([{**_POOL, "consumers": 2}, {"op": "Relu"}]),
    "leaky-relu-before": Template([{"op": "LeakyRelu", "alpha": -0.5}, _POOL]),
    "leaky-relu-behind": Template([_POOL, {"op": "LeakyRelu", "alpha": 0.5}]),
    "clip-before": Template([{"op": "Clip", "min": 1, "max": 9}, _POOL]),
    "clip-behind": Template([_POOL, {"op": "Clip", "min": 1, "max": 9}]),
    "neg-around": Template([{"op": "Neg"}, _POOL, {"op": "Neg"}]),
    "abs-before": Template([{"op": "Abs"}, _POOL]),
    "cast-around": Template([{"op": "Cast", "to": "float64"}, _POOL, {"op": "Cast", "to": "float32"}]),
    "cast-before": Template([{"op": "Cast", "to": "float32"}, _POOL]),
    "quantize-behind": Template([_POOL, _QUANTIZE]),
    "dequantize-before": Template([_NEGATIVE, _POOL]),
    "quantized-around": Template(
        [_DEQUANTIZE, _POOL, {**_QUANTIZE, "y_zero_point": {"dtype": "$dtype", "data": 3}, "as": "constant"}]
    ),
    "reshape-around": Template([{"op": "Reshape", "shape": [1, 1, 10, 6]}, _POOL, {"op": "Reshape", "shape": [-1]}]),
    "flatten-behind": Template({"nodes": [_POOL, {"op": "Flatten"}], "shape": ["N", 2, 5, 6]}),
    "unsqueeze-before": Template(
        [{"op": "Unsqueeze", "axes": [0]}, _POOL, {"op": "Squeeze", "axes": [0], "as": "constant"}], (2, 5, 6)
    ),
    "slice-before": Template([{**_SLICE, "as": "input"}, _POOL], (1, 2, 6, 6)),
    "concat-before": Template([{"op": "Concat", "axis": 2, "inputs": [[[[[1, 9, 2, 3]]]]]}, _POOL], (1, 1, 4, 4)),
    "split-before": Template([{"op": "Split", "axis": 1, "split": [1, 1], "output": 1}, _POOL]),
    "conv-before": Template([_CONV, _POOL], (1, 8, 3, 4)),
    "conv-around": Template([_CONV, _POOL, _CONV], (1, 16, 3, 4)),
    "two-pools": Template([{"op": "MaxPool", "kernel_shape": [2, 2], "strides": [1, 2]}, _POOL], (1, 2, 6, 9)),
    "global-behind": Template([_POOL, {"op": "GlobalMaxPool"}]),
    "unpool-behind": Template([_POOL, {"op": "MaxUnpool", "kernel_shape": [2, 2], "strides": [2, 2]}]),
    "identity-in-loop": Template({"nodes": [{"op": "Identity"}, _POOL], "inside": "Loop"}),
    "neg-in-function": Template({"nodes": [{"op": "Neg"}, _POOL], "inside": "function"}),
    "initializer": Template([_POOL, {"op": "Identity"}], is_initializer=True),
    "indices-alone": Template([{"op": "Dropout"}, _POOL], outputs=("Indices",)),
}
"""The graphs, by the name that ids of generated cases have."""

GEOMETRIES: Mapping[str, Mapping[str, Any]] = {
    "dilated": {"kernel_shape": [2, 2], "dilations": [2, 1]},
    "same": {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    "ceil": {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
    "padded": {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]},
    "column-major": {"kernel_shape": [2, 2], "storage_order": 1},
    "strided": {"kernel_shape": [2, 3], "strides": [2, 1]},
    "plain": {"kernel_shape": [2, 2]},
}

FACTORS: Mapping[str, tuple[str, ...]] = {
    "template": tuple(TEMPLATES),
    "dtype": ("float16", "bfloat16", "float32", "float64", "int8", "uint8"),
    "values": ("distinct", "ties", "fraction", "negative", "neg-inf"),
    "geometry": tuple(GEOMETRIES),
    # In which MaxPool or a neighbour has a new version.
    "opset": ("8", "10", "11", "12", "13", "16", "18", "20", "21", "22", "23", "26"),
}

_NAMES = list(FACTORS)
_PAIRS = list(combinations(range(len(_NAMES)), 2))
_DTYPE, _BFLOAT16 = _NAMES.index("dtype"), FACTORS["dtype"].index("bfloat16")


def written() -> str:
    """The cases as a case file."""
    about = "Every possible pair of a graph around MaxPool, dtype, values, attributes and operator set, in some case."
    entries = []
    for row, fields in _cases():
        title = "{template}: {dtype}, values {values}, attributes {geometry}, operator set {opset}".format(**row)
        texts = {key: flow(value) if key != "opset" else value for key, value in fields.items()}
        lines = {"title": f"'{title}'", **texts}
        entries.append(f"  - id: {_id(row)}\n" + "".join(f"    {key}: {text}\n" for key, text in lines.items()))
    return head("onnx-22", about) + "".join(sorted(entries))


def _id(row: Mapping[str, str]) -> str:
    return "-".join(row.values())


def drawn_case(row: Mapping[str, str]) -> dict[str, Any] | None:
    """The fields of the case with these bins of :data:`FACTORS`; None if it has no exact result."""
    template, dtype, opset = TEMPLATES[row["template"]], row["dtype"], int(row["opset"])
    if not has(dtype, row["values"]):
        return None
    seed = zlib.crc32(f"0 {_id(row)}".encode())
    X = input_with(dtype, row["values"], template.shape, Layout.CHANNELS_FIRST, seed)
    fields: dict[str, Any] = {
        "opset": opset,
        "input": {**X, **({"as": "initializer"} if template.is_initializer else {})},
        "graph": _with_dtype(template.graph, dtype),
        "attributes": dict(GEOMETRIES[row["geometry"]]),
    }
    if template.outputs != ("Y", "Indices"):
        fields["outputs"] = list(template.outputs)
    document = specification(f"onnx-{opset}")
    try:
        made = recipe(X, Path(), Path())
        context = context_of(fields, document, made.shape)
        case = Case("", document.name, made, fields["attributes"], template.outputs, document.policies, context=context)
        if not isinstance(case.resolved, Pooling):
            return None
        oracle = case.oracle()
        assert isinstance(oracle, GraphOracle)
        oracle.check_exact()
    except (BadValue, Inexact):
        return None
    return fields


def _with_dtype(value: Any, dtype: str) -> Any:
    if isinstance(value, dict):
        return {key: _with_dtype(inner, dtype) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_dtype(inner, dtype) for inner in value]
    return dtype if value == "$dtype" else value


@cache
def possible_rows() -> np.ndarray:
    """Which rows of :data:`FACTORS` are possible (boolean, an axis for each factor).

    Tried are a template with each dtype in each operator set, with all values, and with all attributes; the rest follows.
    """

    def tried(varied: tuple[str, ...]) -> np.ndarray:
        """Whether some row with these bins is exact, with the first others that make it so."""
        table = np.zeros([len(FACTORS[name]) for name in varied], bool)
        for at in np.ndindex(*table.shape):
            bins = {name: (FACTORS[name][i],) for name, i in zip(varied, at, strict=True)}
            rows = product(*({**_USUAL_FIRST, **bins}[name] for name in _NAMES))
            table[at] = any(drawn_case(dict(zip(_NAMES, row, strict=True))) for row in rows)
        return table.reshape([len(bins) if name in varied else 1 for name, bins in FACTORS.items()])

    return np.broadcast_to(
        tried(("template", "dtype", "opset")) & tried(("template", "dtype", "values")) & tried(("geometry", "opset")),
        [len(bins) for bins in FACTORS.values()],
    )


_USUAL_FIRST = {
    "template": ("relu-before", "initializer"),
    "values": ("distinct",),
    "geometry": ("plain", "strided"),
    "opset": ("22", "13", "26"),
    "dtype": ("float32",),
}
"""The bins beside which others are tried."""


def _cases() -> Iterator[tuple[Mapping[str, str], Mapping[str, Any]]]:
    """The bins and the fields of each case."""
    possible = possible_rows().copy()
    usual = possible.copy()
    usual[:, _BFLOAT16] = False
    # What has bfloat16 alone is not uncovered, but for its pairs with bfloat16.
    uncovered = {axes: projected(possible if _DTYPE in axes else usual, axes) for axes in _PAIRS}
    for at in np.argwhere(projected(possible, (0, 4))):
        if case := _best(possible, uncovered, dict(zip((0, 4), at, strict=True))):
            yield case
    for axes in _PAIRS:
        while (left := uncovered[axes] & projected(possible, axes)).any():
            if case := _best(possible, uncovered, dict(zip(axes, np.argwhere(left)[0], strict=True))):
                yield case


def _best(
    possible: np.ndarray, uncovered: Mapping[tuple[int, int], np.ndarray], bins: Mapping[int, int]
) -> tuple[Mapping[str, str], Mapping[str, Any]] | None:
    """The case of the possible rows with ``bins`` by axis that covers the most pairs; None if no row has an exact result.

    Rows without one become impossible.
    """
    fixed = np.zeros(possible.shape, bool)
    fixed[tuple(bins.get(axis, slice(None)) for axis in range(fixed.ndim))] = True
    while (rows := np.argwhere(possible & fixed)).size:
        gains = sum(
            uncovered[axes][rows[:, axes[0]], rows[:, axes[1]]] & _counts(axes, rows[:, _DTYPE]) for axes in _PAIRS
        )
        best = rows[gains == np.max(gains)]
        at = best[int(stream(int(fixed.argmax()), 1)[0] % np.uint64(len(best)))]
        row = {name: FACTORS[name][i] for name, i in zip(_NAMES, at, strict=True)}
        fields = drawn_case(row)
        if fields is None:
            possible[tuple(at)] = False
            continue
        for axes in _PAIRS:
            uncovered[axes][at[axes[0]], at[axes[1]]] &= not _counts(axes, at[_DTYPE])
        return row, fields
    return None


def _counts(axes: tuple[int, int], dtypes: np.ndarray) -> np.ndarray:
    """Whether rows with these dtypes cover a pair: most runtimes have no bfloat16, which covers pairs with itself alone."""
    return np.asarray((dtypes != _BFLOAT16) | (_DTYPE in axes), int)


def projected(possible: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Which bins of some factors are in a possible row."""
    return np.asarray(possible.any(tuple(axis for axis in range(possible.ndim) if axis not in axes)))
