"""Operators that make a cell of several: Conv with weights of 0 and 1, GlobalMaxPool; and MaxUnpool, which undoes a MaxPool."""

import math

import numpy as np

from maxpool_check.graphs.floats import significand_bits, wide
from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.reference.dtypes import is_float, rounded

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
    if node.name("weights", WEIGHTS) == "identity" and X.shape[1] > 1 and not finite.all():
        raise Inexact("Conv of NaN or infinity with weights of 0")
    if math.prod(windows.shape[X.ndim :]) > 1:
        sizes = np.where(np.isfinite(windows), np.abs(windows), 0)
        if (sizes != np.floor(sizes)).any() or (sizes.sum(taps) > 2 ** significand_bits(X.dtype)).any():
            raise Inexact(f"Conv of values whose sums may be rounded in {X.dtype.name}")
    with np.errstate(invalid="ignore", over="ignore"):
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
    if node.name("weights", WEIGHTS) == "depthwise":
        return np.ones((channels, 1, *kernel), dtype), channels
    return np.eye(channels, dtype=np.float32).astype(dtype).reshape(channels, channels, *kernel), 1


def _kernel(node: Node, axes: int) -> list[int]:
    if axes < 1:
        raise Inexact("Conv needs the shape of X, with a batch, a channel and at least one spatial axis")
    is_identity = node.name("weights", WEIGHTS) == "identity"
    kernel = node.integers("kernel_shape", [1] * axes if is_identity else None)
    if len(kernel) != axes or min(kernel) < 1 or (is_identity and max(kernel) > 1):
        raise Inexact(f"Conv of {axes} spatial axes with weights {node.fields['weights']} and kernel {kernel}")
    return kernel


def _windows(node: Node, X: np.ndarray, padding: float) -> np.ndarray:
    """The taps of each output cell, N x C x output sizes x kernel."""
    axes = X.ndim - 2
    kernel = _kernel(node, axes)
    strides, dilations = node.integers("strides", [1] * axes), node.integers("dilations", [1] * axes)
    pads = node.integers("pads", [0] * 2 * axes)
    if X.shape[1] < 1 or len(pads) != 2 * axes or not len(strides) == len(dilations) == axes:
        raise Inexact(f"Conv of {X.shape}: wrong number of strides, dilations or pads, or no channel")
    if min(strides + dilations) < 1 or min(pads) < 0:
        raise Inexact("Conv: strides and dilations are at least 1, pads at least 0")
    padded = np.pad(X, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)], constant_values=padding)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, extents, tuple(range(2, X.ndim)))
    steps = [slice(None, None, step) for step in (1, 1, *strides, *dilations)]
    return windows[tuple(steps)]


def global_max_positions(node: Node, X: np.ndarray) -> np.ndarray:
    """ONNX GlobalMaxPool-22: the row-major number of the first maximum of each plane, N x C x 1 ... x 1."""
    if X.ndim < 3:
        raise Inexact(f"{node.op} needs a batch, a channel and at least one spatial axis")
    planes = X.reshape(*X.shape[:2], math.prod(X.shape[2:]))
    if not planes.shape[2]:
        raise Inexact(f"{node.op} of empty planes")
    planes = wide(planes)
    if np.isnan(planes).any():
        raise Inexact(f"{node.op} of NaN: ONNX does not define it")
    maxima = planes.max(2, keepdims=True)
    signs = np.signbit(planes) & (planes == 0)
    if ((maxima == 0) & signs.any(2, keepdims=True) & ((planes == 0) & ~signs).any(2, keepdims=True)).any():
        raise Inexact(f"{node.op} of -0 and +0: ONNX does not define which is greater")
    starts = np.arange(math.prod(X.shape[:2])).reshape(X.shape[:2]) * planes.shape[2]
    return (starts + planes.argmax(2)).reshape(*X.shape[:2], *[1] * (X.ndim - 2))


def unpool(node: Node, X: np.ndarray, indices: np.ndarray | None, constant: float) -> np.ndarray:
    """ONNX MaxUnpool-22: each cell at its index in the whole flattened output, the others ``constant``.

    ``output_shape`` must be the inferred shape: ONNX does not say what the indices count in another. Cells with the same
    index must be identical; the first counts.
    """
    axes = X.ndim - 2
    kernel, strides = node.integers("kernel_shape"), node.integers("strides", [1] * axes)
    pads = node.integers("pads", [0] * 2 * axes)
    if axes < 1 or len(pads) != 2 * axes or not len(kernel) == len(strides) == axes:
        raise Inexact(f"MaxUnpool of {X.ndim} axes: wrong number of kernel, strides or pads")
    if min(kernel + strides) < 1 or min(pads) < 0:
        raise Inexact("MaxUnpool: kernel and strides are at least 1, pads at least 0")
    totals = [begin + end for begin, end in zip(pads[:axes], pads[axes:], strict=True)]
    sizes = zip(X.shape[2:], kernel, strides, totals, strict=True)
    shape = (*X.shape[:2], *[(n - 1) * s + k - total for n, k, s, total in sizes])
    if min(shape) < 0 or node.integers("output_shape", shape) != list(shape):
        raise Inexact(f"MaxUnpool to a shape other than {shape}: ONNX does not say what the indices count")
    if indices is None or indices.shape != X.shape:
        raise Inexact("MaxUnpool needs Indices of the shape of X")
    if ((indices < 0) | (indices >= math.prod(shape))).any():
        raise Inexact("MaxUnpool with an index outside the output")
    output = np.full(math.prod(shape), constant, X.dtype)
    # Of cells with the same index, the last that is written counts.
    output[indices.reshape(-1)[::-1]] = X.reshape(-1)[::-1]
    return output.reshape(shape)
