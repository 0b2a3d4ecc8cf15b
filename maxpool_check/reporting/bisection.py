"""The releases where the result on a case changes: the report of ``bisect``, as blocks and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from maxpool_check import inert
from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span
from maxpool_check.reporting.changes import side
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import ExitCode
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
    width: int = 100
    color: bool = False
    verbose: bool = True

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

    def documents(self, form: Form) -> Iterator[Document]:
        """The changes; but on a terminal also both sides of each, and the result of each release."""
        tone = "bad" if self.exit_code else "known"
        every = ", one after the other" if self.linear else ""
        summary = f"{len(self.tested)} of {len(self.versions)} releases tested{every}, variant {self.variant}"
        word = "INCOMPLETE" if self.errors else "CHANGED" if self.boundaries else "UNCHANGED"
        head: list[Block] = [blocks.Verdict(word, shortened(result), tone) for result in self.results]
        head += [] if form is Form.TEXT else [Paragraph(shortened(self.title))]
        head += [Paragraph(summary)]
        head += [Paragraph(f"{version} skipped: {why}") for version, why in self.skipped.items()]
        parts = [] if form is Form.TEXT else [*map(self._change, self.boundaries), self._releases]
        title = f"{shortened(self.case)} on {shortened(self.target)}"
        yield Document("MaxPool bisection", title, head, parts)

    @property
    def _releases(self) -> Section:
        firsts = {boundary.first for boundary in self.boundaries}
        rows: list[list[Inline]] = []
        for position, seen in self.tested.items():
            result = Span(shortened(str(seen)), tone="bad" if seen.is_fault else "good")
            changes = "changes" if position in firsts else ""
            rows.append([Span(self.versions[position], code=True), result, changes])
        table = blocks.Table(["release", "result", "change"], rows, label="Releases that were tested")
        return Section("Releases that were tested", [table], "releases")

    def _change(self, boundary: Boundary) -> Section:
        sides = [
            side(f"{label} {self.versions[position]}", self.tested[position].execution, settings=label == "first")
            for label, position in (("last", boundary.last), ("first", boundary.first))
        ]
        return Section(shortened(self.sentence(boundary)), sides, f"change-{self.boundaries.index(boundary) + 1}")


def write_json(report: BisectionReport, file: TextIO) -> None:
    """Write one JSON document."""
    releases = {
        position: {"version": report.versions[position], "verdict": seen.execution.verdict, "kinds": seen.kinds}
        for position, seen in report.tested.items()
    }
    document: dict[str, Any] = {
        "schema": "maxpool-check/bisect/1",
        "exit_code": report.exit_code,
        "case": report.case,
        "case_sha256": report.case_sha256,
        "target": report.target,
        "variant": report.variant,
        "kind": report.kind,
        "releases": report.versions,
        "tested": list(releases.values()),
        "skipped": [{"version": version, "reason": reason} for version, reason in report.skipped.items()],
        "linear": report.linear,
        "boundaries": [{"last": releases[last], "first": releases[first]} for last, first in report.boundaries],
        "errors": [{"message": error} for error in report.errors],
    }
    file.write(inert.dumps(document, indent=1) + "\n")
