"""A run for GitHub: a step summary in Markdown, and annotations at the lines of the cases."""

from __future__ import annotations

from maxpool_check.reporting.findings import Finding, findings, sentence, summary
from maxpool_check.reporting.markdown import escaped, state, summary_table, table
from maxpool_check.reporting.text import details
from maxpool_check.results.record import Record

MOST_ANNOTATIONS = 10
"""How many annotations GitHub takes from a step."""


def render(record: Record, exit_code: int) -> str:
    """The summary: the state, a table, and every unexpected finding with its smallest case."""
    lines = ["## MaxPool conformance", "", *state(record, exit_code), "", *summary_table(record)]
    found = findings(record)
    for finding in (one for one in found if one.status != "expected"):
        smallest = finding.smallest
        lines += ["", f"### {', '.join(finding.kinds)} on {escaped(finding.target)}", ""]
        lines += [*(f"- {escaped(sentence(kind))}" for kind in finding.kinds), ""]
        if finding.explained:
            lines += [f"{finding.explained[0].upper()}{finding.explained[1:]}.", ""]
        lines += [f"{len(finding.cases)} cases; the smallest is `{smallest.case}` ({smallest.variant}):", ""]
        lines += ["```text", *(line.replace("```", "'''") for line in details(smallest)), "```"]
    known = [finding for finding in found if finding.status == "expected"]
    if known:
        rows = [
            [", ".join(f"`{name}`" for name in one.known), f"`{one.target}`", ", ".join(one.kinds), str(len(one.cases))]
            for one in known
        ]
        lines += ["", "<details><summary>Known divergences, as expected</summary>", ""]
        lines += [*table(["known as", "target", "kinds", "cases"], rows, right=[3]), "", "</details>"]
    return "\n".join(lines) + "\n"


def workflow_commands(record: Record) -> list[str]:
    """Workflow commands: an error at the line of the smallest case of every unexpected finding, and what else is wrong."""
    unexpected = [finding for finding in findings(record) if finding.status != "expected"]
    lines = [_annotation(finding) for finding in unexpected]
    footer = record.footer
    for entry in footer.known if footer else ():
        if entry.status in ("stale", "expired"):
            lines.append(f"::error title={_property(f'{entry.id} is {entry.status}')}::{_data(entry.message)}")
    lines += [f"::error title=incomplete::{_data(error)}" for error in (footer.errors if footer else ())]
    for target, counts in summary(record.executions).items():
        failed = counts["error"]
        if failed:
            lines.append(f"::error title=error::{_data(f'{failed} executions could not be asked of {target}')}")
    left = len(lines) - MOST_ANNOTATIONS
    if left > 0:
        lines = [*lines[: MOST_ANNOTATIONS - 1], f"::error::{left + 1} more; the step summary has them all"]
    return lines


def _annotation(finding: Finding) -> str:
    smallest = finding.smallest
    path, _, line = smallest.origin.rpartition(":")
    title = f"{', '.join(finding.kinds)} on {finding.target}"
    message = f"{smallest.case}: {smallest.title}\n" + "\n".join(details(smallest))
    count = len(finding.cases)
    message += f"\n{count} case{'s' if count != 1 else ''} in all" if count > 1 else ""
    return f"::error file={_property(path)},line={line},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
