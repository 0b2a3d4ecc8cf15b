"""Attributes and sizes of the wrong axis."""

import numpy as np
from scan import per_axis, scan


def _reversed(values):
    return values[::-1]


def _first(values):
    return values[:1] * len(values)


def _last(values):
    return values[-1:] * len(values)


def kernels_exchanged(X, attributes):
    """Takes the kernel of the axes in reverse. Plausible: width and height."""
    return scan(X, per_axis(attributes, "kernel_shape", _reversed))


def strides_exchanged(X, attributes):
    """Takes the strides of the axes in reverse. Seen: the text of SONNX."""
    return scan(X, per_axis(attributes, "strides", _reversed))


def dilations_exchanged(X, attributes):
    """Takes the dilations of the axes in reverse. Plausible: width and height."""
    return scan(X, per_axis(attributes, "dilations", _reversed))


def first_stride_for_all(X, attributes):
    """Takes the first stride for all axes. Plausible: XMOS and others had one stride."""
    return scan(X, per_axis(attributes, "strides", _first))


def first_dilation_for_all(X, attributes):
    """Takes the first dilation for all axes. Seen: tracel-ai/burn#4466, in the gradient."""
    return scan(X, per_axis(attributes, "dilations", _first))


def last_dilation_for_all(X, attributes):
    """Takes the last dilation for all axes. Plausible: a loop that keeps its last value."""
    return scan(X, per_axis(attributes, "dilations", _last))


def output_is_transposed_in_place(X, attributes):
    """Gives a square output with its last two axes exchanged. Plausible: the shape hides it."""
    Y, Indices = scan(X, attributes)
    if X.ndim < 4 or Y.shape[-1] != Y.shape[-2]:
        return Y, Indices
    return np.swapaxes(Y, -1, -2), np.swapaxes(Indices, -1, -2)


def first_spatial_axis_is_not_pooled(X, attributes):
    """Pools the last two of three axes only. Plausible: code for images in a loop over the planes."""
    if X.ndim != 5 or X.size == 0:
        return scan(X, attributes)
    attributes = per_axis(attributes, "kernel_shape", lambda values: [1, *values[1:]])
    return scan(X, attributes)
