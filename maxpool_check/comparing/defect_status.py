"""Which defects a record shows, and which of them were expected of its targets."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from maxpool_check.judging.defects import Defect, ExpectedDivergence, is_glob
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.ledger import Ledger
from maxpool_check.results.record import COMPARED, FAULTS, REPORTED, Execution, KnownStatus, Record, TargetDescription
from maxpool_check.results.variants import WITH_INDICES, variant_named


@dataclass(frozen=True)
class DefectStatus:
    """What a record shows of a defect on a target.

    ``shown`` counts the executions with exactly its kinds, whatever versions they are expected of. ``expected``: something is
    expected of this version; ``problem`` says what differs from that, and is empty if nothing does. ``complete``: the record has
    all its cases.
    """

    defect: Defect
    shown: int
    expected: bool
    problem: str
    complete: bool = True


@dataclass(frozen=True)
class TargetStatus:
    """What a record shows of the defects of one target, and the faults that no defect expects."""

    target: TargetDescription
    defects: tuple[DefectStatus, ...]
    unexpected: tuple[Execution, ...]

    @property
    def is_as_expected(self) -> bool:
        """Whether the target shows what is expected of its version and nothing else."""
        return not self.unexpected and not any(status.problem for status in self.defects)


def statuses(
    record: Record, defects: Sequence[Defect], is_complete: Callable[[ExpectedDivergence], bool] = lambda _: True
) -> list[TargetStatus]:
    """The status of each target of a record by defects whose cases are resolved.

    ``is_complete`` says whether the record has all cases of an entry: only then can it be stale.
    """
    return [_status(record, target, defects, is_complete) for target in record.header.targets]


def completeness(record: Record, corpus: Collection[str]) -> Callable[[ExpectedDivergence], bool]:
    """Whether a record has all cases of an entry, in the variants that it is about and that its kinds compare.

    ``corpus`` are the ids of all cases, which globs match.
    """
    executed = {(execution.case, execution.variant) for execution in record.executions}
    cases = {case for case, _ in executed}

    def is_complete(entry: ExpectedDivergence) -> bool:
        needed = {variant.name for variant in entry.variants or ()}
        needed |= {WITH_INDICES.name} if DivergenceKind.Y_DEPENDS_ON_INDICES in entry.kinds else set()
        matching = {
            pattern: [case for case in corpus if fnmatchcase(case, pattern)] if is_glob(pattern) else [pattern]
            for pattern in entry.cases
        }
        return all(
            bool(found) and all(case in cases and all((case, name) in executed for name in needed) for case in found)
            for found in matching.values()
        )

    return is_complete


def concerned(defects: Iterable[Defect], target: TargetDescription) -> list[Defect]:
    """The defects of the runtime of a target, in whatever version."""
    return [
        defect
        for defect in defects
        if any(entry.when.is_about(target.selected_as, target.provider, target.name) for entry in defect.expected)
    ]


def _status(
    record: Record,
    target: TargetDescription,
    defects: Sequence[Defect],
    is_complete: Callable[[ExpectedDivergence], bool],
) -> TargetStatus:
    about = concerned(defects, target)
    covering = [entry for defect in about for entry in defect.expected if entry.covers(target)]
    ledger = Ledger(covering, date.today(), target.version)
    shown = dict.fromkeys((defect.id for defect in about), 0)
    unexpected = []
    for execution in record.executions:
        if execution.target != target.name:
            continue
        variant = variant_named(execution.variant)
        if execution.verdict in COMPARED:
            ledger.compared(execution.case, variant)
        if execution.verdict not in REPORTED:
            continue
        explains = {
            defect.id: [entry for entry in defect.expected if entry.expects(execution, target.version)]
            for defect in about
        }
        if ledger.known(execution).expected is not None:
            # It is no evidence of what is expected of other versions.
            explains = {name: [entry for entry in entries if entry in covering] for name, entries in explains.items()}
        elif execution.verdict in FAULTS:
            unexpected.append(execution)
        for name, entries in explains.items():
            shown[name] += bool(entries)
    audit = ledger.audit(lambda entry: dict.fromkeys(entry.cases, is_complete(entry)))
    return TargetStatus(
        target,
        tuple(
            DefectStatus(
                defect,
                shown[defect.id],
                defect.id in audit,
                _problem(defect.id, audit, shown[defect.id]),
                all(map(is_complete, defect.expected)),
            )
            for defect in about
        ),
        tuple(unexpected),
    )


def _problem(defect: str, audit: dict[str, tuple[KnownStatus, str]], shown: int) -> str:
    if defect not in audit:
        return "shown, and not expected of this version" if shown else ""
    status, why = audit[defect]
    return why if status in (KnownStatus.STALE, KnownStatus.EXPIRED) else ""
