"""The requests that execute a case on a target, and what their outcomes mean for the case."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Crashed, Failed, NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.variants import OLDEST_OPSET, Variant, variants_of
from maxpool_check.specifications.inverse import NotExpressible, all_attributes, is_list_of_numbers
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.opsets import Graph, oldest_opset_for, opset_for
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets import onnx_model, variations
from maxpool_check.targets.description import TargetProfile
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.translation import Translation, translate


@dataclass(frozen=True, eq=False)
class SecondLook:
    """A request that shows whether a refusal concerns MaxPool at all.

    It is executed ``after`` outcomes of these types. If its own outcome is of the type ``rules_out``, the case counts as
    not executed, for this ``reason``.
    """

    request: Request
    after: tuple[type[Outcome], ...]
    rules_out: type[Outcome]
    reason: str


@dataclass(frozen=True, eq=False)
class PlannedRequest:
    """A request, and the translation that its outputs must be converted back from."""

    request: Request
    translation: Translation
    opset: int | None = None
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
    plans = []
    for variant in variants_of(case.outputs, case.specification.domain, variants):
        try:
            if variant.in_domain:
                parts = [_in_domain(case, variant, target)]
            else:
                parts = [_translated(part, variant, target) for part in variations.parts(case, variant.variation)]
            plans.append(VariantPlan(case, variant, tuple(parts)))
        except NotExpressible as error:
            plans.append(VariantPlan(case, variant, not_executed=str(error)))
    return plans


def second_looks(plans: Sequence[VariantPlan], outcomes: Sequence[Sequence[Outcome]]) -> list[SecondLook | None]:
    """For each plan the second look that the outcomes of its requests call for, if they do."""
    looks: list[SecondLook | None] = []
    for variant_plan, plan_outcomes in zip(plans, outcomes, strict=True):
        look = None
        if variant_plan.parts:
            part, outcome = _decisive(variant_plan, plan_outcomes)
            if part.second_look is not None and isinstance(outcome, part.second_look.after):
                look = part.second_look
        looks.append(look)
    return looks


def result(
    variant_plan: VariantPlan, outcomes: Sequence[Outcome], target: TargetProfile, second: Outcome | None = None
) -> VariantResult:
    """The result of a variant from the outcomes of its requests, and of its second look if there was one."""
    if not variant_plan.parts:
        return VariantResult(NotExecuted(variant_plan.not_executed))
    part, outcome = _decisive(variant_plan, outcomes)
    look = part.second_look
    if look is not None and second is not None and isinstance(second, look.rules_out):
        refusal = second if isinstance(second, RefusedByTarget) else outcome
        assert isinstance(refusal, RefusedByTarget)
        return VariantResult(NotExecuted(f"{look.reason}: {refusal.status}: {refusal.message}"))
    converted = [_converted(*pair, target) for pair in zip(variant_plan.parts, outcomes, strict=True)]
    part, outcome = _decisive(variant_plan, converted)
    if isinstance(outcome, Returned):
        outputs = [each.outputs for each in converted if isinstance(each, Returned)]
        outcome = replace(outcome, outputs=variations.whole(variant_plan.case, variant_plan.variant.variation, outputs))
    return VariantResult(outcome, part.opset, part.translation.steps, part.request)


def _decisive(variant_plan: VariantPlan, outcomes: Sequence[Outcome]) -> tuple[PlannedRequest, Outcome]:
    """The first request without outputs and its outcome; the last request if all have outputs."""
    pairs = list(zip(variant_plan.parts, outcomes, strict=True))
    return next((pair for pair in pairs if not isinstance(pair[1], Returned)), pairs[-1])


def _converted(part: PlannedRequest, outcome: Outcome, target: TargetProfile) -> Outcome:
    """The outcome with its outputs as the case has them; a failure, if another provider than the target's ran the node."""
    if not isinstance(outcome, Returned):
        return outcome
    if part.opset is not None and outcome.provider != target.description.provider:
        return Failed(f"wrong provider: {outcome.provider} ran the node, not {target.description.provider}")
    by_plane = target.description.indices == "plane"
    outputs = {name: part.translation.output(name, value, by_plane=by_plane) for name, value in outcome.outputs.items()}
    return replace(outcome, outputs=outputs)


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
    excluded = target.exclude(dtype, len(graph.target.sizes(graph.shape)) - 2)
    if excluded is not None and isinstance(case.resolved, Pooling):
        raise NotExpressible(excluded)
    if variant.has_indices and description.indices == "plane":
        graph = replace(graph, steps=(*graph.steps, "Indices counted in each plane, converted to the whole tensor"))
    request = Request(graph.input(case.X), variant.outputs, b"", graph.attributes, setting)
    if description.newest_opset is not None:
        return _as_model(case, variant, graph, request, description.newest_opset)
    return _as_attributes(case, variant, graph, request, target)


def _as_attributes(
    case: Case, variant: Variant, graph: Translation, request: Request, target: TargetProfile
) -> PlannedRequest:
    if variant.variation == OLDEST_OPSET:
        raise NotExpressible("it is not executed with ONNX models")
    if graph.activation is not None:
        raise NotExpressible("it executes MaxPool alone, without an activation")
    refused = isinstance(case.resolved, Refused)
    if target.description.speaks == "attributes":
        attributes = all_attributes(VERSIONS[-1].attributes, graph.attributes, max(len(graph.shape) - 2, 0))
        if refused and isinstance(replace(case, attributes=attributes).resolved, Pooling):
            raise NotExpressible("all attributes are passed, those that the case leaves out with their defaults")
        request = replace(request, attributes=attributes)
    request = replace(request, excluded=refused and target.name.is_released)
    return PlannedRequest(request, graph)


def _as_model(case: Case, variant: Variant, graph: Translation, request: Request, newest: int) -> PlannedRequest:
    dtype = name_of(case.X.dtype)
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
    alone = onnx_model.build(opset, graph.attributes, dtype, graph.shape, variant.outputs)
    request = replace(request, model=alone)
    if graph.activation is None:
        return PlannedRequest(request, graph, opset)
    second_look = SecondLook(request, (RefusedByTarget,), Returned, "it refuses the activation, not MaxPool")
    model = onnx_model.build(opset, graph.attributes, dtype, graph.shape, variant.outputs, graph.activation)
    return PlannedRequest(replace(request, model=model), graph, opset, second_look)


def _in_domain(case: Case, variant: Variant, target: TargetProfile) -> PlannedRequest:
    """A case in the operator domain of its own document, unchanged. Raises ``NotExpressible``."""
    document = case.specification
    assert document.domain is not None
    assert document.onnx is not None
    domain, opset = document.domain, document.onnx.since
    if not target.name.is_released or RUNTIMES[target.name.runtime].adapter != "onnxruntime":
        # Others load such a model as well, and take the node for ONNX's.
        raise NotExpressible(f"{domain} is a domain of ONNX Runtime's own")
    second_look = None
    resolved = case.resolved
    has_empty_windows = case.X.size > 0 and isinstance(resolved, Pooling) and resolved.has_empty_windows
    if isinstance(resolved, Refused) or resolved.refusable is not None or has_empty_windows:
        # A runtime without the operator refuses everything, or dies of what it infers; that is no evidence about this case.
        smallest = onnx_model.smallest_request(opset, domain)
        after = (RefusedByTarget, Crashed)
        second_look = SecondLook(smallest, after, RefusedByTarget, f"it has no MaxPool in {domain}")
    attributes = {
        name: [float(entry) for entry in value] if is_list_of_numbers(document, name, value) else value
        for name, value in case.attributes.items()
    }
    model = onnx_model.build(opset, attributes, name_of(case.X.dtype), case.X.shape, variant.outputs, domain=domain)
    layout, steps = document.layout, (f"in the operator domain {domain}",)
    unchanged = Translation(attributes, case.X.shape, layout, layout, steps=steps)
    return PlannedRequest(Request(case.X, variant.outputs, model, attributes), unchanged, opset, second_look)


def _setting(variant: Variant, target: TargetProfile) -> str | None:
    """The setting for the target's program. Raises ``NotExpressible`` if it is required and not supported."""
    variation = variant.variation
    if variation is None or not variation.is_setting:
        return None
    if variation.name in target.settings:
        return variation.name
    if variation.required:
        raise NotExpressible(f"it has no setting for {variation.name}")
    return None
