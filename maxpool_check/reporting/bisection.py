"""The releases where the result on a case changes: the report of ``bisect``, as blocks and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import msgspec

from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span
from maxpool_check.reporting.changes_view import side
from maxpool_check.reporting.json import ErrorData, schema_of, write_document
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.words import shortened

TOO_FEW = "fewer than two releases could be tested"


@dataclass(frozen=True)
class BisectionReport:
    """A search over the releases of a target, in ascending order.

    ``tested`` holds what releases show, by their positions in ``versions``, in ascending order; ``boundaries`` are the positions
    where it changes. ``skipped`` has the reasons by version; ``kind`` is the kind that alone is looked for. ``linear`` says that
    every release was tried.
    """

    case: str
    case_sha256: str
    origin: str
    title: str
    target: str
    variant: str
    kind: str | None
    versions: Sequence[str]
    tested: Mapping[int, Observation]
    boundaries: Sequence[Boundary]
    skipped: Mapping[str, str]
    linear: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """Whether there is a change; ``INCOMPLETE`` if too few releases could be tested."""
        if len(self.tested) < 2:
            return ExitCode.INCOMPLETE
        return ExitCode.AS_EXPECTED if self.boundaries else ExitCode.UNEXPECTED

    @property
    def errors(self) -> list[str]:
        """Why it is incomplete."""
        return [TOO_FEW] if self.exit_code is ExitCode.INCOMPLETE else []

    @property
    def results(self) -> list[str]:
        """A sentence for each change, or one that says why there is none."""
        if self.errors:
            return self.errors
        if not self.boundaries:
            oldest, *_, newest = self.tested
            return [f"no change from {self.versions[oldest]} to {self.versions[newest]}: {self.tested[oldest]}"]
        return [self.sentence(boundary) for boundary in self.boundaries]

    def sentence(self, boundary: Boundary) -> str:
        """A change: ``last 1.28.0 diverges (indices-sentinel), first 1.29.0 conforms``."""
        last, first = (f"{self.versions[position]} {self.tested[position]}" for position in boundary)
        return f"last {last}, first {first}"


def document(report: BisectionReport) -> Document:
    """The changes, both sides of each, and the result of each release."""
    tone = "bad" if report.exit_code else "known"
    every = ", one after the other" if report.linear else ""
    summary = f"{len(report.tested)} of {len(report.versions)} releases tested{every}, variant {report.variant}"
    word = "INCOMPLETE" if report.errors else "CHANGED" if report.boundaries else "UNCHANGED"
    head: list[Block] = [blocks.Verdict(word, shortened(result), tone) for result in report.results]
    head += [Paragraph(shortened(report.title), rank=blocks.REPORT), Paragraph(summary)]
    head += [Paragraph(f"{version} skipped: {why}") for version, why in report.skipped.items()]
    title = f"{shortened(report.case)} on {shortened(report.target)}"
    parts = [*(_change(report, boundary) for boundary in report.boundaries), _releases(report)]
    return Document("MaxPool bisection", title, head, parts)


def _releases(report: BisectionReport) -> Section:
    firsts = {boundary.first for boundary in report.boundaries}
    rows: list[list[Inline]] = []
    for position, seen in report.tested.items():
        result = Span(shortened(str(seen)), tone="bad" if seen.is_fault else "good")
        changes = "changes" if position in firsts else ""
        rows.append([Span(report.versions[position], code=True), result, changes])
    table = blocks.Table(["release", "result", "change"], rows, label="Releases that were tested")
    return Section("Releases that were tested", [table], "releases", rank=blocks.REPORT)


def _change(report: BisectionReport, boundary: Boundary) -> Section:
    sides = [
        side(f"{label} {report.versions[position]}", report.tested[position].execution, settings=label == "first")
        for label, position in (("last", boundary.last), ("first", boundary.first))
    ]
    anchor = f"change-{report.boundaries.index(boundary) + 1}"
    return Section(shortened(report.sentence(boundary)), sides, anchor, rank=blocks.REPORT)


class TestedData(msgspec.Struct, frozen=True, kw_only=True):
    """What a release shows."""

    version: str
    verdict: Verdict
    kinds: tuple[str, ...]


class SkippedData(msgspec.Struct, frozen=True, kw_only=True):
    """A release that could not be tested."""

    version: str
    reason: str


class BoundaryData(msgspec.Struct, frozen=True, kw_only=True):
    """Where the result changes."""

    last: TestedData
    first: TestedData


class BisectionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The document of a bisection."""

    schema: str = "maxpool-check/bisect/1"
    exit_code: int
    case: str
    case_sha256: str
    target: str
    variant: str
    kind: str | None
    """The only kind that was looked for, if there is one."""
    releases: tuple[str, ...]
    """The releases, in ascending order."""
    tested: list[TestedData]
    skipped: list[SkippedData]
    linear: bool
    """Whether every release was tested."""
    boundaries: list[BoundaryData]
    errors: list[ErrorData]


def write_json(report: BisectionReport, file: TextIO) -> None:
    """Write one JSON document."""
    tested = {
        position: TestedData(version=report.versions[position], verdict=seen.execution.verdict, kinds=tuple(seen.kinds))
        for position, seen in report.tested.items()
    }
    document = BisectionDocument(
        exit_code=report.exit_code,
        case=report.case,
        case_sha256=report.case_sha256,
        target=report.target,
        variant=report.variant,
        kind=report.kind,
        releases=tuple(report.versions),
        tested=list(tested.values()),
        skipped=[SkippedData(version=version, reason=reason) for version, reason in report.skipped.items()],
        linear=report.linear,
        boundaries=[BoundaryData(last=tested[last], first=tested[first]) for last, first in report.boundaries],
        errors=[ErrorData(message=error) for error in report.errors],
    )
    write_document(document, file)


def schema() -> Any:
    """The JSON Schema of the document of a bisection."""
    return schema_of(BisectionDocument, "bisect")
