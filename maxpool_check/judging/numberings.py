"""Mistakes in how Indices count: each is made on purpose, and held against the Indices that came."""

from __future__ import annotations

import itertools
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


def mistakes(expected: Oracle, numbers: np.ndarray) -> list[DivergenceKind]:
    """Those that explain every number, N x C x D1 x ... x Dn; none, where the Indices are right."""
    named = expected.named(numbers, None)
    wrong = ~named.right
    if not wrong.any() or (wrong.sum() == 1 and named.inside[wrong].all()):
        # One cell that is in the window says nothing of how they count.
        return []
    chosen = list(expected.choices)
    if expected.pooling.policies.tie is Tie.ANY:
        chosen += [expected.last, expected.column_first]
    found: list[DivergenceKind] = []
    for kind, number in _counts(expected.core.shape, expected.pooling, several=wrong.sum() > 1):
        if kind not in found:
            explained = expected.pooled.empty.copy()
            for cells in chosen:
                explained |= numbers == number(np.maximum(cells, 0))
            found += [kind] if explained.all() else []
    return found


def _counts(
    shape: tuple[int, ...], pooling: Pooling, *, several: bool
) -> Iterator[tuple[DivergenceKind, Callable[[np.ndarray], np.ndarray]]]:
    """Mistaken ways to number the row-major positions of cells in N x C x D1 x ... x Dn."""
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
    # From an axis inside the plane on there are few numbers: one cell agrees by chance.
    for axis in range(rank if several else 2):
        if axis not in (2, numbering.axis):
            yield DivergenceKind.INDICES_MODULO_AXIS, by(axis=axis)
    yield from _flattened(shape, pooling.geometry, numbering)


def _flattened(
    shape: tuple[int, ...], geometry: Geometry, numbering: Numbering
) -> Iterator[tuple[DivergenceKind, Callable[[np.ndarray], np.ndarray]]]:
    """Positions computed with other sizes: those of the padded tensor, or of other axes."""
    spatial = range(len(geometry))
    own = tuple(reversed(spatial)) if numbering.storage_order is StorageOrder.COLUMN_MAJOR else tuple(spatial)

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
    plane, padded = int(np.prod(shape[2:])), int(np.prod(extents))
    in_order = [extents[axis] for axis in own]
    none = [0] * len(geometry)
    for shifts, of_plane in itertools.product((begins, none), (padded, plane, 0)):
        if padded != plane:
            yield DivergenceKind.INDICES_IN_PADDED_TENSOR, partial(number, own, in_order, shifts, of_plane)
    for order, sizes in itertools.product(itertools.permutations(spatial), repeat=2):
        if len(geometry) <= 3 and (order != sizes or order not in (own, own[::-1])):
            values = [shape[2 + axis] for axis in sizes]
            yield DivergenceKind.INDICES_AXES_SWAPPED, partial(number, order, values, none, plane)
