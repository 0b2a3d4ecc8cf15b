"""The releases where the result on a case changes: the report of ``bisect``, as blocks, as JSON, and for CI systems."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import maxpool_check
from maxpool_check import inert
from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span
from maxpool_check.reporting.changes import side
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.items import Alert, Checks, Item, Log, Suite
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import ExitCode
from maxpool_check.words import shortened

TOO_FEW = "fewer than two releases could be tested"

_RULES = {
    "introduced": "A release shows what the one before it does not.",
    "fixed": "A release no longer shows what the one before it does.",
    "changed": "A release shows something else than the one before it.",
}


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

    def checks(self) -> Checks:
        """A test for each release that was tried, which fails where it shows a fault, and an alert for each change."""
        properties = {"case": self.case, "case_sha256": self.case_sha256, "variant": self.variant}
        properties |= {"kind": self.kind} if self.kind is not None else {}
        properties["result"] = "; ".join(self.results)
        suite = Suite(f"{self.target}: {self.case}", self._items, list(properties.items()))
        rules = {rule: {"shortDescription": {"text": text}} for rule, text in _RULES.items()}
        log = Log(f"bisect/{self.target}", maxpool_check.__version__, self._items, rules, self.errors)
        return Checks([suite], [log], self.errors)

    def _items(self) -> Iterator[Item]:
        changes = {boundary.first: boundary for boundary in self.boundaries}
        for position, version in enumerate(self.versions):
            place = (self.case, f"{self.target} {version}", self.origin)
            if position in self.tested:
                yield self._item(place, self.tested[position], changes.get(position))
            elif version in self.skipped:
                yield Item(*place, "skipped", "skipped-release", self.skipped[version])

    def _item(self, place: tuple[str, str, str], seen: Observation, boundary: Boundary | None) -> Item:
        return Item(
            *place,
            "failure" if seen.is_fault else "passed",
            ",".join(seen.kinds) or seen.execution.verdict.value,
            str(seen),
            text=lambda: "\n".join([self.title, *ExecutionView(seen.execution).lines()]),
            output=lambda: self.sentence(boundary) if boundary is not None else "",
            alert=(lambda: self._alert(boundary)) if boundary is not None else None,
        )

    def _alert(self, boundary: Boundary) -> Alert:
        """An error where the newer release shows a fault that the older does not."""
        old, new = (self.tested[position] for position in boundary)
        rule, level = "changed", "warning"
        if old.is_fault != new.is_fault:
            rule, level = ("introduced", "error") if new.is_fault else ("fixed", "note")
        last, first = (self.versions[position] for position in boundary)
        lines = [f"{self.case} ({self.variant}): {self.title}", self.sentence(boundary)]
        for version, seen in ((last, old), (first, new)):
            if seen.is_fault:
                lines += [f"{version}:", *ExecutionView(seen.execution).lines()]
        properties = {"case": self.case, "variant": self.variant, "last": last, "first": first}
        return Alert(rule, level, "\n".join(lines), (self.target, self.case, self.variant, first), properties)


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
