"""Which cases and variants meet the conditions of defects, and which defect explains what an execution shows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.features import GEOMETRY, GRAPH, VALUES
from maxpool_check.corpus.quantities import Features
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence, Severity, shows
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import name_of
from maxpool_check.results.record import Execution, TargetDescription
from maxpool_check.results.variants import LEVELS, OLDEST_OPSET, Variant
from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import Refused

_REWRITTEN = DivergenceKind.REWRITTEN_WRONGLY

_WRONG_CELLS = frozenset(
    {DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM, DivergenceKind.Y_FROM_OUTSIDE_WINDOW, DivergenceKind.Y_NOT_IN_INPUT}
)
"""Kinds that tell where else X has a wrong value: that is chance."""

_ALL = "all"
"""The level of optimization of a variant that does not name one."""

_LEVELS = {variation: variation.name.removeprefix("optimization-") for variation in LEVELS}

LEVEL_NAMES = (*_LEVELS.values(), _ALL)
"""The levels of optimization that ``optimization`` may name."""


def meets(conditions: Conditions, features: Features) -> bool:
    """Whether a case meets the conditions, in some variant."""
    return next(unmet(conditions, features), None) is None


def unmet(conditions: Conditions, features: Features) -> Iterator[str]:
    """The conditions that a case does not meet, by name."""
    case, context, shape = features.case, features.case.context, features.tensor.shape
    refusal = case.resolved.reason.value if isinstance(case.resolved, Refused) else None
    multiple = conditions.channels_multiple_of
    if conditions.dtypes and name_of(features.tensor.dtype) not in conditions.dtypes:
        yield "dtypes"
    if conditions.spatial and len(shape) - 2 not in conditions.spatial:
        yield "spatial"
    if conditions.refused not in (None, refusal):
        yield "refused"
    for side, nodes in (("before", context.before), ("after", context.after)):
        if not {*getattr(conditions, side)} <= {node.op for node in nodes}:
            yield side
    yield from (f"graph: {flag}" for flag in conditions.graph if context.is_alone or not GRAPH[flag](features))
    if conditions.opset and not any(_has(conditions.opset, opset) for opset in _opsets(case)):
        yield "opset"
    if multiple is not None and not (len(shape) > 1 and shape[1] > 0 and shape[1] % multiple == 0):
        yield "channels_multiple_of"
    yield from (f"geometry: {flag}" for flag in conditions.geometry if not GEOMETRY[flag](features))
    yield from (f"values: {flag}" for flag in conditions.values if not VALUES[flag](features))
    if conditions.any_values and not any(VALUES[flag](features) for flag in conditions.any_values):
        yield "any_values"


def _opsets(case: Case) -> range:
    """The operator sets that a case may be run in: that of its graph, or for MaxPool alone those up to its document's."""
    if not case.context.is_alone:
        return range(case.context.opset, case.context.opset + 1)
    onnx = case.specification.onnx
    return range(1, (NEWEST if onnx is None else onnx.since) + 1)


def _has(versions: str, opset: int | None) -> bool:
    """Whether versions include an operator set; None: there is none, or it is not known."""
    return not versions or opset is None or SpecifierSet(versions).contains(Version(str(opset)))


def meets_as_variant(conditions: Conditions, variant: Variant) -> bool:
    """Whether a variant meets the conditions."""
    level = _ALL if variant.variation is None else _LEVELS.get(variant.variation, _ALL)
    return (conditions.indices is None or conditions.indices == variant.has_indices) and (
        not conditions.optimization or level in conditions.optimization
    )


def concerns(defect: Defect, case: Case) -> bool:
    """Whether the document of a case is one of those that a defect violates, by name or family."""
    return not defect.documents or case.spec in _names(defect.documents)


@lru_cache
def _names(named: tuple[str, ...]) -> frozenset[str]:
    """The documents of names and families."""
    return frozenset(name for each in named for name in documents(each))


def met_by(features: Features, defects: Iterable[Defect]) -> list[ExpectedDivergence]:
    """What defects expect by conditions of a case that meets them."""
    return [
        each
        for defect in defects
        if concerns(defect, features.case) and meets(defect.conditions, features)
        for each in defect.expected
        if each.by_conditions and meets(each.conditions, features)
    ]


def by_conditions(defects: Iterable[Defect]) -> list[Defect]:
    """The defects that expect something by conditions."""
    return [defect for defect in defects if any(each.by_conditions for each in defect.expected)]


def with_cases(defects: Iterable[Defect], cases: Iterable[Case]) -> list[Defect]:
    """The same defects, each with the cases that it is expected of."""
    defects = list(defects)
    conditional = by_conditions(defects)
    ids: dict[int, list[str]] = defaultdict(list)
    for case in cases if conditional else ():
        for expected in met_by(Features(case), conditional):
            ids[id(expected)].append(case.id)
    return [
        replace(
            defect,
            expected=tuple(
                replace(each, cases=tuple(ids[id(each)])) if each.by_conditions else each for each in defect.expected
            ),
        )
        for defect in defects
    ]


def about(defect: Defect, target: TargetDescription) -> list[ExpectedDivergence]:
    """What is expected of a target that has the defect; empty if its version does not have it."""
    return [each for each in defect.expected if each.covers(target)]


def shown_by(
    defects: Iterable[Defect], target: TargetDescription, features: Features, variant: Variant, execution: Execution
) -> Defect | None:
    """The known defect of a target that explains what an execution shows; None if none does.

    The execution meets the conditions of the defect, and those of something that is expected of the target. One that explains
    every wrong cell by its window comes first; then one that expects exactly these kinds before one that shows others as well,
    and before one that explains them only together with the other defects that the execution can show; then narrower conditions
    come before wider.
    """
    shown = frozenset(map(DivergenceKind, execution.kinds))
    possible = [
        (defect, each)
        for defect in defects
        for each in about(defect, target)
        if says_something(defect, each)
        and is_expected(defect, each, variant)
        and concerns(defect, features.case)
        and all(meets(conditions, features) for conditions in (defect.conditions, each.conditions))
        # A case meets a condition on operator sets that any of its variants may meet.
        and all(_has(conditions.opset, execution.opset) for conditions in (defect.conditions, each.conditions))
    ]
    together = frozenset(kind for defect, _ in possible for kind in _explained(defect))
    explaining = [
        (defect, each) for defect, each in possible if shown <= together and shown & (_explained(defect) - {_REWRITTEN})
    ]

    def order(pair: tuple[Defect, ExpectedDivergence]) -> tuple[bool, bool, bool, int, int]:
        defect, expected = pair
        exact = shown == {kind for kind in expected.kinds if shows(variant, kind)}
        narrow = len(defect.conditions.said) + len(expected.conditions.said)
        in_windows = bool(expected.windows) and not expected.leaves(execution, target.version)
        return in_windows, exact, shown <= _explained(defect), len(shown & defect.kinds), narrow

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
