"""A trace for the tools of others: JSON, a table for spreadsheets, StrictDoc 0.30 and the needs.json of Sphinx-Needs."""

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
_UNSAFE_UID = r"[^A-Za-z0-9_()\-/.: ]"
_STATEMENTS = {"clause": "statement", "case": "title", "result": "outcome"}
"""What the statement of a row is called in a table."""


@dataclass(frozen=True)
class _Row:
    """A clause, a case, or the result of a case on a target; a clause is the parent of its cases, a case that of its results."""

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
            has_kernels, gap = clause.kernels is not None, clause.gap.value if clause.gap is not None else ""
            fields = {
                "clause": clause.id, "documents": ", ".join(clause.documents), "place": place(clause), "kind": clause.kind.value,
                "status": clause.status.value, "policy": clause.policy or "", "erratum": str(clause.erratum or ""),
                "reason": clause.reason, "coverage": standing(clause), "gap": gap, "not_compared": " ".join(clause.not_compared),
                "kernels": kernels(clause), "noticed": str(clause.noticed) if has_kernels else "",
                "results": "; ".join(f"{target}: {outcome(each)}" for target, each in clause.results.items()),
            }  # fmt: skip
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
    """Write a document of StrictDoc: requirements, test cases, and the result of each case on each target as their child."""
    tags = {"clause": "REQUIREMENT", "case": "TEST_CASE", "result": "TEST_RESULT"}
    rows = list(_rows(report.trace))
    names = {row.id: row.id if row.sort == "clause" else f"CASE:{_safe(row.id, _UNSAFE_UID)}" for row in rows}
    word, sentence = result(report.trace)
    records = ["; ".join(about_record(record)) for record in report.trace.records]

    def fields(*names: str, required: bool = True) -> Iterator[str]:
        for name in names:
            yield f"  - TITLE: {name.upper().replace('-', '_')}\n    TYPE: String\n    REQUIRED: {required}"

    def lines() -> Iterator[str]:
        yield f"[DOCUMENT]\nTITLE: Clauses, cases and results\nUID: MAXPOOL-CHECK-TRACE\nVERSION: {_sdoc(report.trace.tool)}"
        yield "OPTIONS:\n  MARKUP: Text\n\n[GRAMMAR]\nELEMENTS:\n- TAG: TEXT\n  FIELDS:"
        yield from (*fields("UID", required=False), *fields("STATEMENT"))
        yield from ("- TAG: SECTION\n  PROPERTIES:\n    IS_COMPOSITE: True\n  FIELDS:", *fields("TITLE"))
        for sort, tag in tags.items():
            own = next((row.fields for row in rows if row.sort == sort), {})
            yield from (f"- TAG: {tag}\n  FIELDS:", *fields("UID", "TITLE", "STATEMENT"), *fields(*own, required=False))
            yield "  RELATIONS:\n  - TYPE: Parent"
        yield f"\n[TEXT]\nSTATEMENT: {_sdoc(' '.join([f'{word}: {sentence}.', *records]))}"
        for section, group in groupby(rows, lambda row: row.section):
            yield f"\n[[SECTION]]\nTITLE: {_sdoc(section)}"
            for row in group:
                yield f"\n[{tags[row.sort]}]\nUID: {names[row.id]}\nTITLE: {_sdoc(row.title)}\nSTATEMENT: {_sdoc(row.statement)}"
                own = {name: text for name, text in row.fields.items() if text not in ("", "0")}
                yield from (f"{name.upper().replace('-', '_')}: {_sdoc(text)}" for name, text in own.items())
                yield from ["RELATIONS:"] if row.parents else []
                yield from (f"- TYPE: Parent\n  VALUE: {names[parent]}" for parent in row.parents)
            yield "\n[[/SECTION]]"

    file.writelines(f"{line}\n" for line in lines())


def _sdoc(text: str) -> str:
    """One line that is text to StrictDoc, whatever it holds."""
    shown = re.sub(r"\[(LINK|ANCHOR): ", r"[\1 ", inert.line(" ".join(text.split()))) or "-"
    return f"\\{shown}" if shown.startswith(">>>") else shown


def write_needs(report: TraceReport, file: TextIO) -> None:
    """Write a requirement for each clause and a test for each case, in the types that Sphinx-Needs has without configuration."""

    def plain(text: str) -> str:
        return _DYNAMIC.sub(r"\g<0> ", inert.line(" ".join(text.split())))

    rows, version = list(_rows(report.trace)), report.trace.tool
    results = defaultdict(list)
    for row in rows:
        if row.sort == "result":
            results[row.parents[0]].append(row)
    ids = {row.id: row.id.replace("-", "_") if row.sort == "clause" else f"CASE_{_safe(row.id.upper(), '[^A-Z0-9]', row.id).upper()}" for row in rows}  # fmt: skip
    needs = {}
    for row in rows:
        if row.sort != "result":
            own = [f"{name}: {text}" for name, text in row.fields.items() if text]
            own += [f"{each.status} on {each.fields['target']}: {each.statement}" for each in results[row.id]]
            first, *others = (_MARKUP.sub(r"\\\g<0>", plain(line)) or "-" for line in (row.statement, *own))
            # The status on each target is a tag, so that versions can be told apart in queries; commas would end it.
            tags = [
                re.sub("[,;|]", "_", f"{each.status} on {plain(each.fields['target'])}") for each in results[row.id]
            ]
            needs[ids[row.id]] = {
                "id": ids[row.id], "type": "req" if row.sort == "clause" else "test", "title": plain(row.title),
                "status": row.status, "links": [ids[parent] for parent in row.parents],
                "tags": row.fields["documents"].split(", ") if row.sort == "clause" else [row.fields["document"], *tags],
                "content": "\n".join([first, "", *(f"* {line}" for line in others)]).rstrip(),
            }  # fmt: skip
    about = {"creator": {"program": "maxpool-check", "version": version}, "needs": needs, "needs_amount": len(needs)}
    project = {"project": "Clauses, cases and results", "current_version": version, "versions": {version: about}}
    file.write(inert.dumps(project, indent=1) + "\n")


def _safe(text: str, unsafe: str, original: str = "") -> str:
    """The text without unsafe characters; with a digest that tells it from others if it is not ``original`` or itself."""
    shown, whole = re.sub(unsafe, "_", text), original or text
    return (
        shown
        if shown == whole
        else f"{shown}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}".replace("-", "_" if original else "-")
    )
