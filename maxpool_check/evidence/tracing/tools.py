"""A trace as data: JSON, and a table."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

import msgspec

from maxpool_check import inert
from maxpool_check.evidence.tracing.trace import Trace, TracedResult
from maxpool_check.evidence.tracing.view import kernels, outcome, place, standing
from maxpool_check.results.record import Verdict

_FORMULA = tuple("=+-@\t\r")
"""What a cell must not begin with: a spreadsheet would compute it."""
_STATEMENTS = {"clause": "statement", "case": "title", "result": "outcome"}
"""What the statement of a row is called in a table."""


@dataclass(frozen=True)
class _Row:
    """A clause, a case, or a result of a case. A clause is the parent of its cases, a case that of its results."""

    sort: str
    id: str
    title: str
    statement: str
    status: str
    fields: dict[str, str]
    parents: Sequence[str]
    section: str


def _rows(trace: Trace) -> Iterator[_Row]:
    listed = {clause.id for clause in trace.clauses}
    for documents in trace.documents:
        for clause in documents.clauses:
            gap, noticed = clause.gap, "" if clause.kernels is None else str(clause.noticed)
            results = "; ".join(f"{target}: {outcome(each)}" for target, each in clause.results.items())
            fields = {"clause": clause.id, "documents": ", ".join(clause.documents), "place": place(clause)}
            fields |= {"kind": clause.kind.value, "status": clause.status.value, "policy": clause.policy or ""}
            fields |= {"erratum": str(clause.erratum or ""), "reason": clause.reason, "coverage": standing(clause)}
            fields |= {"gap": gap.value if gap is not None else "", "not_compared": " ".join(clause.not_compared)}
            fields |= {"kernels": kernels(clause), "noticed": noticed, "results": results}
            parents, section = [each for each in clause.origin if each in listed], ", ".join(documents.edition_names)
            yield _Row("clause", clause.id, clause.id, clause.states, clause.status.value, fields, parents, section)
    for case in trace.cases:
        fields = {"case": case.id, "document": case.document, "origin": case.origin, "sha256": case.sha256}
        parents, status = [each for each in case.clauses if each in listed], _status(list(case.results.values()))
        yield _Row("case", case.id, case.id, case.title, status, fields, parents, "Test cases")
    for target, software in trace.targets.items():
        for case in trace.cases:
            if of := case.results.get(target):
                numbers = {each.value: str(of.verdicts.get(each.value, 0)) for each in Verdict}
                fields = {"target": target, "software": software, **numbers, "unexpected": str(of.unexpected)}
                fields |= {"defects": " ".join(of.defects), "kinds": " ".join(of.kinds)}
                title, name = f"{case.id} on {target}", f"{case.id} ({target})"
                yield _Row("result", name, title, outcome(of), _status([of]), fields, [case.id], "Test results")


def _status(results: Sequence[TracedResult]) -> str:
    """The worst of some results: the later verdict of the list, unexpected ones before all."""
    found = {name for result in results for name in result.verdicts}
    if any(result.unexpected for result in results):
        return "unexpected"
    return next((verdict.value for verdict in reversed(Verdict) if verdict.value in found), "not-executed")


def write_json(trace: Trace, file: TextIO) -> None:
    """Write the document that :func:`~maxpool_check.evidence.tracing.trace.trace_schema` describes."""
    encoded = msgspec.json.format(inert.ascii_json(msgspec.json.encode(trace)), indent=1)
    file.write(encoded.decode() + "\n")


def write_csv(trace: Trace, file: TextIO) -> None:
    """Write a row for each clause, case and target; what has no case or no result has empty cells."""
    rows = list(_rows(trace))
    children = defaultdict(list)
    for row in rows:
        for parent in row.parents if row.sort != "clause" else ():
            children[parent].append(row)

    def joined(row: _Row) -> Iterator[dict[str, str]]:
        cells = {name: inert.line(text) for name, text in {**row.fields, _STATEMENTS[row.sort]: row.statement}.items()}
        below = [each for child in children[row.id] for each in joined(child)]
        yield from ({**cells, **each} for each in below or [{}])

    tops = [row for row in rows if row.sort == "clause" or (row.sort == "case" and not row.parents)]
    table = [cells for row in tops for cells in joined(row)]
    writer = csv.DictWriter(file, list(dict.fromkeys(name for cells in table for name in cells)), lineterminator="\n")
    writer.writeheader()
    for cells in table:
        writer.writerow({name: f"'{text}" if text.startswith(_FORMULA) else text for name, text in cells.items()})
