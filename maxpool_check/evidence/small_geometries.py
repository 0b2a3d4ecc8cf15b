"""Everything that is small: all geometries of an axis within some bounds, and the planes that decide between them.

The definition reads an axis only as its windows: which cells each of them has, and whether its taps are all in the padded
input. Axes that agree in that have the same table, and a pooling with one of them is defined to be what it is with another.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from maxpool_check.reference.geometry import (
    AutoPad,
    Axis,
    NoWindow,
    Placement,
    ceil_output,
    clipped_ceil_output,
    floor_output,
)


class Table(msgspec.Struct, frozen=True, order=True):
    """All that the reference reads of an axis: its size, the cells of each window, how many windows are in the padded input."""

    size: int
    windows: tuple[tuple[int, ...], ...]
    padded: int


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The largest size, kernel, stride, dilation and padding; the smallest are 0, 1, 1, 1 and 0."""

    size: int
    kernel: int
    stride: int
    dilation: int
    pad: int


BOUNDS = Bounds(size=5, kernel=4, stride=3, dilation=3, pad=2)
"""Three taps of a dilated window fit into X, windows step over cells and over all of X, paddings exceed kernels."""

_PLACEMENTS = (
    *(Placement(rounding=rounding, zero_size=True) for rounding in (floor_output, ceil_output, clipped_ceil_output)),
    *(
        Placement(auto_pad, clamps=clamps)
        for auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER)
        for clamps in (True, False)
    ),
)
"""Every way in which a document derives windows: three roundings of explicit pads, ``SAME_*``, and as it crops."""


def every_axis(bounds: Bounds) -> Iterator[Axis]:
    """Every axis within the bounds, once."""
    pads = range(bounds.pad + 1)
    parameters = itertools.product(
        range(bounds.size + 1), range(1, bounds.kernel + 1), range(1, bounds.stride + 1), range(1, bounds.dilation + 1)
    )
    seen = set()
    for (n, k, s, d), placement in itertools.product(parameters, _PLACEMENTS):
        for b, e in [(0, 0)] if placement.is_same else itertools.product(pads, pads):
            try:
                axis = placement.axis(n, k, s, d, b, e)
            except NoWindow:
                continue
            if axis not in seen:
                seen.add(axis)
                yield axis


def table(axis: Axis) -> Table:
    """The table of an axis."""
    return Table(axis.size, tuple(tuple(axis.window(i)) for i in range(axis.output)), axis.padded_windows)


def tables(bounds: Bounds) -> Mapping[Table, Sequence[Axis]]:
    """The distinct tables within the bounds, in order, each with all axes that have it."""
    axes: dict[Table, list[Axis]] = {}
    for axis in every_axis(bounds):
        axes.setdefault(table(axis), []).append(axis)
    return dict(sorted(axes.items()))


def alone(axis: Axis, i: int) -> Axis:
    """An axis whose only window is window ``i`` of another."""
    return replace(axis, begin=axis.begin - i * axis.stride, output=1)


MOST_ORDERED = 5
"""Planes of so many cells have every order of their values."""


def planes(cells: int) -> np.ndarray:
    """Planes (float32, of so many cells) that show any mistake about which cells a window has, and which it prefers.

    The references only compare. Up to :data:`MOST_ORDERED` cells, here is every order of the values, every tie and every
    set of NaN. For larger planes, take a program that joins the cells of a window in any fixed order by "the second if it
    is greater, else the first". It joins the right cells if a single 1 among zeros wins wherever it should, for each cell;
    of equals it takes the first if, where 1 fills the plane from a cell on, the first cell of the window from there on
    wins, for each cell. So it is right about all planes if it is right about these. NaN, -inf and both zeros come on top.
    """
    if cells <= MOST_ORDERED:
        return np.array(list(_every_order(cells)), np.float32)
    one, behind = np.eye(cells, dtype=np.float32), np.tri(cells, dtype=np.float32).T
    lone_nan = np.where(one > 0, np.float32(np.nan), np.float32(-np.inf))
    zeros = np.where(np.arange(cells) % 2, np.float32(0.0), np.float32(-0.0))
    constant = np.array([[np.nan], [-np.inf]], np.float32).repeat(cells, 1)
    return np.concatenate([one, behind, lone_nan, constant, zeros[np.newaxis], -zeros[np.newaxis]])


def _every_order(cells: int) -> Iterator[list[float]]:
    """Every way to order some cells, with ties and NaN; the smallest value is -inf, the next a zero of either sign."""
    for ranks in itertools.product(range(-1, cells), repeat=cells):
        numbers = {rank for rank in ranks if rank >= 0}
        # Without gaps, so that each order is here once.
        if numbers == set(range(len(numbers))):
            yield [_of_rank(rank, at) for at, rank in enumerate(ranks)]


def _of_rank(rank: int, at: int) -> float:
    zero = -0.0 if at % 2 else 0.0
    return (-np.inf, zero, 1.0, 2.0, np.inf, np.nan)[rank]
