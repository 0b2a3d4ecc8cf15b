"""A trace as the needs.json of Sphinx-Needs: a requirement for each clause, a test for each case, linked to its clauses.

It uses the types and fields that Sphinx-Needs has without configuration. Results are the status of a test, and in its text.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, TextIO

from maxpool_check import inert
from maxpool_check.evidence.tracing.text import TraceReport
from maxpool_check.evidence.tracing.trace import Trace, TracedCase, TracedClause, TracedResult
from maxpool_check.evidence.tracing.words import kernels, outcome, place, standing
from maxpool_check.results.record import Verdict

_MARKUP = re.compile(r"[\\*`|_:]|^[^\w\s]|(?<=^\w)[.)]|(?<=^\w\w)[.)]")
"""What begins markup in reStructuredText: in a line, and at its beginning, where a list may be numbered."""
_SEPARATORS = re.compile("[,;|]")
"""What ends a tag."""
_UNSAFE = re.compile(r"[^A-Z0-9]")
_DYNAMIC = re.compile(r"\[(?=\[)|<(?=<)|\](?=\])|>(?=>)|\{(?=[{%#])")
"""What begins a function, a variant or a template in a field of Sphinx-Needs."""


def write(report: TraceReport, file: TextIO) -> None:
    """Write the file."""
    trace = report.trace
    needs = {need["id"]: need for need in _needs(trace)}
    version = {
        "creator": {"program": "maxpool-check", "version": trace.tool},
        "needs": needs,
        "needs_amount": len(needs),
    }
    document = {
        "project": "Clauses, cases and results", "current_version": trace.tool, "versions": {trace.tool: version},
    }  # fmt: skip
    file.write(inert.dumps(document, indent=1) + "\n")


def _needs(trace: Trace) -> Iterator[dict[str, Any]]:
    listed = {clause.id for clause in trace.clauses}
    for clause in trace.clauses:
        yield _need(_clause_id(clause.id), "req", clause.id, clause.status.value, clause.documents,
            [_clause_id(each) for each in clause.origin if each in listed], _about_clause(clause))  # fmt: skip
    for case in trace.cases:
        links = [_clause_id(each) for each in case.clauses if each in listed]
        yield _need(
            _case_id(case.id),
            "test",
            case.id,
            _status(case.results.values()),
            [case.document, *_statuses(case)],
            links,
            _about_case(case),
        )


def _need(
    name: str, kind: str, title: str, status: str, tags: Iterable[str], links: Iterable[str], lines: Iterable[str]
) -> dict[str, Any]:
    first, *others = (_escaped(line) for line in lines)
    content = "\n".join([first, "", *(f"* {line}" for line in others)]).rstrip()
    return {
        "id": name, "type": kind, "title": _plain(title), "status": status, "tags": list(tags), "links": list(links),
        "content": content,
    }  # fmt: skip


def _clause_id(name: str) -> str:
    return name.replace("-", "_")


def _case_id(name: str) -> str:
    """Capitals, digits and underscores, which is all that an id may have, and a digest that tells it from others."""
    return f"CASE_{_UNSAFE.sub('_', name.upper())}_{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"


def _status(results: Collection[TracedResult]) -> str:
    """The worst of some results: the later verdict of the list, unexpected ones before all."""
    verdicts = {name for result in results for name in result.verdicts}
    if any(result.unexpected for result in results):
        return "unexpected"
    return next((verdict.value for verdict in reversed(Verdict) if verdict.value in verdicts), "not-executed")


def _statuses(case: TracedCase) -> Iterator[str]:
    """The status on each target, as a tag, so that versions can be told apart in queries."""
    for target, result in case.results.items():
        yield _SEPARATORS.sub("_", f"{_status([result])} on {_plain(target)}")


def _about_clause(clause: TracedClause) -> Iterator[str]:
    yield clause.states
    yield f"{clause.kind.value}, {standing(clause)}"
    yield place(clause)
    if told := kernels(clause):
        yield told
    for target, result in clause.results.items():
        yield f"{target}: {outcome(result)}"


def _about_case(case: TracedCase) -> Iterator[str]:
    yield case.title
    yield case.origin
    yield f"SHA-256 {case.sha256}"
    for target, result in case.results.items():
        yield f"{_status([result])} on {target}: {outcome(result)}"


def _plain(text: str) -> str:
    return _DYNAMIC.sub(r"\g<0> ", inert.line(" ".join(text.split())))


def _escaped(text: str) -> str:
    """Text on one line that is nothing but text in reStructuredText."""
    return _MARKUP.sub(r"\\\g<0>", _plain(text)) or "-"
