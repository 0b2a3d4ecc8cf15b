"""The page of a trace: each clause with its cases and results, and all cases with their clauses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from maxpool_check.evidence.tracing.text import TraceReport, problems_first
from maxpool_check.evidence.tracing.trace import Gap, Trace, TracedCase, TracedClause, TracedDocuments
from maxpool_check.evidence.tracing.words import (
    COVERED,
    RESULTS_OF_CASES,
    UNCOVERED,
    about_record,
    counted,
    kernels,
    outcome,
    place,
    result,
    standing,
)
from maxpool_check.reporting.html.names import Names
from maxpool_check.reporting.html.page import slug, write_page
from maxpool_check.specifications.clauses import ClauseStatus
from maxpool_check.words import plural

NEVER_COMPARED = "not compared"


@dataclass(frozen=True)
class ClauseView:
    """A clause, and what the page shows of it."""

    clause: TracedClause

    @property
    def anchor(self) -> str:
        """The id of its element."""
        return slug(f"clause-{self.clause.id}")

    @property
    def coverage(self) -> str:
        """Whether cases are about it, as the filter names it."""
        if self.clause.gap is not None:
            return self.clause.gap.value
        if self.clause.unexpected:
            return "unexpected"
        if self.clause.never_compared:
            return NEVER_COMPARED
        return "covered" if self.clause.cases else "nothing to test"

    @property
    def look(self) -> str:
        """The class of its state in the style sheet."""
        if self.clause.gap is not None or self.clause.unexpected or self.clause.never_compared:
            return "bad"
        return "good" if self.clause.status is ClauseStatus.TESTABLE else ""

    @property
    def standing(self) -> str:
        """What it asks of a test, or what is missing, without the reason."""
        is_informative = self.clause.status is ClauseStatus.INFORMATIVE
        return self.clause.status.value if is_informative else standing(self.clause)

    @property
    def place(self) -> str:
        """Where the statement is."""
        return place(self.clause)

    @property
    def kernels(self) -> str:
        """How many wrong kernels its cases notice."""
        return kernels(self.clause)

    @property
    def number(self) -> str:
        """How many cases are about it."""
        return plural(len(self.clause.cases), "case") if self.clause.cases else "No case"

    @property
    def results(self) -> list[tuple[str, str]]:
        """The results on each target, in words."""
        return [(target, outcome(each)) for target, each in self.clause.results.items()]

    @property
    def names(self) -> Names:
        """The cases by file."""
        names = Names()
        for case in self.clause.cases:
            names.add(case)
        return names


class TracePage:
    """What the page of a trace shows."""

    statuses = tuple(status.value for status in ClauseStatus)

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @property
    def title(self) -> str:
        """What is traced."""
        names = ", ".join(documents.name for documents in self._trace.documents)
        targets = ", ".join(self._trace.targets)
        return f"Clauses of {names or 'no document'}" + (f" on {targets}" if targets else "")

    @property
    def result(self) -> tuple[str, str]:
        """One word, and a sentence."""
        word, sentence = result(self._trace)
        return word, f"{sentence} ({counted(self._trace)})"

    @property
    def look(self) -> str:
        """The class of the result in the style sheet."""
        return {UNCOVERED: "bad", COVERED: "good"}.get(self.result[0], "known")

    @property
    def legend(self) -> str:
        """What the results of a clause are."""
        return RESULTS_OF_CASES if self._trace.targets else ""

    @property
    def records(self) -> list[tuple[str, str]]:
        """The records, each with what was counted of it."""
        return [(record.name, "; ".join(about_record(record))) for record in self._trace.records]

    @property
    def summary(self) -> list[tuple[str, list[int], int, list[int]]]:
        """The number of clauses of each document by status, of those that are not covered, and that a target never compared."""
        return [
            (
                documents.name,
                [sum(clause.status is status for clause in documents.clauses) for status in ClauseStatus],
                sum(clause.gap is not None for clause in documents.clauses),
                [sum(target in clause.not_compared for clause in documents.clauses) for target in self._trace.targets],
            )
            for documents in self._trace.documents
        ]

    @property
    def filters(self) -> dict[str, list[str]]:
        """The values of each filter that occur."""
        views = [ClauseView(clause) for clause in self._trace.clauses]
        if not views:
            return {}
        return {
            "status": [status for status in self.statuses if any(view.clause.status.value == status for view in views)],
            "coverage": [
                name
                for name in (*(gap.value for gap in Gap), "unexpected", NEVER_COMPARED, "covered", "nothing to test")
                if any(view.coverage == name for view in views)
            ],
        }

    def views(self, documents: TracedDocuments) -> Sequence[ClauseView]:
        """The clauses of a document, problems first."""
        return [ClauseView(clause) for clause in problems_first(documents.clauses)]

    def outcomes(self, case: TracedCase) -> list[str]:
        """The results of a case on each target, in words."""
        results = case.results
        return [outcome(results[target]) if target in results else "" for target in self._trace.targets]


def write(report: TraceReport, file: TextIO) -> None:
    """Write the page."""
    write_page("trace.html", file, {"page": TracePage(report.trace), "trace": report.trace})
