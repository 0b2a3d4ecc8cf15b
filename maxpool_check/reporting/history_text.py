"""The history of a runtime, for a terminal."""

from typing import TextIO

from rich.table import Table

from maxpool_check.comparing.transitions import UNOBSERVABLE
from maxpool_check.reporting.history import HistoryReport, Step
from maxpool_check.reporting.text import styled, terminal


def write(report: HistoryReport, file: TextIO) -> None:
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
        for step in report.steps:
            if numbers := counted(step):
                console.print(f"{step.old} -> {step.new}: {numbers}", soft_wrap=True)


def counted(step: Step) -> str:
    """The number of executions of each observable change: ``3 fixed, 1 added``; empty if there is none."""
    counts = step.changes.counts.items()
    return ", ".join(f"{count} {change.value}" for change, count in counts if count and change not in UNOBSERVABLE)
