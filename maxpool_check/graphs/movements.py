"""Operators that copy cells: their outputs hold cells of the input, and constants.

Each takes the tensor of the chain, the operator set, and ``constant``, which makes a tensor of numbers of the node. So the
same code moves values, and the numbers that say where they come from. Where the text of ONNX and numpy, to which it
refers, differ, or both are silent, there is no unique result (:class:`Inexact`).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.words import plural

Constant = Callable[[Any], np.ndarray]
"""From numbers of a node to a tensor that can stand beside the chain's."""

Movement = Callable[[Node, np.ndarray, int, Constant], np.ndarray]

_PAD_MODES = ("constant", "reflect", "edge", "wrap")


def _along(axis: int, index: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * axis, index)


def _axis(node: Node, axis: int, rank: int, beyond: int = 0) -> int:
    """An axis counted from the front; ``beyond`` is 1 where it may also lie behind the last."""
    if not -rank <= axis < rank + beyond:
        raise Inexact(f"{node.op} of {rank} axes has no axis {axis}")
    return axis + rank if axis < 0 else axis


def _distinct_axes(node: Node, rank: int) -> list[int]:
    axes = [_axis(node, axis, rank) for axis in node.integers("axes", range(rank))]
    if len(set(axes)) < len(axes):
        raise Inexact(f"{node.op}: the behavior is undefined if an axis is repeated")
    return axes


def _pad(node: Node, X: np.ndarray, opset: int, constant: Constant) -> np.ndarray:
    """ONNX Pad-25: "the number of padding elements to add or remove (if negative) at the beginning and end of each axis"."""
    mode = node.name("mode", _PAD_MODES, "constant")
    if mode == "wrap" and opset < 19:
        raise Inexact(f"Pad of operator set {opset} has no mode wrap")
    axes, pads = _distinct_axes(node, X.ndim), node.integers("pads")
    if len(pads) != 2 * len(axes):
        raise Inexact(f"Pad of {plural(len(axes), 'axis', 'axes')} needs {2 * len(axes)} pads, got {len(pads)}")
    value = constant(node.fields.get("constant_value", 0))
    for axis, begin, end in zip(axes, pads, pads[len(axes) :], strict=False):
        source = _padding_source(mode, X.shape[axis], begin, end)
        inside = source >= 0
        padded = np.full((*X.shape[:axis], len(source), *X.shape[axis + 1 :]), value)
        padded[_along(axis, inside)] = X[_along(axis, source[inside])]
        X = padded
    return X


def _padding_source(mode: str, size: int, begin: int, end: int) -> np.ndarray:
    """The position on an axis that each position of the padded axis is a copy of, -1 for the constant."""
    if min(size + begin, size + end, size + begin + end) < 0:
        raise Inexact(f"Pad removes more than the {size} cells of an axis")
    position = np.arange(-begin, size + end)
    outside = (position < 0) | (position >= size)
    if mode == "constant":
        return np.where(outside, -1, position)
    if min(begin, end) < 0 < max(begin, end):
        raise Inexact(f"Pad in mode {mode}: ONNX does not say whether it adds or removes cells first")
    if outside.any() and size == 0:
        raise Inexact(f"Pad in mode {mode} has no cell to copy")
    if mode == "edge":
        return np.clip(position, 0, max(size - 1, 0))
    if mode == "wrap":
        return position % max(size, 1)
    if max(begin, end) > max(size - 1, 0):
        raise Inexact(f"Pad in mode reflect: ONNX does not define a reflection of more than {size - 1} of {size} cells")
    return np.where(position < 0, -position, np.where(position < size, position, 2 * (size - 1) - position))


def _transpose(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Transpose-25: "axis i of the output tensor corresponds to axis perm[i] of the input tensor"."""
    permutation = node.integers("perm", range(X.ndim)[::-1])
    if sorted(permutation) != list(range(X.ndim)):
        raise Inexact(f"perm {permutation} of Transpose is no permutation of {X.ndim} axes")
    return X.transpose(permutation)


def _reshape(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Reshape-25: 0 is the size of the same axis of the input, unless ``allowzero``; one -1 is inferred."""
    sizes = node.integers("shape")
    if not node.integer("allowzero", 0):
        if any(size == 0 and axis >= X.ndim for axis, size in enumerate(sizes)):
            raise Inexact(f"Reshape to {sizes} of {X.ndim} axes: there is no size to copy")
        sizes = [size or X.shape[axis] for axis, size in enumerate(sizes)]
    if min(sizes, default=0) < -1:
        raise Inexact(f"Reshape to {sizes} has a negative size")
    return X.reshape(sizes)


def _squeeze(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Squeeze-25: "if axes is not provided, all the single dimensions will be removed"."""
    if node.fields.get("axes") is None:
        return X.squeeze()
    return X.squeeze(tuple(_some_axes(node)))


def _unsqueeze(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Unsqueeze-25: "axes" are those of the output, in any order."""
    return np.expand_dims(X, tuple(_some_axes(node)))


def _some_axes(node: Node) -> list[int]:
    axes = node.integers("axes")
    if not axes:
        raise Inexact(f"{node.op}: ONNX does not say whether an empty list of axes means none or all")
    return axes


def _flatten(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Flatten-25: the axes before ``axis`` become the first, the others the second."""
    axis = _axis(node, node.integer("axis", 1), X.ndim, beyond=1)
    return X.reshape(math.prod(X.shape[:axis]), math.prod(X.shape[axis:]))


def _slice(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Slice-13. A start before the first cell, backward: the text takes that cell, numpy none."""
    starts, ends, axes = node.integers("starts"), node.integers("ends"), _distinct_axes(node, X.ndim)
    steps = node.integers("steps", [1] * len(starts))
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Inexact(
            f"Slice of {plural(len(axes), 'axis', 'axes')} got {plural(len(starts), 'start')}, {plural(len(ends), 'end')} and {plural(len(steps), 'step')}"
        )
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise Inexact("Slice: steps cannot be 0")
        if step < 0 and start < -X.shape[axis]:
            raise Inexact(f"Slice from {start} backward: the text and numpy, to which it refers, differ")
        X = X[_along(axis, slice(start, end, step))]
    return X


def _concat(node: Node, X: np.ndarray, _opset: int, constant: Constant) -> np.ndarray:
    """ONNX Concat-13."""
    others = [constant(value) for value in node.fields["inputs"]]
    return np.concatenate([X, *others], _axis(node, node.integer("axis"), X.ndim))


def split_sizes(node: Node, shape: tuple[int, ...], opset: int) -> list[int]:
    """ONNX Split-18: the sizes of the outputs for an input of this shape, on the axis that is split.

    Before operator set 18, ``num_outputs`` is not written: the node has so many outputs, of equal size.
    """
    size = shape[_axis(node, node.integer("axis", 0), len(shape))]
    if (node.fields.get("split") is None) == (node.fields.get("num_outputs") is None):
        raise Inexact("Split needs split or num_outputs, and not both")
    if node.fields.get("split") is not None:
        sizes = node.integers("split")
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise Inexact(f"Split of {size} cells into {sizes}")
        return sizes
    count = node.integer("num_outputs")
    if count < 1:
        raise Inexact(f"Split into {count} outputs")
    chunk = -(-size // count)
    last = size - chunk * (count - 1)
    if last != chunk and (opset < 18 or last < 1):
        raise Inexact(f"Split of {size} cells into {count} outputs: operator set {opset} does not define the sizes")
    return [chunk] * (count - 1) + [last]


def _split(node: Node, X: np.ndarray, opset: int, _constant: Constant) -> np.ndarray:
    sizes, output = split_sizes(node, X.shape, opset), node.integer("output", 0)
    if not 0 <= output < len(sizes):
        raise Inexact(f"Split has {len(sizes)} outputs, and none of number {output}")
    start = sum(sizes[:output])
    return X[_along(node.integer("axis", 0) % X.ndim, slice(start, start + sizes[output]))]


MOVEMENTS: dict[str, Movement] = {
    "Pad": _pad,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Flatten": _flatten,
    "Slice": _slice,
    "Concat": _concat,
    "Split": _split,
}
"""The operators that copy cells wherever these are, whatever they hold."""
