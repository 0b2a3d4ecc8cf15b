"""The graphs around MaxPool of generated cases, and which bins of them go together."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.bins import has
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.context_bins import CONTEXT, DTYPES, GEOMETRIES, OPSETS, VALUES, contexts_of
from maxpool_check.corpus.generating import input_with
from maxpool_check.corpus.graph_fields import context_of
from maxpool_check.corpus.problems import BadValue
from maxpool_check.corpus.space import Together
from maxpool_check.corpus.tensors import recipe
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification

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

FACTORS: Mapping[str, tuple[str, ...]] = {
    "template": tuple(TEMPLATES),
    "dtype": DTYPES,
    "values": VALUES,
    "geometry": tuple(GEOMETRIES),
    "opset": tuple(map(str, OPSETS)),
}
"""The bins of generated cases; coverage counts bins of ``context`` in place of templates."""


def drawn_case(row: Mapping[str, str], seed: int) -> tuple[Case, dict[str, Any]] | None:
    """The case with these bins of :data:`FACTORS` and its fields; None if it has no exact result."""
    template, dtype, opset = TEMPLATES[row["template"]], row["dtype"], int(row["opset"])
    document = specification(f"onnx-{opset}")
    if not has(dtype, row["values"]):
        return None
    name = "-".join((row["template"], dtype, row["values"], row["geometry"], row["opset"]))
    X = input_with(dtype, row["values"], template.shape, Layout.CHANNELS_FIRST, zlib.crc32(f"{seed} {name}".encode()))
    fields: dict[str, Any] = {
        "opset": opset,
        "input": {**X, **({"as": "initializer"} if template.is_initializer else {})},
        "graph": _with_dtype(template.graph, dtype),
        "attributes": dict(GEOMETRIES[row["geometry"]]),
    }
    if template.outputs != ("Y", "Indices"):
        fields["outputs"] = list(template.outputs)
    try:
        made = recipe(X, Path(), Path())
        context = context_of(fields, document, made.shape)
        case = Case(
            name, document.name, made, fields["attributes"], template.outputs, document.policies, context=context
        )
        if not isinstance(case.resolved, Pooling):
            return None
        oracle = case.oracle()
        assert isinstance(oracle, GraphOracle)
        oracle.check_exact()
    except (BadValue, Inexact):
        return None
    return case, fields


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
    names = list(FACTORS)
    sizes = [len(bins) for bins in FACTORS.values()]

    def tried(varied: tuple[str, ...]) -> np.ndarray:
        """Whether some row with these bins is exact, with the first others that make it so."""
        table = np.zeros([sizes[names.index(name)] for name in varied], bool)
        rest = [name for name in names if name not in varied]
        for at in np.ndindex(*table.shape):
            chosen = {name: FACTORS[name][i] for name, i in zip(varied, at, strict=True)}
            others = product(*(_USUAL_FIRST.get(name, FACTORS[name]) for name in rest))
            table[at] = any(drawn_case({**chosen, **dict(zip(rest, more, strict=True))}, 0) for more in others)
        return table.reshape([sizes[i] if name in varied else 1 for i, name in enumerate(names)])

    return np.broadcast_to(
        tried(("template", "dtype", "opset")) & tried(("template", "dtype", "values")) & tried(("geometry", "opset")),
        sizes,
    )


_USUAL_FIRST = {
    "template": ("relu-before", "initializer"),
    "values": ("distinct",),
    "geometry": ("plain", "strided"),
    "opset": ("22", "13", "26"),
    "dtype": ("float32",),
}
"""The bins beside which others are tried."""


def combinations_of(strength: int) -> Iterator[Together]:
    """Every possible combination of bins of so many factors, with those of ``context`` in place of templates."""
    possible, names = possible_rows(), list(FACTORS)
    contexts = _contexts_of_templates()
    for chosen in combinations(range(len(names)), strength):
        table = possible.any(tuple(axis for axis in range(len(names)) if axis not in chosen))
        found: dict[Together, None] = {}
        for at in np.argwhere(table):
            bins = [FACTORS[names[axis]][i] for axis, i in zip(chosen, at, strict=True)]
            first = contexts[bins[0]] if chosen[0] == 0 else (bins[0],)
            keys = [CONTEXT if axis == 0 else names[axis] for axis in chosen]
            found.update(dict.fromkeys(tuple(zip(keys, (bin_, *bins[1:]), strict=True)) for bin_ in first))
        yield from found


@cache
def _contexts_of_templates() -> Mapping[str, tuple[str, ...]]:
    contexts: dict[str, tuple[str, ...]] = {}
    possible = possible_rows()
    for number, name in enumerate(TEMPLATES):
        at = np.argwhere(possible[number])[0]
        others = list(FACTORS)[1:]
        row = {"template": name, **{factor: FACTORS[factor][i] for factor, i in zip(others, at, strict=True)}}
        drawn = drawn_case(row, 0)
        assert drawn is not None, row
        case = drawn[0]
        contexts[name] = tuple(contexts_of(case.context, case.outputs, case.entering))
    return contexts
