"""A trace in Markdown: a table of clauses for each document, what is wrong first, and one of all cases."""

from collections.abc import Iterator
from typing import TextIO

from maxpool_check.evidence.tracing.text import TraceReport, problems_first
from maxpool_check.evidence.tracing.trace import Trace, TracedClause, TracedDocuments, TracedResult
from maxpool_check.evidence.tracing.words import (
    RESULTS_OF_CASES,
    about_record,
    counted,
    kernels,
    listed,
    outcome,
    place,
    result,
    standing,
)
from maxpool_check.reporting.markup import bullets, code, codes, counted_by_file, escaped, folded, joined, table
from maxpool_check.words import plural


def write(report: TraceReport, file: TextIO) -> None:
    """Write the whole trace."""
    file.write(joined(_blocks(report.trace)) + "\n")


def _blocks(trace: Trace) -> Iterator[str]:
    word, sentence = result(trace)
    yield "# Clauses, cases and results"
    yield f"**{word}** {escaped(sentence)} ({escaped(counted(trace))})."
    yield bullets(f"{code(name)}: {escaped(software)}" for name, software in trace.targets.items())
    yield bullets(escaped("; ".join(about_record(record))) for record in trace.records)
    if gaps := [clause for clause in trace.clauses if clause.gap is not None]:
        yield "## Not covered"
        yield bullets(f"{code(clause.id)}: {escaped(standing(clause))}. {escaped(clause.states)}" for clause in gaps)
    if never := trace.never_compared:
        yield "## Not compared"
        yield "No case of these testable clauses was compared on any target."
        yield bullets(f"{code(clause.id)}: {escaped(clause.states)}" for clause in never)
    if trace.targets:
        yield RESULTS_OF_CASES
    for documents in trace.documents:
        yield from _documents(trace, documents)
    yield "## Cases"
    if trace.unnamed:
        about = plural(len(trace.unnamed), "case is", "cases are")
        yield f"{about} about no clause: {codes(case.id for case in trace.unnamed)}."
    rows = [
        [code(case.id), escaped(case.document), codes(case.clauses), *_results(trace, case.results)]
        for case in trace.cases
    ]
    headings = ["case", "document", "clauses", *map(code, trace.targets)]
    yield folded(f"{plural(len(rows), 'case')} with their clauses", table(headings, rows))
    if trace.kernels:
        yield "## Wrong kernels"
        yield bullets(f"{code(name)}: {escaped(sentence)}" for name, sentence in trace.kernels.items())
    if any(trace.defects.values()):
        yield "## Known defects"
        yield bullets(f"{code(name)}: {escaped(title)}" for name, title in trace.defects.items())


def _documents(trace: Trace, documents: TracedDocuments) -> Iterator[str]:
    yield f"## {escaped(', '.join(documents.edition_names))}"
    yield bullets(f"{code(name)}: {escaped(edition.title)}" for name, edition in documents.editions.items())
    has_kernels = any(clause.kernels is not None for clause in documents.clauses)
    headings = ["clause", "statement", "place", "status", *(["kernels"] if has_kernels else []), "cases"]
    rows = [
        [
            code(clause.id), escaped(clause.states), escaped(place(clause)), escaped(standing(clause)),
            *([_kernels(clause)] if has_kernels else []), _cases(clause), *_results(trace, clause.results),
        ]
        for clause in problems_first(documents.clauses)
    ]  # fmt: skip
    yield table([*headings, *map(code, trace.targets)], rows)
    if documents.errata:
        yield "Errata:"
        yield bullets(
            f"{erratum.number}, {escaped(erratum.where)}. Printed: {escaped(erratum.printed)} "
            f"Correct: {escaped(erratum.correct)}"
            for erratum in documents.errata
        )


def _kernels(clause: TracedClause) -> str:
    noticed = [name for name, cases in (clause.kernels or {}).items() if cases]
    return f"{kernels(clause)}: {codes(noticed)}" if noticed else escaped(kernels(clause))


def _cases(clause: TracedClause) -> str:
    if not clause.cases:
        return "none"
    without = f"; none in {listed(clause.without_case, None)}" if clause.without_case else ""
    return f"{len(clause.cases)}: {counted_by_file(clause.cases)}{escaped(without)}"


def _results(trace: Trace, results: dict[str, TracedResult]) -> list[str]:
    return [escaped(outcome(results[target])) if target in results else "" for target in trace.targets]
