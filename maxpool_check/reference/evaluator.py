"""The same result as :mod:`~maxpool_check.reference.definition`, vectorised.

The maximum is separable: the innermost axis is reduced first, and on each axis later taps win only if they are strictly
greater, so the first maximum in row-major order remains. The reduction keeps the position of the cell, not its value; Y
is copied from X at the end, bit by bit. X is taken in parts, so that what is computed meanwhile stays small.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Axis, Geometry, effective_kernel
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooled, Pooling


@dataclass(frozen=True)
class Tuning:
    """What makes the evaluator faster, or its memory smaller; no result depends on it.

    About ``part`` bytes of X, or of Indices, are computed at a time. ``taps``: as many comparisons tap by tap cost what one by
    doubling does; 0 is doubling everywhere.
    """

    part: int = 2**19
    taps: int = 1


TUNING = Tuning()

Wins = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Where the keys of later taps win over the best so far."""

Tap = tuple[int, slice, slice | np.ndarray]
"""A tap of the windows along an axis: its number, the windows that have it, and its position in each."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some windows of some planes, and the cells of X that they need.

    ``at`` are their places among all planes x windows. ``X``, planes x D1 x ... x Dn, has the cells, the first of which is at
    position ``origin`` of the whole X, and the others behind it; ``geometry`` says where the windows are in it.
    """

    at: tuple[slice, ...]
    X: np.ndarray
    origin: int
    geometry: Geometry


def evaluate(X: np.ndarray, pooling: Pooling, tuning: Tuning = TUNING) -> Pooled:
    """Pool X, of shape N x C x D1 x ... x Dn."""
    shape = (*X.shape[:2], *pooling.output_sizes)
    planes = (math.prod(shape[:2]), *shape[2:])
    # First, so that a result too large for the memory fails before anything is computed.
    empty = np.zeros(planes, bool) if X.size else np.ones(planes, bool)
    maxima = np.zeros(planes, X.dtype)
    Indices = np.zeros(planes, pooling.numbering.dtype) if pooling.indices else None
    X, nan = np.ascontiguousarray(X), pooling.policies.nan
    for part in _parts(X, pooling.geometry, tuning.part):
        cells = _chosen(part, nan, np.greater, tuning)
        values = X.reshape(-1).take(cells)
        if nan is Nan.AS_NEG_INF and is_float(X.dtype):
            values[np.isnan(values)] = -np.inf
        maxima[part.at] = values
        if Indices is not None:
            Indices[part.at] = pooling.numbering.number(cells, X.shape)
        for dimension, axis in enumerate(part.geometry, start=1):
            missing = _missing(axis)
            if missing is not None:
                empty[part.at] |= missing.reshape(-1, *[1] * (len(shape) - 2 - dimension))
    undefined = empty
    if empty.any():
        maxima[empty] = 0
        if Indices is not None:
            Indices[empty] = -1
        if pooling.padding_value is not None:
            undefined = np.zeros(planes, bool)
            for dimension, axis in enumerate(pooling.geometry, start=1):
                undefined[(slice(None),) * dimension + (slice(axis.padded_windows, None),)] = True
            undefined &= empty
            maxima[empty & ~undefined] = pooling.padding_value
    empty, undefined, maxima = empty.reshape(shape), undefined.reshape(shape), maxima.reshape(shape)
    Y = _activated(maxima, pooling, undefined)
    return Pooled(Y, None if Indices is None else Indices.reshape(shape), empty, undefined, maxima)


def _activated(maxima: np.ndarray, pooling: Pooling, undefined: np.ndarray) -> np.ndarray:
    """The activation of the maxima, which may have another dtype; 0 where the document gives no value."""
    if pooling.activation is None:
        return maxima
    Y = pooling.activation.of(maxima)
    return np.where(undefined, np.zeros((), Y.dtype), Y)


def chosen(X: np.ndarray, pooling: Pooling, tuning: Tuning = TUNING, *, last: bool = False) -> np.ndarray:
    """The row-major position in X (int64) of the maximum of each window; any cell for an empty window.

    Of equal maxima it is the first, or the ``last``, in row-major order.
    """
    shape = (*X.shape[:2], *pooling.output_sizes)
    cells = np.zeros((math.prod(shape[:2]), *shape[2:]), np.int64)
    wins = np.greater_equal if last else np.greater
    for part in _parts(X, pooling.geometry, tuning.part):
        cells[part.at] = _chosen(part, pooling.policies.nan, wins, tuning)
    return cells.reshape(shape)


def _parts(X: np.ndarray, geometry: Geometry, most: int) -> Iterator[Part]:
    """All windows, some planes at a time; where a plane is too large, some windows along its first axis of several cells."""
    count, sizes = math.prod(X.shape[:2]), X.shape[2:]
    plane, windows = math.prod(sizes), math.prod(axis.output for axis in geometry)
    if not count * plane * windows:
        return
    planes, everything = X.reshape(count, *sizes), (slice(None),) * len(sizes)
    used = math.prod(axis.kernel * axis.output if _has_gaps(axis) else axis.size for axis in geometry)
    largest = max(X.itemsize * used, 8 * windows)
    if largest <= most:
        step = most // largest
        for c in range(0, count, step):
            yield Part((slice(c, c + step), *everything), planes[c : c + step], c * plane, geometry)
        return
    split = next((number for number, size in enumerate(sizes) if size > 1), 0)
    before, axis, behind = geometry[:split], geometry[split], geometry[split + 1 :]
    row, reach = math.prod(sizes[split + 1 :]), effective_kernel(axis.kernel, axis.dilation)
    # Not less than a window is long: parts that overlap by more would cost more than they save.
    step = max(
        1, most // max(X.itemsize * row * axis.stride, 8 * windows // axis.output), min(reach, axis.size) // axis.stride
    )
    for c, i in itertools.product(range(count), range(0, axis.output, step)):
        some = min(step, axis.output - i)
        low = min(max(0, axis.start(i)), axis.size - 1)
        high = max(low + 1, min(axis.size, axis.start(i + some - 1) + reach))
        shorter = replace(axis, size=high - low, begin=low - axis.start(i), output=some)
        at = (slice(c, c + 1), *everything[:split], slice(i, i + some), *everything[split + 1 :])
        cells = (slice(c, c + 1), *everything[:split], slice(low, high))
        yield Part(at, planes[cells], c * plane + low * row, (*before, shorter, *behind))


def _chosen(part: Part, nan: Nan, wins: Wins, tuning: Tuning) -> np.ndarray:
    """The positions in the whole X (int64) of what the windows of a part choose: any cell, if they have none."""
    X, geometry, plane = part.X, list(part.geometry), part.X[0].size
    shape = (len(X), *(axis.output for axis in geometry))
    origins = np.arange(part.origin, part.origin + X.size, plane).reshape(-1, *[1] * len(geometry))
    if wins is np.greater and nan is not Nan.PROPAGATES_LAST and all(map(_is_whole, geometry)):
        return _keys(X, nan).reshape(len(X), plane).argmax(1).reshape(shape) + origins
    # Positions in the plane: they are the same in all planes, and the smallest integers are the fastest.
    cells = np.arange(plane, dtype=np.min_scalar_type(plane - 1)).reshape(1, *X.shape[1:])
    for dimension, axis in enumerate(part.geometry, start=1):
        if _has_gaps(axis):
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
        by_taps = (most - 1) * axis.output <= tuning.taps * most.bit_length() * axis.size
        reduce = _by_taps if by_taps else _by_doubling
        keys, cells = reduce(keys.reshape(of_axis), cells.reshape(of_axis), axis, wins)
        inner *= axis.output
    return cells.reshape(shape) + origins


def _missing(axis: Axis) -> np.ndarray | None:
    """Which windows of an axis have no tap inside X; None if it is plain that each has one."""
    reaches_x = axis.start(0) + effective_kernel(axis.kernel, axis.dilation) > 0
    if reaches_x and axis.start(axis.output - 1) < axis.size and axis.dilation <= axis.size:
        return None
    missing: np.ndarray = axis.taps()[1] == 0
    return missing


def _is_whole(axis: Axis) -> bool:
    """Whether the only window of an axis has all of its cells."""
    return axis.output == 1 and axis.begin >= 0 and axis.dilation == 1 and axis.reach >= axis.size


def _has_gaps(axis: Axis) -> bool:
    """Whether there are cells between one window and the next."""
    return axis.stride > effective_kernel(axis.kernel, axis.dilation)


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
    return int(bits(np.array(np.inf, dtype))), np.iinfo(f"i{dtype.itemsize}")


_PROPAGATING = frozenset({Nan.PROPAGATES, Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST})
