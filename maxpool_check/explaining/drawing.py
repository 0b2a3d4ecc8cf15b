"""One cell of an answer, drawn: X around its window, the taps, the padding, and which cell each side has chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judged, Judgement
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.layout import Layout
from maxpool_check.reporting.tensors import coordinates, window_text
from maxpool_check.results.record import Cell, Verdict
from maxpool_check.results.variants import Variant

WHOLE = 12
"""An axis of up to so many cells is shown from end to end."""

MOST = 17
"""How many positions of a longer one are shown."""

MOST_PLANES = 8
"""How many planes of a window of three axes and more are shown."""

LEGEND = "[ ] a tap of the window, ~ padding, = chosen by the reference, ! named by the target"

_Position = tuple[int, ...]


@dataclass(frozen=True)
class View:
    """A window of one output cell, in N x C x D1 x ... x Dn; ``chosen`` and ``named`` are cells of X, if there is one."""

    expected: Oracle
    at: _Position
    chosen: _Position | None
    named: _Position | None


def view(expected: Oracle, cell: Cell) -> View:
    """What there is to see of a wrong cell."""
    layout = expected.pooling.layout
    at = core(cell.at, layout)
    return View(expected, at, _chosen(expected, at), core(cell.got_cell, layout) if cell.got_cell is not None else None)


def core(at: Sequence[int], layout: Layout) -> _Position:
    """The coordinates of a cell in a layout, as N x C x D1 x ... x Dn."""
    if layout is Layout.CHANNELS_FIRST:
        return tuple(at)
    batch, spatial = ((0,), at[:-1]) if layout is Layout.IMAGE else (at[:1], at[1:-1])
    return (*batch, at[-1], *spatial)


def drawn(shown: View) -> Iterator[Text]:
    """The lines of X around the window, plane by plane; the taps stand in brackets."""
    geometry = shown.expected.pooling.geometry
    rank = len(geometry)
    outer = geometry[: max(0, rank - 2)]
    planes = list(itertools.product(*(_taps(axis, i) for axis, i in zip(outer, shown.at[2:], strict=False))))
    for plane in planes[:MOST_PLANES]:
        if outer:
            inside = all(0 <= p < axis.size for p, axis in zip(plane, outer, strict=True))
            where = coordinates([*shown.at[:2], *plane]).rstrip("]")
            yield Text(f"X{where}, :, :]" + ("" if inside else ": padding"), style="dim")
            if not inside:
                continue
        yield from _plane(shown, plane)
    if len(planes) > MOST_PLANES:
        yield Text(f"({len(planes) - MOST_PLANES} more of {len(planes)} planes)", style="dim")


def _plane(shown: View, plane: _Position) -> Iterator[Text]:
    geometry, at = shown.expected.pooling.geometry, shown.at
    inner = geometry[-2:]
    spots = [shown.chosen or shown.named, shown.named or shown.chosen]
    ranges = [
        _range(
            axis, at[len(at) - len(inner) + number], [spot[len(spot) - len(inner) + number] for spot in spots if spot]
        )
        for number, axis in enumerate(inner)
    ]
    rows: Sequence[int | None] = ranges[0] if len(inner) == 2 else [None]
    columns = ranges[-1]
    cells = [[_cell(shown, plane, row, column) for column in columns] for row in rows]
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


def _cell(shown: View, plane: _Position, row: int | None, column: int) -> Text:
    geometry, at = shown.expected.pooling.geometry, shown.at
    spatial = (*plane, *([row] if row is not None else []), column)
    axes = list(zip(geometry, at[2:], spatial, strict=True))
    inside = all(0 <= p < axis.size for axis, _, p in axes)
    tap = all(p in _taps(axis, i) for axis, i, p in axes)
    position = (*at[:2], *spatial)
    value = str(shown.expected.core[position]) if inside else "~"
    marks = ("=" if position == shown.chosen else "") + ("!" if position == shown.named else "")
    style = "green" if marks == "=" else "yellow" if marks == "=!" else "red" if marks else "bold" if tap else "dim"
    return Text(f"{marks}{f'[{value}]' if tap else f'{value} '}", style=f"not dim {style}" if style != "dim" else style)


def _taps(axis: Axis, i: int) -> range:
    """The positions of the taps of a window, those in the padding too."""
    start = axis.start(i)
    return range(start, start + axis.kernel * axis.dilation, axis.dilation)


def _range(axis: Axis, i: int, spots: Sequence[int]) -> range:
    """What is shown of an axis: all of it and the padding of the window, or what is around the window or the spot."""
    taps = _taps(axis, i)
    if axis.size <= WHOLE and len(range(min(0, taps[0]), max(axis.size, taps[-1] + 1))) <= MOST:
        return range(min(0, taps[0]), max(axis.size, taps[-1] + 1))
    first, last = taps[0] - 2, taps[-1] + 2
    if last - first >= MOST:
        middle = min(max(spots[0] if spots else taps[0], first + MOST // 2), last - MOST // 2)
        first, last = middle - MOST // 2, middle + MOST // 2
    return range(max(first, min(0, taps[0])), min(last, max(axis.size - 1, taps[-1])) + 1)


def answer(expected: Oracle, at: Sequence[int]) -> Iterator[Text]:
    """The window of one cell of the outputs, in the document's layout, and what the reference has there."""
    where = core(at, expected.pooling.layout)
    chosen = _chosen(expected, where)
    yield Text(f"Y{coordinates(at)}", style="bold")
    yield from drawn(View(expected, where, chosen, None))
    if chosen is None:
        yield Text("no cell of X is in the window: the document gives no result")
        return
    index = f", index {expected.pooled.Indices[where]}" if expected.pooled.Indices is not None else ""
    from_cell = coordinates(expected.pooling.layout.arranged(chosen))
    yield Text(f"Y is {expected.pooled.Y[where]}, from X{from_cell}{index if expected.pooling.indices else ''}")


def judged(meaning: Judged, variant: Variant, steps: Sequence[str], judgement: Judgement) -> Iterator[Text]:
    """What came of one variant, with the proof."""
    kinds = ", ".join(kind.value for kind in judgement.kinds)
    style = "green" if judgement.verdict is Verdict.CONFORMS else "red"
    yield Text.assemble((f"{variant.name}: ", "bold"), (judgement.verdict.value, style), f"  {kinds}" if kinds else "")
    if steps:
        yield Text(f"  asked: {'; '.join(steps)}")
    for kind in judgement.kinds:
        yield Text(f"  {kind.value}: {DESCRIPTIONS[kind].sentence}")
    for cause in judgement.causes:
        yield Text(f"  {str(cause)[0].upper()}{str(cause)[1:]}.")
    for point, names in judgement.interpretations.items():
        yield Text(f"  reads {point} as {' or '.join(names)}")
    if judgement.cells and isinstance(meaning, Oracle):
        yield from _proof(meaning, judgement)
    elif judgement.message:
        yield Text(f"  {' '.join(judgement.message.split())}")


def _proof(meaning: Oracle, judgement: Judgement) -> Iterator[Text]:
    """The wrong cells, those of one place in Y and Indices together."""
    yield Text(f"  {LEGEND}", style="dim")
    by_place: dict[tuple[int, ...], list[Cell]] = {}
    for cell in judgement.cells:
        by_place.setdefault(cell.at, []).append(cell)
    for at, cells in by_place.items():
        held = next((one for one in meaning.meanings if _window(one, at) == cells[0].window), meaning)
        named = next((cell for cell in cells if cell.got_cell is not None), cells[0])
        yield Text("")
        yield Text(f"  {coordinates(at)}  {window_text(cells[0].window)}", style="bold")
        for line in drawn(view(held, named)):
            yield Text("    ").append_text(line)
        for cell in cells:
            yield Text(f"    {_sides(held, cell)}  ({cell.kind})")
    total = sum((judgement.counts or {}).values())
    if total > len(judgement.cells):
        yield Text(f"  {total} wrong cells in all")


def _sides(expected: Oracle, cell: Cell) -> str:
    if cell.output != "Indices":
        return f"Y: expected {cell.expected}, got {cell.got}"
    layout = expected.pooling.layout
    chosen = _chosen(expected, core(cell.at, layout))
    due = f" = X{coordinates(layout.arranged(chosen))}" if chosen is not None else ""
    came = f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ", which names no one cell of X"
    return f"Indices: expected {cell.expected}{due}, got {cell.got}{came}"


def _window(expected: Oracle, at: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    spatial = core(at, expected.pooling.layout)[2:]
    return tuple(tuple(axis.window(i)) for axis, i in zip(expected.pooling.geometry, spatial, strict=True))


def _chosen(expected: Oracle, at: _Position) -> _Position | None:
    number = int(expected.choices[0][at])
    return tuple(int(i) for i in np.unravel_index(number, expected.core.shape)) if number >= 0 else None
