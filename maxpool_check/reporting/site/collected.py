"""What the pages of a site are made from: the runs, and the executions of each by case, kind and clause."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from packaging.version import InvalidVersion, Version

from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.matrix import counts
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Execution, ExitCode, KnownEntry, Record, TargetDescription


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


ByRun = dict[Run, list[Execution]]
"""Executions of the same case, kind or clause by run."""


class Collected:
    """Everything that records say, by what pages are about. ``records`` by name; runs are in the order of their times."""

    def __init__(self, records: Iterable[tuple[str, Record]]) -> None:
        self.runs: list[Run] = []
        self.defects: dict[str, dict[Run, Finding]] = defaultdict(dict)
        self.cases, self.kinds, self.clauses = (dict[str, ByRun]() for _ in range(3))
        ordered = sorted(records, key=lambda item: item[1].header.started)
        releases = Counter(target.release or target.name for _, record in ordered for target in record.header.targets)
        for name, record in ordered:
            code = record.footer.exit_code if record.footer is not None else ExitCode.INCOMPLETE
            report, runs = RunReport(record, code), dict[str, Run]()
            for target in record.header.targets:
                title = target.release or target.name
                if releases[title] > 1:
                    rest = target.name.removeprefix(f"{target.distribution}=={target.version}").lstrip("?@")
                    title += f" ({rest or target.provider})"
                runs[target.name] = Run(name, title, target, report)
            self.runs += runs.values()
            for finding in report.findings:
                if finding.defect is not None:
                    self.defects[finding.defect.id].setdefault(runs[finding.target], finding)
            for each in record.executions:
                topics = [(self.cases, each.case), *((self.kinds, kind) for kind in each.kinds)]
                for table, topic in [*topics, *((self.clauses, clause) for clause in each.clauses)]:
                    if each.target in runs:
                        table.setdefault(topic, {}).setdefault(runs[each.target], []).append(each)

    @cached_property
    def runtimes(self) -> dict[str, list[Run]]:
        """The runs by runtime, the distribution that it is installed from, those of the newest version last."""

        def order(run: Run) -> tuple[str, Version, str]:
            try:
                return run.target.distribution, Version(run.target.version), run.name
            except InvalidVersion:
                return run.target.distribution, Version("0"), run.name

        result: dict[str, list[Run]] = defaultdict(list)
        for run in sorted(self.runs, key=order):
            result[run.target.distribution].append(run)
        return dict(result)

    @cached_property
    def entries(self) -> dict[str, KnownEntry]:
        """The known defects that a run shows, each as the newest of these has it."""
        newest = {name: list(shown.values())[-1].defect for name, shown in self.defects.items()}
        return {name: entry for name, entry in newest.items() if entry is not None}

    @property
    def documents(self) -> list[str]:
        """The documents that any run has cases of."""
        known = dict.fromkeys(spec for run in self.runs for spec in run.report.record.header.profile)
        return [*known, *sorted({spec for run in self.runs for spec in run.by_document} - known.keys())]
