"""From what a record shows to the narrowest entries of known divergences that expect it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence, shows
from maxpool_check.judging.target_selector import DEFAULT_PROVIDERS, TargetSelector
from maxpool_check.results.record import Execution, Record, TargetDescription
from maxpool_check.results.variants import Variant, variant_named

_FAULTS = ("diverges", "refuses", "crashes", "times-out", "unstable")


@dataclass(frozen=True)
class _Case:
    """The faults of one case on one target, by variant."""

    target: TargetDescription
    name: str
    kinds: dict[Variant, frozenset[DivergenceKind]]


def entries_for(
    record: Record, known: Sequence[KnownDivergence], reason: str, kind: str | None = None
) -> list[KnownDivergence]:
    """An entry for every group of cases that diverge alike on a target, as far as no entry expects them already.

    Each binds exact cases, exact kinds, the variants that show them, and the one version that was asked. ``kind``: only
    those that show it.
    """
    groups: dict[tuple[str, frozenset[DivergenceKind], tuple[Variant, ...]], list[str]] = {}
    targets = {target.name: target for target in record.header.targets}
    for one in _cases(record, known):
        for kinds, variants in _alike(one):
            if kind is None or DivergenceKind(kind) in kinds:
                groups.setdefault((one.target.name, kinds, variants), []).append(one.name)
    taken = {entry.id for entry in known}
    found: list[KnownDivergence] = []
    for (name, kinds, variants), cases in groups.items():
        when = _when(targets[name])
        base = "-".join([when.distribution, *sorted(one.value for one in kinds)])
        entry = KnownDivergence(
            id=_unused(base, taken), when=when, cases=tuple(cases), kinds=kinds, reason=reason,
            variants=frozenset(variants),
        )  # fmt: skip
        taken.add(entry.id)
        found.append(entry)
    return found


def never_matching(known: Sequence[KnownDivergence], records: Iterable[Record]) -> list[KnownDivergence]:
    """The entries about some target of the records that no execution of theirs shows."""
    about: dict[str, bool] = {}
    for record in records:
        for target in record.header.targets:
            executions = [one for one in record.executions if one.target == target.name and one.verdict in _FAULTS]
            for entry in known:
                if entry.when.covers(target.distribution, target.version, target.provider):
                    matched = any(_expects(entry, one) for one in executions)
                    about[entry.id] = about.get(entry.id, False) or matched
    return [entry for entry in known if about.get(entry.id) is False]


def _cases(record: Record, known: Sequence[KnownDivergence]) -> Iterable[_Case]:
    found: dict[tuple[str, str], _Case] = {}
    for target in record.header.targets:
        entries = [one for one in known if one.when.covers(target.distribution, target.version, target.provider)]
        for one in record.executions:
            if one.target != target.name or one.verdict not in _FAULTS or any(_expects(e, one) for e in entries):
                continue
            case = found.setdefault((target.name, one.case), _Case(target, one.case, {}))
            case.kinds[variant_named(one.variant)] = frozenset(map(DivergenceKind, one.kinds))
    return found.values()


def _expects(entry: KnownDivergence, execution: Execution) -> bool:
    return entry.expects(execution.case, variant_named(execution.variant), map(DivergenceKind, execution.kinds))


def _alike(case: _Case) -> Iterable[tuple[frozenset[DivergenceKind], tuple[Variant, ...]]]:
    """The kinds and variants of one entry, if one can say it; else of one entry for each variant."""
    union = frozenset(kind for kinds in case.kinds.values() for kind in kinds)
    if all(kinds == {kind for kind in union if shows(variant, kind)} for variant, kinds in case.kinds.items()):
        return [(union, tuple(case.kinds))]
    return [(kinds, (variant,)) for variant, kinds in case.kinds.items()]


def _when(target: TargetDescription) -> TargetSelector:
    provider = "" if target.provider in DEFAULT_PROVIDERS else f" @{target.provider}"
    try:
        Version(target.version)
    except InvalidVersion:
        return TargetSelector.parse(f"{canonicalize_name(target.distribution)}{provider}")
    return TargetSelector.parse(f"{canonicalize_name(target.distribution)} =={target.version}{provider}")


def _unused(base: str, taken: set[str]) -> str:
    if base not in taken:
        return base
    return next(f"{base}-{number}" for number in range(2, len(taken) + 3) if f"{base}-{number}" not in taken)
