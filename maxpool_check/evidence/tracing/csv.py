"""A trace as a table for spreadsheets: a row for each clause, case and target."""

import csv
from collections.abc import Iterator
from typing import Any, TextIO

from maxpool_check import inert
from maxpool_check.evidence.tracing.text import TraceReport
from maxpool_check.evidence.tracing.trace import Trace, TracedCase, TracedClause, TracedDocuments, TracedResult
from maxpool_check.evidence.tracing.words import place
from maxpool_check.results.record import Verdict

_CLAUSE = (
    "clause", "statement", "place", "kind", "status", "policy", "erratum", "reason", "gap", "not_compared",
    "kernels", "noticed",
)  # fmt: skip
_CASE = ("document", "case", "title", "origin", "sha256")
_RESULT = ("target", "software", *(verdict.value for verdict in Verdict), "unexpected", "defects", "kinds")
_FORMULA = tuple("=+-@\t\r")
"""What a cell must not begin with: a spreadsheet would compute it."""


def write(report: TraceReport, file: TextIO) -> None:
    """Write the table; what has no case or no result has empty cells."""
    rows = csv.DictWriter(file, [*_CLAUSE, *_CASE, *_RESULT], lineterminator="\n")
    rows.writeheader()
    for row in _rows(report.trace):
        rows.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: Any) -> str:
    text = inert.line("" if value is None else value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _rows(trace: Trace) -> Iterator[dict[str, Any]]:
    by_id = {case.id: case for case in trace.cases}
    for documents in trace.documents:
        for clause in documents.clauses:
            stated = _stated(clause)
            if not clause.cases:
                yield {**stated, "document": _names(documents, clause)}
            for name in clause.cases:
                yield from ({**stated, **row} for row in _of_case(trace, by_id[name]))
    for case in trace.unnamed:
        yield from _of_case(trace, case)


def _names(documents: TracedDocuments, clause: TracedClause) -> str:
    return " ".join(name for name in documents.editions if name in clause.documents)


def _stated(clause: TracedClause) -> dict[str, Any]:
    kernels = clause.kernels
    return {
        "clause": clause.id, "statement": clause.states, "place": place(clause), "kind": clause.kind.value,
        "status": clause.status.value, "policy": clause.policy, "erratum": clause.erratum, "reason": clause.reason,
        "gap": clause.gap.value if clause.gap is not None else "",
        "not_compared": " ".join(clause.not_compared),
        "kernels": None if kernels is None else len(kernels), "noticed": None if kernels is None else clause.noticed,
    }  # fmt: skip


def _of_case(trace: Trace, case: TracedCase) -> Iterator[dict[str, Any]]:
    row = {
        "document": case.document, "case": case.id, "title": case.title, "origin": case.origin, "sha256": case.sha256,
    }  # fmt: skip
    if not case.results:
        yield row
    for target, result in case.results.items():
        yield {**row, "target": target, "software": trace.targets[target], **_counts(result)}


def _counts(result: TracedResult) -> dict[str, Any]:
    return {
        **{verdict.value: result.verdicts.get(verdict.value, 0) for verdict in Verdict},
        "unexpected": result.unexpected, "defects": " ".join(result.defects), "kinds": " ".join(result.kinds),
    }  # fmt: skip
