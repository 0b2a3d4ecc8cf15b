"""The entry page of a bundle: what was executed with which result, and how to check all of it. It has no script."""

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.evidence.bundling.bundle import CASES, RECORDS, TOOL, BundleDescription, names_with
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.bundling.qualification import KNOWN_IS_WRONG, PAGES, own_results
from maxpool_check.evidence.bundling.target_results import TargetResults
from maxpool_check.evidence.bundling.untested import not_compared, not_read
from maxpool_check.evidence.tracing.trace import Gap, TracedClause
from maxpool_check.evidence.tracing.view import result
from maxpool_check.reporting.html.page import asset, render_page, source_of
from maxpool_check.reporting.run_report import RunLabel, RunReport
from maxpool_check.results.record import Verdict
from maxpool_check.specifications.clauses import ClauseStatus
from maxpool_check.words import plural


@dataclass(frozen=True)
class TargetOnPage:
    """A target with the result of its run; ``look`` is good, known or bad."""

    results: TargetResults
    report: RunReport

    @property
    def look(self) -> str:
        """How the result is shown."""
        return "good" if self.report.result[0] == RunLabel.CONFORMS.value else "known" if self.report.passed else "bad"


class EvidencePage:
    """What the entry page shows."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.description: BundleDescription = contents.description
        self.targets = [TargetOnPage(each, each.report) for each in contents.results]

    @property
    def title(self) -> str:
        """The targets."""
        return ", ".join(each.results.target.name for each in self.targets)

    @property
    def started(self) -> list[str]:
        """The days of the runs."""
        return sorted({each.results.header.started[:10] for each in self.targets})

    @property
    def documents(self) -> list[str]:
        """The documents of the cases."""
        return sorted({case.spec for case in self._contents.cases.values()})

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts that occur."""
        return [verdict for verdict in Verdict if any(each.results.executions[verdict] for each in self.targets)]

    statuses = tuple(ClauseStatus)

    @property
    def trace_result(self) -> tuple[str, str]:
        """One word on the clauses, and a sentence."""
        return result(self._contents.trace)

    @cached_property
    def clauses(self) -> list[tuple[str, list[int], int, int, int]]:
        """For each document, the numbers of its clauses by status, and of those that no case, or no kill, tests.

        Last the number of those of which nothing was compared on any target.
        """
        rows, missing = [], {clause.id for clause in self._not_compared}
        for documents in self._contents.trace.documents:
            for name, edition in documents.editions.items():
                held = [clause for clause in documents.clauses if name in clause.documents]
                status, gaps = Counter(clause.status for clause in held), Counter(clause.gap for clause in held)
                rows.append(
                    (
                        f"{name}@{edition.name}",
                        [status[each] for each in self.statuses],
                        gaps[Gap.NO_CASE],
                        gaps[Gap.NO_KILL],
                        sum(clause.id in missing for clause in held),
                    )
                )
        return rows

    @cached_property
    def _not_compared(self) -> list[TracedClause]:
        return not_compared(self._contents.trace, tuple(self._contents.trace.targets))

    @property
    def not_compared(self) -> list[str]:
        """How many testable clauses had no compared execution: on any target, and on each."""
        trace = self._contents.trace
        of = f"of {plural(trace.testable, 'testable clause')} had no compared execution on"
        each = [f"{len(not_compared(trace, (target,)))} {of} {target}" for target in trace.targets]
        return [f"{len(self._not_compared)} {of} any target", *each] if len(each) > 1 else each

    @property
    def not_read(self) -> list[str]:
        """The clauses that point to a text which was not read."""
        return [clause.id for clause in not_read(self._contents.trace)]

    @property
    def own_results(self) -> list[str]:
        """What shows that the tool is right, in sentences."""
        return [text.replace("**", "") for text in own_results(self._contents)]

    qualification = tuple(PAGES)
    known_is_wrong = KNOWN_IS_WRONG

    @property
    def files(self) -> dict[str, list[str]]:
        """The primary members of each folder."""
        return {folder: names_with(self._contents.members, folder) for folder in (RECORDS, CASES, *TOOL)}


def index_page(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The page."""
    style, file = asset("style.css"), io.StringIO()
    policy = f"default-src 'none'; style-src '{source_of(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    values = {"style": style, "policy": policy, "site": "", "page": EvidencePage(contents)}
    render_page("evidence.html", file, values, {})
    yield "index.html", file.getvalue().encode()
