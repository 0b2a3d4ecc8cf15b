"""The same result as :mod:`~maxpool_check.reference.definition`, vectorised.

X is computed in parts, so that what is needed meanwhile stays small. Of a small part all taps are compared at once. In a larger
one, one axis is reduced after the other, from the innermost outwards: the maximum is separable, and a later tap wins only if it
is strictly greater, so the first maximum in row-major order remains. Short windows are reduced one tap after the other, long
windows by runs of taps that become twice as long in each step. What is compared are keys, which compare as the cells do; the
positions of the cells are kept beside them, and Y is copied from X at the end, bit by bit.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Axis, Geometry, effective_kernel
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooled, Pooling

PART = 2**19
"""About so many bytes of X, or of Indices, are computed at a time; no result depends on it."""

FEW_TAPS = 2**13
"""Windows with so few taps in all are computed at once: calls of numpy would take longer than what is computed."""

DOUBLING = 2
"""A step that doubles runs takes so many times as long for a cell of X as a step that adds a tap takes for a window."""

CALLS = 2**13
"""Of each step, the calls of numpy take as long as so many cells or windows."""

_PROPAGATING = frozenset({Nan.PROPAGATES, Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST})

_Wins = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Where the keys of later taps win over the best so far."""


def evaluate(
    X: np.ndarray, pooling: Pooling, part_size: int = PART, few_taps: int = FEW_TAPS, doubling: float = DOUBLING
) -> Pooled:
    """Pool X, of shape N x C x D1 x ... x Dn.

    The other parameters change the time and the memory, and no result: ``part_size`` in bytes, ``few_taps``, and ``doubling``,
    with which 0 reduces all windows as long windows, and infinity reduces none as a long window.
    """
    shape = (*X.shape[:2], *pooling.output_sizes)
    planes = (math.prod(shape[:2]), *shape[2:])
    # First, so that a result too large for the memory fails before anything is computed.
    empty = np.zeros(planes, bool) if X.size else np.ones(planes, bool)
    maxima = np.zeros(planes, X.dtype)
    Indices = np.zeros(planes, pooling.numbering.dtype) if pooling.indices else None
    X, nan = np.ascontiguousarray(X), pooling.policies.nan
    for part in _parts(X, pooling.geometry, part_size):
        cells, empty[part.at] = _chosen_cells(part, nan, few_taps, doubling)
        values = X.reshape(-1).take(cells)
        if nan is Nan.AS_NEG_INF and is_float(X.dtype):
            with np.errstate(invalid="ignore"):  # bfloat16 warns of a NaN that signals
                values[np.isnan(values)] = -np.inf
        maxima[part.at] = values
        if Indices is not None:
            Indices[part.at] = pooling.numbering.number(cells, X.shape)
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
    Y = maxima if pooling.activation is None else pooling.activation.of(maxima)
    Y = np.where(undefined, np.zeros((), Y.dtype), Y) if Y is not maxima else Y
    return Pooled(Y, None if Indices is None else Indices.reshape(shape), empty, undefined, maxima)


def chosen(
    X: np.ndarray,
    pooling: Pooling,
    part_size: int = PART,
    few_taps: int = FEW_TAPS,
    doubling: float = DOUBLING,
    *,
    last: bool = False,
) -> np.ndarray:
    """The row-major position in X (int64) of the maximum of each window; any cell for an empty window.

    Of equal maxima it is the first, or the ``last``, in row-major order.
    """
    shape = (*X.shape[:2], *pooling.output_sizes)
    cells = np.zeros((math.prod(shape[:2]), *shape[2:]), np.int64)
    for part in _parts(X, pooling.geometry, part_size):
        cells[part.at], _ = _chosen_cells(part, pooling.policies.nan, few_taps, doubling, last=last)
    return cells.reshape(shape)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some windows of some planes, and the cells of X that they need.

    ``at`` are their places among all planes x windows. ``X``, planes x D1 x ... x Dn, has the cells, the first of which is at
    position ``origin`` of the whole X, and the others behind it; ``geometry`` says where the windows are in it.
    """

    at: tuple[slice, ...]
    X: np.ndarray
    origin: int
    geometry: Geometry


def _parts(X: np.ndarray, geometry: Geometry, most: int) -> Iterator[_Part]:
    """All windows, some planes at a time; where a plane is too large, some windows along its first axis of several cells."""
    count, sizes = math.prod(X.shape[:2]), X.shape[2:]
    plane, windows = math.prod(sizes), math.prod(axis.output for axis in geometry)
    if not count * plane * windows:
        return
    planes, everything = X.reshape(count, *sizes), (slice(None),) * len(sizes)
    largest = max(X.itemsize * plane, 8 * windows)
    if largest <= most:
        step = most // largest
        for c in range(0, count, step):
            yield _Part((slice(c, c + step), *everything), planes[c : c + step], c * plane, geometry)
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
        yield _Part(at, planes[cells], c * plane + low * row, (*before, shorter, *behind))


def _chosen_cells(
    part: _Part, nan: Nan, few_taps: int, doubling: float, *, last: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The positions in the whole X (int64) of what the windows of a part choose; and which windows are empty: they choose any."""
    X, geometry, plane = part.X.reshape(len(part.X), -1), part.geometry, part.X[0].size
    shape = (len(X), *(axis.output for axis in geometry))
    empty = np.zeros(shape[1:], bool)
    origins = np.arange(part.origin, part.origin + X.size, plane).reshape(-1, 1)
    keys = _keys(X, nan)
    wins: _Wins = np.greater_equal if last else np.greater
    if nan is Nan.PROPAGATES_LAST and not last and keys.dtype != X.dtype:
        wins = _wins_or_is_nan
    elif not last and all(map(_is_whole, geometry)):
        return (keys.argmax(1).reshape(-1, 1) + origins).reshape(shape), empty
    elif math.prod(shape) * math.prod(axis.kernel for axis in geometry) <= few_taps:
        taps, empty = _all_taps(geometry)
        candidates = keys.take(taps, 1)
        first = taps.shape[1] - 1 - candidates[:, :, ::-1].argmax(2) if last else candidates.argmax(2)
        return (taps[np.arange(len(taps)), first] + origins).reshape(shape), empty
    # Positions in the plane: they are the same in all planes, and the smallest integers are the fastest.
    cells = np.arange(plane, dtype=np.min_scalar_type(plane - 1))
    outer, inner = plane, 1
    for number, axis in reversed(list(enumerate(geometry, start=1))):
        outer //= axis.size
        of_axis, (first, count) = (-1, outer, axis.size, inner), axis.taps()
        empty |= (count == 0).reshape(-1, *[1] * (len(geometry) - number))
        windows = keys.size // axis.size * axis.output
        reduced = _doubled if _is_long(int(count.max()), windows, keys.size, doubling) else _tap_by_tap
        keys, cells = reduced(keys.reshape(of_axis), cells.reshape(of_axis), axis, first, count, wins)
        inner *= axis.output
    return (cells.reshape(len(X), -1).astype(np.int64) + origins).reshape(shape), empty


@lru_cache(64)  # a case is computed by several policies
def _all_taps(geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """The positions in a plane of the taps of each window (int64, windows x taps), and which windows are empty."""
    taps, empty = np.zeros((1, 1), np.int64), np.zeros((), bool)
    for axis in geometry:
        first, count = axis.taps()
        # A missing tap repeats the last, which makes no difference.
        steps = np.minimum(np.arange(axis.kernel), np.maximum(count - 1, 0)[:, None])
        of_axis = first[:, None] + steps * axis.dilation
        taps = (taps[:, None, :, None] * axis.size + of_axis[:, None, :]).reshape(len(taps) * axis.output, -1)
        empty = empty[..., None] | (count == 0)
    return taps, empty


def _is_long(taps: int, windows: int, cells: int, doubling: float) -> bool:
    """Whether doubling runs of all cells takes less time than adding the taps of the windows, one after the other."""
    return taps * (CALLS + windows) > doubling * taps.bit_length() * (CALLS + cells)


def _tap_by_tap(
    keys: np.ndarray, cells: np.ndarray, axis: Axis, first: np.ndarray, count: np.ndarray, wins: _Wins
) -> tuple[np.ndarray, np.ndarray]:
    """The best key of each window along the third of four dimensions, and its cell: one tap after the other."""
    best = keys.take(first, 2)
    chosen = np.broadcast_to(cells.take(first, 2), best.shape).copy()
    are_a_stride_apart, fewest = bool((np.diff(first) == axis.stride).all()), count.min()
    for t in range(1, int(count.max())):
        at = first + t * axis.dilation
        if are_a_stride_apart and t < fewest:
            # Neighbours in memory compare so much faster that the copy pays.
            taps = (slice(None), slice(None), slice(at[0], at[-1] + 1, axis.stride))
            candidate, cell = np.ascontiguousarray(keys[taps]), np.ascontiguousarray(cells[taps])
        else:
            # A missing tap repeats the first, which makes no difference.
            at = np.where(t < count, at, first)
            candidate, cell = keys.take(at, 2), cells.take(at, 2)
        _join(best, chosen, candidate, cell, wins)
    return best, chosen


def _doubled(
    keys: np.ndarray, cells: np.ndarray, axis: Axis, first: np.ndarray, count: np.ndarray, wins: _Wins
) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`_tap_by_tap`, but in log2(taps) steps.

    A run of taps begins at every cell, and each step makes the runs twice as long. The best of a window is the best of two of the
    longest runs that fit into the window: the run at its first tap, and the run that ends with its last tap. They may overlap.
    """
    runs, of_runs = keys.copy(), np.broadcast_to(cells, keys.shape).copy()
    best, chosen = runs.take(first, 2), of_runs.take(first, 2)
    # A run may go on into the next row or plane, which is faster: no window has such a run.
    flat, of_flat, apart = runs.reshape(-1), of_runs.reshape(-1), axis.dilation * keys.shape[3]
    for doublings in range(1, int(count.max()).bit_length()):
        taps = 2**doublings
        behind = taps // 2 * apart
        _join(flat[:-behind], of_flat[:-behind], flat[behind:], of_flat[behind:], wins)
        fit = count >> doublings == 1
        windows = slice(None) if fit.all() else np.flatnonzero(fit)
        left = first[windows]
        right = left + (count[windows] - taps) * axis.dilation
        key, cell = runs.take(left, 2), of_runs.take(left, 2)
        _join(key, cell, runs.take(right, 2), of_runs.take(right, 2), wins)
        best[:, :, windows], chosen[:, :, windows] = key, cell
    return best, chosen


def _join(best: np.ndarray, chosen: np.ndarray, later: np.ndarray, of_later: np.ndarray, wins: _Wins) -> None:
    """Replace keys and their cells where a key of later taps wins."""
    better = wins(later, best)
    np.maximum(best, later, out=best)
    # In row-major order the cell of a later tap that wins has a greater number than the cells of all taps before it.
    np.maximum(chosen, of_later * better, out=chosen)


def _is_whole(axis: Axis) -> bool:
    """Whether the only window of an axis has all of its cells."""
    return axis.output == 1 and axis.begin >= 0 and axis.dilation == 1 and axis.reach >= axis.size


def _keys(X: np.ndarray, nan: Nan) -> np.ndarray:
    """Values that compare with ``>`` as the cells of X do under an interpretation of NaN: X itself if it has none.

    The keys of NaN are equal, greater than all others where they propagate, and less otherwise.
    """
    # Of the ways that apply, the fastest.
    if not is_float(X.dtype):
        return X
    # Of 16 bits, numpy compares integers several times as fast.
    if X.itemsize > 2:
        is_nan = np.isnan(X)
        if not is_nan.any():
            return X
        if nan not in _PROPAGATING and not (X == -np.inf).any():
            # A NaN as -inf, which no cell is. Not by fmax, which gives NaN for one that signals.
            keys = X.copy()
            keys[is_nan] = -np.inf
            return keys
    infinity, limits = int(bits(np.array([np.inf], X.dtype))[0]), np.iinfo(f"i{X.itemsize}")
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


def _wins_or_is_nan(candidate: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Where a later key is greater, or that of a NaN; keys as :func:`_keys` makes them of a NaN that propagates."""
    wins: np.ndarray = (candidate > held) | (candidate == np.iinfo(candidate.dtype).max)
    return wins
