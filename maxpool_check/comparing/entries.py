"""The defects that expect the faults of a record: known ones that fit, and new ones as narrow as they can be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import concerns, meets, meets_as_variant
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence, fingerprint, shows, worst
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.judging.target_selector import DEFAULT_PROVIDERS, KERNELS, TRANSFORM, TargetSelector
from maxpool_check.results.record import REPORTED, Execution, Record, TargetDescription
from maxpool_check.results.variants import Variant, variant_named

_Kinds = frozenset[DivergenceKind]
_Covering = list[tuple[Defect, ExpectedDivergence]]


def defects_for(
    record: Record,
    known: Sequence[Defect],
    reason: str,
    kind: str | None = None,
    cases: Mapping[str, Case] | None = None,
) -> list[Defect]:
    """A defect for every group of cases that diverge alike on a target and that none expects.

    Each binds exact cases, exact kinds, the variants that show them, and the version that was tested. ``kind`` selects
    the groups that show it. A known defect of the same kinds whose conditions all the cases meet is taken for them, with
    what it is to expect in addition; ``cases`` are those of the record, by id.
    """
    ids = {defect.id for defect in known}
    defects: list[Defect] = []
    for target in record.header.targets:
        selector, covering = _selector(target), _covering(known, target)
        unexpected: dict[str, dict[Variant, _Kinds]] = {}
        faults: dict[tuple[str, Variant], Execution] = {}
        for execution in _faults(record, target):
            # What is wrong on special values alone does not fail in a user's model.
            if execution.status != "special" and not any(
                entry.expects(execution, target.version) for _, entry in covering
            ):
                faults[execution.case, variant_named(execution.variant)] = execution
                by_variant = unexpected.setdefault(execution.case, {})
                by_variant[variant_named(execution.variant)] = frozenset(map(DivergenceKind, execution.kinds))
        groups: dict[tuple[_Kinds, tuple[Variant, ...]], list[str]] = {}
        for case, by_variant in unexpected.items():
            for kinds, variants in _alike(by_variant):
                if kind is None or DivergenceKind(kind) in kinds:
                    groups.setdefault((kinds, variants), []).append(case)
        for (kinds, variants), names in groups.items():
            fitting = _fitting(known, target, kinds, variants, [(cases or {}).get(name) for name in names])
            name = fitting.id if fitting is not None else _unused(_name(selector, kinds), ids)
            ids.add(name)
            when = selector if fitting is None else TargetSelector.of(fitting.runtime, _version(target))
            shown = [faults[case, variant] for case in names for variant in variants]
            is_open = any(DESCRIPTIONS[each].open for each in kinds)
            outputs = {target.version: frozenset(map(fingerprint, shown))} if is_open and target.version else {}
            expected = (ExpectedDivergence(name, when, tuple(names), kinds, frozenset(variants), outputs=outputs),)
            if fitting is not None:
                defects.append(Defect(name, fitting.runtime, fitting.title, fitting.severity, reason, expected))
            else:
                defects.append(Defect(name, selector.runtime, _title(kinds), worst(shown), reason, expected))
    return defects


def never_matching(known: Sequence[Defect], records: Iterable[Record]) -> list[Defect]:
    """The defects about some target of the records that no execution on it shows."""
    covering, matching = set(), set()
    for record in records:
        for target in record.header.targets:
            faults = _faults(record, target)
            for defect, entry in _covering(known, target):
                covering.add(defect.id)
                if any(entry.expects(execution, target.version) for execution in faults):
                    matching.add(defect.id)
    return [defect for defect in known if defect.id in covering - matching]


def _covering(known: Iterable[Defect], target: TargetDescription) -> _Covering:
    return [(defect, entry) for defect in known for entry in defect.expected if entry.covers(target)]


def _faults(record: Record, target: TargetDescription) -> list[Execution]:
    return [each for each in record.executions if each.target == target.name and each.verdict in REPORTED]


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
    for defect in known:
        if (
            defect.conditions != Conditions()
            and any(
                entry.kinds == kinds
                and replace(entry.when, others=()).is_about(target.selected_as, target.provider, target.name)
                for entry in defect.expected
            )
            and all(meets_as_variant(defect.conditions, variant) for variant in variants)
            and all(
                case is not None and concerns(defect, case) and meets(defect.conditions, Features(case))
                for case in cases
            )
        ):
            return defect
    return None


def _alike(by_variant: dict[Variant, _Kinds]) -> list[tuple[_Kinds, tuple[Variant, ...]]]:
    """The kinds and variants of one entry for a case, if one suffices; else of one entry for each variant."""
    union = frozenset(kind for kinds in by_variant.values() for kind in kinds)
    if all(kinds == {kind for kind in union if shows(variant, kind)} for variant, kinds in by_variant.items()):
        return [(union, tuple(by_variant))]
    return [(kinds, (variant,)) for variant, kinds in by_variant.items()]


def _selector(target: TargetDescription) -> TargetSelector:
    if target.name.startswith((*KERNELS, TRANSFORM)):
        # Its distribution and version may be those of any other kernel.
        return TargetSelector.of(target.name)
    provider = "" if target.provider in DEFAULT_PROVIDERS else f"@{target.provider}"
    return TargetSelector.of(f"{canonicalize_name(target.distribution)}{provider}", _version(target))


def _version(target: TargetDescription) -> str:
    """The bound of the version that was tested; empty if it is none that can be compared."""
    try:
        return f"=={Version(target.version)}"
    except InvalidVersion:
        return ""


def _title(kinds: _Kinds) -> str:
    """What is seen, in the words of the first kind: why it is so is the reason."""
    first = next(kind for kind in DESCRIPTIONS if kind in kinds)
    return DESCRIPTIONS[first].sentence.removesuffix(".")


def _name(selector: TargetSelector, kinds: _Kinds) -> str:
    return "-".join([selector.name, *sorted(each.value for each in kinds)])


def _unused(base: str, ids: set[str]) -> str:
    names = [base, *(f"{base}-{number}" for number in range(2, len(ids) + 3))]
    return next(name for name in names if name not in ids)
