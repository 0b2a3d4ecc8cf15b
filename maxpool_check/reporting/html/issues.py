"""A text for an issue about a finding, in plain Markdown."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from maxpool_check.reporting.drawing import LEGEND, coordinates, drawings, window_text
from maxpool_check.reporting.executions import axis_lines
from maxpool_check.reporting.findings import sentence
from maxpool_check.results.details import Cell
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.reporting.html.views import FindingView


def cell_sentence(cell: Cell) -> str:
    """A wrong cell in a sentence, with the values in its window."""
    values = f", which holds {' '.join(cell.values)}" if cell.values else ""
    named = f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ""
    return (
        f"{cell.output}{coordinates(cell.at)}: the window is {window_text(cell.window)}{values}; "
        f"expected {cell.expected}, got {cell.got}{named}"
    )


def issue_lines(view: "FindingView") -> Iterable[str]:
    """The lines of the text: what is wrong, where, the example, the clauses, and how to repeat it."""
    finding, target, example = view.finding, view.target, view.finding.smallest
    yield f"# {finding.title}" if "MaxPool" in finding.title else f"# MaxPool: {finding.title}"
    yield ""
    yield f"- runtime: {target.software()}"
    yield f"- system: {view.record.header.system}; processor: {target.processor or 'unknown'}"
    yield f"- document: {example.spec}{f'; operator set of the model: {example.opset}' if example.opset is not None else ''}"
    yield f"- severity: {finding.severity.value}"
    yield f"- versions that show it: {view.versions}"
    if view.upstream:
        yield f"- upstream: {view.upstream}"
    yield ""
    yield from view.mechanism
    yield ""
    yield f"Example: {example.title} ({example.case})"
    yield ""
    yield "```text"
    yield view.settings
    if view.graph_input_lines:
        yield from ["X:", *view.graph_input_lines]
    if example.input is not None and example.input.graph:
        yield f"graph: X -> {' -> '.join(example.input.graph)}; MaxPool's input:"
    drawn = drawings(example)[:1]
    if any(each.planes for each in drawn):
        yield LEGEND
        yield from drawn[0].lines
    else:
        yield from view.input_lines
    yield from map(cell_sentence, example.cells)
    if not example.cells:
        yield example.message.strip()
    yield from axis_lines(example.shapes, example.spec)
    yield "```"
    yield ""
    for kind, clause in view.judged:
        yield f"- {kind}: {sentence(kind)} {clause}".rstrip()
    yield ""
    yield f"Seen in {plural(len(finding.executions), 'execution')} of {plural(len(finding.cases), 'case')}. To repeat it:"
    yield ""
    yield from (f"    {command}" for _, command in view.commands)
