"""A run for GitHub: a step summary in Markdown, and annotations at the lines of the cases."""

from __future__ import annotations

from typing import TextIO

from maxpool_check.reporting.findings import Finding, sentence
from maxpool_check.reporting.markdown import escaped, state, summary_table, table
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.text import details
from maxpool_check.results.record import Record, Verdict
from maxpool_check.words import plural

MOST_ANNOTATIONS = 10
"""How many annotations GitHub takes from a step."""


def write(report: RunReport, file: TextIO) -> None:
    """Write the summary: the state, a table, and every unexpected finding with its smallest case."""
    lines = ["## MaxPool conformance", "", *state(report), "", *summary_table(report)]
    for finding in report.unexpected:
        smallest = finding.smallest
        lines += ["", f"### {', '.join(finding.kinds)} on {escaped(finding.target)}", ""]
        lines += [*(f"- {escaped(sentence(kind))}" for kind in finding.kinds), ""]
        lines += [finding.explanation, ""] if finding.explanation else []
        lines += [f"{plural(len(finding.cases), 'case')}. The smallest is `{smallest.case}` ({smallest.variant}):", ""]
        lines += ["```text", *(line.replace("```", "'''") for line in details(smallest)), "```"]
    rows = [
        [
            ", ".join(f"`{name}`" for name in finding.known),
            f"`{finding.target}`",
            ", ".join(finding.kinds),
            str(len(finding.cases)),
        ]
        for finding in report.findings
        if finding.is_expected
    ]
    if rows:
        lines += ["", "<details><summary>Known divergences</summary>", ""]
        lines += [*table(["entry", "target", "kinds", "cases"], rows, right=[3]), "", "</details>"]
    file.write("\n".join(lines) + "\n")


def workflow_commands(record: Record) -> list[str]:
    """Workflow commands: an error at the line of the smallest case of every unexpected finding, and other problems."""
    report = RunReport(record, 0)
    lines = [_annotation(finding) for finding in report.unexpected]
    for entry in report.outdated:
        title = _property(f"{entry.id} is {entry.status.value}")
        lines.append(f"::error title={title}::{_data(entry.message)}")
    if record.footer is not None:
        lines += [f"::error title=incomplete::{_data(problem)}" for problem in report.problems]
    for target, counts in report.counts.items():
        if counts[Verdict.ERROR]:
            message = f"{plural(counts[Verdict.ERROR], 'execution')} failed on {target}"
            lines.append(f"::error title=error::{_data(message)}")
    more = len(lines) - MOST_ANNOTATIONS + 1
    if more > 1:
        lines = [*lines[: MOST_ANNOTATIONS - 1], f"::error::{more} more; see the step summary"]
    return lines


def _annotation(finding: Finding) -> str:
    smallest = finding.smallest
    path, _, line = smallest.origin.rpartition(":")
    title = f"{', '.join(finding.kinds)} on {finding.target}"
    lines = [f"{smallest.case}: {smallest.title}", *details(smallest)]
    if len(finding.cases) > 1:
        lines.append(f"{len(finding.cases)} cases in total")
    message = "\n".join(lines)
    return f"::error file={_property(path)},line={line},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
