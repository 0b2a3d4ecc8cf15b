"""Operators that move cells: their outputs hold cells of the input, and constants, or sums and maxima of cells.

Each of :data:`MOVEMENTS` takes the tensor of the chain, the operator set, and ``constant``, which makes a tensor of numbers of the node. So the
same code moves values, and the numbers that say where they come from. Where the text of ONNX and numpy, to which it
refers, differ, or both are silent, there is no unique result (:class:`Inexact`).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxpool_check.graphs.node import Inexact, Node, check_size, significand_bits, wide
from maxpool_check.reference.dtypes import is_float, rounded
from maxpool_check.words import plural

Constant = Callable[[Any], np.ndarray]
"""From numbers of a node to a tensor that can stand beside the chain's."""

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
    # numpy calls the modes the same.
    mode: Any = node.choice("mode", _PAD_MODES, "constant")
    if mode == "wrap" and opset < 19:
        raise Inexact(f"Pad of operator set {opset} has no mode wrap")
    axes, pads = _distinct_axes(node, X.ndim), node.integers("pads")
    if len(pads) != 2 * len(axes):
        raise Inexact(f"Pad of {plural(len(axes), 'axis', 'axes')} needs {2 * len(axes)} pads, got {len(pads)}")
    value = constant(node.fields.get("constant_value", 0))
    filled: Any = {"constant_values": value} if mode == "constant" else {}
    for axis, begin, end in zip(axes, pads, pads[len(axes) :], strict=False):
        size, more = X.shape[axis], max(begin, end)
        if min(size + begin, size + end, size + begin + end) < 0:
            raise Inexact(f"Pad removes more than the {size} cells of an axis")
        if mode != "constant" and min(begin, end) < 0 < more:
            raise Inexact(f"Pad in mode {mode}: ONNX does not say whether it adds or removes cells first")
        if mode != "constant" and size == 0 < more:
            raise Inexact(f"Pad in mode {mode} has no cell to copy")
        if mode == "reflect" and more >= size > 0:
            wrong = f"a reflection of more than {size - 1} of {size} cells"
            raise Inexact(f"Pad in mode reflect: ONNX does not define {wrong}")
        kept = X[_along(axis, slice(max(-begin, 0), size - max(-end, 0)))]
        widths = [(max(begin, 0), max(end, 0)) if each == axis else (0, 0) for each in range(X.ndim)]
        check_size("Pad", *X.shape[:axis], size + begin + end, *X.shape[axis + 1 :])
        X = np.pad(kept, widths, mode, **filled)
    return X


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
    return X.squeeze(None if node.fields.get("axes") is None else _some_axes(node))


def _unsqueeze(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Unsqueeze-25: "axes" are those of the output, in any order."""
    return np.expand_dims(X, _some_axes(node))


def _some_axes(node: Node) -> tuple[int, ...]:
    axes = node.integers("axes")
    if not axes:
        raise Inexact(f"{node.op}: ONNX does not say whether an empty list of axes means none or all")
    return tuple(axes)


def _flatten(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Flatten-25: the axes before ``axis`` become the first, the others the second."""
    axis = _axis(node, node.integer("axis", 1), X.ndim, beyond=1)
    return X.reshape(math.prod(X.shape[:axis]), math.prod(X.shape[axis:]))


def _slice(node: Node, X: np.ndarray, _opset: int, _constant: Constant) -> np.ndarray:
    """ONNX Slice-13. A start before the first cell, backward: the text takes that cell, numpy none."""
    starts, ends, axes = node.integers("starts"), node.integers("ends"), _distinct_axes(node, X.ndim)
    steps = node.integers("steps", [1] * len(starts))
    if not len(starts) == len(ends) == len(axes) == len(steps):
        counts = f"{plural(len(starts), 'start')}, {plural(len(ends), 'end')} and {plural(len(steps), 'step')}"
        raise Inexact(f"Slice of {plural(len(axes), 'axis', 'axes')} got {counts}")
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
    has_sizes = node.fields.get("split") is not None
    if has_sizes == (node.fields.get("num_outputs") is not None):
        raise Inexact("Split needs split or num_outputs, and not both")
    if has_sizes:
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


MOVEMENTS: dict[str, Callable[[Node, np.ndarray, int, Constant], np.ndarray]] = {
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

WEIGHTS = ("depthwise", "identity")
"""A kernel of ones for each channel by itself, and the identity of the channels, with a kernel of one cell."""


def conv(node: Node, X: np.ndarray) -> np.ndarray:
    """ONNX Conv-22 with weights of 0 and 1, where each sum is exact in the dtype in whatever order.

    With several taps, X must hold integers so small that no partial sum is rounded. A NaN in the window gives NaN; so do
    inf and -inf together; inf alone gives inf. With ``identity``, other channels are multiplied by 0: then X must be
    finite. -0 is :class:`Inexact`, as ONNX does not define the sign of a zero sum.
    """
    if not is_float(X.dtype):
        raise Inexact(f"Conv of {X.dtype.name}")
    values = wide(X)
    finite = np.isfinite(values)
    if (np.signbit(values) & (values == 0)).any():
        raise Inexact("Conv of -0: ONNX does not define the sign of a zero sum")
    windows = _windows(node, values, 0.0)
    taps = tuple(range(X.ndim, windows.ndim))
    if node.choice("weights", WEIGHTS) == "identity" and X.shape[1] > 1 and not finite.all():
        raise Inexact("Conv of NaN or infinity with weights of 0")
    with np.errstate(invalid="ignore", over="ignore"):
        if math.prod(windows.shape[X.ndim :]) > 1:
            sizes = np.where(np.isfinite(windows), np.abs(windows), 0)
            if (sizes != np.floor(sizes)).any() or (sizes.sum(taps) > 2 ** significand_bits(X.dtype)).any():
                raise Inexact(f"Conv of values whose sums may be rounded in {X.dtype.name}")
        return rounded(windows.sum(taps), X.dtype)


def conv_positions(node: Node, cells: np.ndarray) -> np.ndarray:
    """The cell that each output cell is; Inexact where it is the sum of several."""
    windows = _windows(node, cells, -1)
    if math.prod(windows.shape[cells.ndim :]) != 1:
        raise Inexact("Conv with several taps: a cell of its output is the sum of several cells")
    return windows.reshape(windows.shape[: cells.ndim])


def conv_weights(node: Node, dtype: np.dtype, shape: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """The weights and ``group`` for an X of this shape."""
    kernel, channels = _kernel(node, len(shape) - 2), shape[1]
    if node.choice("weights", WEIGHTS) == "depthwise":
        return np.ones((channels, 1, *kernel), dtype), channels
    return np.eye(channels, dtype=np.float32).astype(dtype).reshape(channels, channels, *kernel), 1


def _kernel(node: Node, axes: int) -> list[int]:
    is_identity = node.choice("weights", WEIGHTS) == "identity"
    kernel = node.integers("kernel_shape", [1] * axes if is_identity else None)
    if axes < 1 or len(kernel) != axes or min(kernel) < 1 or (is_identity and max(kernel) > 1):
        raise Inexact(f"Conv of {axes} spatial axes with weights {node.fields['weights']} and kernel {kernel}")
    check_size("Conv", *kernel)
    return kernel


def _placement(node: Node, axes: int, kernel: list[int]) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """The strides, the dilations and the pads of each spatial axis."""
    strides, dilations = node.integers("strides", [1] * axes), node.integers("dilations", [1] * axes)
    pads = node.integers("pads", [0] * 2 * axes)
    if axes < 1 or len(pads) != 2 * axes or not len(kernel) == len(strides) == len(dilations) == axes:
        raise Inexact(f"{node.op} of {axes} spatial axes: wrong number of kernel, strides, dilations or pads")
    if min(kernel + strides + dilations) < 1 or min(pads) < 0:
        raise Inexact(f"{node.op}: kernel, strides and dilations are at least 1, pads at least 0")
    return strides, dilations, list(zip(pads[:axes], pads[axes:], strict=True))


def _windows(node: Node, X: np.ndarray, padding: float) -> np.ndarray:
    """The taps of each output cell, N x C x output sizes x kernel."""
    kernel = _kernel(node, X.ndim - 2)
    strides, dilations, pads = _placement(node, X.ndim - 2, kernel)
    if X.shape[1] < 1:
        raise Inexact("Conv of no channel")
    check_size("Conv", *X.shape[:2], *(size + sum(pad) for size, pad in zip(X.shape[2:], pads, strict=True)), *kernel)
    padded = np.pad(X, [(0, 0), (0, 0), *pads], constant_values=padding)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, extents, tuple(range(2, X.ndim)))
    return windows[tuple(slice(None, None, step) for step in (1, 1, *strides, *dilations))]


def global_max_positions(node: Node, X: np.ndarray) -> np.ndarray:
    """ONNX GlobalMaxPool-22: the row-major number of the first maximum of each plane, N x C x 1 ... x 1."""
    if X.ndim < 3:
        raise Inexact(f"{node.op} needs a batch, a channel and at least one spatial axis")
    planes = wide(X.reshape(*X.shape[:2], math.prod(X.shape[2:])))
    if not planes.shape[2]:
        raise Inexact(f"{node.op} of empty planes")
    if np.isnan(planes).any():
        raise Inexact(f"{node.op} of NaN: ONNX does not define it")
    signs = np.where((planes == 0) & (planes.max(2, keepdims=True) == 0), np.where(np.signbit(planes), -1, 1), 0)
    if ((signs.min(2) < 0) & (signs.max(2) > 0)).any():
        raise Inexact(f"{node.op} of -0 and +0: ONNX does not define which is greater")
    starts = np.arange(math.prod(X.shape[:2])).reshape(X.shape[:2]) * planes.shape[2]
    return (starts + planes.argmax(2)).reshape(*X.shape[:2], *[1] * (X.ndim - 2))


def unpool(node: Node, X: np.ndarray, indices: np.ndarray | None, constant: np.ndarray) -> np.ndarray:
    """ONNX MaxUnpool-22: each cell at its index in the whole flattened output, the others ``constant``.

    ``output_shape`` must be the inferred shape: ONNX does not say what the indices count in another. Cells with the same
    index must be identical; the first counts.
    """
    kernel = node.integers("kernel_shape")
    strides, _, pads = _placement(node, X.ndim - 2, kernel)
    sizes = zip(X.shape[2:], kernel, strides, map(sum, pads), strict=True)
    shape = (*X.shape[:2], *[(n - 1) * s + k - total for n, k, s, total in sizes])
    if min(shape) < 0 or node.integers("output_shape", shape) != list(shape):
        raise Inexact(f"MaxUnpool to a shape other than {shape}: ONNX does not say what the indices count")
    check_size("MaxUnpool", *shape)
    if indices is None or indices.shape != X.shape:
        raise Inexact("MaxUnpool needs Indices of the shape of X")
    if ((indices < 0) | (indices >= math.prod(shape))).any():
        raise Inexact("MaxUnpool with an index outside the output")
    output = np.full(math.prod(shape), constant, X.dtype)
    # Of cells with the same index, the last that is written counts.
    output[indices.reshape(-1)[::-1]] = X.reshape(-1)[::-1]
    return output.reshape(shape)
