"""Attributes and sizes of the wrong axis."""

from scan import per_axis, scan


def _reversed(values):
    return values[::-1]


def _first(values):
    return values[:1] * len(values)


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
