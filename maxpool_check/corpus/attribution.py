"""Which known defect explains what an execution shows, by its conditions and whatever its cases."""

from collections.abc import Iterable

from maxpool_check.corpus.conditions import Features, concerns, meets_as_variant, meets_both, meets_in_opset
from maxpool_check.judging.defects import Defect, ExpectedDivergence, Severity, shows
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import OLDEST_OPSET, Variant

_REWRITTEN = DivergenceKind.REWRITTEN_WRONGLY

_WRONG_CELLS = frozenset(
    {DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM, DivergenceKind.Y_FROM_OUTSIDE_WINDOW, DivergenceKind.Y_NOT_IN_INPUT}
)
"""Kinds that tell where else X has a wrong value: that is chance."""


def about(defect: Defect, target: TargetDescription) -> list[ExpectedDivergence]:
    """What is expected of a target that has the defect; empty if its version does not have it."""
    return [each for each in defect.expected if each.covers(target)]


def shown_by(
    defects: Iterable[Defect],
    target: TargetDescription,
    features: Features,
    variant: Variant,
    kinds: Iterable[str],
    opset: int | None = None,
) -> Defect | None:
    """The known defect of a target that explains what an execution in an operator set shows; None if none does.

    The execution meets the conditions of the defect, and those of something that is expected of the target. One that expects
    exactly these kinds comes before one that shows others as well, which comes before one that explains them only together
    with the other defects that the execution can show; then narrower conditions come before wider.
    """
    shown = frozenset(map(DivergenceKind, kinds))
    possible = [
        (defect, each)
        for defect in defects
        for each in about(defect, target)
        if says_something(defect, each)
        and is_expected(defect, each, variant)
        and concerns(defect, features.case)
        and meets_both(defect, each, features)
        # A case meets a condition on operator sets that any of its variants may meet.
        and all(meets_in_opset(conditions, opset) for conditions in (defect.conditions, each.conditions))
    ]
    together = frozenset(kind for defect, _ in possible for kind in _explained(defect))
    explaining = [
        (defect, each) for defect, each in possible if shown <= together and shown & (_explained(defect) - {_REWRITTEN})
    ]

    def order(pair: tuple[Defect, ExpectedDivergence]) -> tuple[bool, bool, int, int]:
        defect, expected = pair
        exact = shown == {kind for kind in expected.kinds if shows(variant, kind)}
        narrow = len(defect.conditions.said) + len(expected.conditions.said)
        return exact, shown <= _explained(defect), len(shown & defect.kinds), narrow

    return max(explaining, key=order)[0] if explaining else None


def is_expected(defect: Defect, expected: ExpectedDivergence, variant: Variant) -> bool:
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


def says_something(defect: Defect, expected: ExpectedDivergence) -> bool:
    """Whether there are conditions by which other graphs than its cases are known to show it."""
    return bool(defect.conditions.said or expected.conditions.said)


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
