"""The operators around MaxPool: what each makes of a tensor, and of which of its cells."""

from collections.abc import Callable
from typing import Any

import numpy as np

from maxpool_check.graphs.elementwise import ELEMENTWISE
from maxpool_check.graphs.form import attributes_of, inputs_of
from maxpool_check.graphs.movements import MOVEMENTS, split_sizes
from maxpool_check.graphs.node import Inexact, Node, tensor
from maxpool_check.graphs.windows import conv, conv_positions, global_max_positions, unpool
from maxpool_check.reference.dtypes import name_of, same

__all__ = [
    "OPERATORS",
    "Inexact",
    "Node",
    "apply",
    "attributes_of",
    "inputs_of",
    "is_elementwise",
    "is_known",
    "output_count",
    "positions",
]

OPERATORS = (*ELEMENTWISE, *MOVEMENTS, "Conv", "GlobalMaxPool", "MaxUnpool")
"""The names of the operators. MaxPool is none of them: its meaning is that of a document."""


def is_known(op: str) -> bool:
    """Whether there is such an operator here."""
    return op in OPERATORS


def is_elementwise(node: Node) -> bool:
    """Whether each cell of the output is a function of the cell in its place."""
    return node.op in ELEMENTWISE


def output_count(node: Node, shape: tuple[int, ...], opset: int) -> int:
    """How many outputs a model gives the node, for an input of this shape: those of Split, otherwise 1."""
    return len(split_sizes(node, shape, opset)) if node.op == "Split" else 1


def apply(node: Node, X: np.ndarray, opset: int, indices: np.ndarray | None = None) -> np.ndarray:
    """The output of the node, every bit but the payload and sign of NaN; it may share memory with X.

    ``indices`` (int64, of the shape of X) is the input I of MaxUnpool. Raises :class:`Inexact` where the ONNX text of this
    operator set gives no exact, unique result for X, or the node is invalid there.
    """
    if not is_known(node.op):
        raise Inexact(f"{node.op} is not an operator with an exact result here")
    dtype = name_of(X.dtype)
    attributes_of(node, opset, X.shape)
    inputs_of(node, dtype, opset, X.shape)
    if node.op in ELEMENTWISE:
        return ELEMENTWISE[node.op](node, X, opset)
    if node.op == "Conv":
        return _checked(node, conv, node, X)
    if node.op == "GlobalMaxPool":
        return X.reshape(-1)[global_max_positions(node, X)]
    if node.op == "MaxUnpool":
        Y = unpool(node, X, indices, 0)
        if indices is not None and not same(Y.reshape(-1)[indices], X).all():
            raise Inexact("MaxUnpool of different values with the same index")
        return Y
    return _checked(
        node, MOVEMENTS[node.op], node, X, opset, lambda value: tensor(value, dtype, f"a constant of {node.op}")
    )


def positions(
    node: Node, cells: np.ndarray, X: np.ndarray, opset: int, indices: np.ndarray | None = None
) -> np.ndarray:
    """The numbers of the cells that the output cells are functions of; int64, of the shape of the output.

    ``cells`` (int64, of the shape of X) are numbers of the cells of X; -1 is a constant, of Pad, Concat or MaxUnpool. Of
    several cells with the same index, MaxUnpool is the first; GlobalMaxPool is its first maximum. Raises :class:`Inexact`
    as :func:`apply`, and for a Conv with several taps, whose output cells are functions of several.
    """
    if node.op in ELEMENTWISE:
        return cells
    if node.op == "Conv":
        return _checked(node, conv_positions, node, cells)
    if node.op == "GlobalMaxPool":
        return cells.reshape(-1)[global_max_positions(node, X)]
    if node.op == "MaxUnpool":
        return unpool(node, cells, indices, -1)
    return _checked(node, MOVEMENTS[node.op], node, cells, opset, lambda value: np.full(_shape(value), -1, np.int64))


def _shape(value: Any) -> tuple[int, ...]:
    return np.shape(value["data"] if isinstance(value, dict) else value)


def _checked(node: Node, function: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
    """The result of a function, in which numpy checks shapes and axes."""
    try:
        return function(*arguments)
    except Inexact:
        raise
    except (ValueError, IndexError) as mistake:
        raise Inexact(f"{node.op}: {mistake}") from mistake
