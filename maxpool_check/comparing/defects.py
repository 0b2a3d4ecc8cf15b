"""Known defects and a record: which of them it shows, which were expected of its targets, and which faults none expects."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from maxpool_check.corpus.conditions import CasesOfEffects
from maxpool_check.judging.defects import Defect, Effect, is_glob
from maxpool_check.judging.explaining import best, by_effect, explains
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import (
    COMPARED,
    FAULTS,
    REPORTED,
    Execution,
    KnownStatus,
    Record,
    Status,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.variants import WITH_INDICES, variant_named
from maxpool_check.running.labels import Labels

_IsComplete = Callable[[Effect], bool]


@dataclass(frozen=True)
class DefectStatus:
    """What a record shows of a defect on a target.

    ``shown`` counts the executions with exactly its kinds, whatever versions they are expected of. ``expected``: something is
    expected of this version; ``problem`` says what differs from that, and is empty if nothing does. ``complete``: the record has
    all its cases, ``executed``: it has some of them, or it shows the defect.
    """

    defect: Defect
    shown: int
    expected: bool
    problem: str
    complete: bool = True
    executed: bool = True


@dataclass(frozen=True)
class TargetStatus:
    """What a record shows of the defects of one target, the faults that no defect expects, and all that was compared or undefined."""

    target: TargetDescription
    defects: tuple[DefectStatus, ...]
    unexpected: tuple[Execution, ...]
    executions: tuple[Execution, ...] = ()

    @property
    def is_as_expected(self) -> bool:
        """Whether the target shows what is expected of its version and nothing else."""
        return not self.unexpected and not any(status.problem for status in self.defects)


def statuses(record: Record, defects: Sequence[Defect], cases: CasesOfEffects) -> list[TargetStatus]:
    """The status of each target of a record by defects; ``cases`` are those of the corpus."""
    is_complete = completeness(record, cases)
    return [_status(record, target, defects, cases, is_complete) for target in record.header.targets]


def completeness(record: Record, cases: CasesOfEffects) -> _IsComplete:
    """Whether a record has all cases of an effect, in the variants that it is about and that its kinds compare.

    Variants that the record lacks altogether do not count. A case that has changed since the record is not one of these.
    """
    executed = {(execution.case, execution.variant) for execution in record.executions}
    variants = {name for _, name in executed}
    digests = {execution.case: execution.case_sha256 for execution in record.executions}
    same = {
        name
        for name, sha256 in digests.items()
        if name in cases.features and cases.features[name].case.sha256 == sha256
    }

    def is_complete(effect: Effect) -> bool:
        needed = {variant.name for variant in effect.variants or ()}
        needed |= {WITH_INDICES.name} if DivergenceKind.Y_DEPENDS_ON_INDICES in effect.kinds else set()
        needed &= variants
        names = cases.ids(effect)
        listed = {case for case in effect.cases if not is_glob(case)}
        return (
            bool(names) and listed <= {*names} and all(case in same for case in names)
            and all((case, name) in executed for case in names for name in needed)
        )  # fmt: skip

    return is_complete


def _status(
    record: Record, target: TargetDescription, defects: Sequence[Defect], cases: CasesOfEffects, is_complete: _IsComplete
) -> TargetStatus:  # fmt: skip
    names = target.selected_as, target.provider, target.name
    about = [defect for defect in defects if any(effect.when.is_about(*names) for effect in defect.effects)]
    labels = Labels([target], about, date.today())
    labelled = [
        labels.label(cases.features[each.case].case, each) if each.case in cases.features else each
        for each in record.executions
        if each.target == target.name and each.verdict in COMPARED
    ]
    known = [each for each in labelled if each.status == Status.EXPECTED]
    unknown = [each for each in labelled if each.verdict in REPORTED and each.status != Status.EXPECTED]
    audit = labels.audits[target.name].statuses(lambda effect, _: is_complete(effect))
    found = []
    for defect in about:
        # What is expected of this version is no evidence of what is expected of other versions.
        own = [effect for effect in defect.effects if effect.covers(target)]
        shown = sum(
            _shows_any(defect, effects, target, cases, execution)
            for effects, executions in ((own, known), (defect.effects, unknown))
            for execution in executions
        )
        problem = "" if not shown else "shown, and not expected of this version and processor"
        if defect.id in audit:
            status, why = audit[defect.id]
            problem = why if status in (KnownStatus.STALE, KnownStatus.EXPIRED) else ""
        # What was reviewed on another processor says nothing of the version.
        telling = [
            effect for effect in defect.effects if effect.must_show(target.architecture) and not effect.where_observed
        ]
        is_decided = bool(telling) and all(map(is_complete, telling))
        executed = bool(shown) or audit.get(defect.id, (KnownStatus.NOT_EXECUTED,))[0] is not KnownStatus.NOT_EXECUTED
        found.append(DefectStatus(defect, shown, defect.id in audit, problem, is_decided, executed))
    unexpected = tuple(each for each in unknown if each.verdict in FAULTS)
    open_ones = (each for each in record.executions if each.target == target.name and each.verdict is Verdict.UNDEFINED)
    return TargetStatus(target, tuple(found), unexpected, (*labelled, *open_ones))


def _shows_any(
    defect: Defect, effects: Iterable[Effect], target: TargetDescription, cases: CasesOfEffects, execution: Execution
) -> bool:
    """Whether an execution shows one of some effects of a defect."""
    if execution.case not in cases.features or not defect.explained.intersection(execution.kinds):
        return False
    features, variant = cases.features[execution.case], variant_named(execution.variant)
    found = (by_effect(defect, effect, target.version, features, variant, execution) for effect in effects)
    return any(each is not None and each.is_whole for each in found)


def never_matching(known: Sequence[Defect], records: Iterable[Record], cases: CasesOfEffects) -> list[Defect]:
    """The defects about some target of the records that no execution on it shows."""
    every = [each for record in records for status in statuses(record, known, cases) for each in status.defects]
    shown = {each.defect.id for each in every if each.shown}
    expected = {each.defect.id for each in every if each.expected}
    return [defect for defect in known if defect.id in expected - shown]


def faults_without(record: Record, known: Sequence[Defect], cases: CasesOfEffects) -> list[Execution]:
    """The faults of a record of which defects expect nothing; ``cases`` are those of the record that are still there.

    What is wrong on special values alone, or outside a user's model alone, does not fail in it.
    """
    faults = []
    targets, today = {target.name: target for target in record.header.targets}, date.today()
    current = [
        replace(defect, effects=tuple(each for each in defect.effects if not each.expired(today))) for defect in known
    ]
    for execution in record.executions:
        if execution.verdict in FAULTS and execution.status not in (Status.SPECIAL, Status.OUTSIDE):
            target, variant = targets[execution.target], variant_named(execution.variant)
            features = cases.features.get(execution.case) or _ById(execution.case)
            found = (explains(defect, target, features, variant, execution) for defect in current)
            if best([each for each in found if each is not None and each.is_expected], execution) is None:
                faults.append(execution)
    return faults


@dataclass(frozen=True)
class _ById:
    """A case of which the id alone is known: effects that list it are about it."""

    id: str

    def applies(self, _: Defect, effect: Effect, /) -> bool:
        return effect.lists(self.id)

    def fits(self, _: Defect, __: Effect, /) -> bool:
        return False

    def listed_as(self, _: Effect, /) -> str:
        return self.id
