"""Drawings of output cells: X around the window, the taps, the padding, and the cell that each side chose."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.layout import Layout
from maxpool_check.reporting.findings import explained
from maxpool_check.reporting.tensors import coordinates, window_text
from maxpool_check.results.record import Cell, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.refused import Refused
from maxpool_check.words import plural

WHOLE = 12
"""An axis of up to so many cells is drawn whole."""

MOST = 17
"""How many positions of a longer axis are drawn."""

MOST_PLANES = 8
"""How many planes of a window over three axes or more are drawn."""

LEGEND = "[ ] a tap of the window, ~ padding, = chosen by the reference, ! index of the target"

_Position = tuple[int, ...]


@dataclass(frozen=True)
class View:
    """The window of the output cell at ``at``. Coordinates are N x C x D1 x ... x Dn.

    ``chosen`` is the cell of X that the reference chose, ``named`` the one that the target's index names, if any.
    """

    oracle: Oracle
    at: _Position
    chosen: _Position | None
    named: _Position | None


def view_of(oracle: Oracle, cell: Cell) -> View:
    """The window of a wrong cell."""
    layout = oracle.pooling.layout
    at = core(cell.at, layout)
    return View(oracle, at, _chosen(oracle, at), core(cell.got_cell, layout) if cell.got_cell is not None else None)


def core(at: Sequence[int], layout: Layout) -> _Position:
    """The coordinates of a cell in a layout, as N x C x D1 x ... x Dn."""
    if layout is Layout.CHANNELS_FIRST:
        return tuple(at)
    batch, spatial = ((0,), at[:-1]) if layout is Layout.IMAGE else (at[:1], at[1:-1])
    return (*batch, at[-1], *spatial)


def draw(view: View) -> Iterator[Text]:
    """The lines of X around the window, plane by plane; the taps stand in brackets."""
    geometry = view.oracle.pooling.geometry
    rank = len(geometry)
    outer = geometry[: max(0, rank - 2)]
    planes = list(itertools.product(*(_taps(axis, i) for axis, i in zip(outer, view.at[2:], strict=False))))
    for plane in planes[:MOST_PLANES]:
        if outer:
            inside = all(0 <= p < axis.size for p, axis in zip(plane, outer, strict=True))
            where = coordinates([*view.at[:2], *plane]).rstrip("]")
            yield Text(f"X{where}, :, :]" + ("" if inside else ": padding"), style="dim")
            if not inside:
                continue
        yield from _plane(view, plane)
    if len(planes) > MOST_PLANES:
        yield Text(f"({len(planes) - MOST_PLANES} more of {len(planes)} planes)", style="dim")


def _plane(view: View, plane: _Position) -> Iterator[Text]:
    geometry, at = view.oracle.pooling.geometry, view.at
    inner = geometry[-2:]
    spots = [view.chosen or view.named, view.named or view.chosen]
    ranges = [
        _range(
            axis, at[len(at) - len(inner) + number], [spot[len(spot) - len(inner) + number] for spot in spots if spot]
        )
        for number, axis in enumerate(inner)
    ]
    rows: Sequence[int | None] = ranges[0] if len(inner) == 2 else [None]
    columns = ranges[-1]
    cells = [[_cell(view, plane, row, column) for column in columns] for row in rows]
    labels = [str(row) if row is not None else "" for row in rows]
    margin = max(map(len, labels))
    widths = [
        max(len(str(column)) + 1, *(len(line[number].plain) for line in cells)) for number, column in enumerate(columns)
    ]
    heads = " ".join(f"{column} ".rjust(width) for column, width in zip(columns, widths, strict=True))
    yield Text(f"{'':{margin}} {heads}".rstrip(), style="dim")
    for label, line in zip(labels, cells, strict=True):
        text = Text(label.rjust(margin), style="dim")
        for cell, width in zip(line, widths, strict=True):
            text.append(" " * (1 + width - len(cell.plain)), style="not dim")
            text.append_text(cell)
        yield text


def _cell(view: View, plane: _Position, row: int | None, column: int) -> Text:
    geometry, at = view.oracle.pooling.geometry, view.at
    spatial = (*plane, *([row] if row is not None else []), column)
    axes = list(zip(geometry, at[2:], spatial, strict=True))
    inside = all(0 <= p < axis.size for axis, _, p in axes)
    tap = all(p in _taps(axis, i) for axis, i, p in axes)
    position = (*at[:2], *spatial)
    value = str(view.oracle.core[position]) if inside else "~"
    marks = ("=" if position == view.chosen else "") + ("!" if position == view.named else "")
    style = "green" if marks == "=" else "yellow" if marks == "=!" else "red" if marks else "bold" if tap else "dim"
    return Text(f"{marks}{f'[{value}]' if tap else f'{value} '}", style=f"not dim {style}" if style != "dim" else style)


def _taps(axis: Axis, i: int) -> range:
    """The positions of the taps of a window, including those in the padding."""
    start = axis.start(i)
    return range(start, start + axis.kernel * axis.dilation, axis.dilation)


def _range(axis: Axis, i: int, spots: Sequence[int]) -> range:
    """The positions to draw: the axis with the padding of the window, or those around the window or the spots."""
    taps = _taps(axis, i)
    if axis.size <= WHOLE and len(range(min(0, taps[0]), max(axis.size, taps[-1] + 1))) <= MOST:
        return range(min(0, taps[0]), max(axis.size, taps[-1] + 1))
    first, last = taps[0] - 2, taps[-1] + 2
    if last - first >= MOST:
        middle = min(max(spots[0] if spots else taps[0], first + MOST // 2), last - MOST // 2)
        first, last = middle - MOST // 2, middle + MOST // 2
    return range(max(first, min(0, taps[0])), min(last, max(axis.size - 1, taps[-1])) + 1)


def reference_cell(oracle: Oracle, at: Sequence[int]) -> Iterator[Text]:
    """The window of an output cell, at coordinates in the document's layout, and the result of the reference."""
    pooling, pooled = oracle.pooling, oracle.pooled
    position = core(at, pooling.layout)
    chosen = _chosen(oracle, position)
    yield Text(f"Y{coordinates(at)}", style="bold")
    yield from draw(View(oracle, position, chosen, None))
    if chosen is None:
        yield Text("no cell of X is in the window: the document gives no result")
        return
    index = f", index {pooled.Indices[position]}" if pooling.indices and pooled.Indices is not None else ""
    yield Text(f"Y is {pooled.Y[position]}, from X{coordinates(pooling.layout.arranged(chosen))}{index}")


def draw_judgement(
    oracle: Oracle | Refused, variant: Variant, translation: Sequence[str], judgement: Judgement
) -> Iterator[Text]:
    """The verdict on one variant, with its wrong cells."""
    kinds = ", ".join(kind.value for kind in judgement.kinds)
    style = "green" if judgement.verdict is Verdict.CONFORMS else "red"
    yield Text.assemble((f"{variant.name}: ", "bold"), (judgement.verdict.value, style), f"  {kinds}" if kinds else "")
    if translation:
        yield Text(f"  translation: {'; '.join(translation)}")
    for kind in judgement.kinds:
        yield Text(f"  {kind.value}: {DESCRIPTIONS[kind].sentence}")
    for cause in judgement.causes:
        yield Text(f"  {explained(cause)}.")
    for point, names in judgement.interpretations.items():
        yield Text(f"  interpretation of {point}: {' or '.join(names)}")
    if judgement.cells and isinstance(oracle, Oracle):
        yield from _wrong_cells(oracle, judgement)
    elif judgement.message:
        yield Text(f"  {' '.join(judgement.message.split())}")


def _wrong_cells(oracle: Oracle, judgement: Judgement) -> Iterator[Text]:
    """The wrong cells, those of Y and Indices at the same coordinates together."""
    yield Text(f"  {LEGEND}", style="dim")
    by_place: dict[tuple[int, ...], list[Cell]] = {}
    for cell in judgement.cells:
        by_place.setdefault(cell.at, []).append(cell)
    for at, cells in by_place.items():
        other = next((each for each in oracle.alternatives if _window(each, at) == cells[0].window), oracle)
        named = next((cell for cell in cells if cell.got_cell is not None), cells[0])
        yield Text("")
        yield Text(f"  {coordinates(at)}  {window_text(cells[0].window)}", style="bold")
        for line in draw(view_of(other, named)):
            yield Text("    ").append_text(line)
        for cell in cells:
            yield Text(f"    {_difference(other, cell)}  ({cell.kind})")
    total = sum((judgement.counts or {}).values())
    if total > len(judgement.cells):
        yield Text(f"  {plural(total, 'wrong cell')} in total")


def _difference(oracle: Oracle, cell: Cell) -> str:
    if cell.output != "Indices":
        return f"Y: expected {cell.expected}, got {cell.got}"
    layout = oracle.pooling.layout
    chosen = _chosen(oracle, core(cell.at, layout))
    expected = f" = X{coordinates(layout.arranged(chosen))}" if chosen is not None else ""
    actual = f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ", which is no cell of X"
    return f"Indices: expected {cell.expected}{expected}, got {cell.got}{actual}"


def _window(oracle: Oracle, at: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    spatial = core(at, oracle.pooling.layout)[2:]
    return tuple(tuple(axis.window(i)) for axis, i in zip(oracle.pooling.geometry, spatial, strict=True))


def _chosen(oracle: Oracle, at: _Position) -> _Position | None:
    number = int(oracle.choices[0][at])
    return tuple(int(i) for i in np.unravel_index(number, oracle.core.shape)) if number >= 0 else None
