"""What GitHub shows of a step: annotations at the lines of cases, and of a run a summary in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from maxpool_check import inert
from maxpool_check.reporting.blocks import Document, Folded, Paragraph
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.run_view import RunView
from maxpool_check.reporting.writers import Form, markdown
from maxpool_check.results.record import Record, Verdict
from maxpool_check.words import plural

MOST_ANNOTATIONS = 10
"""How many annotations GitHub takes from a step."""


@dataclass(frozen=True)
class Annotation:
    """An error with a title, and the place of it, ``FILE:LINE``, if it has one; line 0 is that of a model."""

    title: str
    lines: Sequence[str]
    origin: str = ""


def commands(annotations: Sequence[Annotation]) -> list[str]:
    """Workflow commands: those of the first annotations, and how many more there are."""
    more = len(annotations) - MOST_ANNOTATIONS + 1
    if more > 1:
        rest = Annotation("", [f"{more} more; see the step summary"])
        annotations = [*annotations[: MOST_ANNOTATIONS - 1], rest]
    lines = []
    for each in annotations:
        path, _, line = each.origin.rpartition(":")
        values = {"file": path, "line": line if line != "0" else "", "title": each.title}
        properties = ",".join(f"{name}={inert.property_value(value)}" for name, value in values.items() if value)
        lines.append(f"::error{' ' * bool(properties)}{properties}::{inert.data(chr(10).join(each.lines))}")
    return lines


def workflow_commands(record: Record) -> list[str]:
    """An error at the line of the smallest case of every unexpected fault of a run, and other problems."""
    report = RunReport(record, 0)
    annotations = []
    for fault in report.unexpected:
        smallest = fault.smallest
        lines = [f"{smallest.case}: {smallest.title}", *ExecutionView(smallest).lines()]
        lines += [f"{len(fault.cases)} cases in total"] if len(fault.cases) > 1 else []
        lines += [f"do: {fault.defect.advice}"] if fault.defect is not None and fault.defect.advice else []
        annotations.append(Annotation(f"{', '.join(fault.kinds)} on {fault.target}", lines, smallest.origin))
    annotations += [Annotation(f"{each.id} is {each.status.value}", [each.message]) for each in report.outdated]
    if record.footer is not None:
        annotations += [Annotation("incomplete", [problem]) for problem in report.problems]
    for target, counts in report.counts.items():
        if counts[Verdict.ERROR]:
            annotations.append(
                Annotation("error", [f"{plural(counts[Verdict.ERROR], 'execution')} failed on {target}"])
            )
    return commands(annotations)


def write(report: RunReport, file: TextIO) -> None:
    """Write the summary of a run: its result, its numbers, every unexpected fault with its example, and a row for each other."""
    view = RunView(report, Form.GITHUB)
    results, problems = view.verdicts()
    others = [fault for fault in report.faults if fault not in report.unexpected]
    rows = [Folded("Known defects, and inconsistent results", view.overview(others)[:1])] if others else []
    tested = Paragraph(f"Tested: {report.tested} on {', '.join(report.counts)}.")
    parts = [*(view.view_of(each).block() for each in report.unexpected), *rows, *view.numbers()]
    markdown.write(Document("", "MaxPool conformance", [*results, *problems, tested], parts), file)
