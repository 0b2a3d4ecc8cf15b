"""The releases where the result on a case changes: as text, as JSON, and in Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from maxpool_check import inert
from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.reporting.abridged import abridged
from maxpool_check.reporting.markup import bullets, code, escaped, fenced, joined, table
from maxpool_check.reporting.text import details
from maxpool_check.results.record import ExitCode

_LINE = 390
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
    def summary(self) -> str:
        """How many releases were tested, in which variant."""
        every = ", one after the other" if self.linear else ""
        return f"{len(self.tested)} of {len(self.versions)} releases tested{every}, variant {self.variant}"

    @property
    def results(self) -> list[str]:
        """A sentence for each change, or one that says why there is none."""
        if self.errors:
            return [f"INCOMPLETE {TOO_FEW}"]
        if not self.boundaries:
            oldest, *_, newest = self.tested
            return [f"no change from {self.versions[oldest]} to {self.versions[newest]}: {self.tested[oldest]}"]
        return [self.sentence(boundary) for boundary in self.boundaries]

    def sentence(self, boundary: Boundary) -> str:
        """A change: ``last 1.28.0 diverges (indices-sentinel), first 1.29.0 conforms``."""
        last, first = (f"{self.versions[position]} {self.tested[position]}" for position in boundary)
        return f"last {last}, first {first}"


def write_text(report: BisectionReport, file: TextIO) -> None:
    """Write the releases that were skipped, and the changes, each on a line."""
    skipped = [f"skipped {version}: {reason}" for version, reason in report.skipped.items()]
    file.write(inert.block("\n".join([*skipped, report.summary, *report.results])) + "\n")


def write_json(report: BisectionReport, file: TextIO) -> None:
    """Write one JSON document."""
    releases = {
        position: {"version": report.versions[position], "verdict": observation.verdict, "kinds": observation.kinds}
        for position, observation in report.tested.items()
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


def write_markdown(report: BisectionReport, file: TextIO) -> None:
    """Write the changes first, then the result of each release and both sides of each change in full."""
    file.write(joined(_blocks(report)) + "\n")


def _blocks(report: BisectionReport) -> Iterator[str]:
    yield f"## {_text(report.case)} on {_text(report.target)}"
    yield from (f"**{_text(result)}**" for result in report.results)
    yield f"{_text(report.title)}. {_text(report.summary)}."
    firsts = {first for _, first in report.boundaries}
    rows = [
        [code(report.versions[position]), _text(str(observation)), "changes" if position in firsts else ""]
        for position, observation in report.tested.items()
    ]
    if rows:
        yield table(["release", "result", ""], rows)
    for position in dict.fromkeys(position for boundary in report.boundaries for position in boundary):
        if report.tested[position].is_fault:
            yield f"{code(report.versions[position])}:"
            lines = details(report.tested[position].execution)
            yield fenced(line if len(line) <= _LINE else f"{line[:160]} ... {line[-220:]}" for line in lines)
    yield bullets(f"{_text(version)} skipped: {_text(reason)}" for version, reason in report.skipped.items())


def _text(text: str) -> str:
    """Foreign text on a line that is not too long."""
    return escaped(abridged(text))
