"""Wrong in some numbers of spatial axes only."""

import numpy as np
from scan import per_axis, scan, seeded


def _only(X, attributes, rank, wrong):
    return wrong(X, attributes) if X.ndim - 2 == rank else scan(X, attributes)


def one_axis_in_the_plane(X, attributes):
    """Counts in each plane where there is one axis. Plausible: a branch of its own."""

    def wrong(X, attributes):
        Y, Indices = scan(X, attributes)
        return Y, Indices % max(X.shape[-1], 1)

    return _only(X, attributes, 1, wrong)


def one_axis_starts_from_lowest(X, attributes):
    """Starts from the lowest finite value where there is one axis. Seen: ONNX Runtime without Indices."""
    return _only(
        X, attributes, 1, lambda X, a: seeded(X, a, np.finfo(np.float32).min) if X.dtype == "f4" else scan(X, a)
    )


def depth_is_not_dilated(X, attributes):
    """Takes the dilation of the first of three axes for 1. Plausible: code for images in a loop."""
    return _only(
        X, attributes, 3, lambda X, a: scan(X, per_axis(a, "dilations", lambda v: [min(1, v[0]), *v[1:]] if v else v))
    )


def depth_has_no_pads(X, attributes):
    """Takes the pads of the first of three axes for 0. Plausible: code for images in a loop."""
    return _only(
        X,
        attributes,
        3,
        lambda X, a: scan(X, per_axis(a, "pads", lambda v: [0, *v[1:]] if len(v) == 3 and min(v) >= 0 else v)),
    )


def four_axes_are_refused(X, attributes):
    """Refuses four spatial axes. Seen: ONNX Runtime 1.31.1."""
    if X.ndim > 5:
        raise NotImplementedError("rank")
    return scan(X, attributes)


def four_axes_forget_the_first(X, attributes):
    """Does not pool the first of four axes. Plausible: a loop over three."""
    if X.ndim != 6:
        return scan(X, attributes)
    return scan(X, per_axis(attributes, "kernel_shape", lambda values: [1, *values[1:]]))


def storage_order_of_one_axis_is_refused(X, attributes):
    """Refuses storage_order 1 where there is one axis. Plausible: it says nothing there."""
    if X.ndim == 3 and attributes["storage_order"] == 1:
        raise NotImplementedError("storage_order")
    return scan(X, attributes)
