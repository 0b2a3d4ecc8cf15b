"""Which cell each window of a part chooses, on keys that compare as the cells do.

Where windows overlap little, all their cells are gathered, and each window takes the first of its largest keys. Elsewhere one
axis is reduced after the other, from the innermost outwards: the maximum is separable, and a later tap wins only if it is
strictly greater, so the first maximum in row-major order remains. Such a reduction keeps the positions of the cells beside their
keys.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Axis, Geometry
from maxpool_check.reference.parts import Part
from maxpool_check.reference.policies import Nan

Wins = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Where the keys of later taps win over the best so far."""

Tap = tuple[int, slice, slice | np.ndarray]
"""A tap of the windows along an axis: its number, the windows that have it, and its position in each."""


def chosen_cells(part: Part, nan: Nan, wins: Wins, taps: int, gathered: int) -> np.ndarray:
    """The positions in the whole X (int64) of what the windows of a part choose: any cell, if they have none.

    ``wins`` is ``np.greater`` for the first of equal maxima, ``np.greater_equal`` for the last. As many comparisons tap by tap
    cost what one by doubling does as ``taps`` says. The cells of long windows are gathered if they are at most about
    ``gathered`` times as many as those of X, where one in several windows counts several times; of short ones, an eighth of it.
    """
    X, geometry, plane = part.X.reshape(len(part.X), -1), part.geometry, part.X[0].size
    shape = (len(X), *(axis.output for axis in geometry))
    origins = np.arange(part.origin, part.origin + X.size, plane).reshape(-1, 1)
    windows, longest = math.prod(axis.output for axis in geometry), math.prod(map(_most, geometry))
    # Of fewer bytes, numpy's argmax compares one key at a time.
    by_argmax = longest * X.itemsize >= 256
    # Its order of equal keys is another for NaN than for numbers.
    last_nan = nan is Nan.PROPAGATES_LAST and wins is np.greater and is_float(X.dtype)
    if wins is np.greater and not last_nan and all(map(_is_whole, geometry)):
        return (_keys(X, nan).argmax(1).reshape(-1, 1) + origins).reshape(shape)
    worth = min(X.size, _LARGE) if by_argmax or max(map(_most, geometry)) >= _LONG else X.size // 8
    if len(X) * windows * longest <= gathered * (worth + _CALLS) and not last_nan:
        table = _table(geometry, by_argmax, wins is np.greater_equal)
        return ((_by_argmax if by_argmax else _by_equality)(X, nan, *table) + origins).reshape(shape)
    keys = _keys(X, nan)
    if last_nan and keys.dtype != X.dtype:
        wins = _wins_or_is_nan
    # Positions in the plane: they are the same in all planes, and the smallest integers are the fastest.
    cells = np.arange(plane, dtype=np.min_scalar_type(plane - 1))
    outer, inner = plane, 1
    for axis in reversed(geometry):
        outer //= axis.size
        of_axis = (-1, outer, axis.size, inner)
        keys, cells = keys.reshape(of_axis), cells.reshape(of_axis)
        # Tap by tap it takes most - 1 comparisons of each window, by doubling about log2(most) of each cell.
        most, rows = _most(axis), len(keys) * outer * inner
        by_taps = (most - 1) * (rows * axis.output + _CALLS) <= taps * most.bit_length() * (keys.size + _CALLS)
        keys, cells = (_by_taps if by_taps else _by_doubling)(keys, cells, axis, wins)
        inner *= axis.output
    return (cells.reshape(len(X), -1).astype(np.int64) + origins).reshape(shape)


_CALLS = 1024
"""So many cells take about as long as the calls of numpy for a few of them."""

_LONG = 32
"""Of so many taps along an axis, gathering saves many calls."""


_LARGE = 2**17
"""Of more cells, the table of positions would need much memory."""


def _is_whole(axis: Axis) -> bool:
    """Whether the only window of an axis has all of its cells."""
    return axis.output == 1 and axis.begin >= 0 and axis.dilation == 1 and axis.reach >= axis.size


def _most(axis: Axis) -> int:
    """A bound of how many taps the windows of an axis have inside X."""
    return min(axis.kernel, max(1, -(-axis.size // axis.dilation)))


# The parts of one X have few geometries.
@lru_cache(4)
def _table(geometry: Geometry, windows_first: bool, last: bool) -> tuple[np.ndarray, bool]:
    """The positions in the plane of the taps of all windows, taps x windows or the reverse; and whether it is all positions in order.

    The taps are in row-major order, or in the reverse for the ``last`` of equal maxima. Where a window has fewer than others, its
    last one along an axis is repeated, which does not change which is the first. An empty window has any.
    """
    rank, positions = len(geometry), np.zeros((), np.int64)
    for axis in geometry:
        first, count = axis.taps()
        tap = np.minimum(np.arange(max(1, count.max()))[:, np.newaxis], np.maximum(count - 1, 0))
        positions = positions[..., np.newaxis, np.newaxis] * axis.size + (first + tap * axis.dilation)
    table = positions.transpose(*range(0, 2 * rank, 2), *range(1, 2 * rank, 2))
    table = table.reshape(math.prod(table.shape[:rank]), -1)[:: -1 if last else 1]
    table = np.ascontiguousarray(table.T if windows_first else table)
    plane = math.prod(axis.size for axis in geometry)
    return table, table.size == plane and bool((np.diff(table.reshape(-1)) == 1).all())


def _by_argmax(X: np.ndarray, nan: Nan, table: np.ndarray, in_order: bool) -> np.ndarray:
    """The position in its plane of what each window chooses, planes x windows; the table is windows x taps."""
    at = _gathered(X, nan, table, in_order).argmax(2) + np.arange(0, table.size, table.shape[1])
    return at if in_order else table.reshape(-1).take(at)


def _by_equality(X: np.ndarray, nan: Nan, table: np.ndarray, in_order: bool) -> np.ndarray:
    """The same by the first key that equals the largest; the table is taps x windows, fewer than 256 taps."""
    taps, windows = table.shape
    keys = _gathered(X, nan, table, in_order)
    before_end = (keys == keys.max(1, keepdims=True)).view(np.uint8)
    before_end *= np.arange(taps, 0, -1, dtype=np.uint8).reshape(-1, 1)
    at = np.multiply(taps - before_end.max(1), windows, dtype=np.int64) + np.arange(windows)
    return table.reshape(-1).take(at)


def _gathered(X: np.ndarray, nan: Nan, table: np.ndarray, in_order: bool) -> np.ndarray:
    """The keys of the cells at the positions in the table, in each plane."""
    if in_order:
        return _keys(X, nan).reshape(len(X), *table.shape)
    # The keys of the fewer cells.
    return _keys(X.take(table, 1), nan) if table.size < X[0].size else _keys(X, nan).take(table, 1)


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
    # What stays 0 belongs to empty windows.
    best = np.zeros((planes, outer, axis.output, inner), keys.dtype)
    chosen = np.zeros(best.shape, cells.dtype)
    # All rows as one. A run that leaves its row is longer than what is left of the row: no window has it.
    keys, cells = keys.flatten(), np.broadcast_to(cells, shape).flatten()
    first, count = axis.taps()
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

    The keys of NaN are equal, greater than all others where they propagate, and less otherwise: an infinity if X has none of
    that sign, or the largest or smallest integer.
    """
    if not is_float(X.dtype):
        return X
    # Of 16 bits, numpy tests and compares integers several times as fast.
    if X.itemsize > 2:
        is_nan = np.isnan(X)
        if not is_nan.any():
            return X
        infinity_of_nan = X.dtype.type(np.inf if nan in _PROPAGATING else -np.inf)
        if nan is not Nan.PROPAGATES_LAST and not (X == infinity_of_nan).any():
            keys = X.copy()
            np.copyto(keys, infinity_of_nan, where=is_nan)
            return keys
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
