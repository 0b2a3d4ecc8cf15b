"""The page of a bisection: the releases where the result changes, both sides of each change drawn, all results."""

import shlex
from typing import TextIO

from maxpool_check.comparing.bisection import Boundary
from maxpool_check.reporting.bisection import BisectionReport
from maxpool_check.reporting.html.page import write_page
from maxpool_check.reporting.html.views import ExecutionView, settings


class BisectionPage:
    """What the page of a bisection shows."""

    def __init__(self, report: BisectionReport) -> None:
        self.report = report

    def sides(self, boundary: Boundary) -> list[tuple[str, str, ExecutionView]]:
        """Both releases of a change with their results."""
        return [
            (label, self.report.versions[position], ExecutionView([self.report.tested[position].execution]))
            for label, position in (("last", boundary.last), ("first", boundary.first))
        ]

    @property
    def settings(self) -> str:
        """The dtype and shape of X and the attributes; empty if every release conforms."""
        return next((text for each in self.report.tested.values() if (text := settings(each.execution))), "")

    @property
    def command(self) -> str:
        """A command line that searches again."""
        path, _, _ = self.report.origin.rpartition(":")
        return shlex.join(["maxpool-check", "bisect", path, "--case", self.report.case, "-t", self.report.target])


def write(report: BisectionReport, file: TextIO) -> None:
    """Write the page of a bisection."""
    write_page("bisection.html", file, {"page": BisectionPage(report), "report": report})
