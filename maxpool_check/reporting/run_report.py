"""A record and how every report shows it: its findings, its numbers, its result in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.reporting.findings import Finding, findings
from maxpool_check.results.record import ExitCode, KnownEntry, KnownStatus, Record, Verdict
from maxpool_check.words import plural

_EXPECTED = {
    Verdict.CONFORMS: ("conforms", "conform"),
    Verdict.DIVERGES: ("known divergence", ""),
    Verdict.REFUSES: ("known refusal", ""),
    Verdict.CRASHES: ("known crash", "known crashes"),
    Verdict.TIMES_OUT: ("known timeout", ""),
    Verdict.UNSTABLE: ("known unstable result", ""),
    Verdict.INCONSISTENT: ("inconsistent", "inconsistent"),
    Verdict.UNDEFINED: ("undefined", "undefined"),
    Verdict.NOT_EXPRESSIBLE: ("not expressible", "not expressible"),
    Verdict.NOT_CLAIMED: ("not claimed", "not claimed"),
    Verdict.ERROR: ("error", ""),
}
"""The executions of each verdict in a run without unexpected results, in words: singular and plural."""


@dataclass(frozen=True)
class RunReport:
    """A record and how to show it; ``width`` is in columns, ``verbose`` shows known defects in full."""

    record: Record
    exit_code: int
    width: int = 100
    color: bool = False
    verbose: bool = False

    @cached_property
    def findings(self) -> list[Finding]:
        """The faults, grouped by their cause."""
        return findings(self.record)

    @property
    def unexpected(self) -> list[Finding]:
        """The findings that fail the run."""
        return [finding for finding in self.findings if finding.is_unexpected]

    @property
    def special(self) -> list[Finding]:
        """What only special values show in a user's model."""
        return [finding for finding in self.findings if finding.is_special]

    @property
    def inconsistent(self) -> list[Finding]:
        """The inconsistencies that no known defect expects."""
        return [finding for finding in self.findings if not finding.is_expected and finding.is_inconsistency]

    @cached_property
    def counts(self) -> Mapping[str, Mapping[Verdict, int]]:
        """The number of executions by target and verdict, every target of the header and every verdict included."""
        counts = {target.name: dict.fromkeys(Verdict, 0) for target in self.record.header.targets}
        for execution in self.record.executions:
            counts.setdefault(execution.target, dict.fromkeys(Verdict, 0))[execution.verdict] += 1
        return counts

    @property
    def totals(self) -> dict[Verdict, int]:
        """The number of executions by verdict."""
        return {verdict: sum(counts[verdict] for counts in self.counts.values()) for verdict in Verdict}

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts that occur, in order."""
        return [verdict for verdict, count in self.totals.items() if count]

    @property
    def known(self) -> tuple[KnownEntry, ...]:
        """The known defects of the run."""
        return self.record.footer.known if self.record.footer else ()

    @property
    def outdated(self) -> list[KnownEntry]:
        """The known defects that are stale or expired."""
        return [entry for entry in self.known if entry.status in (KnownStatus.STALE, KnownStatus.EXPIRED)]

    def reasons(self, target: str) -> Mapping[str, str]:
        """The title of each known defect on a target, or its mechanism if it has none, on one line."""
        return {
            entry.id: " ".join((entry.title or entry.reason).split()) for entry in self.known if entry.target == target
        }

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the run itself."""
        return self.record.footer.errors if self.record.footer else ("the run did not end",)

    @cached_property
    def result(self) -> tuple[str, str]:
        """The result of the run: one or two words, and a sentence without its full stop."""
        if self.record.footer is None:
            return "INCOMPLETE", "the run did not end"
        if self.exit_code == ExitCode.NOTHING_COMPARED:
            return "NOTHING COMPARED", "no execution could be compared with a document"
        if self.exit_code == ExitCode.INCOMPLETE:
            return "INCOMPLETE", next(iter(self.problems), "some executions failed").splitlines()[0]
        if self.exit_code == ExitCode.UNEXPECTED:
            return "UNEXPECTED", self._unexpected()
        parts = [plural(count, *_EXPECTED[verdict]) for verdict, count in self.totals.items() if count]
        return "AS EXPECTED", f"no unexpected results: {', '.join(parts)}"

    def _unexpected(self) -> str:
        unexpected = [execution.case for execution in self.record.executions if execution.unexpected]
        allowed = sum(bool(execution.information) for execution in self.record.executions)
        inconsistent = sum(execution.status == "inconsistent" for execution in self.record.executions)
        parts = (
            (unexpected, f"{plural(len(unexpected), 'unexpected result')} in {plural(len(set(unexpected)), 'case')}"),
            (self.outdated, f"{plural(len(self.outdated), 'known defect')} to remove or review"),
            (allowed, f"{plural(allowed, 'difference')} that the documents allow"),
            (inconsistent, f"{plural(inconsistent, 'inconsistent result')}"),
        )
        return "; ".join(text for occurs, text in parts if occurs)
