"""What many releases of one runtime show: a matrix of kinds and releases, and what changed with each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich.table import Table

from maxpool_check.comparing.timeline import Release, Step
from maxpool_check.comparing.transitions import counts
from maxpool_check.reporting.findings import sentence
from maxpool_check.reporting.markup import bullets, codes, escaped, joined, table
from maxpool_check.reporting.text import terminal
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.words import plural


@dataclass(frozen=True)
class HistoryReport:
    """The releases of a target and their changes, and how to show them."""

    target: str
    releases: Sequence[Release]
    steps: Sequence[Step]
    width: int = 100

    @property
    def exit_code(self) -> ExitCode:
        """``INCOMPLETE`` if a release was skipped."""
        return ExitCode.INCOMPLETE if self.skipped else ExitCode.AS_EXPECTED

    @property
    def executed(self) -> list[Release]:
        """The releases that were not skipped."""
        return [release for release in self.releases if release.record is not None]

    @property
    def skipped(self) -> list[Release]:
        """The releases that were skipped."""
        return [release for release in self.releases if release.record is None]

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """The kinds, then the verdicts, each with its numbers by release."""
        kinds = [release.kinds for release in self.executed]
        verdicts = [release.verdicts for release in self.executed]
        rows = [(kind, [counter[kind] for counter in kinds]) for kind in sorted(set().union(*kinds))]
        rows += [(verdict.value, [counter[verdict] for counter in verdicts]) for verdict in Verdict]
        return [(label, numbers) for label, numbers in rows if any(numbers)]


def write_text(report: HistoryReport, file: TextIO) -> None:
    """Write a line for each kind or verdict and a column for each release, in as many blocks as the width needs."""
    rows, executed = report.rows, report.executed
    first = max((len(label) for label, _ in rows), default=0)
    column = max((len(release.version) for release in executed), default=0) + 2
    columns = max(1, (report.width - first) // column)
    with terminal(file, report.width) as console:
        console.print(f"{report.target}: cases by kind, executions by verdict\n")
        for start in range(0, len(executed), columns):
            block = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            block.add_column("")
            for release in executed[start : start + columns]:
                block.add_column(release.version, justify="right", no_wrap=True)
            for label, values in rows:
                block.add_row(label, *[str(value or ".") for value in values[start : start + columns]])
            console.print(block)
            console.print()
        for release in report.skipped:
            console.print(f"skipped {release.version}: {release.skipped}", soft_wrap=True)
        for step in report.steps:
            changes = {group.change.value for group in step.groups}
            numbers = [f"{count} {change}" for change, count in counts(step.transitions).items() if change in changes]
            if numbers:
                console.print(f"{step.old.version} -> {step.new.version}: {', '.join(numbers)}", soft_wrap=True)


def write_markdown(report: HistoryReport, file: TextIO) -> None:
    """Write the whole report in Markdown."""
    file.write(joined(_blocks(report)) + "\n")


def _blocks(report: HistoryReport) -> Iterator[str]:
    executed = report.executed
    yield f"# {report.target}: a history"
    if executed and executed[0].record is not None:
        header, executions = executed[0].record.header, len(executed[0].record.executions)
        size = f"{plural(header.cases, 'case')}, {plural(executions, 'execution')} of each release"
        machine = f"{header.system}, {header.cpu}; {header.started.partition('T')[0]}"
        yield f"{size}. Cases: SHA-256 `{header.cases_sha256}`. {machine}."
    yield "The number of cases that show each kind, and of executions by verdict:"
    body = [[f"`{label}`", *[str(value or "") for value in values]] for label, values in report.rows]
    yield table(["", *[release.version for release in executed]], body, right=range(1, len(executed) + 1))
    yield "The kinds:"
    kinds = sorted({kind for release in executed for kind in release.kinds})
    yield bullets(f"`{kind}`: {sentence(kind)}" for kind in kinds)
    yield "## Changes"
    for step in report.steps:
        yield f"### {step.old.version} to {step.new.version}"
        changes = [
            [group.change.value, *map(codes, group.kinds), str(len(group.cases)), f"`{group.smallest.execution.case}`"]
            for group in step.groups
        ]
        headings = ["change", "before", "after", "cases", "smallest"]
        yield table(headings, changes, right=[3]) if changes else "No changes."
    if report.skipped:
        yield "## Skipped releases"
        yield bullets(f"{release.version}: {escaped(release.skipped)}" for release in report.skipped)


def write_json(report: HistoryReport, file: TextIO) -> None:
    """Write one JSON document."""
    document = {
        "schema": "maxpool-check/history/1",
        "exit_code": report.exit_code,
        "target": report.target,
        "releases": [_release(release) for release in report.releases],
        "changes": [_step(step) for step in report.steps],
        "errors": [],
    }
    file.write(json.dumps(document, indent=1) + "\n")


def _release(release: Release) -> Mapping[str, Any]:
    if release.record is None:
        return {"version": release.version, "skipped": release.skipped}
    digest = release.record.header.cases_sha256
    return {"version": release.version, "cases_sha256": digest, "verdicts": release.verdicts, "kinds": release.kinds}


def _step(step: Step) -> Mapping[str, Any]:
    return {
        "from": step.old.version,
        "to": step.new.version,
        "summary": counts(step.transitions),
        "groups": [
            {"change": group.change, "before": group.kinds[0], "after": group.kinds[1], "cases": group.cases}
            for group in step.groups
        ],
    }


FORMATS = {"text": write_text, "markdown": write_markdown, "json": write_json}
