"""The kinds of single wrong cells, decided from X, the window, Y and the index."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import ml_dtypes
import numpy as np

from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import IndexMatch, Oracle
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest, same
from maxpool_check.reference.policies import Nan

_NARROWER = {"float64": ("float32", "float16", "bfloat16"), "float32": ("float16", "bfloat16")}
"""By float type, the narrower types that its values can be rounded to, the finest first."""

_MOST_WINDOWS = _MOST_TAPS = 4096


def value_kinds(oracle: Oracle, Y: np.ndarray, wrong: np.ndarray) -> dict[DivergenceKind, np.ndarray]:
    """The wrong cells of Y (boolean, N x C x D1 x ... x Dn), each under the first kind that fits."""
    expected, dtype = oracle.pooled.Y, oracle.X.dtype
    kinds: dict[DivergenceKind, np.ndarray] = {DivergenceKind.Y_SIGNED_ZERO: (Y == 0) & (expected == 0)}
    if is_float(dtype):
        low = _activated(oracle, np.array([lowest(dtype)]))[0]
        always_nan = np.all([np.isnan(interpretation.Y) for interpretation in oracle.interpretations], axis=0)
        kinds |= {
            DivergenceKind.Y_ALL_NAN_TO_LOWEST: oracle.only_nan & (Y == low),
            DivergenceKind.Y_LOWEST_FOR_NEG_INF: (oracle.nan_as_neg_inf.maxima == -np.inf) & (Y == low),
            DivergenceKind.Y_NAN_ORDER_DEPENDENT: _order_dependent(oracle, Y, wrong),
            DivergenceKind.Y_NAN_INTRODUCED: np.isnan(Y),
            DivergenceKind.Y_NAN_DROPPED: always_nan,
        }
    if is_float(expected.dtype):
        for kind, changed in changes(expected):
            kinds[kind] = kinds.get(kind, False) | same(Y, changed)
    inside = _inside(oracle, Y, wrong)
    elsewhere = np.isin(Y, _activated(oracle, oracle.core.reshape(-1)))
    kinds |= {
        DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM: inside,
        DivergenceKind.Y_PAD_VALUE_LEAK: _leaks(oracle, Y, wrong & ~inside, elsewhere),
        DivergenceKind.Y_FROM_OUTSIDE_WINDOW: elsewhere,
    }
    return first_that_fits(wrong, kinds, DivergenceKind.Y_NOT_IN_INPUT)


def index_kinds(
    oracle: Oracle, numbers: np.ndarray, match: IndexMatch, leaks: np.ndarray
) -> dict[DivergenceKind, np.ndarray]:
    """The wrong cells of Indices (boolean, N x C x D1 x ... x Dn), each under the first kind that fits.

    ``leaks`` marks the cells whose Y is the padding's value.
    """
    X, numbering = oracle.core, oracle.pooling.numbering
    planes = (*X.shape[:2], *[1] * len(oracle.pooling.geometry))
    seed = numbering.before_planes(X.shape).reshape(planes)
    origin = numbering.number(np.arange(0, X.size, X[0, 0].size, dtype=np.int64), X.shape).reshape(planes)
    wrong = ~match.right
    # Where no cell exceeds the dtype's lowest finite value, a scan from there finds nothing.
    keeps_seed = ~(oracle.nan_as_neg_inf.maxima > lowest(X.dtype))
    at_padding = _at_padding(oracle, numbers, wrong & ~match.inside)
    seed_kept = (numbers == seed) & keeps_seed
    # If the padding cannot have won, only indices that all refer to the padding prove that it did.
    outside = wrong & ~match.inside & ~leaks
    could_win = keeps_seed | (oracle.pooled.maxima == 0)
    won = (at_padding | ~outside).all() and len(np.unique(numbers[outside])) > 1
    at_nan = np.zeros(numbers.shape, bool)
    for is_cell, cells in numbering.cells(numbers, X.shape) if is_float(X.dtype) else ():
        at_nan |= is_cell & np.isnan(X.reshape(-1)[cells])
    kinds = {
        DivergenceKind.INDICES_AT_PADDING: at_padding & (leaks | (won & could_win & ~seed_kept)),
        DivergenceKind.INDICES_AT_NAN: match.inside & ~match.maximum & at_nan,
        DivergenceKind.INDICES_PLANE_ORIGIN: (numbers == origin) & (~match.inside | (keeps_seed & ~match.ties)),
        DivergenceKind.INDICES_SENTINEL: (numbers < 0) | seed_kept,
        DivergenceKind.INDICES_OUT_OF_RANGE: numbers >= numbering.bound(X.shape),
        DivergenceKind.INDICES_OUTSIDE_WINDOW: ~match.inside,
        **tie_kinds(oracle, numbers, wrong & match.ties),
        DivergenceKind.INDICES_DISAGREES_WITH_Y: match.maximum,
    }
    return first_that_fits(wrong, kinds, DivergenceKind.INDICES_IN_WINDOW_NOT_MAXIMUM)


def tie_kinds(oracle: Oracle, numbers: np.ndarray, ties: np.ndarray) -> dict[DivergenceKind, np.ndarray]:
    """The rule by which another of several equal maxima than the first is chosen; one rule for all cells, if it exists."""
    if not ties.any():
        return {}
    rules = {DivergenceKind.INDICES_TIE_LAST: oracle.last, DivergenceKind.INDICES_TIE_COLUMN_FIRST: oracle.column_first}
    numbering, shape = oracle.pooling.numbering, oracle.core.shape
    by_rule = {kind: ties & (numbers == numbering.number(cells, shape)) for kind, cells in rules.items()}
    for kind, cells in by_rule.items():
        if (cells == ties).all():
            return {kind: ties}
    return first_that_fits(ties, by_rule, DivergenceKind.INDICES_TIE_OTHER)


def _at_padding(oracle: Oracle, numbers: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Which of some indices are the number of a tap in the padding, computed as if it were a cell of X."""
    at_padding = np.zeros(numbers.shape, bool)
    geometry, numbering, shape = oracle.pooling.geometry, oracle.pooling.numbering, oracle.core.shape
    if not where.any() or math.prod(axis.kernel for axis in geometry) > _MOST_TAPS:
        return at_padding
    grid: tuple[np.ndarray, ...] = np.indices(numbers.shape, sparse=True)
    batch, channel, *outputs = grid
    for tap in itertools.product(*(range(axis.kernel) for axis in geometry)):
        outside = np.zeros((1,) * numbers.ndim, bool)
        position = []
        for i, axis, t in zip(outputs, geometry, tap, strict=True):
            position.append(i * axis.stride - axis.begin + t * axis.dilation)
            outside = outside | (position[-1] < 0) | (position[-1] >= axis.size)
        at_padding |= outside & (numbers == numbering.of_coordinates((batch, channel, *position), shape))
    return at_padding & where


def first_that_fits(
    wrong: np.ndarray, kinds: Mapping[DivergenceKind, np.ndarray], otherwise: DivergenceKind
) -> dict[DivergenceKind, np.ndarray]:
    """Each wrong cell under the first kind that fits; kinds without a cell are left out."""
    left = wrong
    by_kind: dict[DivergenceKind, np.ndarray] = {}
    for kind, fits in kinds.items():
        by_kind[kind] = left & fits
        left = left & ~fits
    by_kind[otherwise] = left
    return {kind: cells for kind, cells in by_kind.items() if cells.any()}


def changes(values: np.ndarray) -> Iterator[tuple[DivergenceKind, np.ndarray]]:
    """What kernels make of float values: subnormal ones zero, infinities finite, all of them rounded to a narrower type."""
    small = (np.abs(values) < ml_dtypes.finfo(values.dtype).smallest_normal) & (values != 0)
    zero = np.zeros_like(values)
    for flushed in (np.copysign(zero, values), zero):
        yield DivergenceKind.Y_FLUSHED_SUBNORMAL, np.where(small, flushed, values)
    if (values == np.inf).any():
        limits = lowest(values.dtype), highest(values.dtype)
        yield DivergenceKind.Y_SATURATED_INFINITY, np.where(np.isinf(values), np.clip(values, *limits), values)
    for name in _NARROWER.get(values.dtype.name, ()):
        kind, narrow = DivergenceKind(f"y-rounded-to-{name}"), NUMPY[name]
        limits = lowest(narrow).astype(values.dtype), highest(narrow).astype(values.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            # Values that are too large become infinite, or the largest finite value.
            yield kind, values.astype(narrow).astype(values.dtype)
            yield kind, np.clip(values, *limits).astype(narrow).astype(values.dtype)


def _activated(oracle: Oracle, maxima: np.ndarray) -> np.ndarray:
    """Y for these maxima; themselves where a node behind MaxPool does not define it."""
    activation = oracle.pooling.activation
    try:
        return maxima if activation is None else activation.of(maxima)
    except Inexact:
        return maxima


def _windows(oracle: Oracle, where: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The marked output cells, each with its window (d1 x ... x dn, the taps inside X)."""
    if not where.any():
        return
    tables = [(axis.dilation, *axis.taps()) for axis in oracle.pooling.geometry]
    for at in map(tuple, np.argwhere(where)):
        taps = tuple(slice(first[i], first[i] + n[i] * d, d) for (d, first, n), i in zip(tables, at[2:], strict=True))
        yield at, oracle.core[at[:2]][taps]


def _inside(oracle: Oracle, Y: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Which of the wrong cells of Y equal a value of their window."""
    inside, geometry, values = np.zeros(Y.shape, bool), oracle.pooling.geometry, _activated(oracle, oracle.core)
    at, taps = np.argwhere(wrong), math.prod(axis.kernel for axis in geometry)
    # As many windows at once as have about a million taps.
    for part in np.array_split(at, len(at) * taps // 2**20 + 1) if values.size else ():
        batch, channel, *outputs = (column.reshape(-1, *[1] * len(geometry)) for column in part.T)
        cells, within = [batch, channel], np.ones(batch.shape, bool)
        for number, (axis, i) in enumerate(zip(geometry, outputs, strict=True)):
            steps = np.arange(axis.kernel).reshape(-1, *[1] * (len(geometry) - 1 - number)) * axis.dilation
            cells.append(i * axis.stride - axis.begin + steps)
            within = within & (cells[-1] >= 0) & (cells[-1] < axis.size)
        taken = values[tuple(np.where(within, each, 0) for each in cells)]
        equal = within & (taken == Y[tuple(part.T)].reshape(batch.shape))
        inside[tuple(part.T)] = equal.any(axis=tuple(range(1, equal.ndim)))
    return inside


def _leaks(oracle: Oracle, Y: np.ndarray, where: np.ndarray, elsewhere: np.ndarray) -> np.ndarray:
    """Where Y may be the value of the padding: 0, or the same constant everywhere, which X does not hold."""
    greater: np.ndarray = ~(Y <= oracle.pooled.Y) & (Y == Y)
    leaks = where & oracle.reaches_padding & greater
    foreign = leaks & ~elsewhere & (Y != 0)
    # A single cell does not show that its value is a constant.
    constant = foreign.sum() > 1 and len(np.unique(Y[foreign])) == 1
    return leaks & ((Y == 0) | (foreign if constant else False))


def _order_dependent(oracle: Oracle, Y: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Where the result depends on the position of a NaN in the window.

    Two proofs: a scan that loses its maximum at a NaN explains every window with a NaN, or windows of the same values in
    another order have other results.
    """
    beside_numbers = oracle.holds_nan & ~oracle.only_nan
    suspects = wrong & beside_numbers
    dependent = np.zeros(Y.shape, bool)
    if not suspects.any() or beside_numbers.sum() > _MOST_WINDOWS:
        return dependent
    windows = list(_windows(oracle, beside_numbers & ~oracle.pooled.empty))
    try:
        ignoring = oracle.with_nan(Nan.IGNORED).Y
    except Inexact:
        # A node behind MaxPool has no exact result for the NaN of a window that holds nothing else.
        return dependent
    # A result that ignores the NaN proves nothing.
    if (suspects & ~np.isnan(Y) & ~same(Y, ignoring)).any():
        for scan in _SCANS:
            # A generator, because most scans fail at one of the first windows.
            if all(same(np.array([scan(window)], Y.dtype), Y[at].reshape(1))[0] for at, window in windows):
                return suspects
    families: dict[bytes, list[tuple[int, ...]]] = {}
    for at, window in windows:
        values = np.sort(np.where(np.isnan(window), np.array(np.nan, window.dtype), window), axis=None)
        families.setdefault(values.tobytes(), []).append(at)
    for family in families.values():
        cells = tuple(np.array(family).T)
        if not same(Y[cells], np.full_like(Y[cells], Y[family[0]])).all():
            dependent[cells] = suspects[cells]
    return dependent


def _forgetful(values: np.ndarray) -> float:
    maximum = float(values[0])
    for value in map(float, values[1:]):
        # As the instruction maxps: the second operand, unless the first is greater.
        maximum = maximum if maximum > value else value
    return maximum


def _separable(window: np.ndarray, first: int) -> float:
    while window.ndim:
        window = np.apply_along_axis(_forgetful, first if window.ndim > 1 else 0, window)
    return float(window)


_SCANS: tuple[Callable[[np.ndarray], float], ...] = (
    lambda window: _forgetful(window.reshape(-1)),
    lambda window: _forgetful(window.T.reshape(-1)),
    lambda window: _forgetful(np.flip(window).reshape(-1)),
    lambda window: _forgetful(np.flip(window.T).reshape(-1)),
    lambda window: _separable(window, -1),
    lambda window: _separable(window, 0),
)
"""Scans that lose their maximum at a NaN: by rows, by columns, each in both directions, and axis by axis."""
