"""MaxPool in NumPy, of every type and rank, for the tests of a kit."""

import itertools

import numpy as np


def max_pool(X, attributes, windows, with_indices):
    if windows is None:
        raise ValueError("the document excludes it")
    numbers = np.arange(X.size).reshape(X.shape)
    if attributes.get("storage_order"):
        numbers = numbers.reshape(*X.shape[:2], *X.shape[:1:-1]).transpose(0, 1, *range(X.ndim - 1, 1, -1))
    shape = (*X.shape[:2], *(axis[-1] for axis in windows))
    Y, Indices = np.zeros(shape, X.dtype), np.zeros(shape, np.int64)
    for at in np.ndindex(shape):
        best = None
        for cell in itertools.product(*map(taps, windows, at[2:])):
            cell = at[:2] + cell
            if best is None or X[cell] > X[best]:
                best = cell
        Y[at], Indices[at] = (0, -1) if best is None else (X[best], numbers[best])
    return (Y, Indices) if with_indices else Y


def taps(axis, window):
    """The cells of X in a window of an axis."""
    size, kernel, stride, dilation, before, _, _ = axis
    first = window * stride - before
    return [cell for cell in range(first, first + kernel * dilation, dilation) if 0 <= cell < size]
