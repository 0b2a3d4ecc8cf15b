"""How a variant is put to a target: what a worker is asked in turn, and what comes of it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Failed, NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.variants import BATCH_SPLIT, CHANNELS_PERMUTED, OLDEST_OPSET, TWICE, Variant, Variation
from maxpool_check.specifications.inverse import NotExpressible, all_attributes, is_list_of_numbers
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.opsets import Graph, oldest_opset_for, opset_for
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets import onnx_model, variations
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import Target
from maxpool_check.targets.translation import Translation, translate


@dataclass(frozen=True)
class Reply:
    """What came of one variant: the outcome, the operator set it was asked in, and how it was translated, in words."""

    outcome: Outcome
    opset: int | None = None
    steps: tuple[str, ...] = ()


Dialogue = Generator[Request, Outcome, Reply]
"""Yields what a worker is to be asked, is sent what became of it, and returns the reply."""

_SMALLEST = np.zeros((1, 1, 1), np.float32)


def dialogue(target: Target, case: Case, variant: Variant) -> Dialogue:
    """Ask a target one variant; whoever has a worker of it carries the requests."""
    variation = variant.variation
    if variation in (BATCH_SPLIT, CHANNELS_PERMUTED):
        return (yield from _in_parts(target, case, variant, variation))
    if variation is not None and variation.is_setting and variation != TWICE and _setting(target, variant) is None:
        return Reply(NotExecuted(f"it has no setting for {variation.name}"))
    if variant.in_domain:
        return (yield from _in_domain(target, case, variant))
    return (yield from _as_it_is(target, case, variant))


def _in_parts(target: Target, case: Case, variant: Variant, variation: Variation) -> Dialogue:
    """Ask several cases that together say the same; the first that is not answered is the outcome."""
    try:
        parts = variations.parts(case, variation)
    except NotExpressible as error:
        return Reply(NotExecuted(str(error)))
    answers: list[Returned] = []
    for part in parts:
        reply = yield from _followed(_as_it_is(target, part, variant.base))
        if not isinstance(reply.outcome, Returned):
            return reply
        answers.append(reply.outcome)
    outputs = variations.whole(case, variation, [answer.outputs for answer in answers])
    return replace(reply, outcome=replace(answers[0], outputs=outputs))


def _followed(dialogue: Dialogue) -> Dialogue:
    """The same, and others of the same variant may come behind it."""
    try:
        request = next(dialogue)
        while True:
            request = dialogue.send((yield replace(request, followed=True)))
    except StopIteration as end:
        reply: Reply = end.value
        return reply


def _as_it_is(target: Target, case: Case, variant: Variant) -> Dialogue:
    """Ask a case in what the target speaks."""
    described, dtype = target.description, name_of(case.X.dtype)
    indices = "Indices" in variant.outputs
    if indices and described.indices is None:
        return Reply(NotExecuted("it gives no Indices"))
    try:
        graph = translate(
            case.specification, case.attributes, dtype, case.X.shape, case.resolved,
            indices=indices, language="onnx" if described.speaks == "attributes" else described.speaks,
        )  # fmt: skip
    except NotExpressible as error:
        return Reply(NotExecuted(str(error)))
    excluded = target.limits.exclude(dtype, len(graph.target.sizes(graph.shape)) - 2)
    if excluded is not None and isinstance(case.resolved, Pooling):
        return Reply(NotExecuted(excluded))
    if described.newest_opset is not None:
        return (yield from _by_model(target, case, variant, graph, described.newest_opset))
    return (yield from _by_attributes(target, case, variant, graph))


def _by_attributes(target: Target, case: Case, variant: Variant, graph: Translation) -> Dialogue:
    """Ask with the attributes alone."""
    if variant.variation == OLDEST_OPSET:
        return Reply(NotExecuted("it is not asked with ONNX models"))
    if graph.activation is not None:
        return Reply(NotExecuted("it is asked for MaxPool alone, without an activation"))
    attributes = graph.attributes
    if target.description.speaks == "attributes":
        attributes = all_attributes(VERSIONS[-1].attributes, graph.attributes, max(len(graph.shape) - 2, 0))
        if isinstance(case.resolved, Refused) and isinstance(_filled(case, attributes), Pooling):
            return Reply(
                NotExecuted("every attribute is handed over, those that the case leaves out by their defaults")
            )
    excluded = isinstance(case.resolved, Refused) and target.name.is_released
    outcome = yield Request(
        graph.input(case.X), variant.outputs, b"", attributes, _setting(target, variant), excluded=excluded
    )
    return Reply(_back(target, graph, outcome), steps=_steps(target, graph, variant))


def _by_model(target: Target, case: Case, variant: Variant, graph: Translation, newest: int) -> Dialogue:
    """Ask with the bytes of an ONNX model."""
    dtype, X, outputs = name_of(case.X.dtype), graph.input(case.X), variant.outputs
    asked = Graph(graph.attributes, dtype, graph.shape, case.policies, "Indices" in outputs)
    opset = opset_for(asked, graph.onnx, newest)
    if opset is None:
        return Reply(NotExecuted(f"no operator set up to {newest}, the newest it loads, means the same"))
    if variant.variation == OLDEST_OPSET:
        usual, opset = opset, oldest_opset_for(asked, graph.onnx, opset)
        if opset is None:
            why = f"no older version of the operator than that of operator set {usual} means the same"
            return Reply(NotExecuted(why))
        if graph.activation is not None and opset < onnx_model.SINCE[graph.activation.function]:
            why = f"operator set {opset} has its MaxPool, and another {graph.activation.function.value}"
            return Reply(NotExecuted(why))
    model = onnx_model.build(opset, graph.attributes, dtype, graph.shape, outputs, graph.activation)
    setting, followed = _setting(target, variant), graph.activation is not None
    request = Request(X, outputs, model, graph.attributes, setting, followed=followed)
    outcome = yield request
    if isinstance(outcome, RefusedByTarget) and graph.activation is not None:
        alone = onnx_model.build(opset, graph.attributes, dtype, graph.shape, outputs)
        if isinstance((yield replace(request, model=alone)), Returned):
            why = f"it refuses the activation, not MaxPool: {outcome.status}: {outcome.message}"
            return Reply(NotExecuted(why))
    return Reply(_back(target, graph, _by_provider(target, outcome)), opset, _steps(target, graph, variant))


def _in_domain(target: Target, case: Case, variant: Variant) -> Dialogue:
    """Ask a case in its document's own operator domain, as it stands."""
    document, dtype = case.specification, name_of(case.X.dtype)
    assert document.domain is not None
    assert document.onnx is not None
    domain, opset = document.domain, document.onnx.since
    if not target.name.is_released or RUNTIMES[target.name.runtime].adapter != "onnxruntime":
        # Others load such a model as well, and take the node for ONNX's.
        return Reply(NotExecuted(f"{domain} is a domain of ONNX Runtime's own"))
    if _may_be_refused(case):
        # A runtime without the operator refuses everything; that is no evidence that it refuses this.
        smallest = onnx_model.build(opset, onnx_model.SMALLEST, "float32", _SMALLEST.shape, ("Y",), domain=domain)
        outcome = yield Request(_SMALLEST, ("Y",), smallest, onnx_model.SMALLEST, followed=True)
        if isinstance(outcome, RefusedByTarget):
            return Reply(NotExecuted(f"it has no MaxPool in {domain}: {outcome.status}: {outcome.message}"))
    attributes = {
        name: [float(entry) for entry in value] if is_list_of_numbers(document, name, value) else value
        for name, value in case.attributes.items()
    }
    model = onnx_model.build(opset, attributes, dtype, case.X.shape, variant.outputs, domain=domain)
    outcome = yield Request(case.X, variant.outputs, model, attributes)
    return Reply(_by_provider(target, outcome), opset, (f"in the operator domain {domain}",))


def _setting(target: Target, variant: Variant) -> str | None:
    """What the program is told to do otherwise, if it knows how."""
    return variant.variation.name if variant.variation and variant.variation.name in target.settings else None


def _steps(target: Target, graph: Translation, variant: Variant) -> tuple[str, ...]:
    if "Indices" in variant.outputs and target.description.indices == "plane":
        return (*graph.steps, "Indices counted in each plane, converted to the whole tensor")
    return graph.steps


def _back(target: Target, graph: Translation, outcome: Outcome) -> Outcome:
    """The outcome, an answer's outputs as the case has them."""
    if not isinstance(outcome, Returned):
        return outcome
    by_plane = target.description.indices == "plane"
    outputs = {name: graph.output(name, value, by_plane=by_plane) for name, value in outcome.outputs.items()}
    return replace(outcome, outputs=outputs)


def _by_provider(target: Target, outcome: Outcome) -> Outcome:
    """An answer, if the provider that was asked gave it."""
    wanted = target.description.provider
    if isinstance(outcome, Returned) and outcome.provider != wanted:
        return Failed(f"wrong provider: {outcome.provider} ran the node, not {wanted}")
    return outcome


def _filled(case: Case, attributes: Mapping[str, Any]) -> Pooling | Refused:
    """What the document makes of a case to which no attribute is left out."""
    try:
        return case.specification.pooling(attributes, name_of(case.X.dtype), case.X.shape, case.policies)
    except Refused as refused:
        return refused


def _may_be_refused(case: Case) -> bool:
    """Whether a refusal would be right, or say nothing."""
    meaning = case.resolved
    if isinstance(meaning, Refused) or meaning.refusable is not None:
        return True
    return bool(Oracle(case.X, meaning).pooled.empty.any())
