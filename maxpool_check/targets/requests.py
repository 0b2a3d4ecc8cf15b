"""The requests that execute a case on a target, and what their outcomes mean for the case."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Crashed, Failed, NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.variants import BATCH_SPLIT, CHANNELS_PERMUTED, OLDEST_OPSET, Variant, variants_of
from maxpool_check.specifications.inverse import NotExpressible, all_attributes, is_list_of_numbers
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.opsets import Graph, oldest_opset_for, opset_for
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets import onnx_model, variations
from maxpool_check.targets.description import TargetProfile
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.translation import Translation, translate

_SMALLEST = np.zeros((1, 1, 1), np.float32)


@dataclass(frozen=True, eq=False)
class SecondLook:
    """A request that shows whether a refusal concerns MaxPool at all.

    It is executed ``after`` outcomes of these types. If its own outcome is of the type ``rules_out``, the case counts as
    not executed, for ``reason``.
    """

    request: Request
    after: tuple[type[Outcome], ...]
    rules_out: type[Outcome]
    reason: str


@dataclass(frozen=True, eq=False)
class PlannedRequest:
    """A request, and the translation that its outputs must be converted back from."""

    request: Request
    translation: Translation | None = None
    opset: int | None = None
    steps: tuple[str, ...] = ()
    second_look: SecondLook | None = None


@dataclass(frozen=True, eq=False)
class VariantPlan:
    """How a case is executed in one variant: its requests in order, or why it cannot be executed."""

    case: Case
    variant: Variant
    parts: tuple[PlannedRequest, ...] = ()
    not_executed: str = ""

    @property
    def requests(self) -> list[Request]:
        """The requests to execute."""
        return [part.request for part in self.parts]


@dataclass(frozen=True)
class VariantResult:
    """The outcome of a variant, the operator set it was executed in, how the case was translated, and the last request."""

    outcome: Outcome
    opset: int | None = None
    steps: tuple[str, ...] = ()
    request: Request | None = None


def plan(case: Case, variants: Collection[Variant], target: TargetProfile) -> list[VariantPlan]:
    """How a case is executed on a target, in those of the variants that apply to it, in order of execution."""
    applicable = variants_of(case.outputs, case.specification.domain, variants)
    return [_plan(case, variant, target) for variant in applicable]


def second_looks(plans: Sequence[VariantPlan], outcomes: Sequence[Sequence[Outcome]]) -> list[SecondLook | None]:
    """For each plan the second look that the outcomes of its requests call for, if they do."""
    looks = []
    for variant_plan, of_plan in zip(plans, outcomes, strict=True):
        number = _first_without_outputs(of_plan)
        look = variant_plan.parts[number].second_look if number is not None else None
        looks.append(look if look is not None and isinstance(of_plan[number or 0], look.after) else None)
    return looks


def result(
    variant_plan: VariantPlan, outcomes: Sequence[Outcome], target: TargetProfile, second: Outcome | None = None
) -> VariantResult:
    """The result of a variant from the outcomes of its requests, and of its second look if there was one."""
    if not variant_plan.parts:
        return VariantResult(NotExecuted(variant_plan.not_executed))
    number = _first_without_outputs(outcomes)
    part = variant_plan.parts[-1 if number is None else number]
    outcome = outcomes[-1 if number is None else number]
    look = part.second_look
    if look is not None and second is not None and isinstance(second, look.rules_out):
        refusal = second if isinstance(second, RefusedByTarget) else outcome
        assert isinstance(refusal, RefusedByTarget)
        return VariantResult(NotExecuted(f"{look.reason}: {refusal.status}: {refusal.message}"))
    converted = [_converted(each, one, target) for each, one in zip(variant_plan.parts, outcomes, strict=True)]
    failed = _first_without_outputs(converted)
    if failed is not None:
        part, outcome = variant_plan.parts[failed], converted[failed]
    else:
        outcome = _combined(variant_plan, [each for each in converted if isinstance(each, Returned)])
    return VariantResult(outcome, part.opset, part.steps, part.request)


def _first_without_outputs(outcomes: Sequence[Outcome]) -> int | None:
    return next((number for number, outcome in enumerate(outcomes) if not isinstance(outcome, Returned)), None)


def _converted(part: PlannedRequest, outcome: Outcome, target: TargetProfile) -> Outcome:
    """The outcome with its outputs as the case has them; a failure, if another provider than the target's ran the node."""
    if not isinstance(outcome, Returned):
        return outcome
    if part.opset is not None and outcome.provider != target.description.provider:
        return Failed(f"wrong provider: {outcome.provider} ran the node, not {target.description.provider}")
    if part.translation is None:
        return outcome
    by_plane = target.description.indices == "plane"
    outputs = {name: part.translation.output(name, value, by_plane=by_plane) for name, value in outcome.outputs.items()}
    return replace(outcome, outputs=outputs)


def _combined(variant_plan: VariantPlan, outcomes: Sequence[Returned]) -> Returned:
    variation = variant_plan.variant.variation
    if variation not in (BATCH_SPLIT, CHANNELS_PERMUTED):
        return outcomes[-1]
    assert variation is not None
    outputs = variations.whole(variant_plan.case, variation, [outcome.outputs for outcome in outcomes])
    return replace(outcomes[0], outputs=outputs)


def _plan(case: Case, variant: Variant, target: TargetProfile) -> VariantPlan:
    variation = variant.variation
    try:
        if variation in (BATCH_SPLIT, CHANNELS_PERMUTED):
            assert variation is not None
            base = variant.base
            parts = [_translated(part, base, target) for part in variations.parts(case, variation)]
        elif variant.in_domain:
            parts = [_in_domain(case, variant, target)]
        else:
            parts = [_translated(case, variant, target)]
    except NotExpressible as error:
        return VariantPlan(case, variant, not_executed=str(error))
    return VariantPlan(case, variant, tuple(parts))


def _translated(case: Case, variant: Variant, target: TargetProfile) -> PlannedRequest:
    """A case in the language of the target. Raises ``NotExpressible``."""
    description, dtype = target.description, name_of(case.X.dtype)
    setting = _setting(variant, target)
    if variant.has_indices and description.indices is None:
        raise NotExpressible("it gives no Indices")
    graph = translate(
        case.specification, case.attributes, dtype, case.X.shape, case.resolved,
        indices=variant.has_indices, language="onnx" if description.speaks == "attributes" else description.speaks,
    )  # fmt: skip
    excluded = target.limits.exclude(dtype, len(graph.target.sizes(graph.shape)) - 2)
    if excluded is not None and isinstance(case.resolved, Pooling):
        raise NotExpressible(excluded)
    steps = graph.steps
    if variant.has_indices and description.indices == "plane":
        steps = (*steps, "Indices counted in each plane, converted to the whole tensor")
    if description.newest_opset is not None:
        return _as_model(case, variant, graph, steps, setting, description.newest_opset)
    return _as_attributes(case, variant, graph, steps, setting, target)


def _as_attributes(
    case: Case, variant: Variant, graph: Translation, steps: tuple[str, ...], setting: str | None, target: TargetProfile
) -> PlannedRequest:
    if variant.variation == OLDEST_OPSET:
        raise NotExpressible("it is not executed with ONNX models")
    if graph.activation is not None:
        raise NotExpressible("it executes MaxPool alone, without an activation")
    attributes = graph.attributes
    if target.description.speaks == "attributes":
        attributes = all_attributes(VERSIONS[-1].attributes, graph.attributes, max(len(graph.shape) - 2, 0))
        if isinstance(case.resolved, Refused) and isinstance(_resolved_with(case, attributes), Pooling):
            raise NotExpressible("all attributes are passed, those that the case leaves out with their defaults")
    excluded = isinstance(case.resolved, Refused) and target.name.is_released
    request = Request(graph.input(case.X), variant.outputs, b"", attributes, setting, excluded=excluded)
    return PlannedRequest(request, graph, None, steps)


def _as_model(
    case: Case, variant: Variant, graph: Translation, steps: tuple[str, ...], setting: str | None, newest: int
) -> PlannedRequest:
    dtype, X, outputs = name_of(case.X.dtype), graph.input(case.X), variant.outputs
    node = Graph(graph.attributes, dtype, graph.shape, case.policies, variant.has_indices)
    opset = opset_for(node, graph.onnx, newest)
    if opset is None:
        raise NotExpressible(f"no operator set up to {newest}, the newest it loads, means the same")
    if variant.variation == OLDEST_OPSET:
        usual, opset = opset, oldest_opset_for(node, graph.onnx, opset)
        if opset is None:
            raise NotExpressible(f"no older version of the operator than that of operator set {usual} means the same")
        if graph.activation is not None and opset < onnx_model.SINCE[graph.activation.function]:
            name = graph.activation.function.value
            raise NotExpressible(f"operator set {opset} has its MaxPool, and another {name}")
    model = onnx_model.build(opset, graph.attributes, dtype, graph.shape, outputs, graph.activation)
    request = Request(X, outputs, model, graph.attributes, setting)
    second_look = None
    if graph.activation is not None:
        alone = onnx_model.build(opset, graph.attributes, dtype, graph.shape, outputs)
        reason = "it refuses the activation, not MaxPool"
        second_look = SecondLook(replace(request, model=alone), (RefusedByTarget,), Returned, reason)
    return PlannedRequest(request, graph, opset, steps, second_look)


def _in_domain(case: Case, variant: Variant, target: TargetProfile) -> PlannedRequest:
    """A case in the operator domain of its own document, as it stands. Raises ``NotExpressible``."""
    document = case.specification
    assert document.domain is not None
    assert document.onnx is not None
    domain, opset = document.domain, document.onnx.since
    if not target.name.is_released or RUNTIMES[target.name.runtime].adapter != "onnxruntime":
        # Others load such a model as well, and take the node for ONNX's.
        raise NotExpressible(f"{domain} is a domain of ONNX Runtime's own")
    second_look = None
    if _may_be_refused(case):
        # A runtime without the operator refuses everything, or dies of what it infers; that is no evidence about this case.
        smallest = onnx_model.build(opset, onnx_model.SMALLEST, "float32", _SMALLEST.shape, ("Y",), domain=domain)
        request = Request(_SMALLEST, ("Y",), smallest, onnx_model.SMALLEST)
        after = (RefusedByTarget, Crashed)
        second_look = SecondLook(request, after, RefusedByTarget, f"it has no MaxPool in {domain}")
    attributes = {
        name: [float(entry) for entry in value] if is_list_of_numbers(document, name, value) else value
        for name, value in case.attributes.items()
    }
    model = onnx_model.build(opset, attributes, name_of(case.X.dtype), case.X.shape, variant.outputs, domain=domain)
    steps = (f"in the operator domain {domain}",)
    return PlannedRequest(Request(case.X, variant.outputs, model, attributes), None, opset, steps, second_look)


def _setting(variant: Variant, target: TargetProfile) -> str | None:
    """The setting that the target's program is told. Raises ``NotExpressible`` where it does not have it."""
    variation = variant.variation
    if variation is None or not variation.is_setting:
        return None
    if variation.name in target.settings:
        return variation.name
    if variation.required:
        raise NotExpressible(f"it has no setting for {variation.name}")
    return None


def _resolved_with(case: Case, attributes: Mapping[str, Any]) -> Pooling | Refused:
    """What the document makes of a case with these attributes."""
    try:
        return case.specification.pooling(attributes, name_of(case.X.dtype), case.X.shape, case.policies)
    except Refused as refused:
        return refused


def _may_be_refused(case: Case) -> bool:
    """Whether a refusal would be right, or say nothing."""
    resolved = case.resolved
    if isinstance(resolved, Refused):
        return True
    return resolved.refusable is not None or (case.X.size > 0 and resolved.has_empty_windows)
