"""Drawings of output cells: X around the window, the taps, the padding, and the cell that each side chose."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rich.text import Text

from maxpool_check.corpus.case import Case
from maxpool_check.explaining.shapes import draw_shapes
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reporting.findings import explained
from maxpool_check.reporting.tensors import coordinates, described, window_text
from maxpool_check.results.details import Cell
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import CaseRun
from maxpool_check.words import plural

_MOST_WHOLE = 12  # An axis of up to so many cells is drawn whole.
_MOST_POSITIONS = 17  # Of a longer axis.
_MOST_PLANES = 8  # Of a window over three axes or more.

LEGEND = "[ ] a tap of the window, ~ padding, = chosen by the reference, ! index of the target"

_Position = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class View:
    """The window of the output cell at ``at``. Coordinates are N x C x D1 x ... x Dn.

    ``named`` is the cell of X that the target's index names, if any.
    """

    oracle: Oracle
    at: _Position
    named: _Position | None = None

    @cached_property
    def chosen(self) -> _Position | None:
        """The cell of X that the reference chose; None for an empty window."""
        number = int(self.oracle.choices[0][self.at])
        return tuple(int(i) for i in np.unravel_index(number, self.oracle.core.shape)) if number >= 0 else None


def _core(at: Sequence[int], layout: Layout) -> _Position:
    """The coordinates of a cell in a layout, as N x C x D1 x ... x Dn."""
    sizes = layout.sizes(at)
    return (0, *sizes[1:]) if layout is Layout.IMAGE else sizes


def draw(view: View) -> Iterator[Text]:
    """The lines of X around the window, plane by plane; the taps stand in brackets."""
    outer = view.oracle.pooling.geometry[:-2]
    planes = list(itertools.product(*(_taps(axis, i) for axis, i in zip(outer, view.at[2:], strict=False))))
    for plane in planes[:_MOST_PLANES]:
        if outer:
            inside = all(0 <= p < axis.size for p, axis in zip(plane, outer, strict=True))
            where = coordinates([*view.at[:2], *plane]).rstrip("]")
            yield Text(f"X{where}, :, :]" + ("" if inside else ": padding"), style="dim")
            if not inside:
                continue
        yield from _plane(view, plane)
    if len(planes) > _MOST_PLANES:
        yield Text(f"({len(planes) - _MOST_PLANES} more of {len(planes)} planes)", style="dim")


def _plane(view: View, plane: _Position) -> Iterator[Text]:
    geometry, spot = view.oracle.pooling.geometry, view.chosen or view.named
    inner = range(-min(2, len(geometry)), 0)
    *rows, columns = (_range(geometry[axis], view.at[axis], spot[axis] if spot else None) for axis in inner)
    # A window over one axis has a single row, without a number.
    numbers = list(itertools.product(*rows))
    cells = [[_cell(view, (*plane, *row, column)) for column in columns] for row in numbers]
    labels = ["".join(map(str, row)) for row in numbers]
    margin = max(map(len, labels))
    heads = [f"{column} " for column in columns]
    widths = [max(len(head), *(len(line[number].plain) for line in cells)) for number, head in enumerate(heads)]
    heading = " ".join(head.rjust(width) for head, width in zip(heads, widths, strict=True))
    yield Text(f"{'':{margin}} {heading}".rstrip(), style="dim")
    for label, line in zip(labels, cells, strict=True):
        text = Text(label.rjust(margin), style="dim")
        for cell, width in zip(line, widths, strict=True):
            text.append(" " * (1 + width - len(cell.plain)), style="not dim")
            text.append_text(cell)
        yield text


def _cell(view: View, spatial: _Position) -> Text:
    axes = list(zip(view.oracle.pooling.geometry, view.at[2:], spatial, strict=True))
    tap = all(p in _taps(axis, i) for axis, i, p in axes)
    position = (*view.at[:2], *spatial)
    value = str(view.oracle.core[position]) if all(0 <= p < axis.size for axis, _, p in axes) else "~"
    marks = ("=" if position == view.chosen else "") + ("!" if position == view.named else "")
    style = "green" if marks == "=" else "yellow" if marks == "=!" else "red" if marks else "bold" if tap else "dim"
    return Text(f"{marks}{f'[{value}]' if tap else f'{value} '}", style=f"not dim {style}" if style != "dim" else style)


def _taps(axis: Axis, i: int) -> range:
    """The positions of the taps of a window, including those in the padding."""
    start = axis.start(i)
    return range(start, start + axis.kernel * axis.dilation, axis.dilation)


def _range(axis: Axis, i: int, spot: int | None) -> range:
    """The positions to draw: the axis with the padding of the window, or those around the window or the spot."""
    taps = _taps(axis, i)
    first, last = min(0, taps[0]), max(axis.size - 1, taps[-1])
    if axis.size <= _MOST_WHOLE and last - first < _MOST_POSITIONS:
        return range(first, last + 1)
    low, high = taps[0] - 2, taps[-1] + 2
    half = _MOST_POSITIONS // 2
    if high - low >= _MOST_POSITIONS:
        middle = min(max(taps[0] if spot is None else spot, low + half), high - half)
        low, high = middle - half, middle + half
    return range(max(low, first), min(high, last) + 1)


MOST_ENTERING = 100
"""The most cells of a tensor that enters MaxPool whose values are shown before the windows."""


def flow(case: Case) -> Iterator[str]:
    """The nodes of a graph of several, each with the tensor behind it; nothing for a MaxPool alone."""
    context, graph = case.context, case.graph
    if context.is_alone:
        return
    tensors = [*graph.flow, *(graph.following if isinstance(case.resolved, Pooling) else ())]
    width = max(map(len, context.lines()))
    yield f"Graph in operator set {context.opset}:"
    for number, line in enumerate(context.lines()):
        tensor = f" -> {tensors[number].dtype.name}{list(tensors[number].shape)}" if number < len(tensors) else ""
        yield f"  {line:{width}}{tensor}".rstrip()
    if context.before:
        yield "In drawings, X is the tensor that enters MaxPool, and Y the one behind it."
        if case.entering.size <= MOST_ENTERING:
            yield from described("The tensor that enters MaxPool:", case.entering)


def reference_cell(oracle: Oracle, at: Sequence[int]) -> Iterator[Text]:
    """The window of an output cell, at coordinates in the document's layout, and the result of the reference."""
    pooling, pooled = oracle.pooling, oracle.pooled
    view = View(oracle, _core(at, pooling.layout))
    yield Text(f"Y{coordinates(at)}", style="bold")
    yield from draw(view)
    if view.chosen is None:
        result = "the document gives no result"
        if not pooled.undefined[view.at]:
            result = f"Y is {pooled.Y[view.at]}, the value of the padding, and there is no index"
        yield Text(f"no cell of X is in the window: {result}")
        return
    index = f", index {pooled.Indices[view.at]}" if pooling.indices and pooled.Indices is not None else ""
    yield Text(f"Y is {pooled.Y[view.at]}, from X{coordinates(pooling.layout.arranged(view.chosen))}{index}")


def draw_judgement(case_run: CaseRun, variant: Variant) -> Iterator[Text]:
    """The verdict on one variant of a case, with its wrong cells or shapes."""
    oracle, judgement, result = case_run.oracle, case_run.judgements[variant], case_run.results[variant]
    kinds = ", ".join(kind.value for kind in judgement.kinds)
    style = {Verdict.CONFORMS: "green", Verdict.INCONSISTENT: "yellow"}.get(judgement.verdict, "red")
    yield Text.assemble((f"{variant.name}: ", "bold"), (judgement.verdict.value, style), f"  {kinds}" if kinds else "")
    if result.steps:
        yield Text(f"  translation: {'; '.join(result.steps)}")
    for kind in judgement.kinds:
        yield Text(f"  {kind.value}: {DESCRIPTIONS[kind].sentence}")
    counts = {kind.value: count for kind, count in (judgement.counts or {}).items()}
    for sentence in explained(judgement.causes, counts):
        yield Text(f"  {sentence}.")
    for point, names in judgement.interpretations.items():
        yield Text(f"  interpretation of {point}: {' or '.join(names)}")
    if judgement.cells and isinstance(oracle, Oracle):
        yield from _wrong_cells(oracle, judgement)
    elif judgement.shapes and isinstance(oracle, Oracle) and isinstance(result.outcome, Returned):
        document = case_run.case.specification.title
        for line in draw_shapes(oracle, document, judgement.shapes, result.outcome.outputs):
            yield Text("  ").append_text(line) if line.plain else line
    elif judgement.message:
        yield Text(f"  {' '.join(judgement.message.split())}")


def _wrong_cells(oracle: Oracle, judgement: Judgement) -> Iterator[Text]:
    """The wrong cells, those of Y and Indices at the same coordinates together."""
    yield Text(f"  {LEGEND}", style="dim")
    layout = oracle.pooling.layout
    by_place: dict[_Position, list[Cell]] = {}
    for cell in judgement.cells:
        by_place.setdefault(cell.at, []).append(cell)
    for place, cells in by_place.items():
        at = _core(place, layout)
        named = next((_core(cell.got_cell, layout) for cell in cells if cell.got_cell is not None), None)
        view = View(
            next((each for each in oracle.alternatives if _window(each, at) == cells[0].window), oracle), at, named
        )
        yield Text("")
        yield Text(f"  {coordinates(place)}  {window_text(cells[0].window)}", style="bold")
        for line in draw(view):
            yield Text("    ").append_text(line)
        for cell in cells:
            text = f"{cell.output}: expected {cell.expected}, got {cell.got}"
            if cell.output == "Indices":
                expected = f" = X{coordinates(layout.arranged(view.chosen))}" if view.chosen is not None else ""
                actual = f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ", which is no cell of X"
                text = f"Indices: expected {cell.expected}{expected}, got {cell.got}{actual}"
            yield Text(f"    {text}  ({cell.kind})")
    total = sum((judgement.counts or {}).values())
    if total > len(judgement.cells):
        yield Text(f"  {plural(total, 'wrong cell')} in total")


def _window(oracle: Oracle, at: _Position) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(axis.window(i)) for axis, i in zip(oracle.pooling.geometry, at[2:], strict=True))
