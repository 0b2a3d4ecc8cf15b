"""What the records of a bundle say of each target, counted by verdict and by case."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.evidence.bundling.bundle import BundledRecord, member_names
from maxpool_check.results.record import COMPARED, FAULTS, KnownEntry, Record, RunHeader, TargetDescription, Verdict

_FAILED = FAULTS | {Verdict.ERROR}


@dataclass(frozen=True)
class TargetResults:
    """The results of one target: ``name`` is that of its files in the bundle.

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
        return [entry for entry in footer.known if entry.target == self.target.name] if footer else []

    def with_verdict(self, verdict: Verdict) -> list[str]:
        """The cases that have an execution with this verdict."""
        return [case for case, verdicts in self.cases.items() if verdict in verdicts]


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
                record,
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
