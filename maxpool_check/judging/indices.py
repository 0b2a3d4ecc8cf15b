"""The kinds of single wrong cells of Indices, decided from X, the window, the index, and Y."""

from __future__ import annotations

import itertools
import math

import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import IndexMatch, Oracle
from maxpool_check.judging.values import first_that_fits
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import StorageOrder

_MOST_TAPS = 4096


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
    wrong, keeps_seed = ~match.right, oracle.keeps_seed
    at_padding = _at_padding(oracle, numbers, wrong & ~match.inside)
    seed_kept = (numbers == seed) & keeps_seed
    # If the padding cannot have won, only indices that all refer to the padding prove that it did.
    outside = wrong & ~match.inside & ~leaks
    could_win = keeps_seed | (oracle.pooled.maxima == 0)
    won = (at_padding | ~outside).all() and len(np.unique(numbers[outside])) > 1
    kinds = {
        DivergenceKind.INDICES_AT_PADDING: at_padding & (leaks | (won & could_win & ~seed_kept)),
        DivergenceKind.INDICES_AT_NAN: match.inside & ~match.maximum & _at_nan(oracle, numbers),
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


def _at_nan(oracle: Oracle, numbers: np.ndarray) -> np.ndarray:
    at_nan, X = np.zeros(numbers.shape, bool), oracle.core
    if is_float(X.dtype):
        for is_cell, cells in oracle.pooling.numbering.cells(numbers, X.shape):
            at_nan |= is_cell & np.isnan(X.reshape(-1)[cells])
    return at_nan


def _at_padding(oracle: Oracle, numbers: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Which of some indices are the number of a tap in the padding, computed as if it were a cell of X."""
    at_padding = np.zeros(numbers.shape, bool)
    geometry, numbering, shape = oracle.pooling.geometry, oracle.pooling.numbering, oracle.core.shape
    if not where.any() or math.prod(axis.kernel for axis in geometry) > _MOST_TAPS:
        return at_padding
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
        at_padding |= outside & (numbers == (number % bound if numbering.axis else number))
    return at_padding & where
