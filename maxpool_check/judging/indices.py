"""What is wrong with single cells of Indices, each decided from X, the window, what came, and the Y beside it."""

from __future__ import annotations

import itertools
import math

import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Named, Oracle
from maxpool_check.judging.values import first_that_fits
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import StorageOrder

_MOST_TAPS = 4096


def index_kinds(
    expected: Oracle, numbers: np.ndarray, named: Named, wrong: np.ndarray, leaks: np.ndarray
) -> dict[DivergenceKind, np.ndarray]:
    """The wrong cells of Indices (boolean, N x C x D1 x ... x Dn), each under the first kind that fits it.

    ``leaks`` marks the cells whose Y is the padding's value.
    """
    X, numbering = expected.core, expected.pooling.numbering
    column = (*X.shape[:2], *[1] * len(expected.pooling.geometry))
    seed = numbering.before_planes(X.shape).reshape(column)
    origin = numbering.number(np.arange(0, X.size, X[0, 0].size, dtype=np.int64), X.shape).reshape(column)
    keeps_seed = expected.keeps_seed
    at_padding = _at_padding(expected, numbers, wrong & ~named.inside)
    negative, kept = numbers < 0, (numbers == seed) & keeps_seed
    # Where the padding cannot have won, only an answer that names nothing but taps in the padding proves that it did.
    lost = wrong & ~named.inside & ~leaks
    could_win = keeps_seed | (expected.pooled.maxima == 0)
    won = (at_padding | ~lost).all() and len(np.unique(numbers[lost])) > 1
    kinds = {
        DivergenceKind.INDICES_AT_PADDING: at_padding & (leaks | (won & could_win & ~kept)),
        DivergenceKind.INDICES_AT_NAN: named.inside & ~named.maximum & _at_nan(expected, numbers),
        DivergenceKind.INDICES_PLANE_ORIGIN: (numbers == origin) & (~named.inside | (keeps_seed & ~named.ties)),
        DivergenceKind.INDICES_SENTINEL: negative | kept,
        DivergenceKind.INDICES_OUT_OF_RANGE: numbers >= numbering.bound(X.shape),
        DivergenceKind.INDICES_OUTSIDE_WINDOW: ~named.inside,
    }
    kinds.update(tie_kinds(expected, numbers, wrong & named.ties))
    kinds[DivergenceKind.INDICES_DISAGREES_WITH_Y] = named.maximum
    return first_that_fits(wrong, kinds, DivergenceKind.INDICES_IN_WINDOW_NOT_MAXIMUM)


def tie_kinds(expected: Oracle, numbers: np.ndarray, ties: np.ndarray) -> dict[DivergenceKind, np.ndarray]:
    """Which of several equal maxima are named, where another is than the first: by one rule for all, if there is one."""
    if not ties.any():
        return {}
    rules = {
        DivergenceKind.INDICES_TIE_LAST: expected.last,
        DivergenceKind.INDICES_TIE_COLUMN_FIRST: expected.column_first,
    }
    numbering, shape = expected.pooling.numbering, expected.core.shape
    by_rule = {kind: ties & (numbers == numbering.number(cells, shape)) for kind, cells in rules.items()}
    for kind, cells in by_rule.items():
        if (cells == ties).all():
            return {kind: ties}
    return first_that_fits(ties, by_rule, DivergenceKind.INDICES_TIE_OTHER)


def _at_nan(expected: Oracle, numbers: np.ndarray) -> np.ndarray:
    found = np.zeros(numbers.shape, bool)
    if not is_float(expected.X.dtype):
        return found
    for named, cells in expected.pooling.numbering.cells(numbers, expected.core.shape):
        found |= named & np.isnan(expected.core.reshape(-1)[cells])
    return found


def _at_padding(expected: Oracle, numbers: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Where, of some output cells, the number is that of a tap in the padding, worked out as if it were a cell of X."""
    found = np.zeros(numbers.shape, bool)
    geometry, numbering, shape = expected.pooling.geometry, expected.pooling.numbering, expected.core.shape
    if not where.any() or math.prod(axis.kernel for axis in geometry) > _MOST_TAPS:
        return found
    by_columns = numbering.storage_order is StorageOrder.COLUMN_MAJOR
    order = list(range(len(geometry)))[:: -1 if by_columns else 1]
    grid: list[np.ndarray] = list(np.indices(numbers.shape, sparse=True))
    batch, channel, outputs = grid[0], grid[1], grid[2:]
    plane, bound = math.prod(shape[2:]), numbering.bound(shape)
    for tap in itertools.product(*(range(axis.kernel) for axis in geometry)):
        position = [
            i * axis.stride - axis.begin + t * axis.dilation for i, axis, t in zip(outputs, geometry, tap, strict=True)
        ]
        outside = np.zeros((1,) * numbers.ndim, bool)
        offset = np.zeros((1,) * numbers.ndim, np.int64)
        for axis in order:
            outside = outside | (position[axis] < 0) | (position[axis] >= geometry[axis].size)
            offset = offset * geometry[axis].size + position[axis]
        if numbering.layout is Layout.CHANNELS_FIRST:
            number = (batch * shape[1] + channel) * plane + offset
        else:
            number = (batch * plane + offset) * shape[1] + channel
        found |= outside & (numbers == (number % bound if numbering.axis else number))
    return found & where
