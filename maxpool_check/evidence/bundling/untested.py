"""Clauses that the results of a bundle say nothing about: nothing was compared, or their text was not read."""

from collections.abc import Iterator

from maxpool_check.evidence.tracing.trace import Trace, TracedClause
from maxpool_check.results.record import COMPARED
from maxpool_check.specifications.clauses import ClauseStatus

_NOT_READ = ("not in what was read", "outside of the text that was read")
"""A clause that points to something else has some of these words in its reason if that was not read."""


def not_compared(trace: Trace, targets: tuple[str, ...]) -> list[TracedClause]:
    """The testable clauses of which no execution was compared with a document on any of the targets."""
    return [
        clause
        for clause in trace.clauses
        if clause.status is ClauseStatus.TESTABLE and not any(_is_compared(clause, target) for target in targets)
    ]


def _is_compared(clause: TracedClause, target: str) -> bool:
    result = clause.results.get(target)
    return result is not None and any(verdict.value in result.verdicts for verdict in COMPARED)


def why(clauses: list[TracedClause], target: str) -> Iterator[str]:
    """What the executions of these clauses came to instead, in words, each with the number of clauses."""
    numbers: dict[str, int] = {}
    for clause in clauses:
        result = clause.results.get(target)
        words = " or ".join(result.verdicts) if result is not None else "not executed" if clause.cases else "no case"
        numbers[words] = numbers.get(words, 0) + 1
    return (f"{count} {words}" for words, count in numbers.items())


def not_read(trace: Trace) -> list[TracedClause]:
    """The clauses that point to something which was not read, so that nobody knows what it asks."""
    return [clause for clause in trace.clauses if any(words in clause.reason for words in _NOT_READ)]
