"""storage_order."""

from math import prod

import numpy as np
from scan import changed, check, scan


def _by_columns(X, attributes, of):
    """The right answer, where storage_order is 1 with ``of(offsets, planes, shape)`` for the numbers."""
    if attributes["storage_order"] != 1:
        return scan(X, attributes)
    return scan(X, attributes, number=lambda offsets, planes, shape, rest: of(offsets, planes, shape))


def ignored(X, attributes):
    """Counts along the rows always.

    Seen: OpenVINO before openvinotoolkit/openvino#33833, tract before sonos/tract#2860.
    """
    return scan(X, changed(attributes, storage_order=0) if attributes["storage_order"] == 1 else attributes)


def last_two_axes_only(X, attributes):
    """Exchanges the last two axes only where there are three or more. Plausible: code for images."""

    def of(offsets, planes, shape):
        at = np.unravel_index(offsets, shape[2:])
        at, sizes = (*at[:-2], at[-1], at[-2]), (*shape[2:-2], shape[-1], shape[-2])
        return np.ravel_multi_index(at, sizes) + planes * prod(shape[2:])

    return _by_columns(X, attributes, of) if X.ndim > 4 and X.size else scan(X, attributes)


def first_two_axes_only(X, attributes):
    """Exchanges the first two axes only where there are three or more. Plausible: H and D mixed up."""

    def of(offsets, planes, shape):
        at = np.unravel_index(offsets, shape[2:])
        at, sizes = (at[1], at[0], *at[2:]), (shape[3], shape[2], *shape[4:])
        return np.ravel_multi_index(at, sizes) + planes * prod(shape[2:])

    return _by_columns(X, attributes, of) if X.ndim > 4 and X.size else scan(X, attributes)


def of_the_whole_tensor(X, attributes):
    """Lets the batch run fastest, then the channel. Plausible: column-major taken for the whole tensor."""

    def of(offsets, planes, shape):
        at = (planes // shape[1], planes % shape[1], *np.unravel_index(offsets, shape[2:]))
        return np.ravel_multi_index(np.broadcast_arrays(*at), shape, order="F")

    return _by_columns(X, attributes, of) if X.size else scan(X, attributes)


def transposes_the_output(X, attributes):
    """Gives Y and Indices transposed where storage_order is 1. Plausible: the attribute taken for the layout."""
    Y, Indices = scan(X, attributes)
    if attributes["storage_order"] == 0 or X.ndim != 4 or Y.shape[2] != Y.shape[3]:
        return Y, Indices
    return np.swapaxes(Y, 2, 3), np.swapaxes(Indices, 2, 3)


def columns_always(X, attributes):
    """Counts down the columns always. Plausible: a library of Fortran or MATLAB."""
    check(X, attributes)
    return scan(X, {**attributes, "storage_order": 1})
