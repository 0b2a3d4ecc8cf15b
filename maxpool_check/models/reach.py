"""Which known defects can reach a MaxPool of a model."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from maxpool_check.corpus.attribution import about, is_expected, says_something
from maxpool_check.corpus.conditions import Features, concerns, meets
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence, Severity
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import Variant

REACHING = (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL, Severity.CRASH, Severity.REFUSES_VALID, Severity.LIMIT)
"""The severities of defects that a valid node can show, and that are wrong."""

_REFUSING = (Severity.REFUSES_VALID, Severity.LIMIT)

_WORDS = {
    "neg-inf": "-inf",
    "pos-inf": "inf",
    "nan": "NaN",
    "lowest": "the lowest value of the type",
    "negative": "negative values",
    "subnormal": "subnormal numbers",
    "zeros-of-both-signs": "zeros of both signs",
}


_NEGATIVE = {"neg-inf", "lowest", "negative"}


@dataclass(frozen=True)
class Reach:
    """A known defect of a target that can reach a node, and the values that it needs, in words; empty: any.

    ``needs_negative``: among them are values below zero.
    """

    defect: Defect
    needs: str
    needs_negative: bool = False


def reaching(
    defects: Iterable[Defect], target: TargetDescription, features: Sequence[Features], variants: Collection[Variant]
) -> list[Reach]:
    """The known defects of a target that can reach a node, whatever its values: the worst first.

    The node meets the conditions of the defect, and those of something that is expected of the target in a variant that the
    model executes. ``features`` are those of the cases of the node, ``variants`` the ways in which the model executes it. A
    defect without conditions says nothing of other graphs than its own cases.
    """
    possible = [each for each in defects if each.severity in REACHING and not each.conditions.refused]
    refusing = [each for each in possible if each.severity in _REFUSING]
    # What the target refuses has no outputs that can be wrong.
    executed = [of for of in features if not any(_reached(each, target, [of], variants) for each in refusing)]
    result = []
    for defect in possible:
        reached = _reached(defect, target, features if defect.severity in _REFUSING else executed, variants)
        if reached:
            needs_negative = all(_needs_negative(defect.conditions, each.conditions) for each in reached)
            result.append(Reach(defect, needs(defect, reached), needs_negative))
    return sorted(result, key=lambda reach: (reach.defect.severity.rank, reach.defect.id))


def _reached(
    defect: Defect, target: TargetDescription, features: Sequence[Features], variants: Collection[Variant]
) -> list[ExpectedDivergence]:
    """What is expected of the target whose conditions a node meets, whatever its values."""
    return [
        each
        for each in about(defect, target)
        if says_something(defect, each)
        and any(is_expected(defect, each, variant) for variant in variants)
        and any(concerns(defect, of.case) and _meets_whatever_values(defect, each, of) for of in features)
    ]


def _meets_whatever_values(defect: Defect, expected: ExpectedDivergence, features: Features) -> bool:
    both = (defect.conditions, expected.conditions)
    return all(meets(replace(each, values=(), any_values=()), features) for each in both)


def _needs_negative(*conditions: Conditions) -> bool:
    return any(
        _NEGATIVE & set(each.values) or (each.any_values and set(each.any_values) <= _NEGATIVE) for each in conditions
    )


def needs(defect: Defect, reached: Iterable[ExpectedDivergence]) -> str:
    """The values that a defect needs to show one of these divergences, in words; empty: any."""
    each_needs = [_needs(defect.conditions, each.conditions) for each in reached]
    widest = _needs(defect.conditions, Conditions())
    return widest if widest in each_needs else " or ".join(dict.fromkeys(each_needs))


def _needs(*conditions: Conditions) -> str:
    required = dict.fromkeys(flag for each in conditions for flag in each.values)
    parts = [_WORDS[flag] for flag in required]
    for each in conditions:
        if each.any_values and not required.keys() & set(each.any_values):
            parts.append(" or ".join(_WORDS[flag] for flag in each.any_values))
    return " and ".join(parts)
