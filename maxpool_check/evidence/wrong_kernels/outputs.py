"""The outputs as a whole, memory, and what was asked before."""

import numpy as np
from nans import propagates
from scan import last_maximum, positions, scan

_BEFORE = {}
_LAST = {}


def kernels_that_disagree_on_nan(X, attributes):
    """Lets NaN propagate in Y and drops it for Indices. Seen: kernels with and without Indices, of ONNX Runtime."""
    return propagates(X, attributes)[0], scan(X, attributes)[1]


def kernels_that_disagree_on_ties(X, attributes):
    """Copies Y from the first maximum and names the last. Plausible: two kernels."""
    return scan(X, attributes)[0], scan(X, attributes, pick=last_maximum)[1]


def answer_of_the_same_shape_again(X, attributes):
    """Gives the answer to the last question with X and attributes of the same shapes. Plausible: a cache by shape."""
    key = (X.shape, X.dtype.name, repr(attributes))
    if key not in _BEFORE:
        _BEFORE[key] = scan(X, attributes)
    return _BEFORE[key]


def _into_the_next_row(X, attributes, side):
    last = X.ndim - 3

    def inside(position, axis):
        if inside.axis.pop(0) != last:
            return (position >= 0) & (position < axis.size)
        return position >= 0 if side > 0 else position < axis.size

    def cell(position, axis):
        return position if cell.axis.pop(0) == last else np.clip(position, 0, max(axis.size - 1, 0))

    inside.axis, cell.axis = list(range(X.ndim - 2)), list(range(X.ndim - 2))
    Y, _ = scan(X, attributes, inside=inside, cell=cell, number=lambda offsets, *rest: offsets)
    return Y, scan(X, attributes)[1]


def reads_into_the_next_row(X, attributes):
    """Reads beyond the end of a row where the window reaches into the end padding.

    Plausible: no bound on the last axis.
    """
    return _into_the_next_row(X, attributes, 1)


def last_window_reads_out_of_bounds(X, attributes):
    """Lets the last window of an axis begin one cell later. Plausible: an end that is one too far."""

    def table(axis):
        table_of_taps = positions(axis)
        if axis.output > 1:
            table_of_taps[-1] += 1
        return table_of_taps

    return scan(X, attributes, table=table)


def y_is_float32(X, attributes):
    """Gives Y in float32, whatever the type of X. Plausible: one type for all results."""
    Y, Indices = scan(X, attributes)
    return Y.astype(np.float32), Indices


def indices_are_a_list(X, attributes):
    """Gives Indices on one axis. Plausible: "flatten 1-D" taken for the shape of the output."""
    Y, Indices = scan(X, attributes)
    return Y, Indices.reshape(-1)


def y_alone_lacks_the_last_column(X, attributes):
    """Leaves the last column of Y at 77 where the same is wanted again, as it is for Y alone.

    Plausible: a kernel of its own for Y alone, without the tail of a row.
    """
    Y, Indices = scan(X, attributes)
    key = (X.tobytes(), X.shape, repr(attributes))
    is_again = _LAST.get("key") == key
    _LAST["key"] = None if is_again else key
    if is_again:
        Y[..., -1:] = 77
    return Y, Indices
