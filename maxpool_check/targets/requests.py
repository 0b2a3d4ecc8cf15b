"""The jobs that execute a case on a target."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.model import ACTIVATIONS_SINCE, maxpool_model
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.target_selector import parts_of as parts_of_name
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import (
    Accepted,
    Crashed,
    Inferred,
    NotClaimed,
    NotExecuted,
    RefusedByTarget,
    Returned,
)
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import (
    GRAPH_VARIANTS,
    NHWC_MAXPOOL,
    NHWC_MAXPOOL_DTYPES,
    OLDEST_OPSET,
    OPTIMIZATION_OFF,
    Variant,
)
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.roles import NotExpressible, all_attributes, is_list_of_numbers
from maxpool_check.specifications.specification import Refused, Specification
from maxpool_check.targets.jobs import Control, Job
from maxpool_check.targets.languages import require, require_of_torch
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile, smallest_request
from maxpool_check.targets.translation import Translation, converted_from, oldest_opset_for, opset_for, translate

_NHWC_TITLE = "com.microsoft.NhwcMaxPool"
_NHWC_ATTRIBUTES = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")


class _Unclaimed(NotExpressible):
    """The target claims no document that means the same as that of the case."""


def jobs_of(case: Case, variants: Collection[Variant], target: TargetProfile) -> list[Job]:
    """The jobs of a case on a target, in those of the variants that apply to it, in order of execution."""
    jobs = []
    for variant in case.variants(variants):
        if variant.variation is NHWC_MAXPOOL and not has_nhwc_maxpool(target.description):
            continue
        if not case.context.is_alone and variant in GRAPH_VARIANTS and OPTIMIZATION_OFF.name not in target.settings:
            # It is executed by default only where there is something to compare.
            continue
        try:
            jobs.append(_job(case, variant, target))
        except NotExpressible as error:
            kind = NotClaimed if isinstance(error, _Unclaimed) else NotExecuted
            jobs.append(Job(variant, outcome=kind(str(error))))
    return jobs


def unchanged_job(case: Case, variant: Variant, target: TargetProfile) -> Job:
    """The job of a case on a target that gets it as it is, in its own attributes and layout."""
    described = target.description
    request = Request(case.X.tensor(), variant.outputs, b"", case.attributes)
    same_layout = [each for each in described.specs or () if SPECIFICATIONS[each].layout is case.specification.layout]
    try:
        _claimed(case, variant, request, same_layout, described.speaks)
    except _Unclaimed as error:
        return Job(variant, outcome=NotClaimed(str(error)))
    return Job(variant, request, _unchanged(case, target))


def has_nhwc_maxpool(target: TargetDescription) -> bool:
    """Whether a target has com.microsoft.NhwcMaxPool: ONNX Runtime on the CPU, whose models no tool rewrites."""
    match = parts_of_name(target.name)
    runtime = RUNTIMES.get(match["name"]) if match else None
    return target.provider == "CPUExecutionProvider" and runtime is not None and runtime.adapter == "onnxruntime"


def _job(case: Case, variant: Variant, target: TargetProfile) -> Job:
    """The job of a case in a variant. Raises ``NotExpressible``."""
    if variant.variation is NHWC_MAXPOOL:
        return _as_nhwc_maxpool(case, variant)
    if variant.in_domain:
        return _in_domain(case, variant, target)
    description, variation, setting = target.description, variant.variation, None
    if variation is not None and variation.is_setting:
        setting = variation.name if variation.name in target.settings else None
        require(setting is not None or not variation.required, f"it has no setting for {variation.name}")
    is_decided = variation in (None, OLDEST_OPSET) or description.decides == "values"
    require(is_decided, "it computes no values that could depend on that")
    require(description.indices is not None or not variant.has_indices, "it gives no Indices")
    is_alone = case.context.is_alone or (case.context.is_replaceable and description.graphs is None)
    job = (_translated if is_alone else _as_graph)(case, variant, target)
    spec = None
    if description.specs is not None:
        assert job.request is not None
        spec = _claimed(case, variant, job.request, description.specs, description.speaks)
    return job if setting is spec is None else job.with_request(setting=setting, spec=spec)


def _translated(case: Case, variant: Variant, target: TargetProfile) -> Job:
    """A case of MaxPool alone in the language of the target."""
    described, dtype = target.description, name_of(case.X.dtype)
    graph = translate(
        case.specification, case.attributes, dtype, case.X.shape, case.resolved,
        indices=variant.has_indices, language="onnx" if described.speaks == "attributes" else described.speaks,
        counted=described.indices or "whole",
    )  # fmt: skip
    if described.speaks == "torch" and not target.name.is_released and isinstance(case.resolved, Pooling):
        require_of_torch(case.resolved.geometry, graph.shape)
    require(
        target.refuses or isinstance(case.resolved, Pooling), "it refuses nothing, and its document excludes the graph"
    )
    excluded = target.exclude(dtype, len(graph.target.sizes(graph.shape)) - 2)
    # A runtime must refuse what it does not have; a kernel that says what it has relies on getting nothing else.
    if excluded is not None and (isinstance(case.resolved, Pooling) or not target.name.is_released):
        raise NotExpressible(excluded)
    if described.newest_opset is not None:
        return _as_model(case, variant, graph, described.newest_opset)
    require(variant.variation != OLDEST_OPSET, "it is not executed with ONNX models")
    require(graph.activation is None, "it executes MaxPool alone, without an activation")
    refused, attributes = isinstance(case.resolved, Refused), graph.attributes
    if described.speaks == "attributes":
        attributes = all_attributes(VERSIONS[-1].attributes, attributes, max(len(graph.shape) - 2, 0))
        if refused and isinstance(replace(case, attributes=attributes).resolved, Pooling):
            raise NotExpressible("all attributes are passed, those that the case leaves out with their defaults")
    X, is_dangerous = graph.input(case.X.tensor()), refused and target.name.is_released
    return Job(variant, Request(X, variant.outputs, b"", attributes, excluded=is_dangerous), graph)


def _as_model(case: Case, variant: Variant, graph: Translation, newest: int) -> Job:
    """A case of MaxPool alone as an ONNX model, with its activation as a node."""
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
    model = maxpool_model(opset, graph.attributes, dtype, graph.shape, variant.outputs)
    request = Request(graph.input(case.X.tensor()), variant.outputs, model, graph.attributes)
    if graph.activation is None:
        return Job(variant, request, graph, opset)
    control = Control(
        request, (RefusedByTarget,), (Returned, Inferred, Accepted), "it refuses the activation, not MaxPool"
    )
    model = maxpool_model(opset, graph.attributes, dtype, graph.shape, variant.outputs, graph.activation)
    return Job(variant, replace(request, model=model), graph, opset, control)


def _as_graph(case: Case, variant: Variant, target: TargetProfile) -> Job:
    """A graph of several nodes, in its own operator set."""
    newest, context = target.description.graphs, case.context
    if newest is None:
        raise NotExpressible("it executes MaxPool alone, without other nodes")
    require(context.opset <= newest, f"the newest operator set that it loads is {newest}, not {context.opset}")
    require(variant.variation != OLDEST_OPSET, "a graph is executed in its own operator set")
    require(not isinstance(case.resolved, Refused), f"its document excludes the graph: {case.resolved}")
    excluded = target.exclude(name_of(case.entering.dtype), case.entering.ndim - 2)
    require(excluded is None, excluded or "")
    model = case.model(variant.outputs)
    request = Request(
        case.X.tensor(), (*variant.outputs, *context.side_outputs), model.model, case.attributes,
        more=model.inputs, feeds_input=not context.initializer,
    )  # fmt: skip
    return Job(variant, request, _unchanged(case, target), context.opset)


def _unchanged(case: Case, target: TargetProfile) -> Translation:
    """The case as it is, of which the target may count Indices in another way."""
    numbering = converted_from(case.resolved, target.description.indices)
    return Translation.unchanged(case.specification, case.attributes, case.entering.shape, numbering=numbering)


def _in_domain(case: Case, variant: Variant, target: TargetProfile) -> Job:
    """A case in the operator domain of its own document, unchanged."""
    document, resolved = case.specification, case.resolved
    assert document.domain is not None
    assert document.onnx is not None
    domain, opset = document.domain, document.onnx.since
    if not target.name.is_released or RUNTIMES[target.name.runtime].adapter not in ("onnxruntime", "javascript"):
        # Others load such a model as well, and take the node for ONNX's.
        raise NotExpressible(f"{domain} is a domain of ONNX Runtime's own")
    control = None
    has_empty_windows = case.X.size > 0 and isinstance(resolved, Pooling) and resolved.has_empty_windows
    if isinstance(resolved, Refused) or resolved.refusable is not None or has_empty_windows:
        # A runtime without the operator refuses everything, or dies of what it infers; that is no evidence about this case.
        smallest = smallest_request(opset, domain)
        control = Control(smallest, (RefusedByTarget, Crashed), (RefusedByTarget,), f"it has no MaxPool in {domain}")
    attributes = {
        name: [float(entry) for entry in value] if is_list_of_numbers(document, name, value) else value
        for name, value in case.attributes.items()
    }
    model = maxpool_model(opset, attributes, name_of(case.X.dtype), case.X.shape, variant.outputs, domain=domain)
    steps = (f"in the operator domain {domain}",)
    unchanged = Translation.unchanged(document, attributes, case.X.shape, steps=steps)
    request = Request(case.X.tensor(), variant.outputs, model, attributes)
    return Job(variant, request, unchanged, opset, control)


def _as_nhwc_maxpool(case: Case, variant: Variant) -> Job:
    """A case as com.microsoft.NhwcMaxPool, ONNX Runtime's own operator for int8 and uint8 with the channels last.

    It has no document, only a schema: names and types of MaxPool's attributes, and Y alone. The optimizer puts it in
    the place of a MaxPool between Transposes, in any operator set and with its attributes unchanged; so a case is
    executed as this operator where it means the same in all versions of MaxPool that have bytes. The document of
    com.ms.internal.nhwc, which has other types, says nothing of it.
    """
    dtype, document = name_of(case.X.dtype), case.specification
    if isinstance(case.resolved, Refused):
        raise NotExpressible(f"{document.title} excludes the graph, and {_NHWC_TITLE} has no document")
    graph = translate(document, case.attributes, dtype, case.X.shape, case.resolved, indices=False)
    require(graph.activation is None, f"{_NHWC_TITLE} has no activation")
    # They differ in a last window that begins in the end padding: dropped since version 22, where sizes are rounded up.
    versions = [each for each in VERSIONS if set(NHWC_MAXPOOL_DTYPES) <= set(each.dtypes)]
    meanings = [version.resolve(graph.attributes, dtype, graph.shape, case.policies) for version in versions]
    sizes = {meaning.output_sizes for meaning in meanings if isinstance(meaning, Pooling)}
    is_same = not graph.attributes.get("ceil_mode") or len(sizes) <= 1
    require(is_same, f"the versions of MaxPool differ here, and {_NHWC_TITLE} does not say whose it follows")
    attributes = {name: value for name, value in graph.attributes.items() if name in _NHWC_ATTRIBUTES}
    last = Layout.CHANNELS_LAST
    transposed = "" if graph.source is last else f", X transposed to {last.value.replace('-', ' ')}, Y back"
    steps = (*graph.steps, f"as {_NHWC_TITLE}{transposed}")
    graph = replace(graph, attributes=attributes, shape=last.arranged(graph.shape), target=last, steps=steps)
    domain, _, operator = _NHWC_TITLE.rpartition(".")
    model = maxpool_model(1, attributes, dtype, graph.shape, variant.outputs, domain=domain, operator=operator)
    return Job(variant, Request(graph.input(case.X.tensor()), variant.outputs, model, attributes), graph, 1)


def _claimed(case: Case, variant: Variant, request: Request, specs: Sequence[str], speaks: str) -> str:
    """The document of the case if it is claimed, or the first claimed one by which the request means the same.

    That is: by which the outputs are judged alike. Raises :class:`_Unclaimed`.
    """
    if case.spec in specs:
        return case.spec
    own: Oracle | Refused = case.oracle()
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
