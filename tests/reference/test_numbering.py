"""Numbers of cells, there and back, in every way to count."""

import itertools

import numpy as np
import pytest

from maxpool_check.reference import definition
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder

SHAPES = [(2, 3, 5), (2, 3, 4, 5), (1, 1, 2, 3), (2, 1, 2, 3, 2), (1, 2, 1, 1), (1, 2, 4100, 1)]
"""The last one has more cells than numpy takes at once, in one column."""

WAYS = [
    *(Numbering(order, layout) for order in StorageOrder for layout in (Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST)),
    *(Numbering(axis=axis) for axis in range(1, 5)),
]


BOTH = [(shape, way) for shape, way in itertools.product(SHAPES, WAYS) if way.axis < len(shape)]


@pytest.mark.parametrize(("shape", "way"), BOTH)
def test_a_number_is_the_definitions_and_names_its_cell_again(shape, way):
    cells = np.arange(np.prod(shape)).reshape(shape)
    numbers = way.number(cells, shape)
    assert (
        numbers.tolist() == np.reshape([definition.index(at, shape, way) for at in np.ndindex(shape)], shape).tolist()
    )
    assert (numbers < way.bound(shape)).all()
    # Every output cell of an identity pooling names itself, perhaps among others of its plane or batch.
    named = list(way.cells(numbers, shape))
    assert all(has_cell.all() for has_cell, _ in named)
    assert (np.array([candidates for _, candidates in named]) == cells).any(axis=0).all()
    for _, candidates in named:
        assert (way.number(candidates, shape) == numbers).all()
    if way.axis < 3:
        assert len(named) == 1


def test_a_number_outside_the_bound_names_nothing():
    way = Numbering(axis=2)
    numbers = np.array([-1, 0, 19, 20]).reshape(1, 1, 2, 2)
    ((named, _),) = way.cells(numbers, (1, 1, 4, 5))
    assert named.reshape(-1).tolist() == [False, True, True, False]


def test_the_seed_before_a_plane_is_what_a_scan_that_kept_minus_one_coordinates_gives():
    shape = (2, 3, 4, 5)

    def at_minus_one(n, c, way):
        offset = -1 * 4 - 1 if way.storage_order is StorageOrder.COLUMN_MAJOR else -1 * 5 - 1
        return (n * 20 + offset) * 3 + c if way.layout is Layout.CHANNELS_LAST else (n * 3 + c) * 20 + offset

    for way in (way for way in WAYS if not way.axis):
        expected = [[at_minus_one(n, c, way) for c in range(3)] for n in range(2)]
        assert way.before_planes(shape).tolist() == expected


@pytest.mark.parametrize("layout", Layout)
def test_a_layout_there_and_back(layout):
    sizes = (1 if layout is Layout.IMAGE else 2, 3, 4, 5)
    core = np.arange(np.prod(sizes)).reshape(sizes)
    arranged = layout.from_core(core)
    assert arranged.shape == layout.arranged(sizes)
    assert layout.sizes(arranged.shape) == sizes
    assert (layout.to_core(arranged) == core).all()
    assert arranged[layout.arranged((0, 2, 1, 3))] == core[0, 2, 1, 3]
