"""Draws the graph around a drawn MaxPool: nodes that have an exact result for it, and how the model presents them.

Nodes are drawn one after the other, each for the tensor that enters it. A node that is not exact there is left out.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.graphs.context import MAX_POOL, Context, max_pool
from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.graphs.operators import apply
from maxpool_check.reference.dtypes import NUMPY, is_float, lowest
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification

OPERATOR_SETS = range(8, 27)
"""The operator sets that graphs are drawn in."""

_MOST_CELLS = 1000
"""The most cells of a tensor in a drawn graph."""

_DTYPES = ("float32", "float32", "float64", "float16", "int8", "uint8")

_Stream = random.Random
_Fields = dict[str, Any]


def in_a_graph(case: Case, seed: int) -> Case | None:
    """The case with a graph around its MaxPool, in an operator set; None where the graph has no exact result.

    The document is the version of the operator in the operator set, unless it is another than ONNX's. Attributes that a
    version does not have are left out; an X of a type that it does not have becomes float32.
    """
    stream = random.Random(seed)
    opset, document = stream.choice(OPERATOR_SETS), case.specification
    if document.onnx is document:
        document = specification(f"onnx-{opset}")
    elif document.onnx is not None:
        opset = max(opset, document.onnx.since)
    if case.X.size > _MOST_CELLS:
        return None
    X = case.X.tensor() if case.X.dtype.name in document.dtypes else case.X.tensor().astype(np.float32)
    number = stream.random()
    if number < 0.6:
        X = _distinct(stream, X)
    elif number < 0.9 and is_float(X.dtype):
        # Many nodes have no exact result for NaN and -0.
        X = np.where((X != X) | (X == 0), NUMPY[X.dtype.name].type(stream.choice((-2, -1, 3))), X)
    first, second, X = _pair(stream, X)
    count = stream.choice((0, 1)) if first else stream.choice((1, 1, 2, 3))
    sides = [stream.random() < 0.5 for _ in range(count)]
    entries: list[str | Node] = [*(stream.choice(_BEFORE) for side in sides if side), *first]
    before = _chain(stream, entries, X, opset)
    drawn = replace(
        case, X=Recipe.of(X), spec=document.name, policies=document.policies, context=Context(opset, before),
        attributes={name: value for name, value in case.attributes.items() if name in document.attributes},
        outputs=stream.choice((("Y", "Indices"), ("Y", "Indices"), ("Indices",))) if document.indices else ("Y",),
    )  # fmt: skip
    if not isinstance(drawn.resolved, Pooling):
        return None
    pooled = evaluate(drawn.entering, replace(drawn.resolved, indices=True))
    entries = [*second, *(stream.choice(_AFTER) for side in sides if not side)]
    after = _chain(stream, entries, pooled.Y, opset, pooled.Indices, drawn.attributes)
    context = Context(
        opset, before, after, consumers=_rarely(stream, 2, 1), initializer=_rarely(stream, True, False),
        dimensions=_rarely(stream, tuple(f"X{axis}" for axis in range(X.ndim)), None),
        inside=_rarely(stream, stream.choice(("If", "Loop", "function")), None),
    )  # fmt: skip
    drawn = replace(drawn, context=context)
    return drawn if context.has_nodes and drawn.is_exact else None


def _distinct(stream: _Stream, X: np.ndarray) -> np.ndarray:
    """A tensor like X of small integers, in which cells that are near each other differ."""
    lowest_value = 1 if X.dtype.kind == "u" else stream.choice((1, -50, -100))
    start, step = stream.randrange(100), stream.choice((1, 7, 13, 37))
    values = lowest_value + (start + step * np.arange(X.size)) % 100
    return values.astype(X.dtype).reshape(X.shape)


def _rarely(stream: _Stream, rare: Any, usual: Any) -> Any:
    return rare if stream.random() < 0.1 else usual


def _pair(stream: _Stream, X: np.ndarray) -> tuple[list[Node], list[Node], np.ndarray]:
    """A node right before MaxPool and one right behind it that undoes it, and their X, or no nodes and the same X."""
    number = stream.random()
    if number < 0.12:
        permutation = stream.sample(range(X.ndim), X.ndim)
        inverse = [permutation.index(axis) for axis in range(X.ndim)]
        # The tensor that enters MaxPool is the drawn one, which the windows fit.
        return (
            [Node("Transpose", {"perm": permutation})], [Node("Transpose", {"perm": inverse})],
            np.ascontiguousarray(X.transpose(inverse)),
        )  # fmt: skip
    if number < 0.22:
        dtype, scale = stream.choice(("int8", "uint8")), stream.choice((0.5, 1, 0.1))
        point = {"dtype": dtype, "data": stream.choice((0, 3, 100))}
        quantize = [Node("QuantizeLinear", {"y_scale": scale, "y_zero_point": point})]
        dequantize = [Node("DequantizeLinear", {"x_scale": scale, "x_zero_point": point})]
        return (quantize, dequantize, X) if is_float(X.dtype) else (dequantize, quantize, X)
    return [], [], X


def _chain(
    stream: _Stream, drawn: Sequence[str | Node], X: np.ndarray, opset: int, indices: np.ndarray | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> tuple[Node, ...]:  # fmt: skip
    """The nodes of these operators, and these nodes, that have exact results one behind the other."""
    nodes = []
    for entry in drawn:
        if X.ndim < 2:
            break
        node = entry if isinstance(entry, Node) else Node(entry, _fields(stream, entry, X, attributes or {}))
        try:
            Y = max_pool(node, X, opset).Y if node.op == MAX_POOL else apply(node, X, opset, indices)
        except Inexact:
            continue
        if not 0 < Y.size <= _MOST_CELLS:
            continue
        if node.op == "GlobalMaxPool" and is_float(Y.dtype) and (Y == -np.inf).any():
            # What it gives for a plane of -inf would be taken for the result of MaxPool.
            continue
        X = Y
        constants = stream.choice(("initializer", "initializer", "initializer", "constant", "input"))
        nodes.append(replace(node, constants=constants, consumers=1 if attributes else _rarely(stream, 2, 1)))
    return tuple(nodes)


def _fields(stream: _Stream, op: str, X: np.ndarray, attributes: Mapping[str, Any]) -> _Fields:
    if op == "MaxUnpool":
        return {name: attributes[name] for name in ("kernel_shape", "strides", "pads") if name in attributes}
    return _FIELDS[op](stream, X) if op in _FIELDS else {}


def _pad(stream: _Stream, X: np.ndarray) -> _Fields:
    spatial = range(2, X.ndim)
    pads = [0] * 2 * X.ndim
    for axis in (*spatial, *(axis + X.ndim for axis in spatial)):
        pads[axis] = stream.choice((0, 1, 1, 2))
    if stream.random() < 0.1:
        pads[stream.randrange(2 * X.ndim)] = stream.choice((-1, 1))
    mode = stream.choice(("constant", "constant", "constant", "edge", "reflect", "wrap"))
    if mode != "constant":
        return {"pads": pads, "mode": mode}
    smallest = -np.inf if is_float(X.dtype) else int(lowest(X.dtype))
    value = stream.choice((None, 0, 1, smallest))
    return {"pads": pads, "mode": mode, **({} if value is None else {"constant_value": value})}


def _slice(stream: _Stream, X: np.ndarray) -> _Fields:
    axis = stream.randrange(1, X.ndim)
    start, step = stream.choice((0, 0, 1)), stream.choice((1, 1, 2))
    end = X.shape[axis] - stream.choice((0, 1))
    return {"starts": [start], "ends": [end], "axes": [axis], **({"steps": [step]} if step > 1 else {})}


def _split(stream: _Stream, X: np.ndarray) -> _Fields:
    axis = stream.randrange(1, X.ndim)
    return {"axis": axis, "split": [1, X.shape[axis] - 1], "output": stream.choice((0, 1))}


def _concat(stream: _Stream, X: np.ndarray) -> _Fields:
    axis = stream.randrange(1, X.ndim)
    constant = np.zeros((*X.shape[:axis], 1, *X.shape[axis + 1 :]), int)
    return {"axis": axis, "inputs": [constant.tolist()]}


def _pool(stream: _Stream, X: np.ndarray) -> _Fields:
    axes = range(X.ndim - 2)
    return {"kernel_shape": [stream.choice((1, 2)) for _ in axes], "strides": [stream.choice((1, 1, 2)) for _ in axes]}


def _conv(stream: _Stream, X: np.ndarray) -> _Fields:
    if stream.random() < 0.5:
        return {"weights": "identity"}
    return {"weights": "depthwise", "kernel_shape": [stream.choice((1, 2)) for _ in range(X.ndim - 2)]}


_FIELDS: dict[str, Callable[[_Stream, np.ndarray], _Fields]] = {
    "Cast": lambda stream, _: {"to": stream.choice(_DTYPES)},
    "Clip": lambda stream, _: stream.choice(({"min": 0}, {"min": 0, "max": 6}, {"min": -1, "max": 2}, {"max": 2})),
    "Concat": _concat,
    "Conv": _conv,
    "Flatten": lambda stream, X: {"axis": stream.randrange(X.ndim + 1)},
    "LeakyRelu": lambda stream, _: {"alpha": stream.choice((0.5, 0.25))},
    MAX_POOL: _pool,
    "Pad": _pad,
    "Reshape": lambda stream, X: {"shape": stream.choice(([1, -1, *X.shape[2:]], [-1, 1, *X.shape[2:]]))},
    "Slice": _slice,
    "Split": _split,
    "Transpose": lambda stream, X: {"perm": [0, 1, *stream.sample(range(2, X.ndim), max(X.ndim - 2, 0))]},
    "Unsqueeze": lambda stream, X: {"axes": [stream.randrange(X.ndim + 1)]},
}

_BEFORE = (
    "Pad", "Pad", "Pad", "Relu", "LeakyRelu", "Clip", "Neg", "Abs", "Identity", "Dropout", "Cast", "Cast", "Conv", MAX_POOL,
    "Concat", "Slice", "Split", "Transpose", "Reshape",
)  # fmt: skip
_AFTER = (
    "Pad", "Relu", "Relu", "LeakyRelu", "Clip", "Clip", "Neg", "Abs", "Identity", "Dropout", "Cast", "Cast", "Conv",
    MAX_POOL, "Concat", "Slice", "Split", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "GlobalMaxPool",
    "MaxUnpool",
)  # fmt: skip
