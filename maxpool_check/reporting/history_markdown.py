"""The history of a runtime, in Markdown: whole, and as a step summary of GitHub."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from maxpool_check.comparing.gate import TransitionGroup
from maxpool_check.reporting.abridged import abridged
from maxpool_check.reporting.changes_markdown import LARGEST
from maxpool_check.reporting.findings import sentence
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.reporting.history_text import counted
from maxpool_check.reporting.markup import bullets, code, codes, escaped, folded, joined, table
from maxpool_check.words import plural

_LINE = 390
_LABEL = 60
_MOST_KINDS = 3
_NEWEST = 8
"""How many releases a step summary shows."""


def write(report: HistoryReport, file: TextIO) -> None:
    """Write the whole report; rather than become too long it names fewer changes, then shows fewer releases."""
    releases = len(report.executed)
    for changes, newest in ((1000, releases), (30, releases), (10, releases), (3, releases), (3, 24), (3, _NEWEST)):
        text = joined(_blocks(report, changes, newest)) + "\n"
        if len(text) <= LARGEST:
            break
    file.write(text)


def write_github(report: HistoryReport, file: TextIO) -> None:
    """Write the summary: what each of the newest releases shows, in numbers of cases, and what changed."""
    newest = report.executed[-_NEWEST:]
    blocks = [f"## {_text(report.target)}: a history"]
    if report.skipped:
        blocks.append(f"**INCOMPLETE {plural(len(report.skipped), 'release')} skipped**")
    blocks.append(
        f"The number of cases that show each known defect, or kinds that none explains, on {_extent(report, newest)}:"
    )
    causes = [cause for cause in report.causes if any(cause in release.occurrences for release in newest)]
    occurrences = [release.occurrences for release in newest]
    numbers = [(cause, [len(each[cause].sizes) if cause in each else 0 for each in occurrences]) for cause in causes]
    blocks += _matrices(numbers, newest) if numbers else ["None."]
    steps = [f"{step.old} to {step.new}: {counted(step) or 'no changes'}" for step in report.steps[-_NEWEST:]]
    blocks += [folded("Changes", bullets(steps)) if steps else "", *_skipped(report)]
    file.write(joined(blocks) + "\n")


def _extent(report: HistoryReport, shown: Sequence[Release]) -> str:
    every = len(report.executed)
    return f"the newest {len(shown)} of {every} releases" if len(shown) < every else "each release"


def _blocks(report: HistoryReport, most: int, newest: int) -> Iterator[str]:
    executed = report.executed[-newest:]
    yield f"# {_text(report.target)}: a history"
    if executed and executed[0].record is not None:
        header, executions = executed[0].record.header, len(executed[0].record.executions)
        size = f"{plural(header.cases, 'case')}, {plural(executions, 'execution')} of each release"
        processor = header.targets[0].processor or "processor unknown"
        machine = _text(f"{header.system}; {processor}; {header.started.partition('T')[0]}")
        yield f"{size}. Cases: SHA-256 {code(header.cases_sha256)}. {machine}."
    of = f", on {_extent(report, executed)}" if len(executed) < len(report.executed) else ""
    yield f"The number of cases that show each defect and each kind, and of executions by verdict{of}:"
    yield from _matrices([(label, numbers[-newest:]) for label, numbers in report.rows], executed)
    if report.defects:
        yield "The defects:"
        yield bullets(
            f"{code(name)} ({entry.severity}): {_text(entry.title)}" for name, entry in report.defects.items()
        )
    yield "The kinds:"
    kinds = sorted({kind for release in report.executed for kind in release.kinds})
    yield bullets(f"{code(abridged(kind, _LABEL))}: {sentence(kind)}" for kind in kinds)
    yield "## Changes"
    for step in report.steps[-newest:]:
        yield f"### {step.old} to {step.new}"
        groups = step.changes.groups
        rows = [
            [
                group.change.value, *_sides(group), str(len(group.cases)),
                code(abridged(group.smallest.execution.case, 2 * _LABEL)),
            ]
            for group in groups[:most]
        ]  # fmt: skip
        rows += [[f"and {len(groups) - most} more", "", "", "", ""]] if len(groups) > most else []
        yield table(["change", "before", "after", "cases", "smallest"], rows, right=[3]) if rows else "No changes."
    yield from _skipped(report)


def _skipped(report: HistoryReport) -> Iterator[str]:
    if report.skipped:
        yield "## Skipped releases"
        yield bullets(f"{release.version}: {_text(release.skipped)}" for release in report.skipped)


def _matrices(rows: Sequence[tuple[str, Sequence[int]]], releases: Sequence[Release]) -> Iterator[str]:
    """A table of numbers by release, or several of them where the lines would be too long."""
    labels = [code(abridged(label, _LABEL)) for label, _ in rows]
    column = max((len(release.version) for release in releases), default=0) + len(" | ") + 1
    columns = max(1, (_LINE - max(map(len, labels), default=0)) // column)
    for start in range(0, len(releases), columns):
        block = slice(start, start + columns)
        body = [
            [label, *[str(number or "") for number in numbers[block]]]
            for label, (_, numbers) in zip(labels, rows, strict=True)
        ]
        headings = ["", *[release.version for release in releases[block]]]
        yield table(headings, body, right=range(1, len(headings)))


def _sides(group: TransitionGroup) -> list[str]:
    """The known defects before and after, or the kinds where there is none."""
    return [
        code(abridged(defect, _LABEL)) if defect is not None else _kinds(kinds)
        for defect, kinds in zip(group.defects, group.kinds, strict=True)
    ]


def _kinds(kinds: Sequence[str]) -> str:
    more = len(kinds) - _MOST_KINDS
    shown = codes(abridged(kind, _LABEL // 2) for kind in kinds[:_MOST_KINDS])
    return f"{shown} and {more} more" if more > 0 else shown


def _text(text: str) -> str:
    """Foreign text on a line that is not too long."""
    return escaped(abridged(text))
