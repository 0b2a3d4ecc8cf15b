"""A run for GitHub: a step summary in Markdown, and annotations at the lines of the cases."""

from typing import TextIO

from maxpool_check import inert
from maxpool_check.reporting.findings import Finding, sentence
from maxpool_check.reporting.markdown import severity_table, state, summary_table, tested
from maxpool_check.reporting.markup import bullets, code, escaped, fenced, folded, joined, table
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.text import details
from maxpool_check.results.record import Record, Verdict
from maxpool_check.words import plural

MOST_ANNOTATIONS = 10
"""How many annotations GitHub takes from a step."""


def write(report: RunReport, file: TextIO) -> None:
    """Write the summary: the state, a table, and every unexpected finding with its smallest case."""
    blocks = ["## MaxPool conformance", *state(report), *tested(report), summary_table(report), severity_table(report)]
    for finding in report.unexpected:
        smallest = finding.smallest
        blocks += [
            f"### {escaped(finding.heading)} on {escaped(finding.target)}",
            bullets(escaped(sentence(kind)) for kind in finding.kinds),
            escaped(finding.explanation),
            f"{plural(len(finding.cases), 'case')}. The smallest is {code(smallest.case)} ({escaped(smallest.variant)}):",
            fenced(details(smallest)),
        ]
    rows = [[f"`{each.target}`", ", ".join(each.kinds), str(len(each.cases))] for each in report.inconsistent]
    if rows:
        blocks.append(folded("Inconsistent results", table(["target", "kinds", "cases"], rows, right=[2])))
    rows = [
        [
            finding.severity.value, code(finding.defect.id if finding.defect else ""), code(finding.target),
            escaped(finding.title), str(len(finding.cases)),
        ]
        for finding in report.findings
        if finding.is_expected
    ]  # fmt: skip
    if rows:
        headings = ["severity", "defect", "target", "title", "cases"]
        blocks.append(folded("Known defects", table(headings, rows, right=[4])))
    file.write(joined(blocks) + "\n")


def workflow_commands(record: Record) -> list[str]:
    """Workflow commands: an error at the line of the smallest case of every unexpected finding, and other problems."""
    report = RunReport(record, 0)
    lines = [_annotation(finding) for finding in report.unexpected]
    others = [(f"{entry.id} is {entry.status.value}", entry.message) for entry in report.outdated]
    if record.footer is not None:
        others += [("incomplete", problem) for problem in report.problems]
    for target, counts in report.counts.items():
        if counts[Verdict.ERROR]:
            others.append(("error", f"{plural(counts[Verdict.ERROR], 'execution')} failed on {target}"))
    lines += [f"::error title={inert.property_value(title)}::{inert.data(message)}" for title, message in others]
    more = len(lines) - MOST_ANNOTATIONS + 1
    return lines if more <= 1 else [*lines[: MOST_ANNOTATIONS - 1], f"::error::{more} more; see the step summary"]


def _annotation(finding: Finding) -> str:
    smallest = finding.smallest
    path, _, line = smallest.origin.rpartition(":")
    title = f"{', '.join(finding.kinds)} on {finding.target}"
    lines = [f"{smallest.case}: {smallest.title}", *details(smallest)]
    lines += [f"{len(finding.cases)} cases in total"] if len(finding.cases) > 1 else []
    message = inert.data("\n".join(lines))
    properties = {"file": path, **({"line": line} if int(line) else {}), "title": title}
    return (
        f"::error {','.join(f'{name}={inert.property_value(value)}' for name, value in properties.items())}::{message}"
    )
