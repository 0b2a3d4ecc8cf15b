"""The narrowest entries of known divergences that expect the faults of a record."""

from collections.abc import Iterable, Sequence

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import DEFAULT_PROVIDERS, KERNELS, KnownDivergence, TargetSelector, shows
from maxpool_check.results.record import REPORTED, Execution, Record, TargetDescription
from maxpool_check.results.variants import Variant, variant_named

_Kinds = frozenset[DivergenceKind]


def entries_for(
    record: Record, known: Sequence[KnownDivergence], reason: str, kind: str | None = None
) -> list[KnownDivergence]:
    """An entry for every group of cases that diverge alike on a target and that no entry expects.

    Each binds exact cases, exact kinds, the variants that show them, and the version that was tested. ``kind`` selects
    the groups that show it.
    """
    ids = {entry.id for entry in known}
    entries: list[KnownDivergence] = []
    for target in record.header.targets:
        selector, covering = _selector(target), _covering(known, target)
        unexpected: dict[str, dict[Variant, _Kinds]] = {}
        for execution in _faults(record, target):
            if not any(_expects(entry, execution) for entry in covering):
                by_variant = unexpected.setdefault(execution.case, {})
                by_variant[variant_named(execution.variant)] = frozenset(map(DivergenceKind, execution.kinds))
        groups: dict[tuple[_Kinds, tuple[Variant, ...]], list[str]] = {}
        for case, by_variant in unexpected.items():
            for kinds, variants in _alike(by_variant):
                if kind is None or DivergenceKind(kind) in kinds:
                    groups.setdefault((kinds, variants), []).append(case)
        for (kinds, variants), cases in groups.items():
            name = _unused("-".join([selector.distribution, *sorted(each.value for each in kinds)]), ids)
            ids.add(name)
            entry = KnownDivergence(name, selector, tuple(cases), kinds, reason, variants=frozenset(variants))
            entries.append(entry)
    return entries


def never_matching(known: Sequence[KnownDivergence], records: Iterable[Record]) -> list[KnownDivergence]:
    """The entries about some target of the records that no execution on it shows."""
    covering, matching = set(), set()
    for record in records:
        for target in record.header.targets:
            faults = _faults(record, target)
            for entry in _covering(known, target):
                covering.add(entry.id)
                if any(_expects(entry, execution) for execution in faults):
                    matching.add(entry.id)
    return [entry for entry in known if entry.id in covering - matching]


def _covering(known: Iterable[KnownDivergence], target: TargetDescription) -> list[KnownDivergence]:
    return [
        entry for entry in known if entry.when.covers(target.distribution, target.version, target.provider, target.name)
    ]


def _faults(record: Record, target: TargetDescription) -> list[Execution]:
    return [each for each in record.executions if each.target == target.name and each.verdict in REPORTED]


def _expects(entry: KnownDivergence, execution: Execution) -> bool:
    return entry.expects(execution.case, variant_named(execution.variant), map(DivergenceKind, execution.kinds))


def _alike(by_variant: dict[Variant, _Kinds]) -> list[tuple[_Kinds, tuple[Variant, ...]]]:
    """The kinds and variants of one entry for a case, if one suffices; else of one entry for each variant."""
    union = frozenset(kind for kinds in by_variant.values() for kind in kinds)
    if all(kinds == {kind for kind in union if shows(variant, kind)} for variant, kinds in by_variant.items()):
        return [(union, tuple(by_variant))]
    return [(kinds, (variant,)) for variant, kinds in by_variant.items()]


def _selector(target: TargetDescription) -> TargetSelector:
    if target.name.startswith(KERNELS):
        # Its distribution and version may be those of any other kernel.
        return TargetSelector.parse(target.name)
    provider = "" if target.provider in DEFAULT_PROVIDERS else f" @{target.provider}"
    try:
        Version(target.version)
        version = f" =={target.version}"
    except InvalidVersion:
        version = ""
    return TargetSelector.parse(f"{canonicalize_name(target.distribution)}{version}{provider}")


def _unused(base: str, ids: set[str]) -> str:
    names = [base, *(f"{base}-{number}" for number in range(2, len(ids) + 3))]
    return next(name for name in names if name not in ids)
