"""A trace as a document of StrictDoc 0.30: requirements, test cases, and the result of each case on each target.

A requirement is a clause, and the parent of the cases that are about it; a case is the parent of its results.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from maxpool_check import inert
from maxpool_check.evidence.tracing.names import safe_names
from maxpool_check.evidence.tracing.text import TraceReport
from maxpool_check.evidence.tracing.trace import Trace, TracedCase, TracedClause, TracedDocuments, TracedResult
from maxpool_check.evidence.tracing.words import about_record, kernels, outcome, place, result, standing, verdicts

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "REQUIREMENT": (
        "UID", "TITLE", "STATEMENT", "DOCUMENTS", "EDITIONS", "PLACE", "KIND", "STATUS", "POLICY", "ERRATUM", "REASON",
        "COVERAGE", "KERNELS",
    ),
    "TEST_CASE": ("UID", "TITLE", "STATEMENT", "DOCUMENT", "ORIGIN", "DIGEST"),
    "TEST_RESULT": ("UID", "TITLE", "STATEMENT", "TARGET", "SOFTWARE", "VERDICTS", "UNEXPECTED", "DEFECTS", "KINDS"),
}  # fmt: skip
"""The fields of each element, in order; all but UID, TITLE and STATEMENT may be missing."""

_ALWAYS = ("UID", "TITLE", "STATEMENT")
_UNSAFE = re.compile(r"[^A-Za-z0-9_()\-/.:]")
_LINK = re.compile(r"\[(LINK|ANCHOR): ")


def write(report: TraceReport, file: TextIO) -> None:
    """Write the document."""
    file.writelines(f"{line}\n" for line in _lines(report.trace))


def _lines(trace: Trace) -> Iterator[str]:
    yield from ("[DOCUMENT]", "TITLE: Clauses, cases and results", "UID: MAXPOOL-CHECK-TRACE")
    yield from (f"VERSION: {_text(trace.tool)}", "OPTIONS:", "  MARKUP: Text", "", "[GRAMMAR]", "ELEMENTS:")
    yield from ("- TAG: TEXT", "  FIELDS:", *_declared("UID", required=False), *_declared("STATEMENT"))
    yield from ("- TAG: SECTION", "  PROPERTIES:", "    IS_COMPOSITE: True", "  FIELDS:", *_declared("TITLE"))
    for tag, fields in _FIELDS.items():
        yield from (f"- TAG: {tag}", "  FIELDS:")
        for field in fields:
            yield from _declared(field, required=field in _ALWAYS)
        yield from ("  RELATIONS:", "  - TYPE: Parent")
    word, sentence = result(trace)
    told = [f"{word}: {sentence}.", *("; ".join(about_record(record)) for record in trace.records)]
    yield from _node("TEXT", {"STATEMENT": " ".join(told)})
    cases = safe_names((case.id for case in trace.cases), _UNSAFE, "CASE:")
    listed = {clause.id for clause in trace.clauses}
    for documents in trace.documents:
        yield from _section(", ".join(documents.edition_names), _requirements(documents, listed))
    yield from _section("Test cases", _cases(trace, cases, listed))
    if trace.targets:
        yield from _section("Test results", _results(trace, cases))


def _declared(field: str, *, required: bool = True) -> Iterator[str]:
    yield from (f"  - TITLE: {field}", "    TYPE: String", f"    REQUIRED: {required}")


def _section(title: str, nodes: Iterable[str]) -> Iterator[str]:
    yield from ("", "[[SECTION]]", f"TITLE: {_text(title)}")
    yield from nodes
    yield from ("", "[[/SECTION]]")


def _requirements(documents: TracedDocuments, listed: set[str]) -> Iterator[str]:
    for clause in documents.clauses:
        editions = [name for name in documents.edition_names if name.partition("@")[0] in clause.documents]
        yield from _node("REQUIREMENT", _stated(clause, editions), [each for each in clause.origin if each in listed])


def _stated(clause: TracedClause, editions: Iterable[str]) -> dict[str, str]:
    return {
        "UID": clause.id, "TITLE": clause.id, "STATEMENT": clause.states, "DOCUMENTS": ", ".join(clause.documents),
        "EDITIONS": ", ".join(editions), "PLACE": place(clause), "KIND": clause.kind.value, "STATUS": clause.status.value,
        "POLICY": clause.policy or "", "ERRATUM": "" if clause.erratum is None else str(clause.erratum),
        "REASON": clause.reason, "COVERAGE": standing(clause), "KERNELS": kernels(clause),
    }  # fmt: skip


def _cases(trace: Trace, uids: Mapping[str, str], listed: set[str]) -> Iterator[str]:
    for case in trace.cases:
        fields = {
            "UID": uids[case.id], "TITLE": case.id, "STATEMENT": case.title, "DOCUMENT": case.document,
            "ORIGIN": case.origin, "DIGEST": f"SHA-256 {case.sha256}",
        }  # fmt: skip
        yield from _node("TEST_CASE", fields, [clause for clause in case.clauses if clause in listed])


def _results(trace: Trace, uids: Mapping[str, str]) -> Iterator[str]:
    # A number for a target would depend on the order of the records.
    names = safe_names(trace.targets, _UNSAFE)
    for target, software in trace.targets.items():
        for case in trace.cases:
            if target in case.results:
                uid = f"{uids[case.id]} ({names[target]})"
                yield from _node(
                    "TEST_RESULT", _came(uid, case, target, software, case.results[target]), [uids[case.id]]
                )


def _came(uid: str, case: TracedCase, target: str, software: str, came: TracedResult) -> dict[str, str]:
    return {
        "UID": uid, "TITLE": f"{case.id} on {target}", "STATEMENT": outcome(came), "TARGET": target,
        "SOFTWARE": software, "VERDICTS": verdicts(came), "UNEXPECTED": str(came.unexpected),
        "DEFECTS": ", ".join(came.defects), "KINDS": ", ".join(came.kinds),
    }  # fmt: skip


def _node(tag: str, fields: Mapping[str, str], parents: Iterable[str] = ()) -> Iterator[str]:
    yield from ("", f"[{tag}]")
    yield from (f"{name}: {_text(text)}" for name, text in fields.items() if text)
    relations = [line for parent in parents for line in ("- TYPE: Parent", f"  VALUE: {parent}")]
    if relations:
        yield from ("RELATIONS:", *relations)


def _text(text: str) -> str:
    """One line that is text to StrictDoc, whatever it holds."""
    shown = _LINK.sub(r"[\1 ", inert.line(" ".join(text.split()))) or "-"
    return f"\\{shown}" if shown.startswith(">>>") else shown
