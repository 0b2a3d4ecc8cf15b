"""Dilations."""

import numpy as np
from scan import per_axis, scan


def ignored(X, attributes):
    """Takes every dilation for 1. Seen: tract before sonos/tract#2847."""
    return scan(X, per_axis(attributes, "dilations", lambda values: [min(value, 1) for value in values]))


def in_the_size_only(X, attributes):
    """Has the dilated number of windows over cells side by side. Seen: xboot/libonnx#24, CanReader/FastNN#4."""

    def table(axis):
        return np.arange(axis.output)[:, None] * axis.stride - axis.begin + np.arange(axis.kernel)

    return scan(X, attributes, table=table)


def loses_its_phase_at_the_border(X, attributes):
    """Starts at the first cell of X where the window begins in the padding.

    Plausible: max(0, start), then steps of d.
    """

    def table(axis):
        start = np.maximum(0, np.arange(axis.output) * axis.stride - axis.begin)
        return start[:, None] + np.arange(axis.kernel) * axis.dilation

    def inside(position, axis):
        stop = np.arange(axis.output) * axis.stride - axis.begin + (axis.kernel - 1) * axis.dilation + 1
        return (position < axis.size) & (position < stop[:, None])

    return scan(X, attributes, table=table, inside=inside)


def drops_windows_past_the_end(X, attributes):
    """Looks at the first tap only where the dilated window reaches into the end padding.

    Plausible: a bound for all taps.
    """

    def inside(position, axis):
        kept = (position >= 0) & (position < axis.size)
        if axis.dilation > 1:
            late = (position[:, -1] >= axis.size) & (position[:, 0] >= 0) & (position[:, 0] < axis.size)
            kept[late, 1:] = False
        return kept

    return scan(X, attributes, inside=inside)
