"""Runs models on targets with the tensors around each MaxPool as outputs, and judges the nodes by what flows there."""

import hashlib
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.models.cases import ModelCase
from maxpool_check.models.model_part import CannotRun, levels_of, part_of
from maxpool_check.results.outcomes import (
    Crashed,
    Failed,
    NotClaimed,
    NotExecuted,
    Outcome,
    RefusedByTarget,
    Returned,
    TimedOut,
)
from maxpool_check.results.record import Execution
from maxpool_check.results.variants import LEVELS, Variant
from maxpool_check.running.case_run import executions, judged_case
from maxpool_check.targets.plans import VariantResult
from maxpool_check.targets.session import TargetSession

_LEVELS = {level.name: level for level in LEVELS}

Tensors = Mapping[str | None, Mapping[str, np.ndarray]]
"""The tensors of a model at each level of optimization; None: the default."""


def tensors_of(session: TargetSession, analysis: ModelAnalysis, inputs: Mapping[str, np.ndarray]) -> Tensors:
    """The tensors before and behind each MaxPool of the main graph, computed in the model. Raises :class:`CannotRun`."""
    if session.profile.description.graphs is None:
        raise CannotRun("it takes no ONNX models of several nodes")
    nodes = _in_main_graph(analysis)
    if not nodes:
        raise CannotRun("its MaxPool nodes are inside of other nodes, whose tensors cannot be outputs of the model")
    names = dict.fromkeys(
        name for each in nodes for name in (each.around.start, each.around.end, each.node.indices) if name is not None
    )
    part = part_of(analysis.model, tuple(names))
    levels = levels_of(session.profile.settings)
    numbers = session.submit([part.request(inputs, level) for level in levels])
    outcomes = {level: session.outcome(number) for level, number in zip(levels, numbers, strict=True)}
    returned = {level: each.outputs for level, each in outcomes.items() if isinstance(each, Returned)}
    if None not in returned:
        raise CannotRun(_why(outcomes[None]))
    return returned


def own_outputs(
    session: TargetSession, analysis: ModelAnalysis, inputs: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """The outputs of a whole model; none if it cannot be run as a whole."""
    names = [value.name for value in analysis.model.proto.graph.output]
    try:
        (number,) = session.submit([part_of(analysis.model, names, own_outputs=True).request(inputs, None)])
    except CannotRun:
        return {}
    outcome = session.outcome(number)
    return outcome.outputs if isinstance(outcome, Returned) else {}


def _in_main_graph(analysis: ModelAnalysis) -> list[NodeAnalysis]:
    return [each for each in analysis.nodes if each.maker is not None and each.node.scope.outer is None]


def _why(outcome: Outcome) -> str:
    """Why a model was not run, in words."""
    match outcome:
        case RefusedByTarget(status, message):
            return f"the target refuses it: {status}: {message}"
        case TimedOut(seconds):
            return f"no result within {seconds:g} s (--timeout)"
        case Crashed(how, stderr):
            return f"its process died: {how}{': ' if stderr else ''}{stderr}"
        case NotExecuted(why) | NotClaimed(why) | Failed(why):
            return why
        case Returned():
            return "it returned nothing at the default level of optimization"


def in_place(target: str, analysis: ModelAnalysis, outputs: Tensors) -> Iterator[tuple[ModelCase, list[Execution]]]:
    """The executions of each MaxPool in its model: what comes out is held to the reference on what goes in.

    Other nodes may compute other values at another level of optimization: those of equal values are judged together.
    """
    for each in _in_main_graph(analysis):
        assert each.maker is not None
        groups: dict[str, dict[Variant, VariantResult]] = {}
        cases: dict[str, ModelCase] = {}
        for level, tensors in outputs.items():
            X = tensors[each.around.start]
            key = hashlib.sha256(X.tobytes()).hexdigest()
            case = cases.get(key) or each.maker.in_place(X)
            if case is None:
                continue
            cases[key] = case
            returned = {"Y": tensors[each.around.end]}
            if each.node.indices is not None:
                returned["Indices"] = tensors[each.node.indices]
            variant = Variant(case.case.outputs, None if level is None else _LEVELS[level])
            groups.setdefault(key, {})[variant] = VariantResult(Returned(returned), analysis.model.opset)
        for key, results in groups.items():
            judged_one = cases[key].case
            judged = judged_case(judged_one, target, judged_one.oracle(), results)
            digest = hashlib.sha256(f"{analysis.model.sha256} {judged_one.id}".encode()).hexdigest()
            lines = []
            for line in executions(judged):
                # The values that flow there depend on the arithmetic of other nodes: two targets are compared by what
                # was executed, and by the verdict on it.
                same = dict.fromkeys(line.digests, digest)
                lines.append(msgspec.structs.replace(line, case_sha256=digest, digests=same))
            yield cases[key], lines


def of_flow(analysis: ModelAnalysis, outputs: Tensors) -> Iterator[ModelCase]:
    """Cases with the values that flow in a model, as its nodes compute them without optimization."""
    tensors = outputs.get("optimization-off", outputs[None])
    for each in _in_main_graph(analysis):
        assert each.maker is not None
        yield from each.maker.of_flow(tensors[each.around.start])
