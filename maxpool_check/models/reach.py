"""Which known defects can reach a MaxPool of a model, and which of them an execution shows."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from maxpool_check.corpus.conditions import Features, concerns, meets, meets_as_variant
from maxpool_check.judging.defects import Defect, ExpectedDivergence, Severity, shows
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import Variant

REACHING = (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL, Severity.CRASH, Severity.REFUSES_VALID, Severity.LIMIT)
"""The severities of defects that a valid node can show, and that are wrong."""

_WORDS = {
    "neg-inf": "-inf",
    "pos-inf": "inf",
    "nan": "NaN",
    "lowest": "the lowest value of the type",
    "negative": "negative values",
    "zeros-of-both-signs": "zeros of both signs",
}


@dataclass(frozen=True)
class Reach:
    """A known defect of a target that can reach a node, and the values that it needs, in words; empty: any."""

    defect: Defect
    needs: str


def about(defect: Defect, target: TargetDescription) -> list[ExpectedDivergence]:
    """What is expected of a target that has the defect; empty if its version does not have it."""
    return [
        each
        for each in defect.expected
        if each.when.covers(target.distribution, target.version, target.provider, target.name)
    ]


def reaching(
    defects: Iterable[Defect], target: TargetDescription, features: Sequence[Features], variants: Collection[Variant]
) -> list[Reach]:
    """The known defects of a target whose conditions a node meets, whatever its values: the worst first.

    ``features`` are those of the cases of the node, ``variants`` the ways in which the model executes it. A defect without
    conditions says nothing of other graphs than its own cases.
    """
    result = []
    for defect in defects:
        conditions = replace(defect.conditions, values=(), any_values=())
        expected = [each for each in about(defect, target) if each.variants is None or each.variants & set(variants)]
        if defect.severity not in REACHING or not expected or defect.conditions.refused or not _says_something(defect):
            continue
        if not any(meets_as_variant(conditions, variant) for variant in variants):
            continue
        if any(concerns(defect, each.case) and meets(conditions, each) for each in features):
            result.append(Reach(defect, needs(defect)))
    return sorted(result, key=lambda reach: (reach.defect.severity.rank, reach.defect.id))


def _says_something(defect: Defect) -> bool:
    return any(value not in ((), None, "") for value in vars(defect.conditions).values())


def needs(defect: Defect) -> str:
    """The values that a defect needs, in words; empty: any."""
    parts = [_WORDS[flag] for flag in defect.conditions.values]
    if defect.conditions.any_values:
        parts.append(" or ".join(_WORDS[flag] for flag in defect.conditions.any_values))
    return " and ".join(parts)


def shown_by(
    defects: Iterable[Defect], target: TargetDescription, features: Features, variant: Variant, kinds: Iterable[str]
) -> Defect | None:
    """The known defect of a target whose conditions an execution meets and whose kinds it shows.

    One that shows exactly these kinds comes before one that shows others as well, and narrower conditions before wider.
    """
    shown = frozenset(map(DivergenceKind, kinds))
    found: list[tuple[tuple[bool, int], Defect]] = []
    for defect in defects:
        sets = [{kind for kind in each.kinds if shows(variant, kind)} for each in about(defect, target)]
        if not any(shown <= each for each in sets) or not meets_as_variant(defect.conditions, variant):
            continue
        if concerns(defect, features.case) and meets(defect.conditions, features):
            narrow = sum(value not in ((), None, "") for value in vars(defect.conditions).values())
            found.append(((shown in map(frozenset, sets), narrow), defect))
    return max(found, key=lambda each: each[0])[1] if found else None
