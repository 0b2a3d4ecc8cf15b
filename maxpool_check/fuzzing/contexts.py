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


def in_a_graph(case: Case, stream: random.Random) -> Case | None:
    """The case with a graph around its MaxPool, in an operator set; None where the graph has no exact result.

    The document is the version of the operator in the operator set, unless it is another than ONNX's. Attributes that a
    version does not have are left out; an X of a type that it does not have becomes float32.
    """
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
        # Small integers, of which cells that are near each other have different ones.
        first, step = stream.choice(range(100)), stream.choice((1, 7, 13, 37))
        lowest_value = 1 if X.dtype.kind == "u" else stream.choice((1, -50, -100))
        X = (lowest_value + (first + step * np.arange(X.size)) % 100).astype(X.dtype).reshape(X.shape)
    elif number < 0.9 and is_float(X.dtype):
        # Many nodes have no exact result for NaN and -0.
        X = np.where((X != X) | (X == 0), NUMPY[X.dtype.name].type(stream.choice((-2, -1, 3))), X)
    first_nodes, second_nodes, X = _pair(stream, X)
    sides = [stream.random() < 0.5 for _ in range(stream.choice((0, 1) if first_nodes else (1, 1, 2, 3)))]
    entries: list[str | Node] = [*(stream.choice(_BEFORE) for side in sides if side), *first_nodes]
    before = _chain(stream, entries, X, opset)
    drawn = replace(
        case, X=Recipe.of(X), spec=document.name, policies=document.policies, context=Context(opset, before),
        attributes={name: value for name, value in case.attributes.items() if name in document.attributes},
        outputs=stream.choice((("Y", "Indices"), ("Y", "Indices"), ("Indices",))) if document.indices else ("Y",),
    )  # fmt: skip
    if not isinstance(drawn.resolved, Pooling):
        return None
    pooled = evaluate(drawn.entering, replace(drawn.resolved, indices=True))
    entries = [*second_nodes, *(stream.choice(_AFTER) for side in sides if not side)]
    after = _chain(stream, entries, pooled.Y, opset, pooled.Indices, drawn.attributes)
    drawn = replace(drawn, context=Context(
        opset, before, after, consumers=_rarely(stream, 2, 1), initializer=_rarely(stream, True, False),
        dimensions=_rarely(stream, tuple(f"X{axis}" for axis in range(X.ndim)), None),
        inside=_rarely(stream, stream.choice(("If", "Loop", "function")), None),
    ))  # fmt: skip
    return drawn if drawn.context.has_nodes and drawn.is_exact else None


def _rarely(stream: random.Random, rare: Any, usual: Any) -> Any:
    return rare if stream.random() < 0.1 else usual


def _pair(stream: random.Random, X: np.ndarray) -> tuple[list[Node], list[Node], np.ndarray]:
    """A node right before MaxPool and one right behind it that undoes it, and their X, or no nodes and the same X."""
    number = stream.random()
    if number < 0.12:
        permutation = sorted(range(X.ndim), key=lambda _: stream.random())
        inverse = [permutation.index(axis) for axis in range(X.ndim)]
        nodes = [Node("Transpose", {"perm": permutation})], [Node("Transpose", {"perm": inverse})]
        # The tensor that enters MaxPool is the drawn one, which the windows fit.
        return *nodes, np.ascontiguousarray(X.transpose(inverse))
    if number < 0.22:
        scale = stream.choice((0.5, 1, 0.1))
        point = {"dtype": stream.choice(("int8", "uint8")), "data": stream.choice((0, 3, 100))}
        quantize = [Node("QuantizeLinear", {"y_scale": scale, "y_zero_point": point})]
        dequantize = [Node("DequantizeLinear", {"x_scale": scale, "x_zero_point": point})]
        return (quantize, dequantize, X) if is_float(X.dtype) else (dequantize, quantize, X)
    return [], [], X


def _chain(
    stream: random.Random, drawn: Sequence[str | Node], X: np.ndarray, opset: int, indices: np.ndarray | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> tuple[Node, ...]:  # fmt: skip
    """The nodes of these operators, and these nodes, that have exact results one behind the other.

    ``attributes`` are those of the MaxPool before them, if they are behind it.
    """
    nodes = []
    for entry in drawn:
        if X.ndim < 2:
            break
        if isinstance(entry, Node):
            node = entry
        elif entry == "MaxUnpool" and attributes is not None:
            names = ("kernel_shape", "strides", "pads")
            node = Node(entry, {name: attributes[name] for name in names if name in attributes})
        else:
            node = Node(entry, _FIELDS[entry](stream, X) if entry in _FIELDS else {})
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


def _pad(stream: random.Random, X: np.ndarray) -> dict[str, Any]:
    spatial = range(2, X.ndim)
    pads = [0] * 2 * X.ndim
    for axis in (*spatial, *(axis + X.ndim for axis in spatial)):
        pads[axis] = stream.choice((0, 1, 1, 2))
    if stream.random() < 0.1:
        pads[stream.choice(range(2 * X.ndim))] = stream.choice((-1, 1))
    smallest = -np.inf if is_float(X.dtype) else int(lowest(X.dtype))
    constants = [{}, *({"constant_value": value} for value in (0, 1, smallest))]
    mode = stream.choice(("constant", "constant", "constant", "edge", "reflect", "wrap"))
    return {"pads": pads, "mode": mode, **(stream.choice(constants) if mode == "constant" else {})}


_FIELDS: Mapping[str, Callable[[random.Random, np.ndarray], dict[str, Any]]] = {
    "Cast": lambda stream, _: {"to": stream.choice(("float32", "float32", "float64", "float16", "int8", "uint8"))},
    "Clip": lambda stream, _: stream.choice(({"min": 0}, {"min": 0, "max": 6}, {"min": -1, "max": 2}, {"max": 2})),
    "Concat": lambda stream, X: {
        "axis": (axis := stream.choice(range(1, X.ndim))), "inputs": [np.zeros(X.shape, int).take([0], axis).tolist()],
    },
    "Conv": lambda stream, X: stream.choice(
        ({"weights": "identity"}, {"weights": "depthwise", "kernel_shape": [stream.choice((1, 2)) for _ in X.shape[2:]]})
    ),
    "Flatten": lambda stream, X: {"axis": stream.choice(range(X.ndim + 1))},
    "LeakyRelu": lambda stream, _: {"alpha": stream.choice((0.5, 0.25))},
    MAX_POOL: lambda stream, X: {
        "kernel_shape": [stream.choice((1, 2)) for _ in X.shape[2:]],
        "strides": [stream.choice((1, 1, 2)) for _ in X.shape[2:]],
    },
    "Pad": _pad,
    "Reshape": lambda stream, X: {"shape": stream.choice(([1, -1, *X.shape[2:]], [-1, 1, *X.shape[2:]]))},
    "Slice": lambda stream, X: {
        "axes": [(axis := stream.choice(range(1, X.ndim)))], "starts": [stream.choice((0, 0, 1))],
        "ends": [X.shape[axis] - stream.choice((0, 1))], **stream.choice(({}, {}, {"steps": [2]})),
    },
    "Split": lambda stream, X: {
        "axis": (axis := stream.choice(range(1, X.ndim))), "split": [1, X.shape[axis] - 1],
        "output": stream.choice((0, 1)),
    },
    "Transpose": lambda stream, X: {"perm": [0, 1, *sorted(range(2, X.ndim), key=lambda _: stream.random())]},
    "Unsqueeze": lambda stream, X: {"axes": [stream.choice(range(X.ndim + 1))]},
}  # fmt: skip
"""The fields of a node for the tensor that enters it, by its operator; those of others have none."""

_BEFORE = (
    "Pad", "Pad", "Pad", "Relu", "LeakyRelu", "Clip", "Neg", "Abs", "Identity", "Dropout", "Cast", "Cast", "Conv", MAX_POOL,
    "Concat", "Slice", "Split", "Transpose", "Reshape",
)  # fmt: skip
_AFTER = (
    "Pad", "Relu", "Relu", "LeakyRelu", "Clip", "Clip", "Neg", "Abs", "Identity", "Dropout", "Cast", "Cast", "Conv",
    MAX_POOL, "Concat", "Slice", "Split", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "GlobalMaxPool",
    "MaxUnpool",
)  # fmt: skip
