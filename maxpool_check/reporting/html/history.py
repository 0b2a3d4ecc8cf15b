"""The page of a history: which defects and kinds each release shows, as a chart and in numbers, and what changed."""

import shlex
from collections.abc import Sequence
from typing import TextIO

from maxpool_check.comparing.gate import TransitionGroup
from maxpool_check.reporting.changes import group_cause
from maxpool_check.reporting.findings import sentence
from maxpool_check.reporting.history import HistoryReport
from maxpool_check.reporting.html.charts import BarChart, by_verdict
from maxpool_check.reporting.html.page import write_page
from maxpool_check.results.record import RunHeader, Verdict


class HistoryPage:
    """What the page of a history shows."""

    def __init__(self, report: HistoryReport) -> None:
        self.report = report

    @property
    def chart(self) -> BarChart:
        """The executions that do not conform, by release."""
        verdicts = [release.verdicts for release in self.report.executed]
        numbers = [{verdict.value: count for verdict, count in each.items()} for each in verdicts]
        return by_verdict([release.version for release in self.report.executed], numbers)

    @property
    def header(self) -> RunHeader | None:
        """The header of the newest record; None if every release was skipped."""
        records = [release.record for release in self.report.executed if release.record is not None]
        return records[-1].header if records else None

    @property
    def defects(self) -> list[tuple[str, str, list[int]]]:
        """The known defects, the worst first: id, title, and the number of cases by release."""
        numbers = [release.defects for release in self.report.executed]
        return [(name, self.report.title(name), [each[name] for each in numbers]) for name in self.report.defects]

    @property
    def kinds(self) -> list[tuple[str, str, list[int]]]:
        """The kinds: name, sentence, and the number of cases by release."""
        numbers = [release.kinds for release in self.report.executed]
        names = sorted({name for each in numbers for name in each})
        return [(name, sentence(name), [each[name] for each in numbers]) for name in names]

    @property
    def verdicts(self) -> list[tuple[str, str, list[int]]]:
        """The verdicts: name, nothing, and the number of executions by release."""
        numbers = [release.verdicts for release in self.report.executed]
        return [(each.value, "", [of[each] for of in numbers]) for each in Verdict if any(of[each] for of in numbers)]

    def rows(self, groups: Sequence[TransitionGroup]) -> list[tuple[str, str, int, str]]:
        """Groups of changes: the change, its cause, the number of cases, the smallest."""
        return [
            (group.change.value, group_cause(group), len(group.cases), group.smallest.execution.case)
            for group in groups
        ]

    @property
    def command(self) -> str:
        """The command line of the newest release; empty if the record does not have it."""
        return shlex.join(self.header.command) if self.header is not None else ""


def write(report: HistoryReport, file: TextIO) -> None:
    """Write the page of a history."""
    write_page("history.html", file, {"page": HistoryPage(report), "report": report})
