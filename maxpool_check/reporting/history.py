"""What many releases of one runtime show, and what changed with each: the report of ``history``, as blocks and as JSON."""

import itertools
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TextIO

import msgspec

from maxpool_check.comparing.gate import ChangeSummary, GatePolicy, compare_targets
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault, by_name, cases_of, faults
from maxpool_check.judging.kinds import sentence
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span
from maxpool_check.reporting.changes_view import table_of
from maxpool_check.reporting.json import ErrorData, schema_of, write_document
from maxpool_check.reporting.provenance import environment
from maxpool_check.results.changes import UNOBSERVABLE
from maxpool_check.results.record import ExitCode, KnownEntry, Record, Verdict
from maxpool_check.words import plural, shortened


@dataclass
class Release:
    """One release; ``record`` holds one target and is None for a release that was skipped for a reason.

    ``verdicts`` has the number of executions by verdict, ``kinds`` the number of cases that show each kind in any variant, in the
    order of the record. ``faults`` has the faults of each name: the id of a known defect, or the kinds of what none explains.
    """

    version: str
    record: Record | None
    skipped: str = ""
    verdicts: Counter[Verdict] = field(default_factory=Counter, init=False)
    kinds: Counter[str] = field(default_factory=Counter, init=False)
    faults: dict[str, list[Fault]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        pairs: dict[tuple[str, str], None] = {}
        for execution in self.record.executions if self.record else ():
            self.verdicts[execution.verdict] += 1
            pairs |= dict.fromkeys((kind, execution.case) for kind in execution.kinds)
        self.kinds.update(kind for kind, _ in pairs)
        self.faults = {alike[0].name: alike for alike in by_name(faults(self.record))} if self.record else {}

    @property
    def defects(self) -> Counter[str]:
        """The number of cases that show each known defect in any variant."""
        return Counter({name: len(cases_of(alike)) for name, alike in self.faults.items() if alike[0].defect})


class Step(NamedTuple):
    """What changed from a release to the next one that was executed."""

    old: str
    new: str
    changes: ChangeSummary

    def __str__(self) -> str:
        """The number of executions of each observable change: ``1.0 to 1.1: 3 fixed, 1 added``."""
        counts = [
            (change, count) for change, count in self.changes.counts.items() if count and change not in UNOBSERVABLE
        ]
        return f"{self.old} to {self.new}: {', '.join(f'{count} {change.value}' for change, count in counts) or 'no changes'}"


@dataclass(frozen=True)
class HistoryReport:
    """The releases of a target, in ascending order."""

    target: str
    releases: Sequence[Release]
    interrupted: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """``INCOMPLETE`` if a release was skipped, ``INTERRUPTED`` if the user did that."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.INCOMPLETE if self.errors else ExitCode.AS_EXPECTED

    @property
    def executed(self) -> list[Release]:
        """The releases that were not skipped."""
        return [release for release in self.releases if release.record is not None]

    @property
    def errors(self) -> list[str]:
        """Why it is incomplete."""
        return [f"{each.version} was skipped: {each.skipped}" for each in self.releases if each.record is None]

    @cached_property
    def steps(self) -> list[Step]:
        """The changes from each release that was not skipped to the next."""
        records = [(release.version, release.record) for release in self.releases if release.record is not None]
        steps = []
        for (old, before), (new, after) in itertools.pairwise(records):
            names = (before.header.targets[0].name, after.header.targets[0].name)
            steps.append(Step(old, new, compare_targets(before, after, names, GatePolicy(changes=())).summary))
        return steps

    @cached_property
    def defects(self) -> dict[str, KnownEntry]:
        """The known defects that some release shows, the worst first."""
        footers = [release.record.footer for release in self.executed if release.record is not None]
        entries = {entry.id: entry for footer in footers if footer is not None for entry in footer.known}
        shown = {name for release in self.executed for name in release.defects}
        ranks = {name: Severity(entry.severity).rank if entry.severity else 0 for name, entry in entries.items()}
        return {name: entries[name] for name in sorted(shown & entries.keys(), key=lambda name: (ranks[name], name))}

    @property
    def causes(self) -> list[str]:
        """The known defects that some release shows, the worst first, then the kinds that no known defect explains."""
        names = {name for release in self.executed for name in release.faults}
        return [*self.defects, *sorted(names - self.defects.keys())]

    def title(self, cause: str) -> str:
        """Severity and title of a known defect; empty for kinds."""
        entry = self.defects.get(cause)
        return f"{entry.severity}: {entry.title}" if entry is not None and entry.title else ""

    @property
    def result(self) -> blocks.Verdict:
        """Whether it is complete, and what the newest release shows."""
        executed = self.executed
        word, sentence = "COMPLETE", plural(len(executed), "release")
        if self.exit_code:
            word, sentence = "INCOMPLETE", f"{len(self.errors)} of {plural(len(self.releases), 'release')} skipped"
        if executed:
            defects, kinds = plural(len(executed[-1].defects), "known defect"), plural(len(executed[-1].kinds), "kind")
            sentence += f", {executed[0].version} to {executed[-1].version}; the newest shows {defects}, {kinds}"
        return blocks.Verdict(word, sentence, "bad" if self.exit_code else "known" if self.causes else "good")


def document(report: HistoryReport) -> Document:
    """The known defects, kinds and verdicts by release, and what changed with each: where there is no room, with the newest."""
    head: list[Block] = [report.result, *(Paragraph(error, "problem") for error in report.errors)]
    steps: list[Block] = []
    for age, step in zip(range(len(report.steps) - 1, -1, -1), report.steps, strict=True):
        groups = step.changes.groups
        table = [replace(table_of(groups), rank=blocks.REPORT + min(age, 99))] if groups else []
        steps.append(Paragraph(str(step)) if not groups else blocks.Folded(str(step), table))
    changes = Section("Changes", steps or [Paragraph("There are no two releases to compare.")], "changes")
    parts: list[Block] = [*_numbers(report), changes]
    headers = [release.record.header for release in report.executed if release.record is not None]
    if headers:
        facts = blocks.Facts(list(environment(headers[-1])))
        again = [blocks.Command(shlex.join(headers[-1].command), "run the newest again")]
        made_with: list[Block] = [facts, *(again if headers[-1].command else [])]
        parts.append(Section("Environment of the newest", made_with, "environment", "Environment", rank=blocks.REPORT))
    return Document("MaxPool history", shortened(f"{report.target}: a history"), head, parts)


def _numbers(report: HistoryReport) -> Iterator[Section]:
    """The known defects, the kinds and the verdicts, each with its numbers by release, and what they are."""
    kinds = sorted({kind for release in report.executed for kind in release.kinds})
    parts: dict[str, tuple[str, dict[str, str]]] = {
        "defects": ("Known defects, in numbers of cases", {name: report.title(name) for name in report.defects}),
        "kinds": ("Kinds of divergence, in numbers of cases", {kind: sentence(kind) for kind in kinds}),
        "verdicts": ("Verdicts, in numbers of executions", dict.fromkeys(Verdict, "")),
    }
    versions = [release.version for release in report.executed]
    for unit, (title, texts) in parts.items():
        counters: list[Counter[Any]] = [getattr(release, unit) for release in report.executed]
        rows = [(str(name), text, [counter[name] for counter in counters]) for name, text in texts.items()]
        rows = [row for row in rows if any(row[2])]
        matrix = blocks.Matrix(unit.removesuffix("s"), versions, rows, f"{unit.capitalize()} by release")
        about: list[Inline] = [[Span(name, code=True), f": {text}"] for name, text, _ in rows if text]
        words = [blocks.Bullets(about, rank=blocks.REPORT)] if about else []
        yield Section(title, [matrix, *words], unit, unit.capitalize())


class ReleaseData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A release; one that was skipped has its reason alone."""

    version: str
    skipped: str = ""
    """Why it was skipped."""
    cases_sha256: str = ""
    """The digest of the cases that ran."""
    verdicts: dict[str, int] | None = None
    """The number of executions by verdict."""
    defects: dict[str, int] | None = None
    """The number of cases by known defect."""
    kinds: dict[str, int] | None = None
    """The number of cases by kind of divergence."""


class GroupData(msgspec.Struct, frozen=True, kw_only=True):
    """Executions that changed from a fault to a fault in the same way."""

    change: str
    before: tuple[str, ...]
    """The kinds before."""
    after: tuple[str, ...]
    """The kinds after."""
    defects: tuple[str | None, ...]
    """The ids of the known defects before and after."""
    cases: list[str]


class StepData(msgspec.Struct, frozen=True, kw_only=True, rename={"old": "from", "new": "to"}):
    """What changed from a release to the next one that was executed."""

    old: str
    new: str
    summary: dict[str, int]
    """The number of executions of each change."""
    groups: list[GroupData]


class HistoryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The document of a history."""

    schema: str = "maxpool-check/history/1"
    exit_code: int
    target: str
    distribution: str
    releases: list[ReleaseData]
    changes: list[StepData]
    errors: list[ErrorData]


def write_json(report: HistoryReport, file: TextIO) -> None:
    """Write one JSON document."""
    headers = (release.record.header for release in report.executed if release.record is not None)
    document = HistoryDocument(
        exit_code=report.exit_code,
        target=report.target,
        distribution=next((header.targets[0].distribution for header in headers), ""),
        releases=[_release(each) for each in report.releases],
        changes=[_step(each) for each in report.steps],
        errors=[ErrorData(message=error) for error in report.errors],
    )
    write_document(document, file)


def schema() -> Any:
    """The JSON Schema of the document of a history."""
    return schema_of(HistoryDocument, "history")


def _release(release: Release) -> ReleaseData:
    if release.record is None:
        return ReleaseData(version=release.version, skipped=release.skipped)
    return ReleaseData(
        version=release.version,
        cases_sha256=release.record.header.cases_sha256,
        verdicts={verdict.value: count for verdict, count in release.verdicts.items()},
        defects=dict(release.defects),
        kinds=dict(release.kinds),
    )


def _step(step: Step) -> StepData:
    groups = [
        GroupData(
            change=each.change.value, before=each.kinds[0], after=each.kinds[1], defects=each.defects, cases=each.cases
        )
        for each in step.changes.groups
    ]
    summary = {change.value: count for change, count in step.changes.counts.items()}
    return StepData(old=step.old, new=step.new, summary=summary, groups=groups)
