"""A trace for a terminal: a line for each clause by document, problems first, then the cases, the records and the result."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from maxpool_check.evidence.tracing.trace import Trace, TracedClause, TracedDocuments
from maxpool_check.evidence.tracing.words import (
    COVERED,
    NOT_EXECUTED,
    RESULTS_OF_CASES,
    UNCOVERED,
    about_record,
    counted,
    kernels,
    listed,
    outcome,
    place,
    result,
    standing,
)  # fmt: skip
from maxpool_check.reporting.text import styled, terminal
from maxpool_check.specifications.clauses import ClauseStatus
from maxpool_check.words import plural

_NARROW = 72
"""Columns in which a table is unreadable."""


@dataclass(frozen=True)
class TraceReport:
    """A trace and how to show it: ``width`` in columns; ``verbose`` with statements, cases and kernels."""

    trace: Trace
    width: int = 100
    color: bool = False
    verbose: bool = False


def write(report: TraceReport, file: TextIO) -> None:
    """Write the whole trace."""
    trace = report.trace
    with terminal(file, report.width, report.color) as console:
        for name, software in trace.targets.items():
            console.print(f"[bold]{styled(name)}[/]  {styled(software)}\n", soft_wrap=True)
        for documents in trace.documents:
            console.print(f"[bold]{styled(', '.join(documents.edition_names))}[/]", soft_wrap=True)
            _clauses(console, report, documents)
            console.print()
        _cases(console, report)
        for record in trace.records:
            first, *others = about_record(record)
            console.print(styled(first), soft_wrap=True)
            _indented(console, others)
        word, sentence = result(trace)
        if trace.targets:
            console.print(styled(RESULTS_OF_CASES))
        style = "bold red" if word == UNCOVERED else "bold green" if word == COVERED else "bold yellow"
        console.print(f"[{style}]{word}[/]  {styled(sentence)} ({styled(counted(trace))})", soft_wrap=True)


def _clauses(console: Console, report: TraceReport, documents: TracedDocuments) -> None:
    clauses = problems_first(documents.clauses)
    if report.verbose or report.width < _NARROW:
        for clause in clauses:
            style = "bold red" if _is_bad(clause) else "bold"
            console.print(f"  [{style}]{styled(clause.id)}[/]  {styled(_number(clause))}", soft_wrap=True)
            _indented(console, _results(report, clause), 4)
            if report.verbose:
                _indented(console, _in_full(report.trace, clause), 4)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold", ratio=1)
    for clause in clauses:
        style = "[red]" if _is_bad(clause) else "[default]"
        text = "\n".join(map(styled, _results(report, clause)))
        table.add_row(styled(clause.id), styled(_number(clause)), f"{style}{text}[/]")
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def problems_first(clauses: Iterable[TracedClause]) -> list[TracedClause]:
    """The clauses in their order, but problems first: see :func:`_rank`."""
    return sorted(clauses, key=_rank)


def _rank(clause: TracedClause) -> int:
    """Not covered; with unexpected results; never compared; with known defects; not compared on some target; all others."""
    problems = (clause.gap, clause.unexpected, clause.never_compared, clause.failed, clause.not_compared)
    return next((rank for rank, problem in enumerate(problems) if problem), len(problems))


def _is_bad(clause: TracedClause) -> bool:
    return bool(clause.gap or clause.unexpected or clause.never_compared)


def _number(clause: TracedClause) -> str:
    return plural(len(clause.cases), "case") if clause.cases else ""


def _results(report: TraceReport, clause: TracedClause) -> Iterator[str]:
    """What is to be said of a clause, the results on each target in a line of its own."""
    most = None if report.verbose else 3
    several = len(report.trace.targets) > 1
    is_usual = (
        clause.gap is None
        and not clause.never_compared
        and clause.status is ClauseStatus.TESTABLE
        and clause.erratum is None
    )
    if text := "; ".join(filter(None, ("" if is_usual else standing(clause), kernels(clause)))):
        yield text
    for target, each in clause.results.items():
        yield f"{target}: {outcome(each, most)}" if several else outcome(each, most)
    if clause.cases and not clause.results and report.trace.targets:
        yield NOT_EXECUTED
    elif several and clause.cases:
        yield from (f"{target}: {NOT_EXECUTED}" for target in report.trace.targets if target not in clause.results)


def _in_full(trace: Trace, clause: TracedClause) -> Iterator[str]:
    """The statement of a clause, its place, the cases with their results, and the wrong kernels."""
    yield f"{clause.kind.value}: {clause.states} ({place(clause)})"
    if clause.reason and clause.status is not ClauseStatus.INFORMATIVE:
        yield clause.reason
    if clause.origin:
        yield f"follows from {', '.join(clause.origin)}"
    if clause.without_case and clause.cases:
        yield f"no case in {', '.join(clause.without_case)}"
    for kernel, cases in (clause.kernels or {}).items():
        yield f"{kernel} ({trace.kernels.get(kernel, '')}) {'is noticed by ' + ', '.join(cases) if cases else 'is noticed by no case'}"
    by_id = {case.id: case for case in trace.cases}
    for name in clause.cases:
        results = by_id[name].results
        told = "; ".join(f"{target}: {outcome(each)}" if len(trace.targets) > 1 else outcome(each) for target, each in results.items())  # fmt: skip
        yield f"{name}: {told}" if told else name


def _cases(console: Console, report: TraceReport) -> None:
    """The other direction: how many cases are about a clause, and which are not; all of them if ``verbose``."""
    trace = report.trace
    if report.verbose:
        console.print("[bold]cases[/]")
        _indented(console, (f"{case.id}: {', '.join(case.clauses) or 'no clause'}" for case in trace.cases))
    unnamed = [case.id for case in trace.unnamed]
    about = f", {len(unnamed)} of them about no clause: {listed(unnamed)}" if unnamed else ", each about a clause"
    console.print(styled(plural(len(trace.cases), "case") + (about if trace.cases else "")))


def _indented(console: Console, lines: Iterable[str] | Sequence[str], columns: int = 2) -> None:
    for line in lines:
        console.print(Padding(styled(line), (0, 0, 0, columns), expand=False))
