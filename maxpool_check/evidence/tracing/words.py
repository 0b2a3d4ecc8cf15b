"""What a trace says in words, in all of its formats."""

from collections.abc import Iterator, Sequence

from maxpool_check.evidence.tracing.trace import Gap, Trace, TracedClause, TracedRecord, TracedResult
from maxpool_check.results.record import Verdict
from maxpool_check.specifications.clauses import ClauseStatus
from maxpool_check.words import plural

_VERBS = {
    Verdict.CONFORMS: ("conforms", "conform"),
    Verdict.DIVERGES: ("diverges", "diverge"),
    Verdict.REFUSES: ("refuses", "refuse"),
    Verdict.CRASHES: ("crashes", "crash"),
    Verdict.TIMES_OUT: ("times out", "time out"),
}
_MOST_IDS = 5

NOT_EXECUTED = "not executed"
COVERED, UNCOVERED, NOT_COMPARED, NOTHING_TO_TEST = "COVERED", "UNCOVERED", "NOT ALL COMPARED", "NOTHING TO TEST"
"""The words for a whole trace."""

RESULTS_OF_CASES = (
    "The results of a clause are those of its cases, and a case that fails may break another of its clauses; "
    "failures of cases that are about one clause alone are counted apart."
)


def verdicts(result: TracedResult) -> str:
    """The number of executions by verdict: ``30 conform, 6 diverge``."""
    counts = {Verdict(name): count for name, count in result.verdicts.items()}
    return ", ".join(
        f"{count} {_VERBS[verdict][count > 1] if verdict in _VERBS else verdict.value.replace('-', ' ')}"
        for verdict, count in counts.items()
    )


def outcome(result: TracedResult, most: int | None = None) -> str:
    """The verdicts, what is unexpected, and the known defects, so many of them at most; None: all."""
    parts = [verdicts(result)]
    if result.failed and result.failed_alone is not None:
        parts.append(f"{result.failed_alone} of {plural(result.failed, 'failure')} in cases of this clause alone")
    if result.unexpected:
        parts.append(f"{result.unexpected} UNEXPECTED ({listed(result.kinds, most)})")
    if result.defects:
        parts.append(f"known: {listed(result.defects, most)}")
    return "; ".join(parts)


def listed(names: Sequence[str], most: int | None = _MOST_IDS) -> str:
    """Names with commas between them, so many at most, and the number of those that are left out; None: all."""
    more = f" and {len(names) - most} more" if most is not None and len(names) > most else ""
    return ", ".join(names[:most]) + more


def standing(clause: TracedClause) -> str:
    """What a clause asks of a test, with the policy, the erratum or the reason; what is wrong about it in capitals."""
    if clause.gap is not None:
        if clause.gap is Gap.NO_CASE:
            return "NO CASE"
        return "NO WRONG KERNEL NOTICED" if clause.kernels else "NO WRONG KERNEL"
    if clause.never_compared:
        return "NOT COMPARED on any target"
    if clause.status is ClauseStatus.INFORMATIVE:
        return f"informative: {clause.reason}"
    is_erratum = clause.status is ClauseStatus.ERRATUM
    asked = f"open, by the policy {clause.policy}" if clause.status is ClauseStatus.OPEN else clause.status.value
    if clause.erratum is None:
        return asked
    return f"erratum {clause.erratum}" if is_erratum else f"{asked}, erratum {clause.erratum}"


def kernels(clause: TracedClause) -> str:
    """How many of the wrong kernels that violate a clause its cases notice; empty if none were run."""
    if not clause.kernels:
        return ""
    return f"{clause.noticed} of {plural(len(clause.kernels), 'wrong kernel')} noticed"


def place(clause: TracedClause) -> str:
    """Where the statement is: the place, and the document's own name of it."""
    return f"{clause.where}, {clause.anchor}" if clause.anchor else clause.where


def counted(trace: Trace) -> str:
    """The number of clauses by status: ``210 testable, 4 open``."""
    counts = {status.value: sum(clause.status is status for clause in trace.clauses) for status in ClauseStatus}
    names = {"erratum": "errata" if counts["erratum"] > 1 else "erratum"}
    return ", ".join(f"{count} {names.get(status, status)}" for status, count in counts.items() if count)


def about_record(record: TracedRecord) -> Iterator[str]:
    """What was counted of a record, and what was not, a sentence each."""
    yield f"{record.name}: {record.counted} of {plural(record.executions, 'execution')} on {', '.join(record.targets)}"
    if record.changed:
        yield f"{plural(len(record.changed), 'case has', 'cases have')} changed since, and count for nothing: {listed(record.changed)}"
    if record.missing:
        yield f"{plural(len(record.missing), 'case is', 'cases are')} not in the files: {listed(record.missing)}"
    for target, decides in record.decides.items():
        yield f"{target} decides {decides} only, and counts for no clause"
    if not record.complete:
        yield "incomplete: the run did not end"


def result(trace: Trace) -> tuple[str, str]:
    """One word, and a sentence."""
    if not trace.testable:
        return NOTHING_TO_TEST, "none of the clauses is testable"
    testable = plural(trace.testable, "testable clause")
    parts = []
    if cases := trace.gaps(Gap.NO_CASE):
        parts.append(f"{len(cases)} of {testable} {'has' if len(cases) == 1 else 'have'} no case: {_ids(cases)}")
    if kills := trace.gaps(Gap.NO_KILL):
        parts.append(f"{len(kills)} of {testable} with cases that notice no wrong kernel: {_ids(kills)}")
    if parts:
        return UNCOVERED, "; ".join([*parts, *not_compared(trace)])
    noticed = any(clause.kernels is not None for clause in trace.clauses)
    more = ", and cases that notice a wrong kernel" if noticed else ""
    has = "has a case" if trace.testable == 1 else "each have a case"
    covered = f"{testable} {has}{more}"
    word = NOT_COMPARED if trace.never_compared else COVERED
    return word, "; ".join([*not_compared(trace), covered])


def not_compared(trace: Trace) -> Iterator[str]:
    """How many testable clauses have cases of which none was compared: on any target, and on each."""
    testable = plural(trace.testable, "testable clause")
    if never := trace.never_compared:
        where = next(iter(trace.targets)) if len(trace.targets) == 1 else "any target"
        has = "has" if len(never) == 1 else "have"
        yield f"{len(never)} of {testable} {has} no case that was compared on {where}: {_ids(never)}"
    if len(trace.targets) > 1:
        numbers = {target: len(trace.not_compared(target)) for target in trace.targets}
        if any(numbers.values()):
            told = ", ".join(f"{number} on {target}" for target, number in numbers.items())
            yield f"clauses without a compared case by target: {told}"


def _ids(clauses: Sequence[TracedClause]) -> str:
    return listed([clause.id for clause in clauses])
