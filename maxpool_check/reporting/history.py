"""What many releases of one runtime show, and what changed with each: the report of ``history``, as blocks and as JSON."""

import itertools
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TextIO

from maxpool_check import inert
from maxpool_check.comparing.gate import ChangeSummary, summarize
from maxpool_check.comparing.transitions import UNOBSERVABLE, Transitions
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault, by_name, cases_of, faults, sentence
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span
from maxpool_check.reporting.changes import table_of
from maxpool_check.reporting.provenance import environment
from maxpool_check.reporting.writers import Form
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
    """The releases of a target, in ascending order, and how to show them."""

    target: str
    releases: Sequence[Release]
    width: int = 100
    interrupted: bool = False
    color: bool = False
    verbose: bool = False

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
            steps.append(Step(old, new, summarize(Transitions(before, after, names))))
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
            sentence += (
                f", from {executed[0].version} to {executed[-1].version}: the newest shows {defects} and {kinds}"
            )
            sentence += " of divergence"
        return blocks.Verdict(word, sentence, "bad" if self.exit_code else "known" if self.causes else "good")

    def documents(self, form: Form) -> Iterator[Document]:
        """The report in this form, with fewer and fewer changes of each step, then fewer and fewer releases."""
        every = len(self.executed)
        sizes = [(1000, every), (30, every), (10, every), (3, every), (3, 24), (3, 8)]
        head: list[Block] = [self.result, *(Paragraph(error, "problem") for error in self.errors)]
        for most, newest in sizes:
            shown = self.executed[-newest:] if newest else []
            steps: list[Block] = []
            for step in self.steps[-newest:]:
                groups = step.changes.groups
                steps.append(blocks.Folded(str(step), [table_of(groups, most)]) if groups else Paragraph(str(step)))
            changes = Section("Changes", steps or [Paragraph("There are no two releases to compare.")], "changes")
            parts: list[Block] = [*_numbers(self, shown, form), changes]
            headers = [release.record.header for release in shown if release.record is not None]
            if headers and form is not Form.TEXT:
                facts = blocks.Facts(list(environment(headers[-1])))
                again = [blocks.Command(shlex.join(headers[-1].command), "run the newest again")]
                made_with: list[Block] = [facts, *(again if headers[-1].command else [])]
                parts.append(Section("Environment of the newest", made_with, "environment", "Environment"))
            left_out = f", the newest {len(shown)} of {every} releases" * (len(shown) < every)
            yield Document("MaxPool history", shortened(f"{self.target}: a history{left_out}"), head, parts)


def _numbers(report: HistoryReport, releases: Sequence[Release], form: Form) -> Iterator[Section]:
    """The known defects, the kinds and the verdicts, each with its numbers by release; a page says beside them what they are."""
    kinds = sorted({kind for release in releases for kind in release.kinds})
    parts: dict[str, tuple[str, dict[str, str]]] = {
        "defects": ("Known defects, in numbers of cases", {name: report.title(name) for name in report.defects}),
        "kinds": ("Kinds of divergence, in numbers of cases", {kind: sentence(kind) for kind in kinds}),
        "verdicts": ("Verdicts, in numbers of executions", dict.fromkeys(Verdict, "")),
    }
    versions = [release.version for release in releases]
    for unit, (title, texts) in parts.items():
        counters: list[Counter[Any]] = [getattr(release, unit) for release in releases]
        rows = [(str(name), text, [counter[name] for counter in counters]) for name, text in texts.items()]
        rows = [row for row in rows if any(row[2])]
        matrix = blocks.Matrix(unit.removesuffix("s"), versions, rows, f"{unit.capitalize()} by release")
        about: list[Inline] = [[Span(name, code=True), f": {text}"] for name, text, _ in rows if text]
        words = [blocks.Bullets(about)] if about and form is Form.MARKDOWN else []
        yield Section(title, [matrix, *words], unit, unit.capitalize())


def write_json(report: HistoryReport, file: TextIO) -> None:
    """Write one JSON document."""
    releases: list[dict[str, Any]] = []
    for release in report.releases:
        if release.record is None:
            releases.append({"version": release.version, "skipped": release.skipped})
        else:
            numbers = {"verdicts": release.verdicts, "defects": release.defects, "kinds": release.kinds}
            digest = release.record.header.cases_sha256
            releases.append({"version": release.version, "cases_sha256": digest, **numbers})
    changes = [
        {
            "from": step.old,
            "to": step.new,
            "summary": step.changes.counts,
            "groups": [
                {
                    "change": group.change,
                    "before": group.kinds[0],
                    "after": group.kinds[1],
                    "defects": group.defects,
                    "cases": group.cases,
                }
                for group in step.changes.groups
            ],
        }
        for step in report.steps
    ]
    headers = (release.record.header for release in report.releases if release.record is not None)
    document = {
        "schema": "maxpool-check/history/1",
        "exit_code": report.exit_code,
        "target": report.target,
        "distribution": next((header.targets[0].distribution for header in headers), ""),
        "releases": releases,
        "changes": changes,
        "errors": [{"message": error} for error in report.errors],
    }
    file.write(inert.dumps(document, indent=1) + "\n")
