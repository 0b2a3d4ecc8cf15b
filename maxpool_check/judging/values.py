"""What is wrong with single cells of Y, each decided from X, the window and what came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.windows import reaches_padding
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest, same, smallest_normal

NARROWER = {"float64": ("float32", "float16", "bfloat16"), "float32": ("float16", "bfloat16")}
"""The float types that values of another can be rounded to, the finest first."""

ROUNDED = {name: DivergenceKind(f"y-rounded-to-{name}") for name in ("float32", "float16", "bfloat16")}

_MOST_WINDOWS = 4096


def value_kinds(expected: Oracle, Y: np.ndarray, wrong: np.ndarray) -> dict[DivergenceKind, np.ndarray]:
    """The wrong cells of Y (boolean, N x C x D1 x ... x Dn), each under the first kind that fits it."""
    due, dtype = expected.pooled.Y, expected.X.dtype
    kinds: dict[DivergenceKind, np.ndarray] = {DivergenceKind.Y_SIGNED_ZERO: (Y == 0) & (due == 0)}
    if is_float(dtype):
        low = _after(expected, np.array([lowest(dtype)]))[0]
        kinds[DivergenceKind.Y_ALL_NAN_TO_LOWEST] = expected.only_nan & (Y == low)
        kinds[DivergenceKind.Y_LOWEST_FOR_NEG_INF] = (expected.nan_as_neg_inf.maxima == -np.inf) & (Y == low)
        kinds[DivergenceKind.Y_NAN_ORDER_DEPENDENT] = _order_dependent(expected, Y, wrong)
        kinds[DivergenceKind.Y_NAN_INTRODUCED] = np.isnan(Y)
        kinds[DivergenceKind.Y_NAN_DROPPED] = np.all(
            [np.isnan(interpretation.Y) for interpretation in expected.interpretations], axis=0
        )
        kinds[DivergenceKind.Y_SATURATED_INFINITY] = (due == np.inf) & (Y == highest(dtype))
        kinds[DivergenceKind.Y_FLUSHED_SUBNORMAL] = subnormal(due) & (Y == 0)
        for name in NARROWER.get(dtype.name, ()):
            kinds[ROUNDED[name]] = same(Y, rounded(due, name)) | same(Y, rounded(due, name, saturates=True))
    inside = _from_window(expected, Y, wrong)
    elsewhere = np.isin(Y, _after(expected, expected.core.reshape(-1)))
    kinds[DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM] = inside
    kinds[DivergenceKind.Y_PAD_VALUE_LEAK] = _leaks(expected, Y, wrong & ~inside, elsewhere)
    kinds[DivergenceKind.Y_FROM_OUTSIDE_WINDOW] = elsewhere
    return first_that_fits(wrong, kinds, DivergenceKind.Y_NOT_IN_INPUT)


def first_that_fits(
    wrong: np.ndarray, kinds: Mapping[DivergenceKind, np.ndarray], otherwise: DivergenceKind
) -> dict[DivergenceKind, np.ndarray]:
    """Each wrong cell under the first kind that fits it; kinds of no cell are left out."""
    left = wrong.copy()
    found: dict[DivergenceKind, np.ndarray] = {}
    for kind, fits in kinds.items():
        found[kind] = left & fits
        left = left & ~fits
    found[otherwise] = left
    return {kind: cells for kind, cells in found.items() if cells.any()}


def rounded(values: np.ndarray, name: str, *, saturates: bool = False) -> np.ndarray:
    """Float values rounded to a narrower type, in their own dtype; what is too large gives infinity, or saturates."""
    narrow = NUMPY[name]
    with np.errstate(over="ignore", invalid="ignore"):
        if saturates:
            values = np.clip(values, *(limit.astype(values.dtype) for limit in (lowest(narrow), highest(narrow))))
        result: np.ndarray = values.astype(narrow).astype(values.dtype)
    return result


def subnormal(values: np.ndarray) -> np.ndarray:
    """Where float values are subnormal."""
    small: np.ndarray = np.abs(values) < smallest_normal(values.dtype)
    return small & (values != 0)


def _after(expected: Oracle, values: np.ndarray) -> np.ndarray:
    """What comes out where these are the maxima."""
    activation = expected.pooling.activation
    return values if activation is None else activation.of(values)


def _from_window(expected: Oracle, Y: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Where, of some output cells, Y is the value of a cell of the window."""
    found = np.zeros(Y.shape, bool)
    for at, window in _windows(expected, where):
        found[at] = (_after(expected, window) == Y[at]).any()
    return found


def _windows(expected: Oracle, where: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The output cells that are marked, each with the values of its window in row-major order."""
    if not where.any():
        return
    tables = [(axis.dilation, *axis.taps()) for axis in expected.pooling.geometry]
    for at in map(tuple, np.argwhere(where)):
        taps = tuple(slice(first[i], first[i] + n[i] * d, d) for (d, first, n), i in zip(tables, at[2:], strict=True))
        yield at, expected.core[at[:2]][taps].reshape(-1)


def _leaks(expected: Oracle, Y: np.ndarray, where: np.ndarray, elsewhere: np.ndarray) -> np.ndarray:
    """Where Y may be a value of the padding: 0, or one and the same constant that X does not hold."""
    greater: np.ndarray = ~(Y <= expected.pooled.Y) & (Y == Y)
    leaks = where & reaches_padding(expected.pooling.geometry) & greater
    foreign = leaks & ~elsewhere & (Y != 0)
    # A single cell does not show that its value is a constant.
    constant = foreign.sum() > 1 and len(np.unique(Y[foreign])) == 1
    return leaks & ((Y == 0) | (foreign if constant else False))


def _order_dependent(expected: Oracle, Y: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Where the place of a NaN in the window is seen to matter.

    That is proved by an answer that a scan which forgets gives in every window with a NaN, and otherwise by windows of the
    same values in another order that have other answers.
    """
    beside = expected.holds_nan & ~expected.only_nan
    suspects = wrong & beside
    nowhere = np.zeros(Y.shape, bool)
    if not suspects.any() or beside.sum() > _MOST_WINDOWS:
        return nowhere
    windows = list(_windows(expected, beside & ~expected.pooled.empty))
    # That a NaN was passed over would be no sign of it.
    numbers = suspects & ~np.isnan(Y) & ~same(Y, expected.nan_ignored.Y)
    if numbers.any() and any(_explains(forgets, windows, Y) for forgets in _scans(expected)):
        return suspects
    answers: dict[bytes, list[tuple[int, ...]]] = {}
    for at, window in windows:
        answers.setdefault(
            np.sort(np.where(np.isnan(window), np.array(np.nan, window.dtype), window)).tobytes(), []
        ).append(at)
    for family in answers.values():
        values = np.array([Y[at] for at in family], Y.dtype)
        if not same(values, np.full_like(values, values[0])).all():
            for at in family:
                nowhere[at] = suspects[at]
    return nowhere


_Scan = Callable[[tuple[int, ...], np.ndarray], float]


def _explains(scan: _Scan, windows: Sequence[tuple[tuple[int, ...], np.ndarray]], Y: np.ndarray) -> bool:
    return all(bool(same(np.array([scan(at, window)], Y.dtype), Y[at].reshape(1))[0]) for at, window in windows)


def _scans(expected: Oracle) -> Iterator[_Scan]:
    """Scans that compare with a NaN in a way that loses what they had: row by row, by columns, each way round."""
    geometry = expected.pooling.geometry

    def shaped(at: tuple[int, ...], window: np.ndarray) -> np.ndarray:
        return window.reshape([len(axis.window(i)) for axis, i in zip(geometry, at[2:], strict=True)])

    def flat(order: Callable[[np.ndarray], np.ndarray]) -> _Scan:
        return lambda at, window: _forgetful(order(shaped(at, window)).reshape(-1))

    def separable(first: int) -> _Scan:
        def scan(at: tuple[int, ...], window: np.ndarray) -> float:
            values = shaped(at, window)
            while values.ndim:
                values = np.apply_along_axis(_forgetful, first if values.ndim > 1 else 0, values)
            return float(values)

        return scan

    yield flat(lambda values: values)
    yield flat(lambda values: values.T)
    yield flat(np.flip)
    yield flat(lambda values: np.flip(values.T))
    yield separable(-1)
    yield separable(0)


def _forgetful(values: np.ndarray) -> float:
    found = float(values[0])
    for value in map(float, values[1:]):
        # As maxps does: the second operand, unless the first is greater.
        found = found if found > value else value
    return found
