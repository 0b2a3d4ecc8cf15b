"""Mistakes in the numbering of Indices: each is computed and compared with the actual Indices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import Numbering, StorageOrder
from maxpool_check.reference.policies import Tie
from maxpool_check.reference.pooling import Pooling


def numbering_kinds(oracle: Oracle, numbers: np.ndarray) -> list[DivergenceKind]:
    """The mistakes that explain every number, N x C x D1 x ... x Dn; none if the Indices are right."""
    match = oracle.match_indices(numbers, None)
    wrong = ~match.right
    if not wrong.any() or (wrong.sum() == 1 and match.inside[wrong].all()):
        # A single wrong cell in the window says nothing about the numbering.
        return []
    chosen = list(oracle.choices)
    if oracle.pooling.policies.tie is Tie.ANY:
        chosen += [oracle.last, oracle.column_first]
    kinds: list[DivergenceKind] = []
    for kind, number in _mistakes(oracle.core.shape, oracle.pooling, several=wrong.sum() > 1):
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
        batch, channel, *position = np.unravel_index(cells, shape)
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
