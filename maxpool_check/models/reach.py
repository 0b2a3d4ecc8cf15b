"""Which known defects can reach a MaxPool of a model, and which of them an execution shows."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from maxpool_check.corpus.conditions import Features, concerns, meets, meets_as_variant, meets_both
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence, Severity, shows
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import OLDEST_OPSET, Variant

REACHING = (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL, Severity.CRASH, Severity.REFUSES_VALID, Severity.LIMIT)
"""The severities of defects that a valid node can show, and that are wrong."""

_REFUSING = (Severity.REFUSES_VALID, Severity.LIMIT)

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
            result.append(Reach(defect, needs(defect, reached)))
    return sorted(result, key=lambda reach: (reach.defect.severity.rank, reach.defect.id))


def _reached(
    defect: Defect, target: TargetDescription, features: Sequence[Features], variants: Collection[Variant]
) -> list[ExpectedDivergence]:
    """What is expected of the target whose conditions a node meets, whatever its values."""
    return [
        each
        for each in about(defect, target)
        if _says_something(defect, each)
        and any(_is_expected(defect, each, variant) for variant in variants)
        and any(concerns(defect, of.case) and _meets_whatever_values(defect, each, of) for of in features)
    ]


def _meets_whatever_values(defect: Defect, expected: ExpectedDivergence, features: Features) -> bool:
    both = (defect.conditions, expected.conditions)
    return all(meets(replace(each, values=(), any_values=()), features) for each in both)


def _is_expected(defect: Defect, expected: ExpectedDivergence, variant: Variant) -> bool:
    """Whether something is expected of a variant, and the variant meets the conditions.

    What a case shows in an older operator set, a model of such an operator set shows: if the conditions bound them.
    """
    both = (defect.conditions, expected.conditions)
    accepted = {variant, variant.base}
    if any(each.opset for each in both):
        accepted.add(Variant(variant.outputs, OLDEST_OPSET))
    about_it = expected.variants is None or bool(accepted & expected.variants)
    about_it = about_it and any(shows(variant, kind) for kind in expected.kinds)
    return about_it and all(meets_as_variant(each, variant) for each in both)


def _says_something(defect: Defect, expected: ExpectedDivergence) -> bool:
    return bool(defect.conditions.said or expected.conditions.said)


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


def shown_by(
    defects: Iterable[Defect], target: TargetDescription, features: Features, variant: Variant, kinds: Iterable[str]
) -> Defect | None:
    """The known defect of a target that explains what an execution shows; None if none does.

    The execution meets the conditions of the defect, and those of something that is expected of the target. One that expects
    exactly these kinds comes before one that shows others as well, which comes before one that explains them only together
    with the other defects that the execution can show; then narrower conditions come before wider.
    """
    shown = frozenset(map(DivergenceKind, kinds))
    possible = [
        (defect, each) for defect in defects for each in _possible(defect, target, features, variant)
    ]  # fmt: skip
    together = frozenset(kind for defect, _ in possible for kind in _explained(defect))
    found: list[tuple[tuple[bool, bool, int, int], Defect]] = []
    for defect, expected in possible:
        exact = shown == {kind for kind in expected.kinds if shows(variant, kind)}
        alone = shown <= _explained(defect)
        if shown <= together and shown & (_explained(defect) - {_REWRITTEN}):
            narrow = len(defect.conditions.said) + len(expected.conditions.said)
            found.append(((exact, alone, len(shown & defect.kinds), narrow), defect))
    return max(found, key=lambda each: each[0])[1] if found else None


def _possible(
    defect: Defect, target: TargetDescription, features: Features, variant: Variant
) -> Iterator[ExpectedDivergence]:
    """What is expected of a target whose conditions an execution meets."""
    for each in about(defect, target):
        if (
            _says_something(defect, each)
            and _is_expected(defect, each, variant)
            and concerns(defect, features.case)
            and meets_both(defect, each, features)
        ):
            yield each


_REWRITTEN = DivergenceKind("rewritten-wrongly")

_WRONG_CELLS = frozenset(
    {DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM, DivergenceKind.Y_FROM_OUTSIDE_WINDOW, DivergenceKind.Y_NOT_IN_INPUT}
)
"""Kinds that tell where else X has a wrong value: that is chance."""


def _explained(defect: Defect) -> frozenset[DivergenceKind]:
    """The kinds that a defect shows, of its cases or with other values.

    ``rewritten-wrongly`` says that the same graph is right without optimization, which explains nothing by itself.
    """
    kinds = {*defect.kinds, _REWRITTEN}
    if kinds & _WRONG_CELLS or defect.severity is Severity.WRONG_ON_FINITE:
        # Where other cells count than the document says, no rule for NaN explains all windows either.
        kinds |= {*_WRONG_CELLS, DivergenceKind.Y_NAN_ORDER_DEPENDENT}
    if DivergenceKind.Y_LOWEST_FOR_NEG_INF in kinds:
        kinds.add(DivergenceKind.Y_SATURATED_INFINITY)
    return frozenset(kinds)
