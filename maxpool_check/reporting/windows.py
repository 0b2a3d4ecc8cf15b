"""Drawings of the wrong cells of a record: X around the window, the taps, the padding, and the cell of each side."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.reporting.tensors import Coordinates, coordinates, window_text
from maxpool_check.results.details import Cell
from maxpool_check.results.record import Execution

LEGEND = "[ ] a tap of the window, ~ padding, = chosen by the reference, ! the cell of the target"
"""What the marks of a drawing mean. The target's cell is the one that its index names, or that has the value it returned."""

_MOST_POSITIONS = 14
"""The most positions of an axis that are drawn."""

_AROUND = 2
"""The positions on each side of the window that are drawn of a longer axis."""

_MOST_OF_TARGET = 4
"""Cells with the value that the target returned are marked if there are no more than these."""


@dataclass(frozen=True)
class DrawnCell:
    """A position of a plane of X, or in its padding; ``value`` is empty in the padding and where it is not known."""

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
        """The plane as text, with its positions on both axes."""
        margin = max(map(len, self.rows))
        table = [[f"{column} " for column in self.columns], *([cell.text for cell in row] for row in self.cells)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        labels = ["", *self.rows]
        return [
            f"{label:>{margin}} {' '.join(text.rjust(width) for text, width in zip(row, widths, strict=True))}".rstrip()
            for label, row in zip(labels, table, strict=True)
        ]


@dataclass(frozen=True)
class Drawing:
    """The wrong cells of the outputs at one place, and the planes of X around their window.

    ``planes`` is empty where the record does not hold the values of the window, and where the window lies in the padding. Of a
    tensor whose values it does not hold, the window alone is drawn.
    """

    cells: tuple[Cell, ...]
    planes: tuple[Plane, ...]

    @property
    def place(self) -> str:
        """The coordinates in the outputs."""
        return coordinates(self.cells[0].at)

    @property
    def window(self) -> str:
        """The positions of the window's taps on X, in words."""
        return window_text(self.cells[0].window)

    @property
    def lines(self) -> list[str]:
        """The planes as text."""
        lines = []
        for plane in self.planes:
            lines += [plane.heading] if len(self.planes) > 1 or ":" in plane.heading else []
            lines += plane.lines
        return lines


def drawings(execution: Execution) -> list[Drawing]:
    """The wrong cells of an execution that its record shows, those of Y and Indices at one place together."""
    by_place: dict[Coordinates, list[Cell]] = {}
    for cell in execution.cells:
        by_place.setdefault(cell.at, []).append(cell)
    return [Drawing(tuple(cells), tuple(_Window(execution, tuple(cells)).planes())) for cells in by_place.values()]


@dataclass(frozen=True, eq=False)
class _Window:
    """The window of the wrong cells at one place."""

    execution: Execution
    cells: tuple[Cell, ...]

    @cached_property
    def taps(self) -> list[list[int]]:
        """The positions of all taps on each spatial axis, those in the padding included, as far as the record says."""
        result = []
        cell = self.cells[0]
        for axis, inside in enumerate(cell.window):
            before, behind = cell.outside[axis] if cell.outside else (0, 0)
            step = self._dilation(axis, inside)
            result.append(
                [
                    *(inside[0] - step * number for number in range(before, 0, -1)),
                    *inside,
                    *(inside[-1] + step * number for number in range(1, behind + 1)),
                ]
            )
        return result

    def _dilation(self, axis: int, inside: Sequence[int]) -> int:
        if len(inside) > 1:
            return inside[1] - inside[0]
        given = self.execution.input.attributes.get("dilations") if self.execution.input is not None else None
        known = isinstance(given, list) and axis < len(given) and isinstance(given[axis], int)
        return int(given[axis]) if known and given is not None and given[axis] > 0 else 1

    @cached_property
    def _channel(self) -> Coordinates:
        """The batch and the channel that the window lies in."""
        return self._core(self.cells[0].at)[:2]

    @cached_property
    def chosen(self) -> list[Coordinates]:
        """The cells of the core's layout that the reference chose."""
        return [self._core(cell.chosen) for cell in self.cells if cell.chosen is not None]

    @cached_property
    def of_target(self) -> list[Coordinates]:
        """The cells that the target's index names; without one, those of the plane that have the value it returned."""
        named = [self._core(cell.got_cell) for cell in self.cells if cell.got_cell is not None]
        got = next((cell.got for cell in self.cells if cell.output == "Y" and cell.got != cell.expected), None)
        # A NaN is not identified by its value.
        if named or got is None or got.lstrip("-").startswith("nan"):
            return named
        plane = [each for each in self._every_cell() if self._value(each) == got]
        return plane if len(plane) <= _MOST_OF_TARGET else []

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the tensor that is pooled, in the core's layout."""
        assert self.execution.input is not None
        return self.execution.layout.sizes(self.execution.input.pooled.shape)

    @property
    def _values(self) -> Sequence[str]:
        data = self.execution.input
        return (data.pooled.values or ()) if data is not None else ()

    def _core(self, cell: Coordinates) -> Coordinates:
        sizes = self.execution.layout.sizes(cell)
        return (0, *sizes[1:]) if len(sizes) > len(cell) else sizes

    @cached_property
    def _in_window(self) -> dict[Coordinates, str]:
        """The values of the taps inside X by their spatial position: those of a tensor that is too large for the record."""
        cell = self.cells[0]
        if cell.values is None or self.execution.input is None:
            return {}
        return dict(zip(itertools.product(*cell.window), cell.values, strict=True))

    def _value(self, cell: Coordinates) -> str:
        assert self.execution.input is not None
        if not self._values:
            return self._in_window.get(cell[2:], "...")
        layout, shape = self.execution.layout, self.execution.input.pooled.shape
        number = 0
        for position, size in zip(layout.arranged(cell), shape, strict=True):
            number = number * size + position
        return self._values[number]

    def _every_cell(self) -> Iterator[Coordinates]:
        """The cells of the batch and channel of the window whose values are known, as far as they are few."""
        batch, channel = self._channel
        if not self._values:
            yield from ((batch, channel, *spatial) for spatial in self._in_window)
            return
        spatial = self.sizes[2:]
        if math.prod(spatial) > _MOST_POSITIONS**2:
            return
        for number in range(math.prod(spatial)):
            position = []
            for size in reversed(spatial):
                number, rest = divmod(number, size)
                position.append(rest)
            yield (batch, channel, *reversed(position))

    def planes(self) -> Iterator[Plane]:
        """The planes with the cells of both sides, or the first one of the window."""
        if not (self._values or self._in_window) or not all(self.cells[0].window):
            return
        first = (*self._channel, *(positions[0] for positions in self.cells[0].window))
        marked = [*self.chosen, *self.of_target]
        if not self._values:
            marked = [cell for cell in marked if cell[:2] == self._channel]
        for outer in dict.fromkeys(cell[:-2] if len(cell) > 3 else cell[:2] for cell in marked or [first]):
            yield self._plane(outer, marked)

    def _plane(self, outer: Coordinates, marked: Sequence[Coordinates]) -> Plane:
        inner = range(max(0, len(self.sizes) - 4), len(self.sizes) - 2)
        here = [cell for cell in marked if cell[: len(outer)] == outer]
        is_own = outer[:2] == self._channel
        ranges = []
        for axis in inner:
            positions = [cell[2 + axis] for cell in here]
            ranges.append(self._range(axis, self.taps[axis] if is_own else sorted(positions), positions))
        *rows, columns = ranges
        at = [*outer, *[":"] * len(ranges)]
        lines = [
            tuple(self._cell((*outer, *row, column)) for column in columns)
            for row in ([(i,) for i in rows[0]] if rows else [()])
        ]
        labels = tuple(map(str, rows[0])) if rows else ("",)
        return Plane(f"X[{', '.join(map(str, self._arranged(at)))}]", labels, tuple(map(str, columns)), tuple(lines))

    def _arranged(self, at: Sequence[object]) -> Sequence[object]:
        return self.execution.layout.arranged(at)

    def _cell(self, cell: Coordinates) -> DrawnCell:
        spatial = cell[2:]
        inside = all(0 <= position < size for position, size in zip(spatial, self.sizes[2:], strict=True))
        return DrawnCell(
            self._value(cell) if inside else "",
            cell[:2] == self._channel and all(at in taps for at, taps in zip(spatial, self.taps, strict=True)),
            not inside,
            cell in self.chosen,
            cell in self.of_target,
        )

    def _range(self, axis: int, taps: Sequence[int], marked: Sequence[int]) -> range:
        """The positions to draw: the whole axis and the taps in its padding, or those around the taps.

        In a plane that the window does not lie in, ``taps`` are the marked positions.
        """
        size = self.sizes[2 + axis]
        low, high = min(0, taps[0]), max(size - 1, taps[-1])
        if not self._values:
            return range(taps[0], min(taps[-1], taps[0] + _MOST_POSITIONS - 1) + 1)
        if high - low < _MOST_POSITIONS:
            return range(low, high + 1)
        near = [position for position in marked if abs(position - taps[0]) < _MOST_POSITIONS]
        first, last = min([taps[0], *near]) - _AROUND, max([taps[-1], *near]) + _AROUND
        if last - first >= _MOST_POSITIONS:
            middle = marked[0] if marked else taps[0]
            first = max(min(middle - _MOST_POSITIONS // 2, last - _MOST_POSITIONS + 1), first)
            last = first + _MOST_POSITIONS - 1
        return range(max(first, low), min(last, high) + 1)
