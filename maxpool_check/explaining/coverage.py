"""What the executions on a target cover, as text and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from maxpool_check.corpus.coverage import DocumentCoverage, FactorCoverage
from maxpool_check.results.record import ExitCode, TargetDescription
from maxpool_check.words import plural

_MOST_BINS, _MOST_PAIRS, _MOST_GROUPS = 20, 5, 10


@dataclass(frozen=True)
class CoverageReport:
    """The coverage of documents by one target, None if it did not start; ``strength``: factors at a time."""

    target: TargetDescription | None
    documents: Sequence[DocumentCoverage]
    strength: int
    errors: Sequence[str]
    width: int = 100

    @property
    def exit_code(self) -> ExitCode:
        """``INCOMPLETE`` after errors, ``NOTHING_COMPARED`` without executions."""
        if self.errors:
            return ExitCode.INCOMPLETE
        executed = any(document.executions for document in self.documents)
        return ExitCode.AS_EXPECTED if executed else ExitCode.NOTHING_COMPARED


def write_text(report: CoverageReport, file: TextIO) -> None:
    """Write the totals of the documents; of a single one, what is not covered."""
    if report.target is None or not any(document.executions for document in report.documents):
        names = " or ".join(document.name for document in report.documents)
        file.write(f"NOTHING COMPARED no case of {names or 'any document'} was executed\n")
        return
    target = report.target
    file.write(f"{target.name}  {target.distribution} {target.version}, {target.provider}\n")
    for line in _lines(report):
        indent = "  " if line.startswith("  ") else ""
        wrapper = textwrap.TextWrapper(report.width, indent, indent * 2 + "  ", break_on_hyphens=False)
        file.write(wrapper.fill(line.lstrip()) + "\n")


def _lines(report: CoverageReport) -> Iterator[str]:
    for document in report.documents:
        covered = f"{document.total(1)} bins" + (f", {document.total(2)} pairs" if report.strength > 1 else "")
        executions, cases = plural(document.executions, "execution"), plural(document.cases, "case")
        yield f"{document.name}  {covered}; {executions} of {cases}"
    yield ""
    if len(report.documents) > 1:
        yield "--spec NAME shows what is not covered"
        return
    bins = report.documents[0].groups[1]
    yield "bins"
    widest = max(len(group.factors[0]) for group in bins)
    yield from (f"  {group.factors[0].ljust(widest)}  {_covered(group, _MOST_BINS)}" for group in bins)
    if report.strength > 1:
        yield from _pairs(report.documents[0].groups[2])


def _pairs(groups: Sequence[FactorCoverage]) -> Iterator[str]:
    incomplete = sorted((group for group in groups if group.uncovered), key=lambda group: -len(group.uncovered))
    yield ""
    yield "pairs of bins" + (", the most uncovered first" if incomplete else "")
    for group in incomplete[:_MOST_GROUPS]:
        yield f"  {' x '.join(group.factors)}  {_covered(group, _MOST_PAIRS)}"
    others = incomplete[_MOST_GROUPS:]
    if others:
        count, pairs = sum(len(group.uncovered) for group in others), plural(len(others), "other pair")
        yield f"  {count} more in {pairs} of factors; --format json has them all"
    yield f"  {len(groups) - len(incomplete)} of {len(groups)} pairs of factors are covered"


def _covered(group: FactorCoverage, most: int) -> str:
    names = [" + ".join(name for _, name in combination) for combination in group.uncovered[:most]]
    more = len(group.uncovered) - len(names)
    missing = f"; not {', '.join(names)}" if names else ""
    return f"{group.covered} of {group.possible}{missing}" + (f" and {more} more" if more else "")


def write_json(report: CoverageReport, file: TextIO) -> None:
    """Write one JSON document with everything that is not covered."""
    target, names = report.target, ("name", "distribution", "version", "provider")
    document = {
        "schema": "maxpool-check/coverage/1",
        "exit_code": report.exit_code,
        "target": None if target is None else {name: getattr(target, name) for name in names},
        "strength": report.strength,
        "documents": [_document(document) for document in report.documents],
        "errors": [{"message": error} for error in report.errors],
    }
    file.write(json.dumps(document, indent=1) + "\n")


def _document(coverage: DocumentCoverage) -> dict[str, Any]:
    document: dict[str, Any] = {"spec": coverage.name, "cases": coverage.cases, "executions": coverage.executions}
    for size, groups in coverage.groups.items():
        document[{1: "bins", 2: "pairs"}[size]] = [
            {
                "factors": group.factors,
                "possible": group.possible,
                "covered": group.covered,
                "uncovered": [dict(combination) for combination in group.uncovered],
            }
            for group in groups
        ]
    return document


FORMATS = {"text": write_text, "json": write_json}
