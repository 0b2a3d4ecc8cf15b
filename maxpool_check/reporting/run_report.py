"""A record and how every report shows it: its findings, its numbers by group and severity, its result in words."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeVar

from maxpool_check.judging.defects import Severity
from maxpool_check.reporting.blocks import Document
from maxpool_check.reporting.findings import Finding, findings
from maxpool_check.reporting.items import Checks, of_run
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import COMPARED, Execution, ExitCode, KnownEntry, KnownStatus, Record, Verdict
from maxpool_check.words import plural

_Key = TypeVar("_Key", bound=Enum)


class ResultGroup(str, Enum):
    """What an execution that does not conform is, in the order of reports; the value is its noun."""

    DIVERGENCE = "divergence"
    """Values, indices or shapes are wrong, or a graph is executed that the document excludes."""
    CRASH = "crash"
    """The process died, or did not end."""
    REFUSAL = "refusal"
    """A graph is refused that the document allows and for which there are kernels."""
    LIMIT = "limit"
    """A graph is refused that the document allows, which the runtime does not implement."""
    INCONSISTENCY = "inconsistency"
    """The document allows each result, but they differ from variant to variant."""

    def counted(self, count: int, adjective: str = "") -> str:
        """``1 crash``, ``2 known crashes``."""
        nouns = {ResultGroup.CRASH: "crashes", ResultGroup.INCONSISTENCY: "inconsistencies"}.get(self, "")
        blank = " " if adjective else ""
        return plural(count, adjective + blank + self.value, nouns and adjective + blank + nouns)


@dataclass(frozen=True)
class Tally:
    """How much there is of something: defects, of which so many are new, with their executions and cases.

    A defect is a finding: a known defect, or results that are wrong in the same way, on one target. ``new`` are those that
    fail the run. ``cases`` are counted once, however many executions show the defects.
    """

    defects: int
    new: int
    executions: int
    cases: int


def group_of(execution: Execution, finding: Finding) -> ResultGroup:
    """The group of an execution of a finding: a defect may show itself in several."""
    match execution.verdict:
        case Verdict.REFUSES:
            return ResultGroup.LIMIT if finding.severity is Severity.LIMIT else ResultGroup.REFUSAL
        case Verdict.CRASHES | Verdict.TIMES_OUT:
            return ResultGroup.CRASH
        case Verdict.INCONSISTENT:
            return ResultGroup.INCONSISTENCY
    return ResultGroup.DIVERGENCE


def _tallies(
    findings: Iterable[Finding], keys: type[_Key], key: Callable[[Execution, Finding], _Key]
) -> dict[_Key, Tally]:
    """The tally of each key of an execution and its finding that occurs, in the order of the keys."""
    shares: dict[_Key, list[tuple[Finding, str]]] = {each: [] for each in keys}
    for finding in findings:
        for execution in finding.executions:
            shares[key(execution, finding)].append((finding, execution.case))
    result = {}
    for each, share in shares.items():
        defects, cases = {finding for finding, _ in share}, {case for _, case in share}
        if share:
            new = sum(finding.is_unexpected for finding in defects)
            result[each] = Tally(len(defects), new, len(share), len(cases))
    return result


def _in_words(findings: Iterable[Finding], adjective: str = "") -> str:
    """``318 known divergences in 12 defects, 557 known refusals in 3 defects``."""
    return ", ".join(
        f"{group.counted(tally.executions, adjective)} in {plural(tally.defects, 'defect')}"
        for group, tally in _tallies(findings, ResultGroup, group_of).items()
    )


_OUTSIDE = (Verdict.UNDEFINED, Verdict.UNKNOWN, Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED)
"""The verdicts that compare nothing with a document."""


class RunLabel(str, Enum):
    """How the last line of a run begins."""

    CONFORMS = "CONFORMS"
    KNOWN_DEFECTS = "KNOWN DEFECTS"
    SPECIAL_VALUES = "SPECIAL VALUES"
    UNEXPECTED = "UNEXPECTED"
    INCOMPLETE = "INCOMPLETE"
    NOTHING_COMPARED = "NOTHING COMPARED"


@dataclass(frozen=True)
class RunReport:
    """A record and how to show it: ``width`` is in columns, ``verbose`` shows known defects in full.

    ``cases`` lists the cases of each defect, and leaves nothing out.
    """

    record: Record
    exit_code: int
    width: int = 100
    color: bool = False
    verbose: bool = False
    cases: bool = False

    def checks(self) -> Checks:
        """The report for CI systems."""
        return of_run(self)

    def documents(self, form: Form) -> Iterator[Document]:
        """The report in this form."""
        from maxpool_check.reporting.run_view import document

        yield document(self, form)

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

    @cached_property
    def counts(self) -> Mapping[str, Mapping[Verdict, int]]:
        """The number of executions by target and verdict, every target of the header and every verdict included."""
        counts = {target.name: dict.fromkeys(Verdict, 0) for target in self.record.header.targets}
        for execution in self.record.executions:
            counts.setdefault(execution.target, dict.fromkeys(Verdict, 0))[execution.verdict] += 1
        return counts

    @cached_property
    def totals(self) -> dict[Verdict, int]:
        """The number of executions by verdict."""
        return {verdict: sum(counts[verdict] for counts in self.counts.values()) for verdict in Verdict}

    @property
    def compared(self) -> int:
        """The number of executions that were compared with a document."""
        return sum(count for verdict, count in self.totals.items() if verdict in COMPARED)

    @property
    def conforming(self) -> int:
        """The number of executions that conform."""
        return self.totals[Verdict.CONFORMS]

    @cached_property
    def groups(self) -> Mapping[ResultGroup, Tally]:
        """The compared executions that do not conform, by group: those that occur, in order."""
        return _tallies(self.findings, ResultGroup, group_of)

    @cached_property
    def severities(self) -> Mapping[Severity, Tally]:
        """The defects, executions and cases of each severity that occurs, the worst first."""
        return _tallies(self.findings, Severity, lambda _, finding: finding.severity)

    @property
    def tested(self) -> str:
        """What was executed, in words: ``4 cases in 8 executions``, ``nothing of 4 cases``."""
        cases, executions = plural(self.record.header.cases, "case"), len(self.record.executions)
        return f"{cases} in {plural(executions, 'execution')}" if executions else f"nothing of {cases}"

    @property
    def balance(self) -> str:
        """How many of the compared executions conform, and how many were not compared, in words."""
        verb = "conforms" if 1 in (self.conforming, self.compared) else "conform"
        others = (verdict for verdict in _OUTSIDE if self.totals[verdict])
        apart = [f"{self.totals[verdict]} {verdict.value.replace('-', ' ')}" for verdict in others]
        return ", ".join([f"{self.conforming} of {plural(self.compared, 'compared execution')} {verb}", *apart])

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

    @property
    def passed(self) -> bool:
        """Whether the run ended without an unexpected result, whatever known defects it shows."""
        return self.record.footer is not None and self.exit_code == ExitCode.AS_EXPECTED

    @cached_property
    def result(self) -> tuple[str, str]:
        """The result of the run: one or two words, and a sentence without its full stop."""
        if self.record.footer is None:
            return RunLabel.INCOMPLETE.value, "the run did not end"
        if self.exit_code == ExitCode.NOTHING_COMPARED:
            return RunLabel.NOTHING_COMPARED.value, "no execution could be compared with a document"
        if self.exit_code == ExitCode.INCOMPLETE:
            return RunLabel.INCOMPLETE.value, next(iter(self.problems), "some executions failed").splitlines()[0]
        expected = [finding for finding in self.findings if finding.is_expected]
        inconsistent = [each for each in self.findings if not each.is_expected and each.is_inconsistency]
        accepted = [_in_words(expected, "known"), _in_words(self.special, "special-value"), _in_words(inconsistent)]
        if self.exit_code == ExitCode.UNEXPECTED:
            label, parts = RunLabel.UNEXPECTED, self._unexpected()
        else:
            # Wrong values are never a success without a word.
            wrong = RunLabel.KNOWN_DEFECTS if expected else RunLabel.SPECIAL_VALUES
            label = RunLabel.CONFORMS if set(self.groups) <= {ResultGroup.INCONSISTENCY} else wrong
            parts = ["0 unexpected"]
        return label.value, "; ".join(filter(None, [*parts, *accepted, self.balance]))

    def _unexpected(self) -> list[str]:
        """What fails the run, in words."""
        unexpected = [execution.case for execution in self.record.executions if execution.unexpected]
        allowed = sum(bool(execution.information) for execution in self.record.executions)
        results = f"{plural(len(unexpected), 'unexpected result')} in {plural(len(set(unexpected)), 'case')}"
        if groups := _in_words(self.unexpected):
            results += f": {groups}"
        return [
            results if unexpected else "",
            f"{plural(len(self.outdated), 'known defect')} to remove or review" if self.outdated else "",
            f"{plural(allowed, 'difference')} that the documents allow" if allowed else "",
        ]
