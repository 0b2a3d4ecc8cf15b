"""Which cases meet the conditions of defects."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.features import GEOMETRY, GRAPH, VALUES
from maxpool_check.corpus.observed import DIGITS
from maxpool_check.corpus.quantities import Features
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.judging.defects import Conditions, Defect, Effect, is_glob
from maxpool_check.judging.explaining import has_opset
from maxpool_check.reference.dtypes import name_of
from maxpool_check.results.record import Execution
from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import Refused


class CaseFeatures(Features):
    """The features of a case, and which conditions of defects it meets."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        # Many defects have the same conditions.
        self._met: dict[Conditions, bool] = {}

    def meets(self, conditions: Conditions) -> bool:
        """Whether the case meets the conditions, in some variant."""
        if conditions not in self._met:
            self._met[conditions] = next(unmet(conditions, self), None) is None
        return self._met[conditions]

    def is_of(self, defect: Defect) -> bool:
        """Whether the document of the case is one of those that the defect violates, by name or family."""
        return not defect.documents or self.case.spec in _names(defect.documents)

    def applies(self, defect: Defect, effect: Effect) -> bool:
        """Whether it meets the conditions of an effect of a defect, and the effect lists it if it lists cases."""
        return (not effect.cases or bool(self.listed_as(effect))) and self.fits(defect, effect)

    def fits(self, defect: Defect, effect: Effect) -> bool:
        """Whether it is of a document of the defect, and meets its conditions and those of an effect, listed or not."""
        return self.is_of(defect) and self.meets(defect.conditions) and self.meets(effect.conditions)

    def listed_as(self, effect: Effect) -> str:
        """The id by which an effect lists the case, or a case that is equal but for its id; empty if it lists neither.

        Of an effect without a list it is the id of the case.
        """
        if not effect.cases or effect.lists(self.case.id):
            return self.case.id
        return effect.digests.get(self.case.sha256[:DIGITS], "") if effect.digests else ""


class CasesOfEffects:
    """The cases of a corpus that effects of defects are about."""

    def __init__(self, defects: Iterable[Defect], cases: Iterable[Case]) -> None:
        self._defects = {defect.id: defect for defect in defects}
        self._ids: dict[Effect, list[str]] = {}
        self.features = {case.id: CaseFeatures(case) for case in cases}
        """The features of the cases, by id."""

    @classmethod
    def of(cls, defects: Iterable[Defect], others: "CasesOfEffects") -> "CasesOfEffects":
        """Those of other defects, in the same cases."""
        made = cls(defects, ())
        made.features = others.features
        return made

    def holds(self, execution: Execution) -> bool:
        """Whether the case of an execution is among them, and has not changed since."""
        features = self.features.get(execution.case)
        return features is not None and features.case.sha256 == execution.case_sha256

    def ids(self, effect: Effect) -> list[str]:
        """The ids of the cases that an effect lists, or that meet its conditions and those of its defect."""
        if effect not in self._ids:
            exact = effect.cases and not any(map(is_glob, effect.cases))
            of = (
                [self.features[case] for case in effect.cases if case in self.features]
                if exact
                else self.features.values()
            )
            self._ids[effect] = (
                []
                if effect.where_observed
                else [each.case.id for each in of if each.applies(self._defects[effect.defect], effect)]
            )
        return self._ids[effect]


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
    if conditions.opset and not any(has_opset(conditions, opset) for opset in _opsets(case)):
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


@lru_cache
def _names(named: tuple[str, ...]) -> frozenset[str]:
    """The documents of names and families."""
    return frozenset(name for each in named for name in documents(each))
