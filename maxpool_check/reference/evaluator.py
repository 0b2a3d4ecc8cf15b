"""The same answer as :mod:`~maxpool_check.reference.definition`, vectorised.

The maximum is separable: the innermost axis is reduced first, and on each axis a later tap wins only if it is strictly
greater, so the first maximum in row-major order remains. What is carried along is the position of the cell, never its
value; Y is copied from X at the end, bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooled, Pooling

Taps = tuple[np.ndarray, np.ndarray]
"""Of each window along one axis: the first position inside X, and how many there are; as of :meth:`Axis.taps`."""


def evaluate(X: np.ndarray, pooling: Pooling) -> Pooled:
    """Pool X, of shape N x C x D1 x ... x Dn."""
    shape = (*X.shape[:2], *pooling.output_sizes)
    # First of all, so that an answer too large for the memory is refused before anything is worked out.
    empty = np.zeros(shape, bool)
    dtype = pooling.numbering.dtype
    taps = [_table(axis) if axis.output <= _FEW else axis.taps() for axis in pooling.geometry]
    for dimension, (_, count) in enumerate(taps, start=2):
        empty |= _along(count == 0, dimension, X.ndim)
    if empty.all():
        nothing = np.zeros(shape, X.dtype)
        return Pooled(nothing, np.full(shape, -1, dtype) if pooling.indices else None, empty, nothing)

    cells = _chosen(_keys(X, pooling.policies.nan), pooling, taps)
    maxima = X.reshape(-1).take(cells)
    if pooling.policies.nan is Nan.AS_NEG_INF and is_float(X.dtype):
        maxima[np.isnan(maxima)] = -np.inf
    maxima[empty] = 0
    Y = maxima if pooling.activation is None else np.where(empty, maxima, pooling.activation.of(maxima))
    if not pooling.indices:
        return Pooled(Y, None, empty, maxima)
    Indices = pooling.numbering.number(cells, X.shape).astype(dtype, copy=False)
    Indices[empty] = -1
    return Pooled(Y, Indices, empty, maxima)


def _chosen(keys: np.ndarray, pooling: Pooling, taps: Sequence[Taps]) -> np.ndarray:
    """The cell of X, in row-major order, that each window chooses; any cell for an empty one."""
    planes, spatial = math.prod(keys.shape[:2]), keys.shape[2:]
    plane = math.prod(spatial)
    # Counted in each plane: the numbers are the same in all of them, and the smallest integers are the fastest.
    cells = np.arange(plane, dtype=np.min_scalar_type(plane - 1)).reshape(1, 1, *spatial)
    for dimension in range(keys.ndim - 1, 1, -1):
        keys, cells = _reduce(keys, cells, dimension, pooling.geometry[dimension - 2], *taps[dimension - 2])
    origins = np.arange(0, planes * plane, plane, dtype=np.int64)
    return origins.reshape(*keys.shape[:2], *[1] * len(spatial)) + cells.astype(np.int64)


_FEW = 256


@lru_cache(1024)
def _table(axis: Axis) -> Taps:
    # The axes of many cases are alike. Long tables are not kept: they would take more memory than time.
    return axis.taps()


def _reduce(
    keys: np.ndarray, cells: np.ndarray, dimension: int, axis: Axis, first: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    shape = (*keys.shape[:dimension], axis.output, *keys.shape[dimension + 1 :])
    # What stays 0 belongs to windows behind X, which are empty.
    best, chosen = np.zeros(shape, keys.dtype), np.zeros(shape, cells.dtype)
    for t, windows, positions in _taps(axis, first, count):
        held, winner = _at(best, windows, dimension), _at(chosen, windows, dimension)
        candidate, cell = _at(keys, positions, dimension), _at(cells, positions, dimension)
        if t == 0:
            held[...], winner[...] = candidate, cell
            continue
        greater = candidate > held
        np.maximum(held, candidate, out=held)
        # In row-major order the cell of a later tap has a greater number than those of all before it.
        np.maximum(winner, cell * greater, out=winner)
    return best, chosen


def _taps(axis: Axis, first: np.ndarray, count: np.ndarray) -> Iterator[tuple[int, slice, slice | np.ndarray]]:
    """Tap by tap: its number, the windows that have it, and its position in each."""
    inner = min(axis.output, max(0, -(-axis.begin // axis.stride)))
    if inner:
        # Windows that begin before X. A tap that one does not have repeats its first, which is never greater than
        # itself. An empty window looks at position 0; the caller discards what it finds.
        first, count = first[:inner], count[:inner]
        for t in range(max(1, int(count.max()))):
            yield t, slice(inner), np.where(t < count, first + t * axis.dilation, first) if t else first
    # The others are as far apart as the stride says, and those that have a tap are the first ones.
    for t in range(axis.kernel):
        at = axis.start(inner) + t * axis.dilation
        windows = min(axis.output - inner, -((at - axis.size) // axis.stride))
        if windows < 1:
            break
        yield t, slice(inner, inner + windows), slice(at, at + (windows - 1) * axis.stride + 1, axis.stride)


def _at(values: np.ndarray, positions: slice | np.ndarray, dimension: int) -> np.ndarray:
    """The part of an array that has these positions on one axis: a view, if they are a slice."""
    if isinstance(positions, slice):
        return values[(slice(None),) * dimension + (positions,)]
    return values.take(positions, dimension)


def _along(values: np.ndarray, dimension: int, dimensions: int) -> np.ndarray:
    return values.reshape(-1, *[1] * (dimensions - 1 - dimension))


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
