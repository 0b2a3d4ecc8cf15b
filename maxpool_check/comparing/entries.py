"""The narrowest entries of known divergences that expect the faults of a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence, shows
from maxpool_check.judging.target_selector import DEFAULT_PROVIDERS, TargetSelector
from maxpool_check.results.record import FAULTS, Execution, Record, TargetDescription
from maxpool_check.results.variants import Variant, variant_named

_Kinds = frozenset[DivergenceKind]


def entries_for(
    record: Record, known: Sequence[KnownDivergence], reason: str, kind: str | None = None
) -> list[KnownDivergence]:
    """An entry for every group of cases that diverge alike on a target and that no entry expects.

    Each binds exact cases, exact kinds, the variants that show them, and the version that was tested. ``kind``: only
    those that show it.
    """
    ids = {entry.id for entry in known}
    entries: list[KnownDivergence] = []
    for target in record.header.targets:
        selector = _selector(target)
        groups: dict[tuple[_Kinds, tuple[Variant, ...]], list[str]] = {}
        for case, by_variant in _unexpected(record, target, known).items():
            for kinds, variants in _alike(by_variant):
                if kind is None or DivergenceKind(kind) in kinds:
                    groups.setdefault((kinds, variants), []).append(case)
        for (kinds, variants), cases in groups.items():
            name = _unused("-".join([selector.distribution, *sorted(each.value for each in kinds)]), ids)
            ids.add(name)
            entries.append(
                KnownDivergence(
                    id=name, when=selector, cases=tuple(cases), kinds=kinds, reason=reason, variants=frozenset(variants)
                )
            )
    return entries


def never_matching(known: Sequence[KnownDivergence], records: Iterable[Record]) -> list[KnownDivergence]:
    """The entries about some target of the records that no execution of theirs shows."""
    matched: dict[str, bool] = {}
    for record in records:
        for target in record.header.targets:
            faults = [
                execution
                for execution in record.executions
                if execution.target == target.name and execution.verdict in FAULTS
            ]
            for entry in _covering(known, target):
                matches = any(_expects(entry, execution) for execution in faults)
                matched[entry.id] = matched.get(entry.id, False) or matches
    return [entry for entry in known if matched.get(entry.id) is False]


def _covering(known: Iterable[KnownDivergence], target: TargetDescription) -> list[KnownDivergence]:
    return [entry for entry in known if entry.when.covers(target.distribution, target.version, target.provider)]


def _unexpected(
    record: Record, target: TargetDescription, known: Sequence[KnownDivergence]
) -> dict[str, dict[Variant, _Kinds]]:
    """The kinds of the faults on a target that no entry expects, by case and variant."""
    entries = _covering(known, target)
    faults: dict[str, dict[Variant, _Kinds]] = {}
    for execution in record.executions:
        is_fault = execution.target == target.name and execution.verdict in FAULTS
        if is_fault and not any(_expects(entry, execution) for entry in entries):
            by_variant = faults.setdefault(execution.case, {})
            by_variant[variant_named(execution.variant)] = frozenset(map(DivergenceKind, execution.kinds))
    return faults


def _expects(entry: KnownDivergence, execution: Execution) -> bool:
    return entry.expects(execution.case, variant_named(execution.variant), map(DivergenceKind, execution.kinds))


def _alike(by_variant: dict[Variant, _Kinds]) -> list[tuple[_Kinds, tuple[Variant, ...]]]:
    """The kinds and variants of one entry for a case, if one suffices; else of one entry for each variant."""
    union = frozenset(kind for kinds in by_variant.values() for kind in kinds)
    if all(kinds == {kind for kind in union if shows(variant, kind)} for variant, kinds in by_variant.items()):
        return [(union, tuple(by_variant))]
    return [(kinds, (variant,)) for variant, kinds in by_variant.items()]


def _selector(target: TargetDescription) -> TargetSelector:
    provider = "" if target.provider in DEFAULT_PROVIDERS else f" @{target.provider}"
    try:
        Version(target.version)
    except InvalidVersion:
        return TargetSelector.parse(f"{canonicalize_name(target.distribution)}{provider}")
    return TargetSelector.parse(f"{canonicalize_name(target.distribution)} =={target.version}{provider}")


def _unused(base: str, ids: set[str]) -> str:
    names = [base, *(f"{base}-{number}" for number in range(2, len(ids) + 3))]
    return next(name for name in names if name not in ids)
