"""Blocks, tiles and counters that small tensors do not fill."""

from math import prod

import numpy as np
from scan import changed, first_maximum, has_pads, per_axis, scan


def channels_behind_64(X, attributes):
    """Leaves the channels behind the first 64 unwritten. Plausible: a block of 64 without a remainder."""
    Y, Indices = scan(X, attributes)
    Y[:, 64:] = 0
    return Y, Indices


def the_channel_behind_blocks_of_8(X, attributes):
    """Repeats the channel before where one remains behind whole eights. Plausible: the remainder of a block."""
    Y, Indices = scan(X, attributes)
    if X.shape[1] > 8 and X.shape[1] % 8 == 1:
        Y[:, -1] = Y[:, -2]
    return Y, Indices


def batches_behind_4(X, attributes):
    """Repeats the fourth item where a batch has more. Plausible: a batch unrolled by four."""
    Y, Indices = scan(X, attributes)
    Y[4:] = Y[3:4]
    return Y, Indices


def planes_behind_256(X, attributes):
    """Counts planes with 8 bits: the offset of plane 256 is that of plane 0. Plausible: a counter of few bits."""
    Y, Indices = scan(X, attributes)
    planes = np.arange(prod(X.shape[:2])).reshape(*X.shape[:2], *[1] * (X.ndim - 2))
    return Y, Indices - planes // 256 * 256 * prod(X.shape[2:])


def five_axes_share_the_last_stride(X, attributes):
    """Takes the stride and the dilation of the fourth axis for the fifth. Plausible: arrays of four entries."""
    if X.ndim != 7:
        return scan(X, attributes)
    for name in ("strides", "dilations"):
        attributes = per_axis(attributes, name, lambda values: [*values[:4], *values[3:4]])
    return scan(X, attributes)


def five_axes_forget_the_fifth(X, attributes):
    """Does not pool the fifth spatial axis. Plausible: a loop over four."""
    return scan(X, per_axis(attributes, "kernel_shape", lambda values: [*values[:4], 1]) if X.ndim == 7 else attributes)


def fourth_axis_has_no_pads(X, attributes):
    """Takes the pads of the fourth spatial axis for 0. Plausible: arrays of three entries."""
    return scan(X, per_axis(attributes, "pads", lambda values: [*values[:3], *[0] * len(values[3:])]))


def four_axes_by_rows(X, attributes):
    """Ignores storage_order 1 with four spatial axes. Plausible: written for two and three."""
    return scan(X, changed(attributes, storage_order=0) if X.ndim == 6 else attributes)


def one_tap_before_the_image(X, attributes):
    """Starts windows one dilation after their first tap at most, not at the first tap inside. Plausible: "if", not "while"."""

    def inside(position, axis):
        # What still lies before X after one step is read from the first cell.
        return (np.arange(axis.kernel) > 0) & (position < axis.size) & (axis.dilation > 1) | (
            (position >= 0) & (position < axis.size)
        )

    return scan(X, attributes, inside=inside)


def _behind(X, attributes, axis, rank, count):
    """Never reads the last cells of an axis with more than so many, where there are ``rank`` axes."""
    if X.ndim - 2 != rank or X.shape[axis] < count:
        return scan(X, attributes)
    order = list(range(rank))

    def inside(position, spatial):
        kept = (position >= 0) & (position < spatial.size)
        return kept & (position < spatial.size - 1) if order.pop(0) == rank + axis else kept

    return scan(X, attributes, inside=inside)


def rows_behind_63(X, attributes):
    """Never reads the last of 64 rows or more. Plausible: a tile of 64 rows, one less."""
    return _behind(X, attributes, -2, 2, 64)


def slices_behind_31(X, attributes):
    """Never reads the last of 32 slices or more. Plausible: a tile of 32 slices, one less."""
    return _behind(X, attributes, -3, 3, 32)


def columns_behind_1023(X, attributes):
    """Never reads the last of 1024 columns or more. Plausible: a tile of 1024 columns, one less."""
    return _behind(X, attributes, -1, 2, 1024)


def pads_of_less_than_two_kernels(X, attributes):
    """Clips pads to twice the kernel less one. Plausible: a border buffer of that size."""
    if not has_pads(attributes):
        return scan(X, attributes)
    most = [2 * kernel - 1 for kernel in attributes["kernel_shape"]] * 2
    clipped = [min(pad, limit) for pad, limit in zip(attributes["pads"], most, strict=False)]
    return scan(X, changed(attributes, pads=clipped) if len(clipped) == len(attributes["pads"]) else attributes)


def windows_of_more_than_65535(X, attributes):
    """Names the tap by 16 bits: the wrong cell of windows with more than 65,536 taps. Plausible: a counter of few bits."""

    def pick(values, inside):
        return first_maximum(values, inside) & 0xFFFF

    return scan(X, attributes, pick=pick)


def three_by_three_at_odd_heights(X, attributes):
    """Never reads the last of an odd number of rows for 3 x 3, stride 2, pads 1. Plausible: two rows at a time."""
    special = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1]}
    fits = X.ndim == 4 and X.shape[2] % 2 and X.shape[2] > 3
    fits = fits and all(attributes[name] == value for name, value in special.items())
    return _behind(X, attributes, -2, 2, 0) if fits else scan(X, attributes)


def indices_in_float32(X, attributes):
    """Computes Indices in float32: above 2^24 every odd one is rounded. Plausible: a runtime of floats only."""
    Y, Indices = scan(X, attributes)
    return Y, Indices.astype(np.float32).astype(np.int64)
