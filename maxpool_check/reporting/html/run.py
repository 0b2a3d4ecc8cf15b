"""The page of a run: what was tested and the verdict, defects, inconsistencies, refusals, what was not tested, what conforms."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TextIO

from maxpool_check.judging.defects import Severity
from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.html.names import Names
from maxpool_check.reporting.html.page import write_page
from maxpool_check.reporting.html.views import FindingView, Listing, filters
from maxpool_check.reporting.provenance import Interpretation, interpretations, profiles
from maxpool_check.reporting.run_report import RunLabel, RunReport
from maxpool_check.results.record import COMPARED, Execution, Verdict
from maxpool_check.words import plural

_BRIEF = 300
"""Findings of more cases than these list them without titles and messages."""


_MEANINGS = {
    RunLabel.CONFORMS: "nothing is wrong",
    RunLabel.KNOWN_DEFECTS: "what is wrong is exactly a known defect, and nothing else",
    RunLabel.SPECIAL_VALUES: "it is wrong on special values alone",
    RunLabel.UNEXPECTED: "something is wrong that the list of known defects does not have, or has otherwise",
    RunLabel.INCOMPLETE: "the run could not complete",
    RunLabel.NOTHING_COMPARED: "nothing was compared with a document",
}


@dataclass(frozen=True)
class Unjudged:
    """Executions with one verdict for one reason that compare nothing: ``not-expressible``, ``undefined`` and others."""

    target: str
    verdict: Verdict
    reason: str
    executions: int
    names: Names


@dataclass(frozen=True)
class Conforming:
    """What conforms to a document on a target: executions of all compared ones, by clause too, and the cases."""

    target: str
    spec: str
    compared: int
    conforming: int
    clauses: Sequence[tuple[str, int, int]]
    names: Names


@dataclass
class _Document:
    """What was compared with a document on a target: executions and conforming ones, by clause too, and conforming cases."""

    counts: Counter[str] = field(default_factory=Counter)
    clauses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    names: Names = field(default_factory=Names)


class RunPage:
    """What the page of a run shows, computed in one pass over the executions.

    ``names_alone``: cases of findings are listed by name, as in a site, which has a page for each.
    """

    def __init__(self, report: RunReport, names_alone: bool = False) -> None:
        self.report, self.record, self._names_alone = report, report.record, names_alone
        self._targets = {target.name: target for target in self.record.header.targets}
        self._documents: dict[tuple[str, str], _Document] = defaultdict(_Document)
        self._unjudged: dict[tuple[str, Verdict, str], Names] = defaultdict(Names)
        self._executions: Counter[tuple[str, Verdict, str]] = Counter()
        self.errors: list[Execution] = []
        # The variants of a case follow each other.
        for _, executions in groupby(self.record.executions, lambda each: (each.target, each.case)):
            self._add(list(executions))

    def _add(self, executions: Sequence[Execution]) -> None:
        """Count the executions of a case on a target."""
        first = executions[0]
        document = self._documents[first.target, first.spec]
        compared = [each for each in executions if each.verdict in COMPARED]
        for execution in compared:
            words = ["compared", *(["conforming"] if execution.verdict is Verdict.CONFORMS else [])]
            document.counts.update(words)
            for clause in execution.clauses or ("",):
                document.clauses[clause].update(words)
        if compared and all(each.verdict is Verdict.CONFORMS for each in compared):
            document.names.add(first.case)
        self.errors += [each for each in executions if each.verdict is Verdict.ERROR]
        unjudged = [each for each in executions if each.verdict not in COMPARED and each.verdict is not Verdict.ERROR]
        for (verdict, reason), number in Counter((each.verdict, _reason(each)) for each in unjudged).items():
            self._unjudged[first.target, verdict, reason].add(first.case)
            self._executions[first.target, verdict, reason] += number

    @property
    def title(self) -> str:
        """The targets."""
        return ", ".join(self._targets)

    @property
    def documents(self) -> list[str]:
        """The documents that results were compared with, or that cases are of."""
        return list(self.record.header.profile)

    @cached_property
    def views(self) -> list[FindingView]:
        """All findings, the worst of each target first."""
        return [self._view(finding) for finding in self.report.findings]

    def _view(self, finding: Finding) -> FindingView:
        if self._names_alone:
            listing = Listing.NAMES
        else:
            listing = Listing.BRIEF if finding.is_refusal or len(finding.cases) > _BRIEF else Listing.FULL
        return FindingView(finding, self._targets[finding.target], self.record, listing)

    @property
    def defects(self) -> list[FindingView]:
        """What is wrong: no inconsistencies, no refusals."""
        return [each for each in self.views if not each.finding.is_inconsistency and not each.finding.is_refusal]

    @property
    def inconsistencies(self) -> list[FindingView]:
        """What the document allows, and differs from variant to variant."""
        return [each for each in self.views if each.finding.is_inconsistency]

    @property
    def refusals(self) -> list[FindingView]:
        """Graphs that the document allows and the target refuses."""
        return [each for each in self.views if each.finding.is_refusal]

    @property
    def unjudged(self) -> Mapping[Verdict, list[Unjudged]]:
        """What was not compared with a document, by verdict and reason, the most frequent first."""
        rows: dict[Verdict, list[Unjudged]] = defaultdict(list)
        for (target, verdict, reason), names in self._unjudged.items():
            executions = self._executions[target, verdict, reason]
            rows[verdict].append(Unjudged(target, verdict, reason, executions, names))
        return {
            verdict: sorted(rows[verdict], key=lambda each: -each.names.count) for verdict in Verdict if verdict in rows
        }

    @property
    def conforming(self) -> list[Conforming]:
        """What conforms, by target and document."""
        return [
            Conforming(
                *key,
                document.counts["compared"],
                document.counts["conforming"],
                [(clause, of["compared"], of["conforming"]) for clause, of in sorted(document.clauses.items())],
                document.names,
            )
            for key, document in sorted(self._documents.items(), key=lambda item: self._order(*item[0]))
            if document.counts
        ]

    @property
    def interpretations(self) -> list[Interpretation]:
        """How the targets interpret what documents leave open."""
        return interpretations(self.record)

    @property
    def profiles(self) -> list[tuple[list[str], dict[str, str]]]:
        """The policies by which results were judged."""
        return profiles(self.record)

    @property
    def outcome(self) -> str:
        """The word of the result, why, and the exit code, in a sentence."""
        wrong = self.report.compared - self.report.conforming
        label = RunLabel(self.report.result[0])
        result = f"{label.value}: {_MEANINGS[label]} (exit code {int(self.report.exit_code)})."
        verb = "does" if wrong == 1 else "do"
        return f"{result} {plural(wrong, 'compared execution')} {verb} not conform." if wrong else result

    @property
    def not_compared(self) -> list[tuple[Verdict, str]]:
        """The verdicts that occur and compare nothing, in words."""
        words = {
            Verdict.UNDEFINED: "are undefined", Verdict.UNKNOWN: "unknown", Verdict.NOT_EXPRESSIBLE: "not expressible", Verdict.NOT_CLAIMED: "not claimed",
            Verdict.ERROR: "failed",
        }  # fmt: skip
        return [(verdict, text) for verdict, text in words.items() if self.report.totals[verdict]]

    @property
    def severity_words(self) -> list[tuple[str, str]]:
        """The severities that occur, each with what it means."""
        return [(severity.value, severity.meaning) for severity in self.report.severities]

    @property
    def by_document(self) -> list[tuple[str, str, int, int, list[int]]]:
        """For each target and document: the compared executions, those that conform, and those of each severity that occurs."""
        numbers: Counter[tuple[str, str, Severity]] = Counter()
        for finding in self.report.findings:
            for execution in finding.executions:
                numbers[finding.target, execution.spec, finding.severity] += 1
        return [
            (
                target, spec, document.counts["compared"], document.counts["conforming"],
                [numbers[target, spec, severity] for severity in self.report.severities],
            )
            for (target, spec), document in sorted(self._documents.items(), key=lambda item: self._order(*item[0]))
            if document.counts
        ]  # fmt: skip

    def _order(self, target: str, spec: str) -> tuple[int, int]:
        """The place of a target and a document in the header."""
        targets, specs = list(self._targets), self.documents
        return targets.index(target) if target in targets else len(targets), specs.index(
            spec
        ) if spec in specs else len(specs)

    @property
    def command(self) -> str:
        """The command line of the run; empty if the record does not have it."""
        return shlex.join(self.record.header.command)

    @property
    def filters(self) -> dict[str, list[str]]:
        """The values of each filter that occur; empty if there is nothing to filter."""
        return filters(self.views)


def _reason(execution: Execution) -> str:
    """Why an execution has no verdict on its outputs, on one line."""
    message = " ".join(execution.message.split())
    is_refused = execution.verdict is Verdict.UNDEFINED and not execution.digests
    return f"refused, which the document leaves open as well: {message}" if is_refused else message


def write(report: RunReport, file: TextIO) -> None:
    """Write the page of a run."""
    write_page("run.html", file, {"page": RunPage(report), "report": report, "header": report.record.header})
