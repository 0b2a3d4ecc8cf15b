"""The requests that execute a case on a target, and what their outcomes mean for the case."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.model import ACTIVATIONS_SINCE, maxpool_model
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import (
    Accepted,
    Crashed,
    Inferred,
    NotClaimed,
    NotExecuted,
    Outcome,
    RefusedByTarget,
    Returned,
)
from maxpool_check.results.variants import GRAPH_VARIANTS, NHWC_MAXPOOL, OLDEST_OPSET, OPTIMIZATION_OFF, Variant
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.roles import NotExpressible, all_attributes, is_list_of_numbers
from maxpool_check.specifications.specification import Refused, Specification
from maxpool_check.targets import nhwc_maxpool
from maxpool_check.targets.conversion import converted
from maxpool_check.targets.parts import cases, whole
from maxpool_check.targets.plans import PlannedRequest, SecondLook, VariantPlan, VariantResult
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile, smallest_request
from maxpool_check.targets.translation import Translation, converted_from, oldest_opset_for, opset_for, translate


def plan(
    case: Case, variants: Collection[Variant], target: TargetProfile, oracle: GraphOracle | None = None
) -> list[VariantPlan]:
    """How a case is executed on a target, in those of the variants that apply to it, in order of execution.

    ``oracle`` is that of the case if its worker is to compare the outputs.
    """
    plans = []
    for variant in case.variants(variants):
        if variant.variation is NHWC_MAXPOOL and not nhwc_maxpool.has_operator(target.description):
            continue
        if not case.context.is_alone and variant in GRAPH_VARIANTS and OPTIMIZATION_OFF.name not in target.settings:
            # It is executed by default only where there is something to compare.
            continue
        try:
            if variant.variation is NHWC_MAXPOOL:
                parts = [nhwc_maxpool.planned(case, variant)]
            elif variant.in_domain:
                parts = [_in_domain(case, variant, target)]
            else:
                parts = [_translated(part, variant, target) for part in cases(case, variant.variation)]
            if oracle is not None and len(parts) == 1:
                parts = [_with_permitted(parts[0], oracle)]
            plans.append(VariantPlan(case, variant, tuple(parts)))
        except NotExpressible as error:
            plans.append(VariantPlan(case, variant, not_executed=NotExecuted(str(error))))
        except _Unclaimed as error:
            plans.append(VariantPlan(case, variant, not_executed=NotClaimed(str(error))))
    return plans


def _with_permitted(planned: PlannedRequest, oracle: GraphOracle) -> PlannedRequest:
    """The request with the outputs that the document permits, as the target would return them, if it has them so."""
    names, returned = planned.request.outputs, planned.translation.returned
    sets = [{name: returned(name, outputs[name]) for name in names} for outputs in oracle.permitted]
    permitted = tuple(
        {name: tensor for name, tensor in outputs.items() if tensor is not None}
        for outputs in sets
        if all(tensor is not None for tensor in outputs.values())
    )
    return replace(planned, request=replace(planned.request, permitted=permitted))


def second_look(variant_plan: VariantPlan, outcomes: Sequence[Outcome]) -> SecondLook | None:
    """The second look that the outcomes of the requests of a variant call for, if they do."""
    if not variant_plan.parts:
        return None
    part, outcome = _decisive(variant_plan, outcomes)
    look = part.second_look
    return look if look is not None and isinstance(outcome, look.after) else None


def result(
    variant_plan: VariantPlan, outcomes: Sequence[Outcome], target: TargetProfile, second: Outcome | None = None
) -> VariantResult:
    """The result of a variant from the outcomes of its requests, and of its second look if there was one."""
    if variant_plan.not_executed is not None:
        return VariantResult(variant_plan.not_executed)
    part, outcome = _decisive(variant_plan, outcomes)
    look = part.second_look
    if look is not None and second is not None and isinstance(second, look.rules_out):
        refusal = second if isinstance(second, RefusedByTarget) else outcome
        assert isinstance(refusal, RefusedByTarget)
        return VariantResult(NotExecuted(f"{look.reason}: {refusal.status}: {refusal.message}"))
    own = [converted(*pair, target) for pair in zip(variant_plan.parts, outcomes, strict=True)]
    part, outcome = _decisive(variant_plan, own)
    if isinstance(outcome, Returned):
        outputs = [each.outputs for each in own if isinstance(each, Returned)]
        outcome = replace(outcome, outputs=whole(variant_plan.case, variant_plan.variant.variation, outputs))
    return VariantResult(outcome, part.opset, part.translation.steps, part.request)


def _decisive(variant_plan: VariantPlan, outcomes: Sequence[Outcome]) -> tuple[PlannedRequest, Outcome]:
    """The first request without outputs and its outcome; the last request if all have outputs."""
    pairs = list(zip(variant_plan.parts, outcomes, strict=True))
    return next((pair for pair in pairs if not isinstance(pair[1], Returned)), pairs[-1])


def _translated(case: Case, variant: Variant, target: TargetProfile) -> PlannedRequest:
    """A case in the language of the target. Raises ``NotExpressible``, and ``_Unclaimed``."""
    description, dtype, variation = target.description, name_of(case.X.dtype), variant.variation
    setting = None
    if variation is not None and variation.is_setting:
        if variation.name in target.settings:
            setting = variation.name
        elif variation.required:
            raise NotExpressible(f"it has no setting for {variation.name}")
    if variation is not None and description.decides != "values" and variation != OLDEST_OPSET:
        raise NotExpressible("it computes no values that could depend on that")
    if variant.has_indices and description.indices is None:
        raise NotExpressible("it gives no Indices")
    if not case.context.is_alone:
        return _with_claim(case, variant, _as_graph(case, case.context, variant, target, setting), target)
    graph = translate(
        case.specification, case.attributes, dtype, case.X.shape, case.resolved,
        indices=variant.has_indices, language="onnx" if description.speaks == "attributes" else description.speaks,
        counted=description.indices or "whole",
    )  # fmt: skip
    excluded = target.exclude(dtype, len(graph.target.sizes(graph.shape)) - 2)
    # A runtime must refuse what it does not have; a kernel that says what it has relies on getting nothing else.
    if excluded is not None and (isinstance(case.resolved, Pooling) or not target.name.is_released):
        raise NotExpressible(excluded)
    request = Request(graph.input(case.X.tensor()), variant.outputs, b"", graph.attributes, setting)
    if description.newest_opset is not None:
        planned = _as_model(case, variant, graph, request, description.newest_opset)
    else:
        planned = _as_attributes(case, variant, graph, request, target)
    return _with_claim(case, variant, planned, target)


class _Unclaimed(ValueError):
    """The target claims no document that means the same as that of the case."""


def _with_claim(case: Case, variant: Variant, planned: PlannedRequest, target: TargetProfile) -> PlannedRequest:
    """The request with the document that the target claims, if it says which it does. Raises :class:`_Unclaimed`."""
    if target.description.specs is None:
        return planned
    return replace(
        planned,
        request=replace(
            planned.request, spec=_claimed(case, variant, planned, target.description.specs, target.description.speaks)
        ),
    )


def plan_unchanged(case: Case, variant: Variant, target: TargetProfile) -> VariantPlan:
    """How a case is executed on a target that gets it as it is, in its own attributes and layout."""
    layout, described = case.specification.layout, target.description
    numbering = converted_from(case.resolved, described.indices)
    same = Translation(case.attributes, case.entering.shape, layout, layout, numbering=numbering)
    planned = PlannedRequest(Request(case.X.tensor(), variant.outputs, b"", case.attributes), same)
    specs = [name for name in described.specs or () if name == case.spec or SPECIFICATIONS[name].layout is layout]
    try:
        _claimed(case, variant, planned, specs, described.speaks)
    except _Unclaimed as error:
        return VariantPlan(case, variant, not_executed=NotClaimed(str(error)))
    return VariantPlan(case, variant, (planned,))


def _claimed(case: Case, variant: Variant, planned: PlannedRequest, specs: Sequence[str], speaks: str) -> str:
    """The document of the case if it is claimed, or the first claimed one by which the request means the same.

    That is: by which the outputs are judged alike. Raises :class:`_Unclaimed`.
    """
    if case.spec in specs:
        return case.spec
    own: Oracle | Refused = case.oracle()
    request = planned.request
    if isinstance(own, GraphOracle) and not case.context.is_alone:
        # Of a graph, documents differ in its MaxPool alone.
        own, request = own.plain, replace(request, X=own.X)
    for name in specs:
        if _is_alike(own, SPECIFICATIONS[name], request, speaks, indices=variant.has_indices):
            return name
    claimed = ", ".join(specs) or "no document"
    raise _Unclaimed(f"it claims {claimed}, by which the case does not mean the same; --spec {case.spec} claims it")


def _is_alike(own: Oracle | Refused, document: Specification, request: Request, speaks: str, *, indices: bool) -> bool:
    """Whether a document judges the outputs of a request as its own oracle does."""
    attributes = request.attributes
    if document.onnx is not None and speaks in ("onnx", "attributes"):
        # Older versions lack attributes, which then have their defaults.
        table, rank = VERSIONS[-1].attributes, request.X.ndim - 2
        attributes = {
            name: value
            for name, value in attributes.items()
            if name in document.attributes or name not in table or value != table[name].default_for(rank)
        }
    elif document.name != speaks:
        return False
    resolved = document.resolve(attributes, name_of(request.X.dtype), request.X.shape)
    if isinstance(resolved, Refused):
        return isinstance(own, Refused) and own.is_open == resolved.is_open
    return isinstance(own, Oracle) and own.judges_alike(Oracle(request.X, resolved), indices=indices)


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


def _as_graph(
    case: Case, context: Context, variant: Variant, target: TargetProfile, setting: str | None
) -> PlannedRequest:
    """A graph of several nodes, in its own operator set."""
    newest = target.description.graphs
    if newest is None:
        raise NotExpressible("it executes MaxPool alone, without other nodes")
    if context.opset > newest:
        raise NotExpressible(f"the newest operator set that it loads is {newest}, not {context.opset}")
    if variant.variation == OLDEST_OPSET:
        raise NotExpressible("a graph is executed in its own operator set")
    if isinstance(case.resolved, Refused):
        raise NotExpressible(f"its document excludes the graph: {case.resolved}")
    excluded = target.exclude(name_of(case.entering.dtype), case.entering.ndim - 2)
    if excluded is not None:
        raise NotExpressible(excluded)
    model = case.model(variant.outputs)
    request = Request(
        case.X.tensor(), (*variant.outputs, *context.side_outputs), model.model, case.attributes, setting,
        more=model.inputs, feeds_input=not context.initializer,
    )  # fmt: skip
    layout = case.specification.layout
    numbering = converted_from(case.resolved, target.description.indices)
    same = Translation(case.attributes, case.entering.shape, layout, layout, numbering=numbering)
    return PlannedRequest(request, same, context.opset)


def _as_model(case: Case, variant: Variant, graph: Translation, request: Request, newest: int) -> PlannedRequest:
    dtype = name_of(case.X.dtype)
    opset = opset_for(graph, dtype, case.policies, newest, indices=variant.has_indices)
    if opset is None:
        raise NotExpressible(f"no operator set up to {newest}, the newest it loads, means the same")
    if variant.variation == OLDEST_OPSET:
        usual, opset = opset, oldest_opset_for(graph, dtype, case.policies, opset, indices=variant.has_indices)
        if opset is None:
            raise NotExpressible(f"no older version of the operator than that of operator set {usual} means the same")
        if graph.activation is not None and opset < ACTIVATIONS_SINCE[graph.activation.function]:
            name = graph.activation.function.value
            raise NotExpressible(f"operator set {opset} has its MaxPool, and another {name}")
    alone = maxpool_model(opset, graph.attributes, dtype, graph.shape, variant.outputs)
    request = replace(request, model=alone)
    if graph.activation is None:
        return PlannedRequest(request, graph, opset)
    look = SecondLook(
        request, (RefusedByTarget,), (Returned, Inferred, Accepted), "it refuses the activation, not MaxPool"
    )
    model = maxpool_model(opset, graph.attributes, dtype, graph.shape, variant.outputs, graph.activation)
    return PlannedRequest(replace(request, model=model), graph, opset, look)


def _in_domain(case: Case, variant: Variant, target: TargetProfile) -> PlannedRequest:
    """A case in the operator domain of its own document, unchanged. Raises ``NotExpressible``."""
    document = case.specification
    assert document.domain is not None
    assert document.onnx is not None
    domain, opset = document.domain, document.onnx.since
    if not target.name.is_released or RUNTIMES[target.name.runtime].adapter not in ("onnxruntime", "javascript"):
        # Others load such a model as well, and take the node for ONNX's.
        raise NotExpressible(f"{domain} is a domain of ONNX Runtime's own")
    look = None
    resolved = case.resolved
    has_empty_windows = case.X.size > 0 and isinstance(resolved, Pooling) and resolved.has_empty_windows
    if isinstance(resolved, Refused) or resolved.refusable is not None or has_empty_windows:
        # A runtime without the operator refuses everything, or dies of what it infers; that is no evidence about this case.
        smallest = smallest_request(opset, domain)
        look = SecondLook(smallest, (RefusedByTarget, Crashed), (RefusedByTarget,), f"it has no MaxPool in {domain}")
    attributes = {
        name: [float(entry) for entry in value] if is_list_of_numbers(document, name, value) else value
        for name, value in case.attributes.items()
    }
    model = maxpool_model(opset, attributes, name_of(case.X.dtype), case.X.shape, variant.outputs, domain=domain)
    layout, steps = document.layout, (f"in the operator domain {domain}",)
    unchanged = Translation(attributes, case.X.shape, layout, layout, steps=steps)
    return PlannedRequest(Request(case.X.tensor(), variant.outputs, model, attributes), unchanged, opset, look)
