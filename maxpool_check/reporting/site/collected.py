"""What the pages of a site are made from: the runs, and by defect, kind, clause and case what each of them shows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from packaging.version import InvalidVersion, Version

from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.matrix import counts
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import COMPARED, Execution, ExitCode, KnownEntry, Record, TargetDescription, Verdict


@dataclass(frozen=True)
class History:
    """What releases of a runtime showed, from the JSON of ``maxpool-check history``: executions by version and verdict."""

    runtime: str
    verdicts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, eq=False)
class Run:
    """A target of a record. ``name`` is that of the record, as its page is called; ``title`` is the runtime with its version."""

    name: str
    title: str
    target: TargetDescription
    report: RunReport

    @property
    def badge(self) -> str:
        """The name of its badge: that of the record, with the target if the record has several."""
        return self.name if len(self.report.record.header.targets) == 1 else f"{self.name}-{self.target.name}"

    @cached_property
    def by_document(self) -> dict[str, Counter[str]]:
        """The number of executions by document and word of :mod:`maxpool_check.reporting.matrix`."""
        return counts(self.report.record, self.target.name, self.report.findings, lambda each: each.spec)

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


@dataclass(eq=False)
class CaseEntry:
    """A case, as its newest run says. ``digests`` has the case as each run executed it, ``results`` the outcome of each variant."""

    id: str
    title: str = ""
    spec: str = ""
    clauses: Sequence[str] = ()
    origin: str = ""
    settings: str = ""
    digests: dict[Run, str] = field(default_factory=dict)
    results: dict[Run, dict[str, Outcome]] = field(default_factory=dict)

    @property
    def outcomes(self) -> dict[Outcome, dict[Run, list[str]]]:
        """The runs of each outcome, with the variants if others have another one: what is wrong first, what was not executed last."""
        order = list(Verdict)
        found: dict[Outcome, dict[Run, list[str]]] = defaultdict(lambda: defaultdict(list))
        for run, variants in self.results.items():
            for variant, outcome in variants.items():
                found[outcome][run] += [variant] if len(set(variants.values())) > 1 else []
        return dict(sorted(found.items(), key=lambda item: order.index(Verdict(item[0].verdict))))


@dataclass(eq=False)
class DefectEntry:
    """A known defect: what is known of it, and its finding on each run that shows it."""

    entry: KnownEntry
    shown: dict[Run, Finding] = field(default_factory=dict)

    @property
    def cases(self) -> list[str]:
        """The cases that show it on any target."""
        return list(dict.fromkeys(case for finding in self.shown.values() for case in finding.cases))


@dataclass(eq=False)
class Topic:
    """A kind or a clause: the numbers of executions of each run by what they are, the cases, and the defects."""

    name: str
    numbers: dict[Run, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    cases: dict[str, None] = field(default_factory=dict)
    defects: set[str] = field(default_factory=set)


class Collected:
    """Everything that records say, by what pages are about. ``records`` by name, in the order of their times."""

    def __init__(self, records: Iterable[tuple[str, Record]]) -> None:
        self.runs: list[Run] = []
        self.cases: dict[str, CaseEntry] = {}
        self.defects: dict[str, DefectEntry] = {}
        self.kinds: dict[str, Topic] = {}
        self.clauses: dict[str, Topic] = {}
        ordered = sorted(records, key=lambda item: item[1].header.started)
        releases = Counter(release_of(target) for _, record in ordered for target in record.header.targets)
        for name, record in ordered:
            code = record.footer.exit_code if record.footer is not None else ExitCode.INCOMPLETE
            report, runs = RunReport(record, code), dict[str, Run]()
            for target in record.header.targets:
                title = release_of(target)
                if releases[title] > 1:
                    rest = target.name.removeprefix(f"{target.distribution}=={target.version}").lstrip("?@")
                    title += f" ({rest or target.provider})"
                runs[target.name] = Run(name, title, target, report)
            self.runs += runs.values()
            for finding in report.findings:
                if finding.defect is not None:
                    entry = self.defects.setdefault(finding.defect.id, DefectEntry(finding.defect))
                    entry.entry = finding.defect
                    entry.shown.setdefault(runs[finding.target], finding)
            for (_, name_of_target), executions in groupby(record.executions, lambda each: (each.case, each.target)):
                if name_of_target in runs:
                    self._add(runs[name_of_target], list(executions))

    def _add(self, run: Run, executions: Sequence[Execution]) -> None:
        """Add the executions of a case."""
        first = executions[0]
        entry = self.cases.setdefault(first.case, CaseEntry(first.case))
        entry.title, entry.spec, entry.clauses, entry.origin = first.title, first.spec, first.clauses, first.origin
        entry.digests[run], entry.results[run] = first.case_sha256, {}
        for each in executions:
            entry.settings = ExecutionView(each).settings or entry.settings
            evidence = str(each.cells[0]) if each.cells else each.message if each.verdict is Verdict.DIVERGES else ""
            entry.results[run][each.variant] = Outcome(each.verdict.value, each.kinds, each.known, evidence)
            topics = [(self.kinds, name, ["executions"]) for name in each.kinds]
            words = ["compared"] * (each.verdict in COMPARED) + ["conforming"] * (each.verdict is Verdict.CONFORMS)
            topics += [(self.clauses, name, words) for name in each.clauses]
            for table, name, words in topics:
                topic = table.setdefault(name, Topic(name))
                topic.numbers[run].update(words)
                topic.cases[each.case] = None
                topic.defects |= {each.known} if each.known is not None and table is self.kinds else set()

    @property
    def runtimes(self) -> dict[str, list[Run]]:
        """The runs by runtime, the distribution that it is installed from, those of the newest version last."""
        result: dict[str, list[Run]] = defaultdict(list)
        for run in sorted(
            self.runs, key=lambda each: (each.target.distribution, _version(each.target.version), each.name)
        ):
            result[run.target.distribution].append(run)
        return dict(result)

    @property
    def documents(self) -> list[str]:
        """The documents that any run has cases of."""
        known = dict.fromkeys(spec for run in self.runs for spec in run.report.record.header.profile)
        return [*known, *sorted({spec for run in self.runs for spec in run.by_document} - known.keys())]


def release_of(target: TargetDescription) -> str:
    """The runtime with its version."""
    return target.release or target.name


def _version(text: str) -> Version:
    """The version to sort by; what is no version of Python's kind comes first."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
