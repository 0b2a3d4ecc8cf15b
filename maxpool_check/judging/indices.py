"""The kinds of wrong Indices: of single cells, and mistakes in the numbering of all.

A single cell is decided from X, the window, the index, and Y. A mistake in the numbering is computed, and compared with the
actual Indices.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import IndexMatch, Oracle
from maxpool_check.judging.values import first_that_fits
from maxpool_check.reference.dtypes import is_float, lowest
from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder, coordinates
from maxpool_check.reference.policies import Tie
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.details import Cause

_MOST_TAPS = 4096

NUMBERING = frozenset(kind for kind, about in DESCRIPTIONS.items() if about.group is KindGroup.ALL_INDICES)
"""The mistakes in the numbering."""


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


def numbering_causes(oracle: Oracle, numbers: np.ndarray | None) -> list[Cause]:
    """The mistakes in the numbering that explain all Indices; none if there are no Indices, or if they are right."""
    if numbers is None:
        return []
    match = oracle.match_indices(numbers, None)
    wrong = ~match.right
    if not wrong.any() or (wrong.sum() == 1 and match.inside[wrong].all()):
        # A single wrong cell in the window says nothing about the numbering.
        return []
    return [
        Cause(kind=kind, output="Indices", cells=numbers.size)
        for kind in _fitting_kinds(oracle, numbers, several=wrong.sum() > 1)
    ]


def wrong_numbers(oracle: Oracle, kinds: Collection[str]) -> Iterator[np.ndarray]:
    """The Indices that mistakes of these kinds in the numbering make of the chosen cells; -1 in a window without a cell."""
    shape, empty = oracle.core.shape, oracle.pooled.empty
    for kind, number in _mistakes(shape, oracle.pooling, several=True):
        if kind.value in kinds:
            for cells in (*oracle.choices, oracle.last, oracle.column_first):
                yield np.where(empty, -1, number(np.maximum(cells, 0)))


def changes_numbers(oracle: Oracle, kind: DivergenceKind) -> bool:
    """Whether a mistake in the numbering would change the right Indices of a case."""
    kinds = {each for each, _ in _mistakes(oracle.core.shape, oracle.pooling, several=True)}
    numbers = oracle.pooled.Indices
    return kind in kinds and numbers is not None and kind not in _fitting_kinds(oracle, numbers, several=True)


def _fitting_kinds(oracle: Oracle, numbers: np.ndarray, *, several: bool) -> list[DivergenceKind]:
    chosen = list(oracle.choices)
    if oracle.pooling.policies.tie is Tie.ANY:
        chosen += [oracle.last, oracle.column_first]
    kinds: list[DivergenceKind] = []
    for kind, number in _mistakes(oracle.core.shape, oracle.pooling, several=several):
        if kind not in kinds:
            explained = oracle.pooled.empty.copy()
            for cells in chosen:
                explained |= numbers == number(np.maximum(cells, 0))
            kinds += [kind] if explained.all() else []
    return kinds


_Numberings = Iterator[tuple[DivergenceKind, Callable[[np.ndarray], np.ndarray]]]


def _mistakes(shape: tuple[int, ...], pooling: Pooling, *, several: bool) -> _Numberings:
    """Wrong numbers of row-major positions in N x C x D1 x ... x Dn."""
    numbering, rank = pooling.numbering, len(shape)

    def by(**changes: object) -> Callable[[np.ndarray], np.ndarray]:
        other = replace(numbering, **changes)  # type: ignore[arg-type]
        return lambda cells: other.number(cells, shape)

    by_columns = numbering.storage_order is StorageOrder.COLUMN_MAJOR
    if numbering.axis != 2:
        yield DivergenceKind.INDICES_PLANE_RELATIVE, by(axis=2)
    yield (
        DivergenceKind.INDICES_STORAGE_ORDER,
        by(storage_order=StorageOrder.ROW_MAJOR if by_columns else StorageOrder.COLUMN_MAJOR),
    )
    if numbering.layout is Layout.CHANNELS_FIRST:
        yield DivergenceKind.INDICES_NHWC_FLAT, by(layout=Layout.CHANNELS_LAST)
    # Counting from an axis inside the plane gives few numbers, so that a single cell agrees by chance.
    for axis in range(rank if several else 2):
        if axis not in (2, numbering.axis):
            yield DivergenceKind.INDICES_MODULO_AXIS, by(axis=axis)
    yield from _flattened(shape, pooling.geometry, numbering)


def _flattened(shape: tuple[int, ...], geometry: Geometry, numbering: Numbering) -> _Numberings:
    """Positions computed with other sizes: those of the padded tensor, or of other axes."""
    spatial = range(len(geometry))
    right = tuple(reversed(spatial)) if numbering.storage_order is StorageOrder.COLUMN_MAJOR else tuple(spatial)

    def number(
        order: Sequence[int], extents: Sequence[int], shifts: Sequence[int], plane: int, cells: np.ndarray
    ) -> np.ndarray:
        batch, channel, *position = coordinates(cells, shape)
        offset = np.zeros(cells.shape, np.int64)
        for axis, extent in zip(order, extents, strict=True):
            offset = offset * extent + position[axis] + shifts[axis]
        result: np.ndarray = (batch * shape[1] + channel) * plane + offset
        return result % numbering.bound(shape) if numbering.axis else result

    begins = [max(0, axis.begin) for axis in geometry]
    extents = [axis.size + begin + max(0, axis.end) for axis, begin in zip(geometry, begins, strict=True)]
    plane, padded = math.prod(shape[2:]), math.prod(extents)
    in_order = [extents[axis] for axis in right]
    none = [0] * len(geometry)
    for shifts, plane_size in itertools.product((begins, none), (padded, plane, 0)):
        if padded != plane:
            yield DivergenceKind.INDICES_IN_PADDED_TENSOR, partial(number, right, in_order, shifts, plane_size)
    for order, sizes in itertools.product(itertools.permutations(spatial), repeat=2):
        if len(geometry) <= 3 and (order != sizes or order not in (right, right[::-1])):
            values = [shape[2 + axis] for axis in sizes]
            yield DivergenceKind.INDICES_AXES_SWAPPED, partial(number, order, values, none, plane)
