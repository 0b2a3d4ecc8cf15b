"""The same answer as :mod:`~maxpool_check.reference.definition`, vectorised.

The maximum is separable: the innermost axis is reduced first, and on each axis a later tap wins only if it is strictly
greater, so the first maximum in row-major order remains. What is carried along is the position of the cell, never its
value; Y is copied from X at the end, bit by bit.
"""

from __future__ import annotations

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooled, Pooling


def evaluate(X: np.ndarray, pooling: Pooling) -> Pooled:
    """Pool X, of shape N x C x D1 x ... x Dn."""
    shape = (*X.shape[:2], *pooling.output_sizes)
    # First of all, so that an answer too large for the memory is refused before anything is worked out.
    empty = np.zeros(shape, bool)
    dtype = pooling.numbering.dtype
    taps = [axis.taps() for axis in pooling.geometry]
    for dimension, (_, count) in enumerate(taps, start=2):
        empty |= (count == 0).reshape(-1, *[1] * (len(shape) - 1 - dimension))
    if empty.all():
        nothing = np.zeros(shape, X.dtype)
        return Pooled(nothing, np.full(shape, -1, dtype) if pooling.indices else None, empty, nothing)

    keys = _keys(X, pooling.policies.nan)
    cells = np.arange(X.size, dtype=np.int64).reshape(X.shape)
    for dimension in range(X.ndim - 1, 1, -1):
        keys, cells = _reduce(keys, cells, dimension, pooling.geometry[dimension - 2], *taps[dimension - 2])

    maxima = X.reshape(-1).take(cells)
    if pooling.policies.nan is Nan.AS_NEG_INF and is_float(X.dtype):
        maxima[np.isnan(maxima)] = -np.inf
    maxima[empty] = 0
    Y = maxima if pooling.activation is None else np.where(empty, maxima, pooling.activation.of(maxima))
    if not pooling.indices:
        return Pooled(Y, None, empty, maxima)
    Indices = np.where(empty, -1, pooling.numbering.number(cells, X.shape)).astype(dtype, copy=False)
    return Pooled(Y, Indices, empty, maxima)


def _reduce(
    keys: np.ndarray, cells: np.ndarray, dimension: int, axis: Axis, first: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    # A tap that a window does not have repeats its first one, which is never greater than itself. An empty window
    # looks at position 0; the caller discards what it finds.
    best, chosen = keys.take(first, dimension), cells.take(first, dimension)
    for t in range(1, int(count.max())):
        position = np.where(t < count, first + t * axis.dilation, first)
        candidate = keys.take(position, dimension)
        greater = candidate > best
        best = np.where(greater, candidate, best)
        chosen = np.where(greater, cells.take(position, dimension), chosen)
    return best, chosen


def _keys(X: np.ndarray, nan: Nan) -> np.ndarray:
    """Values that compare with ``>`` as the cells of X do under a reading of NaN."""
    if not is_float(X.dtype):
        return X
    nans = np.isnan(X)
    if not nans.any():
        return X.astype(np.float32) if X.dtype.itemsize == 2 else X
    # As integers: the magnitude of the bits with the sign of the value, so that -0 equals +0 and there is room below
    # -inf and above +inf.
    pattern = bits(X)
    sign = pattern >> (8 * X.dtype.itemsize - 1)
    magnitude = (pattern & ~(np.ones((), pattern.dtype) << (8 * X.dtype.itemsize - 1))).astype(np.int64)
    keys = np.where(sign == 1, -magnitude, magnitude)
    infinity = int(bits(np.array([np.inf], X.dtype))[0])
    keys[nans] = {
        Nan.AS_NEG_INF: -infinity,
        Nan.IGNORED: -infinity - 1,
        Nan.UNSPECIFIED: -infinity - 1,
        Nan.PROPAGATES: infinity + 1,
        Nan.PROPAGATES_FIRST: infinity + 1,
        # A later NaN has the greater key.
        Nan.PROPAGATES_LAST: infinity + 1 + np.flatnonzero(nans),
    }[nan]
    return keys
