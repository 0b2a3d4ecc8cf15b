"""What reports show of one execution: what was executed, the window of its first wrong cell, what is wrong, in a few lines."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.judging.comparison import MOST_COINCIDENCES
from maxpool_check.judging.kinds import DivergenceKind, hypothesis
from maxpool_check.judging.naming import likely
from maxpool_check.reporting.drawing import LEGEND, Drawing, coordinates, drawings, planes, window_text
from maxpool_check.results.details import Cause, Cell, WrongShape
from maxpool_check.results.record import Execution
from maxpool_check.words import plural, shortened, some

_MOST_CELLS = 120
"""The most cells of X that are written where nothing is drawn."""

_MOST_ROWS = 6
"""The most rows of a small drawing."""

_MOST_POSSIBLE = 3
"""A sentence names so many mistakes of which one is the cause."""

_LONGEST = 110
"""A longer line on an axis is two."""


@dataclass(frozen=True)
class ExecutionView:
    """An execution, and what is shown of it; all of it is foreign text."""

    execution: Execution

    @cached_property
    def drawing(self) -> Drawing | None:
        """The window of the first wrong cell."""
        return next(iter(drawings(self.execution)), None)

    @property
    def settings(self) -> str:
        """The dtype and shape of X, the attributes, and what the case decides of open points, on one line."""
        data = self.execution.input
        if data is None:
            return ""
        pairs = (f"{name}={value}" if value != "" else f"{name}='' (empty)" for name, value in data.attributes.items())
        attributes = ", ".join(pairs) or "no attributes"
        policies = "".join(f"  {point}: {interpretation}" for point, interpretation in data.policies.items())
        return f"{data.dtype} X{coordinates(data.shape)}  {attributes}{policies}"

    @property
    def graph(self) -> list[str]:
        """The nodes of a graph of several, what enters MaxPool there, and X, if it is small and another tensor does."""
        data = self.execution.input
        if data is None or not data.graph:
            return []
        lines = [f"graph: X -> {' -> '.join(data.graph)}"]
        if data.entering is not None:
            into = f"into MaxPool: {data.entering.dtype} {coordinates(data.entering.shape)}"
            lines.append(f"{into}; Y and Indices below are those of MaxPool")
            if data.values and len(data.values) <= _MOST_CELLS:
                lines += ["X:", *(f"  {line}" for line in planes(data.values, data.shape, self.execution.layout))]
        return lines

    @property
    def translation(self) -> str:
        """How a case of another document became a model."""
        return f"translation: {'; '.join(self.execution.translation)}" if self.execution.translation else ""

    @property
    def values(self) -> list[str]:
        """The tensor that is pooled, if it is small and nothing is drawn."""
        data = self.execution.input
        is_drawn = self.drawing is not None and self.drawing.planes
        if data is None or is_drawn or not data.pooled.values or len(data.pooled.values) > _MOST_CELLS:
            return []
        return planes(data.pooled.values, data.pooled.shape, self.execution.layout)

    @property
    def reasons(self) -> list[str]:
        """The axes of outputs of wrong sizes, and the mistakes that explain the outputs."""
        # Rounding up, or a smaller kernel, may give the same size, but there is no window to round to.
        is_truncated = DivergenceKind.TRUNCATED_DIVISION.value in self.execution.kinds
        causes = () if is_truncated else self.execution.causes
        return [
            *axis_lines(self.execution.shapes, self.execution.spec),
            *(f"{each}." for each in explained(causes, self.execution.counts)),
        ]

    @property
    def message(self) -> str:
        """What the runtime says, where there is no wrong cell to show."""
        return "" if self.execution.cells else self.execution.message.strip()

    @property
    def unlisted(self) -> str:
        """How many wrong cells there are, if more than the record lists."""
        total = sum(self.execution.counts.values())
        return f"{plural(total, 'wrong cell')} in total" if total > len(self.execution.cells) else ""

    @property
    def first(self) -> str:
        """The first wrong cell, or the message, on one line."""
        cells = self.execution.cells
        return cell_line(cells[0], kind=False) if cells else shortened(self.execution.message, 160, end=False)

    def brief(self, drawn: bool) -> list[str]:
        """The first wrong cell or the message on one line, below what was executed and a small drawing if that is ``drawn``."""
        total = sum(self.execution.counts.values())
        more = f"  (and {total - 1} more)" if total > 1 else ""
        wrong = f"{self.first}{more}" if self.execution.cells else next(filter(None, [self.first, *self.reasons]), "")
        head = [self.settings, *(f"  {line}" for line in some(self._window, _MOST_ROWS))] if drawn else []
        return [*filter(None, [*head, wrong])]

    @property
    def _window(self) -> list[str]:
        """X around the first wrong cell, without marks, which need a legend; or the graph."""
        if self.drawing is None or not self.drawing.planes:
            return self.graph[:1]
        plane, data = self.drawing.planes[0], self.execution.input
        is_one = data is not None and math.prod(data.pooled.shape[:2]) == 1
        return [plane.heading] * (not is_one) + [re.sub("[=!]", " ", line) for line in plane.lines]

    def lines(self, settings: bool = True) -> list[str]:
        """All of it as lines, with X, the window of the first wrong cell in brackets, and every cell of the evidence.

        Without ``settings``, what is wrong alone.
        """
        head = [self.settings, *self.graph, self.translation] if settings else []
        body = self.values if self.execution.cells else []
        if self.drawing is not None and self.drawing.planes:
            body = [LEGEND] * self.drawing.has_marks + self.drawing.lines
        cells = [cell_line(cell) for cell in self.execution.cells]
        message = [] if cells else [" ".join(self.execution.message.split())]
        return [*filter(None, head), *(f"  {line}" for line in body), *cells, *message, *self.reasons] + (
            [f"... {self.unlisted}"] if self.unlisted else []
        )


def cell_line(cell: Cell, kind: bool = True) -> str:
    """A wrong cell with its window: ``Y[0, 0]  rows 0-1: expected 3, got 4  (y-not-in-input)``."""
    named = f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ""
    end = f"  ({cell.kind})" if kind else ""
    where = f"{cell.output}{coordinates(cell.at)}  {window_text(cell.window)}"
    return f"{where}: expected {cell.expected}, got {cell.got}{named}{end}"


def axis_lines(shapes: Mapping[str, WrongShape], document: str) -> Iterator[str]:
    """A line or two for each axis that differs, with the formulas of both sizes; an axis of several outputs is shown once."""
    for axis in dict.fromkeys(axis for wrong in shapes.values() for axis in wrong.axes):
        start = f"axis {axis.axis}: "
        expected = f"{axis.formula} = {axis.expected}" if axis.formula else str(axis.expected)
        reason = f", as {axis.instead} gives" if axis.instead else ""
        # A formula of its own has other numbers, and the kind says why.
        kind = f" ({axis.mistake})" if "(" in axis.instead else ""
        halves = f"{start}{expected} by {document};", f"the target has {axis.got}{reason}{kind}"
        whole = " ".join(halves)
        yield from [whole] if len(whole) <= _LONGEST else [halves[0], f"{'':{len(start)}}{halves[1]}"]


def explained(causes: Sequence[Cause], counts: Mapping[str, int] | None) -> list[str]:
    """``Y equals a MaxPool with dilation 1 in 25 of 25 cells``, by output; ``counts`` are those of the wrong cells.

    Several mistakes that explain the same are all possible. Nothing for many, and for a few wrong cells.
    """
    if counts and sum(counts.values()) <= MOST_COINCIDENCES:
        return []
    sentences = []
    # Of a right shape, a cause without cells says too little.
    for output, cells in dict.fromkeys((cause.output, cause.cells) for cause in causes if cause.cells or not counts):
        kinds = likely([cause.kind for cause in causes if (cause.output, cause.cells) == (output, cells)])
        if len(kinds) <= _MOST_POSSIBLE:
            possible, subject = " or ".join(map(hypothesis, kinds)), output or "The result"
            whole = f"{subject} equals {possible} in {cells} of {cells} cells"
            sentences.append(whole if cells else f"{subject} has the shape of {possible}")
    return sentences
