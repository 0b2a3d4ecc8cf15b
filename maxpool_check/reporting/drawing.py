"""Tensors and windows as text: planes of a tensor, and X around a window, with the taps, the padding, and the cell of each side."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.numbering import Layout
from maxpool_check.results.details import Cell, Input
from maxpool_check.results.record import Execution
from maxpool_check.words import plural

Coordinates = tuple[int, ...]

LEGEND = "[ ] a tap of the window, ~ padding, = chosen by the reference, ! named by the target, or has its value"
"""What the marks of a drawing mean. Without an index, the cells of the window that have the value that the target returned are
marked, and if there are none, the cells of the plane.
"""

_MOST_POSITIONS = 14
"""The most positions of an axis that are drawn."""

_AROUND = 2
"""The positions on each side of the window that are drawn of a longer axis."""

_MOST_OF_TARGET = 4

_MOST_PADDING = 100
"""The most positions in the padding that are drawn on each side."""

"""Cells with the value that the target returned are marked if there are no more than these."""


def coordinates(at: Sequence[object]) -> str:
    """``[0, 0, 1, 2]``."""
    return f"[{', '.join(map(str, at))}]"


def window_text(window: Sequence[Sequence[int]]) -> str:
    """The window's positions on each spatial axis, ``rows 0-1, column 2`` in two dimensions."""
    if not all(window):
        return "the padding alone"
    texts = []
    for taps in window:
        is_range = len(taps) > 1 and list(taps) == list(range(taps[0], taps[0] + len(taps)))
        texts.append(f"{taps[0]}-{taps[-1]}" if is_range else " ".join(map(str, taps)))
    if len(window) > 2:
        return ", ".join(f"D{number} {text}" for number, text in enumerate(texts, 1))
    names = ["position"] if len(window) == 1 else ["row", "column"]
    return ", ".join(
        f"{name}{'s' if len(taps) > 1 else ''} {text}" for name, taps, text in zip(names, window, texts, strict=True)
    )


def planes(values: Sequence[str], shape: Sequence[int], layout: Layout = Layout.CHANNELS_FIRST) -> list[str]:
    """The lines of a tensor, plane by plane (the last two spatial axes).

    Cells are aligned within a plane; a plane of a larger tensor has a heading with its coordinates.
    """
    if not values:
        return ["(empty)"]
    if len(values) != math.prod(shape):
        return [" ".join(values)]
    axes = list(range(len(shape)))
    if layout is not Layout.CHANNELS_FIRST and len(shape) > 2:
        axes = [*axes[: layout is Layout.CHANNELS_LAST], axes[-1], *axes[layout is Layout.CHANNELS_LAST : -1]]
    cells = np.array(values, object).reshape(tuple(shape)).transpose(axes)
    lines = []
    for outer in np.ndindex(cells.shape[:-2]):
        if math.prod(cells.shape[:-2]) > 1:
            at = dict(zip(axes, outer, strict=False))
            lines.append(coordinates([at.get(axis, ":") for axis in range(len(shape))]))
        rows = np.atleast_2d(cells[outer])
        widths = [max(map(len, column)) for column in rows.T]
        lines += [" " + "   ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    return lines


def described(
    name: str, tensor: np.ndarray, layout: Layout = Layout.CHANNELS_FIRST, missing: np.ndarray | None = None
) -> list[str]:
    """The lines of a tensor, with its name, dtype and shape; ``missing`` marks the cells without a value."""
    no_value = np.zeros(tensor.size, bool) if missing is None else missing.reshape(-1)
    texts = ["-" if no else str(value) for value, no in zip(tensor.reshape(-1), no_value, strict=True)]
    lines = planes(texts, tensor.shape, layout)
    order = ", written with the channels before the positions" * (
        layout is not Layout.CHANNELS_FIRST and tensor.ndim > 2
    )
    return [f"{name} {tensor.dtype.name}{list(tensor.shape)}{order}", *(f"  {line}" for line in lines)]


@dataclass(frozen=True)
class DrawnCell:
    """A position of a plane of X, or in its padding; ``value`` is empty in the padding and ``...`` where it is not known."""

    value: str
    is_tap: bool
    is_padding: bool
    is_chosen: bool
    is_target: bool

    @property
    def marks(self) -> str:
        """``=`` where the reference chose it, ``!`` where the target did."""
        return ("=" if self.is_chosen else "") + ("!" if self.is_target else "")

    @property
    def text(self) -> str:
        """The value with its marks, a tap in brackets."""
        value = "~" if self.is_padding else self.value
        return f"{self.marks}[{value}]" if self.is_tap else f"{self.marks}{value} "


@dataclass(frozen=True)
class Plane:
    """A plane of X around the window, the last two spatial axes: the positions on them, and the cells row by row.

    A tensor of one spatial axis has one row without a label.
    """

    heading: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[DrawnCell, ...], ...]

    @property
    def width(self) -> int:
        """The characters of the longest value or label of a column."""
        return max(len(text) for text in (*self.columns, *(cell.value for row in self.cells for cell in row)))

    @property
    def lines(self) -> list[str]:
        """The plane as text, its columns aligned: the positions on both axes first."""
        rows = [["", *(f"{column} " for column in self.columns)]]
        rows += [[label, *(cell.text for cell in row)] for label, row in zip(self.rows, self.cells, strict=True)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [" ".join(map(str.rjust, row, widths)).rstrip() for row in rows]


@dataclass(frozen=True)
class Drawing:
    """The planes of X around the window of the output cell at ``at``, and the wrong cells of the outputs there.

    ``planes`` is empty where the record does not hold the values of the window, and where the window lies in the padding. Of a
    tensor whose values it does not hold, the window alone is drawn.
    """

    at: Coordinates
    window: str
    planes: tuple[Plane, ...]
    cells: tuple[Cell, ...] = ()
    left_out: int = 0
    """How many planes of the window are not drawn."""

    @property
    def place(self) -> str:
        """The coordinates in the outputs."""
        return coordinates(self.at)

    @property
    def has_marks(self) -> bool:
        """Whether there is more than taps, so that it needs the legend."""
        return any(cell.marks or cell.is_padding for plane in self.planes for row in plane.cells for cell in row)

    @property
    def lines(self) -> list[str]:
        """The planes as text, each with its coordinates, and how many are left out."""
        lines = [line for plane in self.planes for line in [plane.heading, *plane.lines]]
        return lines + [self.note] * bool(self.note)

    @property
    def note(self) -> str:
        """What is left out, in words; empty if nothing is."""
        return f"({plural(self.left_out, 'more plane')} of the window)" if self.left_out and self.planes else ""


def drawings(execution: Execution) -> list[Drawing]:
    """The wrong cells of an execution that its record shows, those of Y and Indices at one place together."""
    by_place: dict[Coordinates, list[Cell]] = {}
    for cell in execution.cells:
        by_place.setdefault(cell.at, []).append(cell)
    return [_recorded(execution, at, cells) for at, cells in by_place.items()]


def oracle_drawing(oracle: Oracle, at: Coordinates) -> Drawing:
    """The window of an output cell at coordinates N x C x D1 x ... x Dn."""
    layout, axes = oracle.pooling.layout, list(zip(oracle.pooling.geometry, at[2:], strict=True))
    taps = [range(axis.start(i), axis.start(i) + axis.kernel * axis.dilation, axis.dilation) for axis, i in axes]
    number = int(oracle.choices[0][at])
    chosen = [tuple(map(int, np.unravel_index(number, oracle.core.shape)))] if number >= 0 else []
    window = _Window(layout, oracle.core.shape, at[:2], taps, lambda cell: str(oracle.core[cell]), chosen)
    drawn = map(window.plane, dict.fromkeys([*window.marked, *window.own]))
    return Drawing(layout.arranged(at), window_text([axis.window(i) for axis, i in axes]), tuple(drawn))


def core_coordinates(at: Sequence[int], layout: Layout) -> Coordinates:
    """The coordinates of a cell in a layout, as N x C x D1 x ... x Dn."""
    sizes = layout.sizes(at)
    return (0, *sizes[1:]) if layout is Layout.IMAGE else sizes


def _recorded(execution: Execution, at: Coordinates, cells: Sequence[Cell]) -> Drawing:
    """A window, with the planes that have the cells of both sides, or its first plane."""
    data, layout, first = execution.input, execution.layout, cells[0]
    drawing = Drawing(at, window_text(first.window), (), tuple(cells))
    if data is None or not all(first.window):
        return drawing
    channel, pooled = core_coordinates(first.at, layout)[:2], data.pooled
    if is_whole := bool(pooled.values and len(pooled.values) == math.prod(pooled.shape)):
        known = dict(np.ndenumerate(layout.to_core(np.array(pooled.values, object).reshape(pooled.shape))))
    else:
        # Of a large tensor, a record has the values of the window.
        window = ((*channel, *position) for position in itertools.product(*first.window))
        known = dict(zip(window, first.values or (), strict=False))
    if not known:
        return drawing
    named = [core_coordinates(cell.got_cell, layout) for cell in cells if cell.got_cell is not None]
    got = next((cell.got for cell in cells if cell.output == "Y" and cell.got != cell.expected), None)
    # Without an index, the cells of the plane that have the value; a NaN is not identified by its value.
    if not named and got is not None and not got.lstrip("-").startswith("nan"):
        alike = [cell for cell, value in known.items() if cell[:2] == channel and value == got]
        inside = [cell for cell in alike if all(i in taps for i, taps in zip(cell[2:], first.window, strict=True))]
        named = next((each for each in (inside, alike) if 0 < len(each) <= _MOST_OF_TARGET), [])
    chosen = [core_coordinates(cell.chosen, layout) for cell in cells if cell.chosen is not None]
    taps = [_taps(first, axis, data) for axis in range(len(first.window))]
    sizes = layout.sizes(pooled.shape)
    around = _Window(layout, sizes, channel, taps, lambda cell: known.get(cell, "..."), chosen, named, is_whole)
    drawn = around.marked or around.own[:1]
    left_out = len({*around.own} - {*drawn})
    return replace(drawing, planes=tuple(map(around.plane, drawn)), left_out=left_out)


def _taps(cell: Cell, axis: int, data: Input) -> list[int]:
    """The positions of all taps on a spatial axis, those in the padding included, as far as the record says."""
    inside = cell.window[axis]
    before, behind = cell.outside[axis] if cell.outside else (0, 0)
    dilations = data.attributes.get("dilations")
    step = 1
    if len(inside) > 1:
        step = inside[1] - inside[0]
    elif isinstance(dilations, list) and axis < len(dilations) and isinstance(dilations[axis], int):
        step = max(1, dilations[axis])
    # Of a window that is mostly padding, those next to X.
    padding = [inside[0] - step * number for number in range(min(before, _MOST_PADDING), 0, -1)]
    return [*padding, *inside, *(inside[-1] + step * number for number in range(1, min(behind, _MOST_PADDING) + 1))]


@dataclass(frozen=True, eq=False)
class _Window:
    """A window on X; coordinates are N x C x D1 x ... x Dn. ``is_whole``: the values around it are known, too."""

    layout: Layout
    sizes: Coordinates
    channel: Coordinates
    taps: Sequence[Sequence[int]]
    value: Callable[[Coordinates], str]
    chosen: Sequence[Coordinates]
    of_target: Sequence[Coordinates] = ()
    is_whole: bool = True

    @property
    def own(self) -> list[Coordinates]:
        """The planes of the window."""
        outers = ((*self.channel, *outer) for outer in itertools.product(*self.taps[:-2]))
        return [
            outer
            for outer in outers
            if all(0 <= at < size for at, size in zip(outer[2:], self.sizes[2:], strict=False))
        ]

    @property
    def marked(self) -> list[Coordinates]:
        """The planes with the cells of both sides."""
        marked = [cell for cell in (*self.chosen, *self.of_target) if self.is_whole or cell[:2] == self.channel]
        return list(dict.fromkeys(cell[: max(2, len(cell) - 2)] for cell in marked))

    def plane(self, outer: Coordinates) -> Plane:
        """A plane around the taps, and around what is marked in it."""
        ranges = []
        marked = [cell for cell in (*self.chosen, *self.of_target) if cell[: len(outer)] == outer]
        for axis in range(len(outer) - 2, len(self.sizes) - 2):
            positions = sorted(cell[2 + axis] for cell in marked)
            ranges.append(self._range(axis, self.taps[axis] if outer[:2] == self.channel else positions, positions))
        *rows, columns = ranges
        cells = tuple(tuple(self._cell((*outer, *row, at)) for at in columns) for row in itertools.product(*rows))
        labels = tuple(map(str, rows[0])) if rows else ("",)
        heading = f"X{coordinates(self.layout.arranged([*outer, *[':'] * len(ranges)]))}"
        return Plane(heading, labels, tuple(map(str, columns)), cells)

    def _cell(self, cell: Coordinates) -> DrawnCell:
        spatial = cell[2:]
        is_inside = all(0 <= at < size for at, size in zip(spatial, self.sizes[2:], strict=True))
        is_tap = cell[:2] == self.channel and all(at in taps for at, taps in zip(spatial, self.taps, strict=True))
        value = self.value(cell) if is_inside else ""
        return DrawnCell(value, is_tap, not is_inside, cell in self.chosen, cell in self.of_target)

    def _range(self, axis: int, taps: Sequence[int], marked: Sequence[int]) -> range:
        """The positions to draw: the whole axis and the taps in its padding, or those around the taps and what is marked near them."""
        low, high = min(0, taps[0]), max(self.sizes[2 + axis] - 1, taps[-1])
        if self.is_whole and high - low < _MOST_POSITIONS:
            return range(low, high + 1)
        near = [taps[0], *(at for at in marked if abs(at - taps[0]) < _MOST_POSITIONS)] if self.is_whole else [taps[0]]
        around = _AROUND * self.is_whole
        first = max(low, min(near) - around)
        return range(first, min(high, max(*near, taps[-1]) + around, first + _MOST_POSITIONS - 1) + 1)
