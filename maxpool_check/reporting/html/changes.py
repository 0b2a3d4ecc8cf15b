"""The page of a comparison: the decision, the changes counted, and each group with both sides drawn."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from maxpool_check.comparing.gate import TargetComparison, TransitionGroup
from maxpool_check.comparing.transitions import IMPROVEMENTS
from maxpool_check.reporting.changes import MEANINGS, ComparisonReport, details, group_cause, titles
from maxpool_check.reporting.html.names import Names
from maxpool_check.reporting.html.page import slug, write_page
from maxpool_check.reporting.html.views import ExecutionView, settings
from maxpool_check.reporting.reruns import run_on
from maxpool_check.results.record import Execution


@dataclass(frozen=True)
class GroupView:
    """A group of changes with one cause, and what the page shows of it."""

    comparison: TargetComparison
    group: TransitionGroup

    @property
    def cause(self) -> str:
        """The known defects before and after, or the kinds."""
        return group_cause(self.group)

    @property
    def anchor(self) -> str:
        """The id of its element."""
        accepted = f"-{self.group.accepted}" if self.group.accepted is not None else ""
        names = f"{self.comparison.old.name}-{self.comparison.new.name}"
        return slug(f"change-{names}-{self.group.change.value}{accepted}-{self.cause}")

    @property
    def look(self) -> str:
        """The class of the change in the style sheet."""
        if self.group.blocks:
            return "bad"
        return "good" if self.group.change in IMPROVEMENTS else "REVIEW"

    @property
    def titles(self) -> list[str]:
        """What explains the group: the known defects before and after, and what the user has accepted."""
        accepted = [f"Accepted: {self.group.accepted}"] if self.group.accepted is not None else []
        return [*titles(self.group.defects, self.comparison), *accepted]

    @property
    def execution(self) -> Execution:
        """The execution of the smallest case, the newer one if it is there."""
        return self.group.smallest.execution

    @property
    def settings(self) -> str:
        """The dtype and shape of X and the attributes of the smallest case."""
        sides = (self.group.smallest.new, self.group.smallest.old)
        return next((text for side in sides if side is not None and (text := settings(side))), "")

    @property
    def sides(self) -> list[tuple[str, str, ExecutionView | None]]:
        """Both results of the smallest case; None where it was not executed."""
        smallest, comparison = self.group.smallest, self.comparison
        pairs = (("old", comparison.old.name, smallest.old), ("new", comparison.new.name, smallest.new))
        return [(label, name, ExecutionView([side]) if side is not None else None) for label, name, side in pairs]

    @property
    def lines(self) -> list[str]:
        """Both results as text."""
        return details(self.group.smallest)

    @property
    def kinds(self) -> list[str]:
        """The kinds on either side."""
        return list(dict.fromkeys(kind for side in self.group.kinds for kind in side))

    @property
    def names(self) -> Names:
        """The cases by file."""
        names = Names()
        for case in self.group.cases:
            names.add(case)
        return names

    @property
    def command(self) -> str:
        """A command line that runs the smallest case on both targets."""
        return shlex.join(run_on(self.execution, [self.comparison.old.name, self.comparison.new.name]))


class ChangesPage:
    """What the page of comparisons shows."""

    def __init__(self, report: ComparisonReport) -> None:
        self.report = report

    @property
    def result(self) -> tuple[str, str]:
        """The decision, and its reason."""
        word, _, reason = self.report.result.partition(" ")
        return word, reason

    @property
    def title(self) -> str:
        """The targets."""
        return (
            "; ".join(f"{each.old.name} to {each.new.name}" for each in self.report.comparisons) or self.report.command
        )

    def cause(self, group: TransitionGroup) -> str:
        """The known defects before and after, or the kinds."""
        return group_cause(group)

    def views(self, comparison: TargetComparison) -> list[GroupView]:
        """The groups of a comparison, those that block first."""
        return [GroupView(comparison, group) for group in comparison.groups]

    def counts(self, comparison: TargetComparison) -> Sequence[tuple[str, str, int, str]]:
        """The changes that occur: name, class, number of executions, meaning."""
        return [
            (
                change.value,
                "bad" if change in comparison.summary.blocking else "good" if change in IMPROVEMENTS else "",
                count,
                MEANINGS[change],
            )
            for change, count in comparison.summary.counts.items()
            if count
        ]

    @property
    def filters(self) -> dict[str, list[str]]:
        """The values of each filter that occur; empty if there is nothing to filter."""
        views = [view for comparison in self.report.comparisons for view in self.views(comparison)]
        targets = list(dict.fromkeys(view.comparison.new.name for view in views))
        if not views:
            return {}
        return {
            "target": targets if len(targets) > 1 else [],
            "change": list(dict.fromkeys(view.group.change.value for view in views)),
            "kind": sorted({kind for view in views for kind in view.kinds}),
        }


def write(report: ComparisonReport, file: TextIO) -> None:
    """Write the page of comparisons."""
    write_page("changes.html", file, {"page": ChangesPage(report), "report": report})
