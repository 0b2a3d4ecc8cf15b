"""Batches and channels."""

import numpy as np
from scan import scan


def first_batch_only(X, attributes):
    """Gives the first batch for all. Plausible: a pointer that is not moved."""
    Y, Indices = scan(X, attributes)
    if X.shape[0] > 1:
        Y[1:], Indices[1:] = Y[:1], Indices[:1]
    return Y, Indices


def batches_and_channels_exchanged(X, attributes):
    """Reads N x C as C x N. Plausible: a stride of the wrong axis."""
    if X.ndim < 3 or not X.size:
        return scan(X, attributes)
    return scan(np.ascontiguousarray(X.reshape(X.shape[1], X.shape[0], *X.shape[2:]).swapaxes(0, 1)), attributes)


def output_is_c_by_n(X, attributes):
    """Gives the output as C x N x .... Plausible: a permutation."""
    Y, Indices = scan(X, attributes)
    return np.swapaxes(Y, 0, 1), np.swapaxes(Indices, 0, 1)


def channels_last_taken_for_first(X, attributes):
    """Reads X as N x D1 x ... x Dn x C, in the shape it should have. Plausible: a layout that nobody changed."""
    if X.ndim < 3 or not X.size:
        return scan(X, attributes)
    return scan(np.ascontiguousarray(np.moveaxis(X.reshape(X.shape[0], *X.shape[2:], X.shape[1]), -1, 1)), attributes)


def no_batch_is_refused(X, attributes):
    """Refuses X without a cell. Seen: OpenVINO 2026.4.1 refuses N = 0 and C = 0."""
    if X.size == 0:
        raise ValueError("empty")
    return scan(X, attributes)


def no_batch_is_one(X, attributes):
    """Gives one batch, or one channel, where there is none. Plausible: max(1, size)."""
    Y, Indices = scan(X, attributes)
    if X.size:
        return Y, Indices
    shape = [max(1, size) for size in Y.shape]
    return np.zeros(shape, Y.dtype), np.zeros(shape, np.int64)


def no_batch_keeps_the_shape(X, attributes):
    """Gives the shape of X where X has no cell. Plausible: returning early."""
    Y, Indices = scan(X, attributes)
    return (Y, Indices) if X.size else (X, np.zeros(X.shape, np.int64))
