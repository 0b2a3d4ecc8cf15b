"""What many releases of one runtime show: a matrix of kinds and releases, and what changed with each."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TextIO

from rich.table import Table

from maxpool_check import inert
from maxpool_check.comparing.summary import UNOBSERVABLE, ChangeSummary, TransitionGroup, summarize
from maxpool_check.comparing.transitions import transitions
from maxpool_check.judging.defects import Severity
from maxpool_check.reporting.findings import sentence
from maxpool_check.reporting.markup import bullets, code, codes, escaped, joined, table
from maxpool_check.reporting.text import styled, terminal
from maxpool_check.results.record import ExitCode, KnownEntry, Record, Verdict
from maxpool_check.words import plural


@dataclass(frozen=True)
class Release:
    """One release; ``record`` holds one target and is None for a release that was skipped for a reason."""

    version: str
    record: Record | None
    skipped: str = ""

    @property
    def verdicts(self) -> Counter[Verdict]:
        """The number of executions by verdict."""
        return Counter(execution.verdict for execution in self.record.executions) if self.record else Counter()

    @property
    def kinds(self) -> Counter[str]:
        """The number of cases that show each kind in any variant, in the order of the record."""
        executions = self.record.executions if self.record else ()
        pairs = dict.fromkeys((kind, execution.case) for execution in executions for kind in execution.kinds)
        return Counter(kind for kind, _ in pairs)

    @property
    def defects(self) -> Counter[str]:
        """The number of cases that show each known defect in any variant."""
        executions = self.record.executions if self.record else ()
        pairs = dict.fromkeys((execution.known, execution.case) for execution in executions if execution.known)
        return Counter(name for name, _ in pairs if name is not None)


@dataclass(frozen=True)
class HistoryReport:
    """The releases of a target, in ascending order, and how to show them."""

    target: str
    releases: Sequence[Release]
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

    @cached_property
    def steps(self) -> list[tuple[str, str, ChangeSummary]]:
        """The changes from each release that was not skipped to the next, with both versions."""
        records = [(release.version, release.record) for release in self.releases if release.record is not None]
        return [
            (
                old,
                new,
                summarize(transitions(before, after, before.header.targets[0].name, after.header.targets[0].name)),
            )
            for (old, before), (new, after) in itertools.pairwise(records)
        ]

    @property
    def defects(self) -> dict[str, KnownEntry]:
        """The known defects that some release shows, the worst first."""
        footers = [release.record.footer for release in self.executed if release.record is not None]
        entries = {entry.id: entry for footer in footers if footer is not None for entry in footer.known}
        shown = {name for release in self.executed for name in release.defects}
        ranks = {name: Severity(entry.severity).rank if entry.severity else 0 for name, entry in entries.items()}
        return {name: entries[name] for name in sorted(shown & entries.keys(), key=lambda name: (ranks[name], name))}

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """The known defects, the worst first, the kinds, then the verdicts, each with its numbers by release."""
        defects = [release.defects for release in self.executed]
        kinds = [release.kinds for release in self.executed]
        verdicts = [release.verdicts for release in self.executed]
        rows = [(name, [counter[name] for counter in defects]) for name in self.defects]
        rows += [(kind, [counter[kind] for counter in kinds]) for kind in sorted(set().union(*kinds))]
        rows += [(verdict.value, [counter[verdict] for counter in verdicts]) for verdict in Verdict]
        return [(label, numbers) for label, numbers in rows if any(numbers)]


def write_text(report: HistoryReport, file: TextIO) -> None:
    """Write a line for each kind or verdict and a column for each release, in as many blocks as the width needs."""
    rows, executed = report.rows, report.executed
    first = max((len(label) for label, _ in rows), default=0)
    column = max((len(release.version) for release in executed), default=0) + 2
    columns = max(1, (report.width - first) // column)
    with terminal(file, report.width) as console:
        console.print(f"{styled(report.target)}: cases by defect and by kind, executions by verdict\n")
        for start in range(0, len(executed), columns):
            block = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            block.add_column("")
            for release in executed[start : start + columns]:
                block.add_column(release.version, justify="right", no_wrap=True)
            for label, values in rows:
                block.add_row(styled(label), *[str(value or ".") for value in values[start : start + columns]])
            console.print(block)
            console.print()
        for release in report.skipped:
            console.print(styled(f"skipped {release.version}: {release.skipped}"), soft_wrap=True)
        for old, new, changes in report.steps:
            numbers = [
                f"{count} {change.value}"
                for change, count in changes.counts.items()
                if count and change not in UNOBSERVABLE
            ]
            if numbers:
                console.print(f"{old} -> {new}: {', '.join(numbers)}", soft_wrap=True)


def write_markdown(report: HistoryReport, file: TextIO) -> None:
    """Write the whole report in Markdown."""
    file.write(joined(_blocks(report)) + "\n")


def _blocks(report: HistoryReport) -> Iterator[str]:
    executed = report.executed
    yield f"# {escaped(report.target)}: a history"
    if executed and executed[0].record is not None:
        header, executions = executed[0].record.header, len(executed[0].record.executions)
        size = f"{plural(header.cases, 'case')}, {plural(executions, 'execution')} of each release"
        machine = escaped(f"{header.system}, {header.cpu}; {header.started.partition('T')[0]}")
        yield f"{size}. Cases: SHA-256 {code(header.cases_sha256)}. {machine}."
    yield "The number of cases that show each defect and each kind, and of executions by verdict:"
    body = [[code(label), *[str(value or "") for value in values]] for label, values in report.rows]
    yield table(["", *[release.version for release in executed]], body, right=range(1, len(executed) + 1))
    if report.defects:
        yield "The defects:"
        yield bullets(
            f"{code(name)} ({entry.severity}): {escaped(entry.title)}" for name, entry in report.defects.items()
        )
    yield "The kinds:"
    kinds = sorted({kind for release in executed for kind in release.kinds})
    yield bullets(f"{code(kind)}: {sentence(kind)}" for kind in kinds)
    yield "## Changes"
    for old, new, changes in report.steps:
        yield f"### {old} to {new}"
        rows = [
            [group.change.value, *_sides(group), str(len(group.cases)), code(group.smallest.execution.case)]
            for group in changes.groups
        ]
        yield table(["change", "before", "after", "cases", "smallest"], rows, right=[3]) if rows else "No changes."
    if report.skipped:
        yield "## Skipped releases"
        yield bullets(f"{release.version}: {escaped(release.skipped)}" for release in report.skipped)


def _sides(group: TransitionGroup) -> list[str]:
    """The known defects before and after, or the kinds where there is none."""
    sides = zip(group.defects, group.kinds, strict=True)
    return [code(defect) if defect is not None else codes(kinds) for defect, kinds in sides]


def write_json(report: HistoryReport, file: TextIO) -> None:
    """Write one JSON document."""
    document = {
        "schema": "maxpool-check/history/1",
        "exit_code": report.exit_code,
        "target": report.target,
        "releases": [_release(release) for release in report.releases],
        "changes": [
            {
                "from": old,
                "to": new,
                "summary": changes.counts,
                "groups": [
                    {"change": group.change, "before": group.kinds[0], "after": group.kinds[1], "cases": group.cases}
                    for group in changes.groups
                ],
            }
            for old, new, changes in report.steps
        ],
        "errors": [],
    }
    file.write(inert.dumps(document, indent=1) + "\n")


def _release(release: Release) -> Mapping[str, Any]:
    if release.record is None:
        return {"version": release.version, "skipped": release.skipped}
    digest = release.record.header.cases_sha256
    return {
        "version": release.version,
        "cases_sha256": digest,
        "verdicts": release.verdicts,
        "defects": release.defects,
        "kinds": release.kinds,
    }


FORMATS = {"text": write_text, "markdown": write_markdown, "json": write_json}
