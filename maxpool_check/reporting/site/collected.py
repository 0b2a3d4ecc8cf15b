"""What the pages of a site are made from: the runs, and by defect, kind, clause and case what each of them shows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from packaging.version import InvalidVersion, Version

from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.html.run import RunPage
from maxpool_check.reporting.html.views import FindingView, settings
from maxpool_check.reporting.matrix import counts
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import COMPARED, Execution, ExitCode, KnownEntry, Record, TargetDescription, Verdict


@dataclass(frozen=True, eq=False)
class Run:
    """A target of a record. ``name`` is that of the record, as its page is called; ``title`` is the runtime with its version."""

    name: str
    title: str
    target: TargetDescription
    report: RunReport

    @property
    def record(self) -> Record:
        """The record."""
        return self.report.record

    @property
    def badge(self) -> str:
        """The name of its badge: that of the record, with the target if the record has several."""
        return self.name if len(self.record.header.targets) == 1 else f"{self.name}-{self.target.name}"

    @property
    def runtime(self) -> str:
        """The runtime: the distribution that it is installed from."""
        return self.target.distribution

    @property
    def findings(self) -> list[Finding]:
        """What is wrong on the target."""
        return [finding for finding in self.report.findings if finding.target == self.target.name]

    @cached_property
    def by_document(self) -> dict[str, Counter[str]]:
        """The number of executions by document and word of :mod:`maxpool_check.reporting.matrix`."""
        return counts(self.record, self.target.name, self.report.findings, lambda each: each.spec)

    @cached_property
    def total(self) -> Counter[str]:
        """The number of executions by word."""
        return sum(self.by_document.values(), Counter[str]())


@dataclass(frozen=True)
class Outcome:
    """What an execution showed: verdict, kinds, the known defect, and the first wrong cell or the message."""

    verdict: str
    kinds: tuple[str, ...]
    known: str | None
    evidence: str


@dataclass(frozen=True, eq=False)
class CaseOutcomes:
    """A case on a target: the digest of the case as it was executed, and the outcome of each variant."""

    run: Run
    digest: str
    outcomes: Mapping[str, Outcome]

    @property
    def by_outcome(self) -> dict[Outcome, list[str]]:
        """The variants of each outcome."""
        result: dict[Outcome, list[str]] = defaultdict(list)
        for variant, outcome in self.outcomes.items():
            result[outcome].append(variant)
        return dict(result)


@dataclass(eq=False)
class CaseEntry:
    """A case, as its newest run says, and what each run showed of it."""

    id: str
    title: str
    spec: str
    clauses: Sequence[str]
    origin: str
    settings: str = ""
    results: list[CaseOutcomes] = field(default_factory=list)

    @property
    def digests(self) -> list[str]:
        """The digests of the case in the runs, the newest last; several if it was changed between them."""
        return list(dict.fromkeys(result.digest for result in self.results))

    @property
    def outcomes(self) -> dict[Outcome, dict[Run, list[str]]]:
        """The runs of each outcome, with the variants if others have another one: what is wrong first, what was not executed last."""
        order = list(Verdict)
        found: dict[Outcome, dict[Run, list[str]]] = defaultdict(dict)
        for result in self.results:
            for outcome, variants in result.by_outcome.items():
                found[outcome][result.run] = variants if len(result.by_outcome) > 1 else []
        return dict(sorted(found.items(), key=lambda item: order.index(Verdict(item[0].verdict))))


@dataclass(eq=False)
class DefectEntry:
    """A known defect: what is known of it, and its finding on each run that shows it."""

    entry: KnownEntry
    shown: list[tuple[Run, Finding]] = field(default_factory=list)

    @property
    def cases(self) -> list[str]:
        """The cases that show it on any target."""
        return list(dict.fromkeys(case for _, finding in self.shown for case in finding.cases))

    @property
    def views(self) -> list[FindingView]:
        """Its findings, as pages show them."""
        return [FindingView(finding, run.target, run.record) for run, finding in self.shown]


@dataclass(eq=False)
class Topic:
    """A kind or a clause: the numbers of executions of each run, and the cases. ``words`` are the heads of the numbers."""

    name: str
    numbers: dict[Run, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    cases: dict[str, None] = field(default_factory=dict)
    defects: set[str] = field(default_factory=set)


class Collected:
    """Everything that records say, by what pages are about. ``records`` by name, in the order of their times."""

    def __init__(self, records: Iterable[tuple[str, Record]]) -> None:
        self.runs: list[Run] = []
        self.pages: dict[str, RunPage] = {}
        self.cases: dict[str, CaseEntry] = {}
        self.defects: dict[str, DefectEntry] = {}
        self.kinds: dict[str, Topic] = {}
        self.clauses: dict[str, Topic] = {}
        ordered = sorted(records, key=lambda item: item[1].header.started)
        releases = Counter(_release(target) for _, record in ordered for target in record.header.targets)
        for name, record in ordered:
            titles = {
                target.name: _release(target) + (f" ({_rest(target)})" if releases[_release(target)] > 1 else "")
                for target in record.header.targets
            }
            self._add(name, record, titles)

    def _add(self, name: str, record: Record, titles: Mapping[str, str]) -> None:
        code = record.footer.exit_code if record.footer is not None else ExitCode.INCOMPLETE
        report = RunReport(record, code)
        self.pages[name] = RunPage(report, names_alone=True)
        runs = {target.name: Run(name, titles[target.name], target, report) for target in record.header.targets}
        self.runs += runs.values()
        for run in runs.values():
            for finding in run.findings:
                if finding.defect is not None:
                    entry = self.defects.setdefault(finding.defect.id, DefectEntry(finding.defect))
                    entry.entry = finding.defect
                    entry.shown.append((run, finding))
        for (_, target), executions in groupby(record.executions, lambda each: (each.case, each.target)):
            if target in runs:
                self._add_case(runs[target], list(executions))

    def _add_case(self, run: Run, executions: Sequence[Execution]) -> None:
        first = executions[0]
        entry = self.cases.setdefault(first.case, CaseEntry(first.case, "", "", (), ""))
        entry.title, entry.spec, entry.clauses, entry.origin = first.title, first.spec, first.clauses, first.origin
        entry.settings = next((settings(each) for each in executions if each.input is not None), entry.settings)
        entry.results.append(
            CaseOutcomes(run, first.case_sha256, {each.variant: _outcome(each) for each in executions})
        )
        for execution in executions:
            for kind in execution.kinds:
                topic = self.kinds.setdefault(kind, Topic(kind))
                topic.numbers[run]["executions"] += 1
                topic.cases[execution.case] = None
                if execution.known is not None:
                    topic.defects.add(execution.known)
            for clause in execution.clauses:
                topic = self.clauses.setdefault(clause, Topic(clause))
                topic.numbers[run]["compared"] += execution.verdict in COMPARED
                topic.numbers[run]["conforming"] += execution.verdict is Verdict.CONFORMS
                topic.cases[execution.case] = None

    @property
    def runtimes(self) -> dict[str, list[Run]]:
        """The runs by runtime, those of the newest version last."""
        result: dict[str, list[Run]] = defaultdict(list)
        for run in sorted(self.runs, key=lambda each: (each.runtime, _version(each.target.version), each.name)):
            result[run.runtime].append(run)
        return dict(result)

    @property
    def documents(self) -> list[str]:
        """The documents that any run has cases of."""
        known = dict.fromkeys(spec for run in self.runs for spec in run.record.header.profile)
        return [*known, *sorted({spec for run in self.runs for spec in run.by_document} - known.keys())]


def _release(target: TargetDescription) -> str:
    return target.release or target.name


def _rest(target: TargetDescription) -> str:
    """What tells a target apart from others of its release."""
    return target.name.removeprefix(f"{target.distribution}=={target.version}").lstrip("?@") or target.provider


def _outcome(execution: Execution) -> Outcome:
    """What a case page says of an execution; the page of the run has the messages of refusals."""
    text = (
        str(execution.cells[0])
        if execution.cells
        else execution.message
        if execution.verdict is Verdict.DIVERGES
        else ""
    )
    return Outcome(execution.verdict.value, execution.kinds, execution.known, text)


def _version(text: str) -> Version:
    """The version to sort by; what is no version of Python's kind comes first."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
