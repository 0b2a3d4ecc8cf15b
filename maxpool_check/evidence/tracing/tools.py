"""A trace for the tools of others: JSON, a table, StrictDoc 0.30 and the needs.json of Sphinx-Needs."""

import csv
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

import msgspec

from maxpool_check import inert
from maxpool_check.evidence.tracing.trace import Trace, TracedResult
from maxpool_check.evidence.tracing.view import TraceReport, about_record, kernels, outcome, place, result, standing
from maxpool_check.results.record import Verdict

_FORMULA = tuple("=+-@\t\r")
"""What a cell must not begin with: a spreadsheet would compute it."""
_MARKUP = re.compile(r"[\\*`|_:]|^[^\w\s]|(?<=^\w)[.)]|(?<=^\w\w)[.)]")
"""What begins markup in reStructuredText: in a line, and at its beginning, where a list may be numbered."""
_DYNAMIC = re.compile(r"\[(?=\[)|<(?=<)|\](?=\])|>(?=>)|\{(?=[{%#])")
"""What begins a function, a variant or a template in a field of Sphinx-Needs."""
_TAGS = {"clause": "REQUIREMENT", "case": "TEST_CASE", "result": "TEST_RESULT"}
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


def write_json(report: TraceReport, file: TextIO) -> None:
    """Write the document that :func:`~maxpool_check.evidence.tracing.trace.trace_schema` describes."""
    encoded = msgspec.json.format(inert.ascii_json(msgspec.json.encode(report.trace)), indent=1)
    file.write(encoded.decode() + "\n")


def write_csv(report: TraceReport, file: TextIO) -> None:
    """Write a row for each clause, case and target; what has no case or no result has empty cells."""
    rows = list(_rows(report.trace))
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


def write_sdoc(report: TraceReport, file: TextIO) -> None:
    """Write a document of StrictDoc: requirements, test cases, and the results of each case as its children."""
    file.writelines(f"{line}\n" for line in _sdoc_lines(report.trace))


def _sdoc_lines(trace: Trace) -> Iterator[str]:
    rows, uids = list(_rows(trace)), dict[str, str]()
    for row in rows:
        safe = re.sub(r"[^A-Za-z0-9_()\-/.: ]", "_", row.id)
        digest = f"-{hashlib.sha256(row.id.encode()).hexdigest()[:8]}" if safe != row.id else ""
        uids[row.id] = row.id if row.sort == "clause" else f"CASE:{safe}{digest}"

    def fields(*names: str, required: bool = True) -> Iterator[str]:
        for name in names:
            yield f"  - TITLE: {_upper(name)}\n    TYPE: String\n    REQUIRED: {required}"

    yield f"[DOCUMENT]\nTITLE: Clauses, cases and results\nUID: MAXPOOL-CHECK-TRACE\nVERSION: {_sdoc(trace.tool)}"
    yield "OPTIONS:\n  MARKUP: Text\n\n[GRAMMAR]\nELEMENTS:\n- TAG: TEXT\n  FIELDS:"
    yield from (*fields("UID", required=False), *fields("STATEMENT"))
    yield from ("- TAG: SECTION\n  PROPERTIES:\n    IS_COMPOSITE: True\n  FIELDS:", *fields("TITLE"))
    for sort, tag in _TAGS.items():
        own = next((row.fields for row in rows if row.sort == sort), {})
        yield from (f"- TAG: {tag}\n  FIELDS:", *fields("UID", "TITLE", "STATEMENT"), *fields(*own, required=False))
        yield "  RELATIONS:\n  - TYPE: Parent"
    records = ["; ".join(about_record(record)) for record in trace.records]
    yield f"\n[TEXT]\nSTATEMENT: {_sdoc(' '.join([': '.join(result(trace)) + '.', *records]))}"
    for section, group in groupby(rows, lambda row: row.section):
        yield f"\n[[SECTION]]\nTITLE: {_sdoc(section)}"
        for row in group:
            yield f"\n[{_TAGS[row.sort]}]\nUID: {uids[row.id]}"
            yield f"TITLE: {_sdoc(row.title)}\nSTATEMENT: {_sdoc(row.statement)}"
            own = {name: text for name, text in row.fields.items() if text not in ("", "0")}
            yield from (f"{_upper(name)}: {_sdoc(text)}" for name, text in own.items())
            yield from ["RELATIONS:"] if row.parents else []
            yield from (f"- TYPE: Parent\n  VALUE: {uids[parent]}" for parent in row.parents)
        yield "\n[[/SECTION]]"


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _sdoc(text: str) -> str:
    """One line that is text to StrictDoc, whatever it holds."""
    shown = re.sub(r"\[(LINK|ANCHOR): ", r"[\1 ", inert.line(" ".join(text.split()))) or "-"
    return f"\\{shown}" if shown.startswith(">>>") else shown


def write_needs(report: TraceReport, file: TextIO) -> None:
    """Write a requirement for each clause and a test for each case, in the types that Sphinx-Needs knows."""

    def plain(text: str) -> str:
        return _DYNAMIC.sub(r"\g<0> ", inert.line(" ".join(text.split())))

    def id_of(row: _Row) -> str:
        digest = hashlib.sha256(row.id.encode()).hexdigest()[:8].upper()
        safe = re.sub("[^A-Z0-9]", "_", row.id.upper())
        return row.id.replace("-", "_") if row.sort == "clause" else f"CASE_{safe}_{digest}"

    rows, version = list(_rows(report.trace)), report.trace.tool
    ids, needs = {row.id: id_of(row) for row in rows}, {}
    results = defaultdict(list)
    for row in rows:
        if row.sort == "result":
            results[row.parents[0]].append(row)
    for row in (row for row in rows if row.sort != "result"):
        lines = [f"{name}: {text}" for name, text in row.fields.items() if text]
        lines += [f"{each.status} on {each.fields['target']}: {each.statement}" for each in results[row.id]]
        first, *others = (_MARKUP.sub(r"\\\g<0>", plain(line)) or "-" for line in (row.statement, *lines))
        # The status on each target is a tag, so that versions can be told apart in queries; commas would end it.
        tags = [re.sub("[,;|]", "_", f"{each.status} on {plain(each.fields['target'])}") for each in results[row.id]]
        needs[ids[row.id]] = {
            "id": ids[row.id],
            "type": "req" if row.sort == "clause" else "test",
            "title": plain(row.title),
            "status": row.status,
            "tags": row.fields["documents"].split(", ") if row.sort == "clause" else [row.fields["document"], *tags],
            "links": [ids[parent] for parent in row.parents],
            "content": "\n".join([first, "", *(f"* {line}" for line in others)]).rstrip(),
        }
    about = {"creator": {"program": "maxpool-check", "version": version}, "needs": needs, "needs_amount": len(needs)}
    project = {"project": "Clauses, cases and results", "current_version": version, "versions": {version: about}}
    file.write(inert.dumps(project, indent=1) + "\n")
