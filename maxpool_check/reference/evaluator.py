"""The same result as :mod:`~maxpool_check.reference.definition`, vectorised.

The maximum is separable: the innermost axis is reduced first, and on each axis a later tap wins only if it is strictly
greater, so the first maximum in row-major order remains. The reduction keeps the position of the cell, not its value; Y
is copied from X at the end, bit by bit.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooled, Pooling

Tap = tuple[int, slice, slice | np.ndarray]
"""A tap of the windows along an axis: its number, the windows that have it, and its position in each."""

Windows = tuple[np.ndarray, Iterable[Tap]]
"""The windows along an axis: which have no tap inside X, and their taps."""


def evaluate(X: np.ndarray, pooling: Pooling) -> Pooled:
    """Pool X, of shape N x C x D1 x ... x Dn."""
    shape = (*X.shape[:2], *pooling.output_sizes)
    # First, so that a result too large for the memory fails before anything is computed.
    empty = np.zeros(shape, bool)
    dtype = pooling.numbering.dtype
    windows = [_windows(axis) for axis in pooling.geometry]
    for dimension, (missing, _) in enumerate(windows, start=2):
        empty |= missing.reshape(-1, *[1] * (X.ndim - 1 - dimension))
    undefined, padding = empty, 0.0
    if pooling.padding_value is not None and empty.any():
        undefined, padding = np.zeros(shape, bool), pooling.padding_value
        for dimension, axis in enumerate(pooling.geometry, start=2):
            undefined[(slice(None),) * dimension + (slice(axis.padded_windows, None),)] = True
        undefined &= empty
    if empty.all():
        maxima = np.where(undefined, 0, padding).astype(X.dtype)
        return Pooled(
            _activated(pooling, maxima, undefined),
            np.full(shape, -1, dtype) if pooling.indices else None,
            empty,
            undefined,
            maxima,
        )

    cells = _chosen(_keys(X, pooling.policies.nan), windows, np.greater)
    maxima = X.reshape(-1).take(cells)
    if pooling.policies.nan is Nan.AS_NEG_INF and is_float(X.dtype):
        maxima[np.isnan(maxima)] = -np.inf
    if empty.any():
        maxima[empty] = padding
        maxima[undefined] = 0
    Y = _activated(pooling, maxima, undefined)
    if not pooling.indices:
        return Pooled(Y, None, empty, undefined, maxima)
    Indices = pooling.numbering.number(cells, X.shape).astype(dtype, copy=False)
    Indices[empty] = -1
    return Pooled(Y, Indices, empty, undefined, maxima)


def _activated(pooling: Pooling, maxima: np.ndarray, undefined: np.ndarray) -> np.ndarray:
    """The function of the maxima, which may have another dtype; 0 where a window has no result."""
    if pooling.activation is None:
        return maxima
    Y = pooling.activation.of(maxima)
    return np.where(undefined, np.zeros((), Y.dtype), Y)


def chosen(X: np.ndarray, pooling: Pooling, *, last: bool = False) -> np.ndarray:
    """The row-major position in X (int64) of the maximum of each window; any cell for an empty window.

    Of equal maxima it is the first, or the ``last``, in row-major order.
    """
    windows = [_windows(axis) for axis in pooling.geometry]
    return _chosen(_keys(X, pooling.policies.nan), windows, np.greater_equal if last else np.greater)


def _chosen(keys: np.ndarray, windows: Sequence[Windows], wins: np.ufunc) -> np.ndarray:
    """The cell of X that each window chooses; a later tap replaces the best so far where it ``wins`` over it."""
    planes, spatial = math.prod(keys.shape[:2]), keys.shape[2:]
    plane = math.prod(spatial)
    # Positions in the plane: they are the same in all planes, and the smallest integers are the fastest.
    cells = np.arange(plane, dtype=np.min_scalar_type(plane - 1)).reshape(1, 1, *spatial)
    for dimension in range(keys.ndim - 1, 1, -1):
        keys, cells = _reduce(keys, cells, dimension, windows[dimension - 2], wins)
    origins = np.arange(0, planes * plane, plane, dtype=np.int64)
    return origins.reshape(*keys.shape[:2], *[1] * len(spatial)) + cells.astype(np.int64)


def _reduce(
    keys: np.ndarray, cells: np.ndarray, dimension: int, windows: Windows, wins: np.ufunc
) -> tuple[np.ndarray, np.ndarray]:
    missing, taps = windows
    shape = (*keys.shape[:dimension], len(missing), *keys.shape[dimension + 1 :])
    # What stays 0 belongs to windows behind X, which are empty.
    best, chosen = np.zeros(shape, keys.dtype), np.zeros(shape, cells.dtype)
    for t, having, positions in taps:
        held, winner = _at(best, having, dimension), _at(chosen, having, dimension)
        candidate, cell = _at(keys, positions, dimension), _at(cells, positions, dimension)
        if t == 0:
            held[...], winner[...] = candidate, cell
            continue
        better = wins(candidate, held)
        np.maximum(held, candidate, out=held)
        # In row-major order the cell of a later tap has a greater number than those of all before it.
        np.maximum(winner, cell * better, out=winner)
    return best, chosen


_FEW = 256


def _windows(axis: Axis) -> Windows:
    # Many cases have the same axes. Long tables are not cached: they would cost more memory than they save time.
    return _kept(axis) if axis.output * axis.kernel <= _FEW else (axis.taps()[1] == 0, _taps(axis))


@lru_cache(1024)
def _kept(axis: Axis) -> Windows:
    return axis.taps()[1] == 0, tuple(_taps(axis))


def _taps(axis: Axis) -> Iterator[Tap]:
    inner = min(axis.output, max(0, -(-axis.begin // axis.stride)))
    if inner:
        # Windows that begin before X. A missing tap repeats the first, which makes no difference. An empty window uses
        # position 0; the caller discards its result.
        first, count = replace(axis, output=inner).taps()
        for t in range(max(1, int(count.max()))):
            yield t, slice(inner), np.where(t < count, first + t * axis.dilation, first) if t else first
    # The other windows are a stride apart, and the first of them have the tap.
    for t in range(axis.kernel):
        at = axis.start(inner) + t * axis.dilation
        windows = min(axis.output - inner, -((at - axis.size) // axis.stride))
        if windows < 1:
            break
        yield t, slice(inner, inner + windows), slice(at, at + (windows - 1) * axis.stride + 1, axis.stride)


def _at(values: np.ndarray, positions: slice | np.ndarray, dimension: int) -> np.ndarray:
    """The part of an array at these positions of an axis: a view if they are a slice."""
    if isinstance(positions, slice):
        return values[(slice(None),) * dimension + (positions,)]
    return values.take(positions, dimension)


def _keys(X: np.ndarray, nan: Nan) -> np.ndarray:
    """Values that compare with ``>`` as the cells of X do under a interpretation of NaN."""
    if not is_float(X.dtype):
        return X
    nans = np.isnan(X)
    if not nans.any():
        return X.astype(np.float32) if X.dtype.itemsize == 2 else X
    # As integers: the magnitude of the bits with the sign of the value, so that -0 equals +0 and there is room below
    # -inf and above +inf.
    pattern = np.ascontiguousarray(X).view(f"i{X.dtype.itemsize}").astype(np.int64)
    keys = np.where(pattern < 0, -(1 << 8 * X.dtype.itemsize - 1) - pattern, pattern)
    infinity = int(bits(np.array([np.inf], X.dtype))[0])
    keys[nans] = {
        # Less than -inf: a NaN that counts as -inf in Y is no cell that equals Y.
        Nan.AS_NEG_INF: -infinity - 1,
        Nan.IGNORED: -infinity - 1,
        Nan.UNSPECIFIED: -infinity - 1,
        Nan.PROPAGATES: infinity + 1,
        Nan.PROPAGATES_FIRST: infinity + 1,
        # A later NaN has the greater key.
        Nan.PROPAGATES_LAST: infinity + 1 + np.flatnonzero(nans),
    }[nan]
    return keys
