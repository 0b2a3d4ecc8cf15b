"""The kinds of single wrong cells, decided from X, the window, Y and the index; and which interpretations the others agree with.

An interpretation is one of a point that the document leaves open.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import ml_dtypes
import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import IndexMatch, Oracle
from maxpool_check.judging.windows import order_dependent
from maxpool_check.reference.dtypes import NUMPY, bits, highest, is_float, lowest, same
from maxpool_check.reference.policies import Nan, Tie, ZeroSign

MIXED = "mixed"
"""The interpretation of an open point if no single interpretation agrees with all cells of an output."""

FIRST_STICKS = "first-sticks"
"""An interpretation of NaN that no document proposes: NaN wins if it is the first cell of the window, else is ignored."""

OBSERVABLE = {
    "nan": (Nan.IGNORED.value, Nan.AS_NEG_INF.value, Nan.PROPAGATES.value, FIRST_STICKS),
    "tie": ("first", "last", "column-first"),
    "zero_sign": ("first", "last", "positive", "negative"),
    "nan_bits": ("kept", "changed"),
}
"""The interpretations that outputs can agree with, by open point; the documentation explains each. Otherwise ``MIXED``."""

_NARROWER = {"float64": ("float32", "float16", "bfloat16"), "float32": ("float16", "bfloat16")}
"""By float type, the narrower types that its values can be rounded to, the finest first."""

_MOST_TAPS = 4096

_MANY_TAPS, _FEW_VALUES = 2**20, 16
"""So many taps of wrong cells are compared at once; of more, with so few values, each value is looked for by the evaluator."""

_FARTHEST = 2**31
"""Cells of the padding farther from X than this are not numbered: their numbers may need more than 64 bits."""


def value_kinds(oracle: Oracle, Y: np.ndarray, wrong: np.ndarray) -> dict[DivergenceKind, np.ndarray]:
    """The wrong cells of Y (boolean, N x C x D1 x ... x Dn), each under the first kind that fits."""
    expected, dtype = oracle.pooled.Y, oracle.X.dtype
    kinds: dict[DivergenceKind, np.ndarray] = {DivergenceKind.Y_SIGNED_ZERO: (Y == 0) & (expected == 0)}
    if is_float(dtype):
        low = oracle.made_of(lowest(dtype))
        always_nan = np.all([np.isnan(interpretation.Y) for interpretation in oracle.interpretations], axis=0)
        kinds |= {
            DivergenceKind.Y_ALL_NAN_TO_LOWEST: oracle.only_nan & (Y == low),
            DivergenceKind.Y_LOWEST_FOR_NEG_INF: (oracle.nan_as_neg_inf.maxima == -np.inf) & (Y == low),
            DivergenceKind.Y_NAN_ORDER_DEPENDENT: order_dependent(oracle, Y, wrong),
            DivergenceKind.Y_NAN_INTRODUCED: np.isnan(Y),
            DivergenceKind.Y_NAN_DROPPED: always_nan,
        }
    if is_float(expected.dtype):
        for kind, changed in changes(expected):
            kinds[kind] = kinds.get(kind, False) | same(Y, changed)
    if oracle.differs_by_place:
        zeros = oracle.reaches_padding & (oracle.pooled.maxima < 0) & (Y == oracle.made_of(dtype.type(0)))
        return first_that_fits(wrong, {**kinds, DivergenceKind.Y_PAD_VALUE_LEAK: zeros}, DivergenceKind.GRAPH_OUTPUT)
    inside = _inside(oracle, Y, wrong)
    elsewhere = np.isin(Y, oracle.activated(oracle.core.reshape(-1)))
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
    reach = max(max(axis.begin, axis.reach) for axis in geometry)
    if not where.any() or math.prod(axis.kernel for axis in geometry) > _MOST_TAPS or reach > _FARTHEST:
        return at_padding
    grid: tuple[np.ndarray, ...] = np.indices(numbers.shape, sparse=True)
    for tap in np.ndindex(*(axis.kernel for axis in geometry)):
        steps = zip(grid[2:], geometry, tap, strict=True)
        position = [i * axis.stride - axis.begin + t * axis.dilation for i, axis, t in steps]
        beyond = ((cells < 0) | (cells >= axis.size) for cells, axis in zip(position, geometry, strict=True))
        number = numbering.of_coordinates((*grid[:2], *position), shape)
        at_padding |= reduce(np.logical_or, beyond) & (numbers == number)
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


def _inside(oracle: Oracle, Y: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Which of the wrong cells of Y equal a value of their window."""
    inside, geometry, values = np.zeros(Y.shape, bool), oracle.pooling.geometry, oracle.activated(oracle.core)
    # Of a kernel that is much larger than X, only the taps in X.
    at, taps = np.argwhere(wrong), [axis.taps() for axis in geometry]
    most = math.prod(int(count.max(initial=0)) for _, count in taps)
    if len(at) * most > _MANY_TAPS and len(found := np.unique(Y[wrong])) <= _FEW_VALUES:
        # The evaluator takes fewer steps than there are taps.
        return wrong & np.any([(Y == value) & oracle.holds(values == value) for value in found], axis=0)
    # As many windows at once as have about a million taps.
    for part in np.array_split(at, len(at) * most // _MANY_TAPS + 1) if values.size else ():
        batch, channel, *outputs = (column.reshape(-1, *[1] * len(geometry)) for column in part.T)
        cells, within = [batch, channel], np.ones(batch.shape, bool)
        for number, (axis, (first, count), i) in enumerate(zip(geometry, taps, outputs, strict=True)):
            steps = np.arange(count.max(initial=0)).reshape(-1, *[1] * (len(geometry) - 1 - number))
            cells.append(first[i] + steps * axis.dilation)
            within = within & (steps < count[i])
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


def interpretations_of(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> dict[str, tuple[str, ...]]:
    """By open point, the interpretations that agree with all cells in which interpretations differ; else ``MIXED``.

    ``outputs`` are Y and maybe Indices, N x C x D1 x ... x Dn, of the right shapes. Points that the case does not touch,
    and those its policies decide, are left out.
    """
    if oracle.pooling.activation is not None or oracle.is_closed:
        return {}
    names_by_point = {
        "nan": _nan(oracle, outputs["Y"]),
        "tie": _tie(oracle, outputs["Y"], outputs.get("Indices")),
        "zero_sign": _zero_sign(oracle, outputs["Y"]),
        "nan_bits": _nan_bits(oracle, outputs["Y"]),
    }
    return {point: names for point, names in names_by_point.items() if names}


def _agreeing(point: str, interpretations: Sequence[np.ndarray], Y: np.ndarray, where: np.ndarray) -> tuple[str, ...]:
    if not where.any():
        return ()
    by_name = dict(zip(OBSERVABLE[point], interpretations, strict=True))
    return tuple(name for name, values in by_name.items() if same(values[where], Y[where]).all()) or (MIXED,)


def _nan(oracle: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    if not oracle.nan_is_open:
        return ()
    ignored, as_neg_inf, propagates, _ = (interpretation.Y for interpretation in oracle.interpretations)
    interpretations = (ignored, as_neg_inf, propagates, _first_sticks(oracle))
    return _agreeing("nan", interpretations, Y, oracle.holds_nan & ~oracle.pooled.empty & ~oracle.hidden)


def _first_sticks(oracle: Oracle) -> np.ndarray:
    """The Y of a scan that keeps a NaN only if it is the first cell of the window (N x C x D1 x ... x Dn)."""
    first_cells = oracle.core
    for dimension, axis in enumerate(oracle.pooling.geometry, 2):
        first_cells = first_cells.take(axis.taps()[0], dimension)
    return np.where(np.isnan(first_cells), oracle.activated(first_cells), oracle.interpretations[0].Y)


def mixed_nan(oracle: Oracle, Y: np.ndarray) -> np.ndarray:
    """The cells in which a Y that conforms counts a NaN, where no single interpretation agrees with all of its cells.

    Boolean, N x C x D1 x ... x Dn; no cell is marked where one interpretation agrees, or where the document decides what a NaN does.
    """
    none = np.zeros(Y.shape, bool)
    if not oracle.nan_is_open:
        return none
    agreeing = [oracle.agrees(Y, each) for each in oracle.interpretations]
    sticking = replace(oracle.interpretations[0], Y=_first_sticks(oracle))
    if any(each.all() for each in (*agreeing, oracle.agrees(Y, sticking))):
        return none
    return ~agreeing[0]


def _tie(oracle: Oracle, Y: np.ndarray, numbers: np.ndarray | None) -> tuple[str, ...]:
    if numbers is None or oracle.pooling.policies.tie is not Tie.ANY:
        return ()
    judged = ~(oracle.pooled.empty | oracle.holds_nan)
    tied = judged & oracle.ties
    if not (numbers == oracle.pooled.Indices)[judged].all():
        # An index that refers to no maximum shows nothing about equal maxima.
        tied &= oracle.match_indices(numbers, Y).right
    if not tied.any():
        return ()
    cells = oracle.core
    chosen = dict(zip(OBSERVABLE["tie"], (oracle.choices[0], oracle.last, oracle.column_first), strict=True))
    by_name = {name: oracle.pooling.numbering.number(each[tied], cells.shape) for name, each in chosen.items()}
    return tuple(name for name, each in by_name.items() if (each == numbers[tied]).all()) or (MIXED,)


def _zero_sign(oracle: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    if oracle.pooling.policies.zero_sign is not ZeroSign.EITHER or not is_float(Y.dtype):
        return ()
    signs = np.signbit(oracle.core[oracle.core == 0])
    if signs.all() or not signs.any():
        return ()
    negative, positive = oracle.holds_zeros
    both = negative & positive & (oracle.pooled.maxima == 0) & ~oracle.holds_nan & ~oracle.hidden
    zero = np.zeros_like(Y)
    last = oracle.core.reshape(-1)[oracle.last]
    return _agreeing("zero_sign", (oracle.pooled.Y, last, zero, -zero), Y, both)


def _nan_bits(oracle: Oracle, Y: np.ndarray) -> tuple[str, ...]:
    """Whether NaN that conforms has the bits of a NaN of its window. No document says so: payload and sign are not judged."""
    nan = Y != Y
    if not nan.any():
        return ()
    own = bits(oracle.core[oracle.core != oracle.core])
    # A runtime that makes every NaN the usual one shows it only if X has another.
    if (own == bits(np.array([np.nan], Y.dtype))).all():
        return ()
    nan &= oracle.acceptable(Y) & ~oracle.pooled.empty & ~oracle.hidden
    X_bits, Y_bits = bits(oracle.core), bits(Y)
    kept = np.zeros(Y.shape, bool)
    for pattern in np.unique(Y_bits[nan]):
        kept |= nan & (Y_bits == pattern) & oracle.holds(X_bits == pattern)
    if not nan.any():
        return ()
    all_kept, none_kept = OBSERVABLE["nan_bits"]
    return (all_kept,) if kept[nan].all() else (MIXED,) if kept.any() else (none_kept,)
