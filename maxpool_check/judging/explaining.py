"""Whether a defect explains an execution, and which of several defects names it: the one answer for all commands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from maxpool_check.judging.defects import OUTPUTS, Conditions, Defect, Effect, Severity, fingerprint, shows, wrong_cells
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.results.record import Execution, TargetDescription, Verdict
from maxpool_check.results.variants import LEVELS, OLDEST_OPSET, Variant

_Cells = frozenset[tuple[str, str]]
"""Kinds of wrong cells, each with what their windows hold."""

_ALL = "all"
"""The level of optimization of a variant that does not name one."""

_LEVELS = {variation: variation.name.removeprefix("optimization-") for variation in LEVELS}

LEVEL_NAMES = (*_LEVELS.values(), _ALL)
"""The levels of optimization that ``optimization`` may name."""


class CaseFeatures(Protocol):
    """A case, as the conditions of defects see it."""

    def applies(self, defect: Defect, effect: Effect, /) -> bool:
        """Whether it meets the conditions of an effect of a defect, and the effect lists it if it lists cases."""

    def fits(self, defect: Defect, effect: Effect, /) -> bool:
        """Whether it is of a document of the defect, and meets its conditions and those of an effect, listed or not."""

    def listed_as(self, effect: Effect, /) -> str:
        """The id by which an effect lists the case, or a case that is equal but for its id; empty if it does not."""


@dataclass(frozen=True)
class Explanation:
    """What a defect makes of an execution."""

    defect: Defect
    effects: tuple[Effect, ...]
    """The effects that the execution shows; none if it only fits the conditions, kinds and windows of the defect."""
    kinds: frozenset[str]
    """The kinds that it accounts for."""
    left: _Cells
    """The wrong cells that it does not explain."""
    is_whole: bool
    """Whether it explains all of the execution."""
    rank: tuple[int, ...]
    """Its place among the explanations of several defects, the highest first."""

    @property
    def is_expected(self) -> bool:
        """Whether the execution shows an effect of the defect, and not only what fits it."""
        return bool(self.effects)


def explains(
    defect: Defect, target: TargetDescription, features: CaseFeatures, variant: Variant, execution: Execution
) -> Explanation | None:
    """What a defect of a target makes of an execution with kinds; None if it explains nothing of it.

    An execution shows an effect if the target, the case and the variant meet its conditions, and its kinds are exactly those of the
    effect. What shows no effect is explained by the mechanism if it meets the conditions of the defect, which must have some, in a
    variant that shows some effect, and has kinds of the defect alone; so a graph of a user's own gets the name of a defect.

    Of several defects that explain an execution, one with an effect that it shows comes before one whose mechanism fits; then, in
    this order, one that

    1. lists the case comes before one by conditions alone,
    2. says what the outputs are (an effect, see ``Effect.predicts``), or explains all wrong cells by what their windows hold (a
       mechanism), before one that allows any outputs anywhere,
    3. shows exactly these kinds before one that shows others as well,
    4. has conditions of more kinds (dtypes, ranks, flags of the geometry, ...) before one with fewer.

    :func:`best` applies this order.
    """
    if not defect.explained.intersection(execution.kinds):
        return None
    covering = defect.covering(target)
    by_effects = (by_effect(defect, effect, target.version, features, variant, execution) for effect in covering)
    if found := [each for each in by_effects if each is not None]:
        return _together(found)
    ways = [effect for effect in covering if effect in defect.ways and is_of_variant(defect, effect, variant)]
    fitting = (_by_mechanism(defect, effect, features, variant, execution) for effect in ways)
    return max((each for each in fitting if each is not None), key=lambda each: each.rank, default=None)


def best(explanations: Sequence[Explanation], execution: Execution) -> Explanation | None:
    """The explanation that names an execution: the highest that explains all of it, or the highest of several that do together."""
    whole = [each for each in explanations if each.is_whole]
    parts = [] if whole or unexplained(explanations, execution) else explanations
    return max(whole or parts, key=lambda each: each.rank, default=None)


def unexplained(explanations: Iterable[Explanation], execution: Execution) -> frozenset[str]:
    """The kinds of an execution that several explanations leave together."""
    cells = left = wrong_cells(execution)
    kinds = frozenset[str]()
    for each in explanations:
        left &= each.left
        kinds |= each.kinds
    others = {*execution.kinds} - {kind for kind, _ in cells} - kinds
    return frozenset(kind for kind, _ in left) | others


def is_of_variant(defect: Defect, effect: Effect, variant: Variant) -> bool:
    """Whether a variant can show something of an effect, and meets the conditions on variants.

    What a case shows in an older operator set, a model of such an operator set shows: if the conditions bound them.
    """
    both = (defect.conditions, effect.conditions)
    accepted = {variant, variant.base}
    if any(each.opset for each in both):
        accepted.add(Variant(variant.outputs, OLDEST_OPSET))
    about_it = effect.variants is None or bool(accepted & effect.variants)
    about_it = about_it and any(shows(variant, kind) for kind in effect.kinds or defect.kinds)
    return about_it and all(meets_as_variant(each, variant) for each in both)


def meets_as_variant(conditions: Conditions, variant: Variant) -> bool:
    """Whether a variant meets the conditions."""
    level = _ALL if variant.variation is None else _LEVELS.get(variant.variation, _ALL)
    return (conditions.indices is None or conditions.indices == variant.has_indices) and (
        not conditions.optimization or level in conditions.optimization
    )


def has_opset(conditions: Conditions, opset: int | None) -> bool:
    """Whether the conditions allow an operator set; None: there is none, or it is not known."""
    return not conditions.opset or opset is None or SpecifierSet(conditions.opset).contains(Version(str(opset)))


def is_about(defect: Defect, effect: Effect, variant: Variant, execution: Execution) -> bool:
    """Whether the variant of an execution meets the conditions of an effect, and its operator set does."""
    # A case meets a condition on operator sets that any of its variants may meet.
    return all(_meets_variant(each, variant, execution) for each in (defect.conditions, effect.conditions))


def _meets_variant(conditions: Conditions, variant: Variant, execution: Execution) -> bool:
    return has_opset(conditions, execution.opset) and meets_as_variant(conditions, variant)


def by_effect(
    defect: Defect, effect: Effect, version: str, features: CaseFeatures, variant: Variant, execution: Execution
) -> Explanation | None:  # fmt: skip
    """What an effect of a defect makes of an execution of a version; None if the execution does not show it."""
    kinds, shown = frozenset(execution.kinds), effect.shown(variant)
    shown = shown & kinds if effect.varies else shown
    if not shown or not shown <= kinds or not is_about(defect, effect, variant, execution):
        return None
    if not features.applies(defect, effect):
        return None
    cells = wrong_cells(execution)
    left = _left(effect.windows, effect.kinds, cells, execution)
    if needs_review(effect.windows, effect.kinds, execution) and not _is_reviewed(
        defect, execution, version, features.listed_as(effect)
    ):
        left = cells
    is_whole = shown == kinds and not left
    if not is_whole and (effect.is_accepted or not left < cells):
        return None
    count = len({*defect.conditions.said, *effect.conditions.said})
    rank = (True, effect.is_observed, effect.predicts, True, count)
    return Explanation(defect, (effect,), frozenset(each.value for each in effect.kinds), left, is_whole, rank)


def _together(found: Sequence[Explanation]) -> Explanation:
    """What several effects of a defect explain, each alone or all together."""
    if whole := [each for each in found if each.is_whole]:
        found = whole
    left = frozenset.intersection(*(each.left for each in found))
    kinds = frozenset[str]().union(*(each.kinds for each in found))
    effects = tuple(effect for each in found for effect in each.effects)
    return Explanation(found[0].defect, effects, kinds, left, bool(whole), max(each.rank for each in found))


def _by_mechanism(
    defect: Defect, way: Effect, features: CaseFeatures, variant: Variant, execution: Execution
) -> Explanation | None:
    """What the mechanism of a defect makes of an execution that shows none of its effects, in a way that it shows."""
    # That the same graph is right without optimization explains nothing by itself.
    kinds = frozenset(execution.kinds)
    if not kinds & defect.explained - {DivergenceKind.REWRITTEN_WRONGLY.value}:
        return None
    conditions = {*defect.conditions.said, *way.conditions.said}
    if not conditions or not is_about(defect, way, variant, execution):
        return None
    # What the document allows is no wrong output.
    if (execution.verdict is Verdict.INCONSISTENT) != (defect.severity is Severity.INCONSISTENCY):
        return None
    if not features.fits(defect, way):
        return None
    left = _left(defect.windows, defect.kinds, wrong_cells(execution), execution)
    is_exact = any(kinds == effect.shown(variant) for effect in defect.effects)
    rank = (False, False, bool(defect.windows) and not left, is_exact, len(conditions))
    return Explanation(defect, (), defect.explained, left, kinds <= defect.explained and not left, rank)


def _left(windows: frozenset[str], kinds: frozenset[DivergenceKind], cells: _Cells, execution: Execution) -> _Cells:
    """The wrong cells of an execution that windows and kinds do not explain."""
    by_name = {kind.value: kind for kind in kinds}
    given = _given(windows, kinds, execution)

    def is_explained(kind: str, held: str) -> bool:
        if None in given or (given and OUTPUTS.get(kind) in given):
            return True
        anywhere = not windows or (kind in by_name and not DESCRIPTIONS[by_name[kind]].open)
        return kind in by_name and (anywhere or bool(windows & {*held.split()}))

    return frozenset((kind, held) for kind, held in cells if not is_explained(kind, held))


def _given(windows: frozenset[str], kinds: frozenset[DivergenceKind], execution: Execution) -> frozenset[str | None]:
    """The outputs that a mistake in the whole result, which windows or kinds name, gives; None: both."""
    named = windows | {kind.value for kind in kinds}
    return frozenset(each.output for each in execution.causes if each.cells and each.kind in named)


def needs_review(windows: frozenset[str], kinds: frozenset[DivergenceKind], execution: Execution) -> bool:
    """Whether kinds and windows do not say what comes out of an execution."""
    is_open = {kind.value for kind in kinds if DESCRIPTIONS[kind].open}
    says_nothing = not windows or "nan" in windows
    has_open = any(kind in is_open for kind, _ in wrong_cells(execution))
    return says_nothing and has_open and not _given(windows, kinds, execution)


def _is_reviewed(defect: Defect, execution: Execution, version: str, case: str) -> bool:
    """Whether the outputs are among the reviewed ones of the case, if there are any."""
    own = fingerprint(execution, case)
    reviewed = {each for each in defect.outputs.get(version, ()) if each[:6] == own[:6]}
    return not reviewed or own in reviewed
