"""Which cell each window of a part chooses: one axis after the other, on keys that compare as the cells do.

The maximum is separable: the innermost axis is reduced first, and on each axis later taps win only if they are strictly
greater, so the first maximum in row-major order remains. A reduction keeps the positions of the cells beside their keys.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.parts import Part, has_gaps
from maxpool_check.reference.policies import Nan

Wins = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Where the keys of later taps win over the best so far."""

Tap = tuple[int, slice, slice | np.ndarray]
"""A tap of the windows along an axis: its number, the windows that have it, and its position in each."""


def chosen_cells(part: Part, nan: Nan, wins: Wins, taps: int) -> np.ndarray:
    """The positions in the whole X (int64) of what the windows of a part choose: any cell, if they have none.

    ``wins`` is ``np.greater`` for the first of equal maxima, ``np.greater_equal`` for the last. As many comparisons tap by tap
    cost what one by doubling does as ``taps`` says.
    """
    X, geometry, plane = part.X, list(part.geometry), part.X[0].size
    shape = (len(X), *(axis.output for axis in geometry))
    origins = np.arange(part.origin, part.origin + X.size, plane).reshape(-1, *[1] * len(geometry))
    if wins is np.greater and nan is not Nan.PROPAGATES_LAST and all(map(_is_whole, geometry)):
        return _keys(X, nan).reshape(len(X), plane).argmax(1).reshape(shape) + origins
    # Positions in the plane: they are the same in all planes, and the smallest integers are the fastest.
    cells = np.arange(plane, dtype=np.min_scalar_type(plane - 1)).reshape(1, *X.shape[1:])
    for dimension, axis in enumerate(part.geometry, start=1):
        if has_gaps(axis):
            used, geometry[dimension - 1] = _without_gaps(axis)
            X, cells = X.take(used, dimension), cells.take(used, dimension)
    keys = _keys(X, nan)
    if nan is Nan.PROPAGATES_LAST and wins is np.greater and keys.dtype != X.dtype:
        wins = _wins_or_is_nan
    outer, inner = math.prod(axis.size for axis in geometry), 1
    for axis in reversed(geometry):
        outer //= axis.size
        of_axis = (-1, outer, axis.size, inner)
        most = min(axis.kernel, -(-axis.size // axis.dilation))
        # Tap by tap it takes most - 1 comparisons of each window, by doubling about log2(most) of each cell.
        by_taps = (most - 1) * axis.output <= taps * most.bit_length() * axis.size
        reduce = _by_taps if by_taps else _by_doubling
        keys, cells = reduce(keys.reshape(of_axis), cells.reshape(of_axis), axis, wins)
        inner *= axis.output
    return cells.reshape(shape).astype(np.int64) + origins


def _is_whole(axis: Axis) -> bool:
    """Whether the only window of an axis has all of its cells."""
    return axis.output == 1 and axis.begin >= 0 and axis.dilation == 1 and axis.reach >= axis.size


# The parts of one X have the same few.
@lru_cache(8)
def _without_gaps(axis: Axis) -> tuple[np.ndarray, Axis]:
    """The positions that the windows of an axis have, in order, and the axis of these positions alone."""
    first, count = axis.taps()
    if not count.any():
        return np.arange(axis.size), axis
    tap, k = np.arange(count.max()), axis.kernel
    used = (first[:, np.newaxis] + tap * axis.dilation)[tap < count[:, np.newaxis]]
    i = int(np.argmax(count > 0))
    return used, Axis(len(used), k, k, 1, i * k + axis.outside(i)[0], 0, axis.output)


def _by_taps(keys: np.ndarray, cells: np.ndarray, axis: Axis, wins: Wins) -> tuple[np.ndarray, np.ndarray]:
    """The best key of each window along the third of four dimensions, and its cell: one tap after the other."""
    planes, outer, _, inner = keys.shape
    # What stays 0 belongs to windows behind X, which are empty.
    best = np.zeros((planes, outer, axis.output, inner), keys.dtype)
    chosen = np.zeros(best.shape, cells.dtype)
    for t, having, positions in _windows(axis):
        held, winner = best[:, :, having], chosen[:, :, having]
        if isinstance(positions, slice):
            candidate, cell = keys[:, :, positions], cells[:, :, positions]
        else:
            candidate, cell = keys.take(positions, 2), cells.take(positions, 2)
        if t == 0:
            held[...], winner[...] = candidate, cell
        else:
            # Neighbours in memory compare so much faster that the copy pays.
            _keep_better(held, winner, np.ascontiguousarray(candidate), np.ascontiguousarray(cell), wins)
    return best, chosen


def _by_doubling(keys: np.ndarray, cells: np.ndarray, axis: Axis, wins: Wins) -> tuple[np.ndarray, np.ndarray]:
    """The same, from the best of 1, 2, 4 ... taps from each cell on. A window is two such runs, which may overlap."""
    planes, outer, _, inner = shape = keys.shape
    best = np.zeros((planes, outer, axis.output, inner), keys.dtype)
    chosen = np.zeros(best.shape, cells.dtype)
    # All rows as one. A run that leaves its row is longer than what is left of the row: no window has it.
    keys, cells = keys.flatten(), np.broadcast_to(cells, shape).flatten()
    first, count = axis.taps()
    # An empty window takes any cell.
    count = np.maximum(count, 1)
    run = 1
    while True:
        windows = np.flatnonzero((run <= count) & (count < 2 * run))
        if windows.size:
            begin = first[windows]
            end = begin + (count[windows] - run) * axis.dilation
            runs, places = keys.reshape(shape), cells.reshape(shape)
            held, winner = runs.take(begin, 2), places.take(begin, 2)
            _keep_better(held, winner, runs.take(end, 2), places.take(end, 2), wins)
            best[:, :, windows], chosen[:, :, windows] = held, winner
        if 2 * run > count.max():
            return best, chosen
        step = run * axis.dilation * inner
        _keep_better(keys[:-step], cells[:-step], keys[step:], cells[step:], wins)
        run *= 2


def _keep_better(held: np.ndarray, winner: np.ndarray, candidate: np.ndarray, cell: np.ndarray, wins: Wins) -> None:
    """Replace the best keys so far, ``held``, and their cells where those of later taps win over them."""
    better = wins(candidate, held)
    np.maximum(held, candidate, out=held)
    # In row-major order the cell of a later tap has a greater number than those of all before it.
    np.maximum(winner, cell * better, out=winner)


def _wins_or_is_nan(candidate: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Where a later key is greater, or that of a NaN; keys as :func:`_keys` makes them where X has a NaN."""
    wins: np.ndarray = (candidate > held) | (candidate == np.iinfo(candidate.dtype).max)
    return wins


_FEW = 256


def _windows(axis: Axis) -> Iterable[Tap]:
    # Many cases have the same axes. Long tables are not cached: they would cost more memory than they save time.
    return _kept(axis) if axis.output * axis.kernel <= _FEW else _taps(axis)


@lru_cache(1024)
def _kept(axis: Axis) -> tuple[Tap, ...]:
    return tuple(_taps(axis))


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


def _keys(X: np.ndarray, nan: Nan) -> np.ndarray:
    """Values that compare with ``>`` as the cells of X do under an interpretation of NaN.

    The keys of NaN are equal: the largest integer where they propagate, and the smallest otherwise.
    """
    if not is_float(X.dtype):
        return X
    # Of 16 bits, numpy tests and compares integers several times as fast.
    if X.itemsize > 2 and not np.isnan(X).any():
        return X
    infinity, limits = _integers(X.dtype)
    pattern = np.ascontiguousarray(X).view(limits.dtype)
    # As integers: the magnitude of the bits with the sign of the value, so that -0 equals +0 and there is room below -inf
    # and above +inf.
    keys, sign = pattern & limits.max, pattern >> limits.bits - 1
    is_nan = keys > infinity
    keys ^= sign
    keys -= sign
    # Less than -inf where a NaN counts as -inf in Y: it is no cell that equals Y.
    keys[is_nan] = limits.max if nan in _PROPAGATING else limits.min
    return keys


@cache
def _integers(dtype: np.dtype) -> tuple[int, np.iinfo]:
    """The bits of infinity, and the limits of the signed integers of the same size."""
    return int(bits(np.array([np.inf], dtype))[0]), np.iinfo(f"i{dtype.itemsize}")


_PROPAGATING = frozenset({Nan.PROPAGATES, Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST})
