"""What the records of a bundle say of each target, counted by verdict and by case."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from maxpool_check.evidence.bundling.bundle import BundledRecord, member_names
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import (
    COMPARED,
    FAULTS,
    Execution,
    ExitCode,
    KnownEntry,
    Record,
    RunFooter,
    RunHeader,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.summary import RunSummary

_FAILED = FAULTS | {Verdict.ERROR}


@dataclass(frozen=True)
class TargetResults:
    """The results of one target: ``name`` is that of its files in the bundle.

    ``record`` is what the record would be if its run had had this target alone.
    ``executions`` are numbers by verdict. ``cases`` has the verdicts of each case that was executed, ``defects`` the cases in
    which each known defect was seen, ``unexpected`` the cases with a result that fails the run, ``limits`` those that
    the target refused, declaring that it does not implement them.
    """

    name: str
    bundled: BundledRecord
    record: Record
    target: TargetDescription
    executions: Mapping[Verdict, int]
    cases: Mapping[str, frozenset[Verdict]]
    defects: Mapping[str, tuple[str, ...]]
    unexpected: tuple[str, ...]
    limits: tuple[str, ...]

    @property
    def header(self) -> RunHeader:
        """The header of its record."""
        return self.record.header

    @cached_property
    def report(self) -> RunReport:
        """The report of its record."""
        return report_of(self.record)

    @property
    def compared(self) -> int:
        """The number of executions that were compared with a document."""
        return sum(count for verdict, count in self.executions.items() if verdict in COMPARED)

    @cached_property
    def failed(self) -> list[str]:
        """The cases in which something is wrong, refused or failed, whether or not a known defect explains it."""
        return [case for case, verdicts in self.cases.items() if verdicts & _FAILED]

    @cached_property
    def warned(self) -> list[str]:
        """The other cases in which variants differ, which no document forbids."""
        failed = set(self.failed)
        return [
            case for case, verdicts in self.cases.items() if Verdict.INCONSISTENT in verdicts and case not in failed
        ]

    @cached_property
    def passed(self) -> list[str]:
        """The cases of which an execution was compared, and every one that was conforms."""
        conforming = {Verdict.CONFORMS}
        return [case for case, verdicts in self.cases.items() if verdicts & (COMPARED | _FAILED) == conforming]

    @property
    def not_compared(self) -> list[str]:
        """The cases of which no execution was compared with a document."""
        return [case for case, verdicts in self.cases.items() if not verdicts & (COMPARED | _FAILED)]

    @property
    def known(self) -> list[KnownEntry]:
        """The known defects that the run expected of the target, or that explain what it showed."""
        footer = self.record.footer
        return list(footer.known) if footer else []

    def with_verdict(self, verdict: Verdict) -> list[str]:
        """The cases that have an execution with this verdict."""
        return [case for case, verdicts in self.cases.items() if verdict in verdicts]


def report_of(record: Record) -> RunReport:
    """The report of a record, as the pages of a bundle show it."""
    return RunReport(record, record.footer.exit_code if record.footer else ExitCode.INCOMPLETE)


def target_results(records: Sequence[tuple[BundledRecord, Record]]) -> list[TargetResults]:
    """The results of every target, in the order of the records."""
    targets = [(each, target) for each, record in records for target in record.header.targets]
    names = member_names([target.name for _, target in targets])
    results: list[TargetResults] = []
    for each, record in records:
        counted = _counted(record)
        results += [
            TargetResults(
                name,
                each,
                _of_target(record, target),
                target,
                counted[target.name].executions,
                {case: frozenset(verdicts) for case, verdicts in counted[target.name].cases.items()},
                {defect: tuple(cases) for defect, cases in sorted(counted[target.name].defects.items())},
                tuple(counted[target.name].unexpected),
                tuple(counted[target.name].limits),
            )
            for name, (of, target) in zip(names, targets, strict=True)
            if of is each
        ]
    return results


@dataclass(frozen=True)
class _ExecutionsOf(Collection[Execution]):
    """The executions of one target, which stay where those of all targets are."""

    executions: Collection[Execution]
    target: str
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Execution]:
        return (execution for execution in self.executions if execution.target == self.target)

    def __contains__(self, execution: object) -> bool:
        return any(execution == each for each in self)


def _of_target(record: Record, target: TargetDescription) -> Record:
    """What a record says of one of its targets."""
    header, footer = record.header, record.footer
    if len(header.targets) == 1:
        return record
    count = sum(execution.target == target.name for execution in record.executions)
    executions = _ExecutionsOf(record.executions, target.name, count)
    header = msgspec.structs.replace(header, targets=(target,))
    named = {sha256 for execution in executions for sha256 in execution.digests.values()}
    outputs = {sha256: output for sha256, output in record.outputs.items() if sha256 in named}
    return Record(header, executions, footer and _footer(record, footer, target.name, executions), outputs=outputs)


def _footer(record: Record, footer: RunFooter, target: str, executions: Collection[Execution]) -> RunFooter:
    """What a run with this target alone would have ended with."""
    others = tuple(f"{each.name} was given up" for each in record.header.targets if each.name != target)
    errors = tuple(error for error in footer.errors if not error.startswith(others))
    known = tuple(entry for entry in footer.known if entry.target == target)
    summary = RunSummary()
    for execution in executions:
        summary.add(execution)
    return msgspec.structs.replace(
        footer,
        executions=len(executions),
        summary={name: counts for name, counts in footer.summary.items() if name == target},
        known=known,
        errors=errors,
        exit_code=int(summary.exit_code(known, errors, strict="--strict" in record.header.command)),
        contradicted={name: causes for name, causes in footer.contradicted.items() if name == target},
    )


class _Counts:
    """The counts of one target, while its executions are read; cases keep their order."""

    def __init__(self) -> None:
        self.executions: Counter[Verdict] = Counter()
        self.cases: dict[str, set[Verdict]] = defaultdict(set)
        self.defects: dict[str, dict[str, None]] = defaultdict(dict)
        self.unexpected: dict[str, None] = {}
        self.limits: dict[str, None] = {}


def _counted(record: Record) -> Mapping[str, _Counts]:
    counted: dict[str, _Counts] = defaultdict(_Counts)
    for execution in record.executions:
        counts = counted[execution.target]
        counts.executions[execution.verdict] += 1
        counts.cases[execution.case].add(execution.verdict)
        if execution.known is not None:
            counts.defects[execution.known][execution.case] = None
        if execution.unexpected:
            counts.unexpected[execution.case] = None
        if execution.limit:
            counts.limits[execution.case] = None
    return counted
