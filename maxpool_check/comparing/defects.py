"""Known defects and a record: which of them it shows, which were expected of its targets, and entries for what is new."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import concerns, meets, meets_as_variant
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence, fingerprint, is_glob, shows, worst
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.judging.ledger import Ledger
from maxpool_check.judging.target_selector import DEFAULT_PROVIDERS, KERNELS, TRANSFORM, TargetSelector
from maxpool_check.results.record import COMPARED, FAULTS, REPORTED, Execution, KnownStatus, Record, TargetDescription
from maxpool_check.results.variants import WITH_INDICES, Variant, variant_named

_Kinds = frozenset[DivergenceKind]
_IsComplete = Callable[[ExpectedDivergence], bool]


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
    """What a record shows of the defects of one target, and the faults that no defect expects."""

    target: TargetDescription
    defects: tuple[DefectStatus, ...]
    unexpected: tuple[Execution, ...]

    @property
    def is_as_expected(self) -> bool:
        """Whether the target shows what is expected of its version and nothing else."""
        return not self.unexpected and not any(status.problem for status in self.defects)


def statuses(
    record: Record, defects: Sequence[Defect], is_complete: _IsComplete = lambda _: True
) -> list[TargetStatus]:
    """The status of each target of a record by defects whose cases are resolved.

    ``is_complete`` says whether the record has all cases of an entry: only then can it be stale.
    """
    return [_status(record, target, defects, is_complete) for target in record.header.targets]


def completeness(record: Record, corpus: Collection[str]) -> _IsComplete:
    """Whether a record has all cases of an entry, in the variants that it is about and that its kinds compare.

    ``corpus`` are the ids of all cases, which globs match.
    """
    executed = {(execution.case, execution.variant) for execution in record.executions}
    cases = {case for case, _ in executed}

    def is_complete(entry: ExpectedDivergence) -> bool:
        needed = {variant.name for variant in entry.variants or ()}
        needed |= {WITH_INDICES.name} if DivergenceKind.Y_DEPENDS_ON_INDICES in entry.kinds else set()
        matching = (
            [case for case in corpus if fnmatchcase(case, pattern)] if is_glob(pattern) else [pattern]
            for pattern in entry.cases
        )
        return all(
            bool(found) and all(case in cases and all((case, name) in executed for name in needed) for case in found)
            for found in matching
        )

    return is_complete


def _status(
    record: Record, target: TargetDescription, defects: Sequence[Defect], is_complete: _IsComplete
) -> TargetStatus:
    about = [
        defect
        for defect in defects
        if any(entry.when.is_about(target.selected_as, target.provider, target.name) for entry in defect.expected)
    ]
    ledger, known, unknown = _explained(record, target, about)
    audit = ledger.audit(lambda entry, _: is_complete(entry))
    found = []
    for defect in about:
        # What is expected of this version is no evidence of what is expected of other versions.
        own = [entry for entry in defect.expected if entry.covers(target)]
        shown = sum(
            any(entry.expects(execution, target.version) for entry in entries)
            for entries, executions in ((own, known), (defect.expected, unknown))
            for execution in executions
        )
        problem = "" if not shown else "shown, and not expected of this version and processor"
        if defect.id in audit:
            status, why = audit[defect.id]
            problem = why if status in (KnownStatus.STALE, KnownStatus.EXPIRED) else ""
        # What was reviewed on another processor says nothing of the version.
        can_tell = any(entry.must_show(target.architecture) for entry in defect.expected)
        is_decided = can_tell and all(map(is_complete, defect.expected))
        executed = bool(shown) or audit.get(defect.id, (KnownStatus.NOT_EXECUTED,))[0] is not KnownStatus.NOT_EXECUTED
        found.append(DefectStatus(defect, shown, defect.id in audit, problem, is_decided, executed))
    return TargetStatus(target, tuple(found), tuple(each for each in unknown if each.verdict in FAULTS))


def _explained(
    record: Record, target: TargetDescription, defects: Iterable[Defect]
) -> tuple[Ledger, list[Execution], list[Execution]]:
    """What is expected of a target; its divergences that known defects explain as a whole, and all others."""
    covering = [entry for defect in defects for entry in defect.expected if entry.covers(target)]
    ledger = Ledger(covering, date.today(), target.version, target.architecture)
    known: list[Execution] = []
    unknown: list[Execution] = []
    for execution in record.executions:
        if execution.target == target.name and execution.verdict in COMPARED:
            ledger.compared(execution.case, variant_named(execution.variant))
            if execution.verdict in REPORTED:
                (unknown if ledger.known(execution).expected is None else known).append(execution)
    return ledger, known, unknown


def never_matching(known: Sequence[Defect], records: Iterable[Record]) -> list[Defect]:
    """The defects about some target of the records that no execution on it shows."""
    every = [each for record in records for status in statuses(record, known) for each in status.defects]
    shown = {each.defect.id for each in every if each.shown}
    expected = {each.defect.id for each in every if each.expected}
    return [defect for defect in known if defect.id in expected - shown]


def defects_for(
    record: Record, known: Sequence[Defect], reason: str, kind: str | None, cases: Mapping[str, Case]
) -> list[Defect]:
    """A defect for every group of cases that diverge alike on a target and that none expects.

    Each binds exact cases, exact kinds, the variants that show them, and the version that was tested. ``kind`` selects
    the groups that show it. A known defect of the same kinds whose conditions all the cases meet is taken for them, with
    what it is to expect in addition; ``cases`` are those of the record, by id.
    """
    ids = {defect.id for defect in known}
    defects: list[Defect] = []
    for target in record.header.targets:
        faults: dict[str, dict[Variant, Execution]] = {}
        for execution in _explained(record, target, known)[2]:
            # What is wrong on special values alone, or outside a user's model alone, does not fail in it.
            if execution.status not in ("special", "outside"):
                faults.setdefault(execution.case, {})[variant_named(execution.variant)] = execution
        groups: dict[tuple[_Kinds, tuple[Variant, ...]], list[str]] = {}
        for case, by_variant in faults.items():
            for kinds, variants in _alike(by_variant):
                if kind is None or DivergenceKind(kind) in kinds:
                    groups.setdefault((kinds, variants), []).append(case)
        for (kinds, variants), names in groups.items():
            shown = [faults[case][variant] for case in names for variant in variants]
            fitting = _fitting(known, target, kinds, variants, [cases.get(name) for name in names])
            defect = fitting or _new(target, kinds, shown, ids)
            ids.add(defect.id)
            when = _selector(target) if fitting is None else TargetSelector.of(fitting.runtime, version_bound(target))
            is_open = any(DESCRIPTIONS[each].open for each in kinds)
            outputs = {target.version: frozenset(map(fingerprint, shown))} if is_open and target.version else {}
            expected = ExpectedDivergence(defect.id, when, tuple(names), kinds, frozenset(variants), outputs=outputs)
            defects.append(Defect(defect.id, defect.runtime, defect.title, defect.severity, reason, (expected,)))
    return defects


def _alike(by_variant: Mapping[Variant, Execution]) -> list[tuple[_Kinds, tuple[Variant, ...]]]:
    """The kinds and variants of one entry for a case, if one suffices; else of one entry for each variant."""
    kinds_of = {name: frozenset(map(DivergenceKind, each.kinds)) for name, each in by_variant.items()}
    union = frozenset[DivergenceKind]().union(*kinds_of.values())
    if all(kinds == {kind for kind in union if shows(variant, kind)} for variant, kinds in kinds_of.items()):
        return [(union, tuple(kinds_of))]
    return [(kinds, (variant,)) for variant, kinds in kinds_of.items()]


def _fitting(
    known: Sequence[Defect],
    target: TargetDescription,
    kinds: _Kinds,
    variants: tuple[Variant, ...],
    cases: Sequence[Case | None],
) -> Defect | None:
    """The first defect of the runtime that shows the same kinds, and whose conditions all cases and variants meet.

    What other builds show is written by hand: their versions may be others.
    """
    about = (target.selected_as, target.provider, target.name)
    for defect in known:
        if (
            defect.conditions != Conditions()
            and any(
                entry.kinds == kinds and replace(entry.when, others=()).is_about(*about) for entry in defect.expected
            )
            and all(meets_as_variant(defect.conditions, variant) for variant in variants)
            and all(case and concerns(defect, case) and meets(defect.conditions, Features(case)) for case in cases)
        ):
            return defect
    return None


def _new(target: TargetDescription, kinds: _Kinds, shown: Sequence[Execution], ids: Collection[str]) -> Defect:
    """A defect of these kinds with an id that no other has; its title is what is seen, in the words of the first kind."""
    selector = _selector(target)
    name = "-".join([selector.name, *sorted(each.value for each in kinds)])
    names = [name, *(f"{name}-{number}" for number in range(2, len(ids) + 3))]
    title = next(about.sentence for kind, about in DESCRIPTIONS.items() if kind in kinds).removesuffix(".")
    return Defect(next(each for each in names if each not in ids), selector.runtime, title, worst(shown), "", ())


def _selector(target: TargetDescription) -> TargetSelector:
    if target.name.startswith((*KERNELS, TRANSFORM)):
        # Its distribution and version may be those of any other kernel.
        return TargetSelector.of(target.name)
    provider = "" if target.provider in DEFAULT_PROVIDERS else f"@{target.provider}"
    return TargetSelector.of(f"{canonicalize_name(target.distribution)}{provider}", version_bound(target))


def version_bound(target: TargetDescription) -> str:
    """The bound of the version that was tested; empty if it is none that can be compared."""
    try:
        return f"=={Version(target.version)}"
    except InvalidVersion:
        return ""
