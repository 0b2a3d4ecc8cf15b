"""Runs models on targets with the tensors around each MaxPool as outputs, and judges the nodes by what flows there."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper

from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.models.cases import ModelCase
from maxpool_check.models.inputs import CannotRun
from maxpool_check.models.model_file import UserModel, size_of, taken, tensors
from maxpool_check.models.shapes import TensorType, Types
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.results.outcomes import (
    Accepted,
    Crashed,
    Failed,
    Inferred,
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
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession

MOST_BYTES = 512 * 2**20
"""The largest model that is sent to a worker."""

_LEVELS = {level.name: level for level in LEVELS}

_Tensors = Mapping[str | None, Mapping[str, np.ndarray]]
"""The tensors of a model at each level of optimization; None: the default."""


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a node is watched in its model: around the nodes that are tested with it, or around MaxPool ``alone``."""

    of: NodeAnalysis
    alone: bool = False

    @property
    def start(self) -> str:
        """The tensor that flows in."""
        return self.of.node.input if self.alone else self.of.around.start

    @property
    def end(self) -> str:
        """The tensor that comes out."""
        return self.of.node.output if self.alone else self.of.around.end

    def case(self, X: np.ndarray) -> ModelCase | None:
        """The case with the tensor that flows in; None where a node has no exact result for it."""
        assert self.of.maker is not None
        return self.of.maker.in_place(X, alone=self.alone)


class NotInPlace(CannotRun):
    """Nodes that are never tested in their model, with this target or at this place; the message says why."""


class ModelRun:
    """A model that was run on a target, at every level of optimization. The tensors around each MaxPool are outputs of it.

    ``executed`` are the cases of its nodes in the model, with their executions; ``flowing`` are cases with the values that flow
    there, as its nodes compute them without optimization. ``problems`` say at which levels it was not run, and why.
    """

    def __init__(self, session: TargetSession, analysis: ModelAnalysis, inputs: Mapping[str, np.ndarray]) -> None:
        """Run the model. Raises :class:`CannotRun` and :class:`BadModel`."""
        self._session, self._analysis, self._inputs = session, analysis, inputs
        self.problems: list[str] = []
        if session.profile.description.graphs is None:
            raise NotInPlace("it takes no ONNX models of several nodes")
        places = [_Place(each) for each in analysis.nodes if each.cases and each.node.scope.outer is None]
        if not places:
            # A target that refuses the model says so.
            self.own_outputs()
            raise NotInPlace(
                "its MaxPool nodes are inside of other nodes, whose tensors cannot be outputs of the model"
            )
        tensors = self._tensors(places)
        # A node around MaxPool may have no exact result for what flows there, such as Relu of NaN.
        inexact = [each for each in places if each.of.around.has_nodes and each.case(tensors[None][each.start]) is None]
        pairs = [(place, tensors) for place in places if place not in inexact]
        if inexact:
            alone = [_Place(each.of, alone=True) for each in inexact]
            others = self._tensors(alone)
            pairs += [(place, others) for place in alone]
        self.executed = [executed for place, of in pairs for executed in self._executed(place, of)]
        self.flowing = [
            case
            for place, of in pairs
            if place.of.maker is not None
            for case in place.of.maker.of_flow(of.get("optimization-off", of[None])[place.start], alone=place.alone)
        ]

    def own_outputs(self) -> Mapping[str, np.ndarray]:
        """The outputs of the whole model, as it declares them. Raises :class:`CannotRun`, also after :attr:`problems`."""
        if self.problems:
            raise CannotRun("; ".join(self.problems))
        names = [value.name for value in self._analysis.model.proto.graph.output]
        part = _part_of(self._analysis.model, names, self._analysis.declared.types, own_outputs=True)
        outcome = self._outcome(part, None)
        if not isinstance(outcome, Returned):
            raise CannotRun(f"as a whole, {_why(outcome)}")
        return outcome.outputs

    def _tensors(self, places: Sequence[_Place]) -> _Tensors:
        names = dict.fromkeys(
            name for each in places for name in (each.start, each.end, each.of.node.indices) if name is not None
        )
        part = _part_of(self._analysis.model, tuple(names), self._analysis.declared.types)
        returned = {}
        settings = self._session.profile.settings
        for level in (None, *(setting for setting in settings if setting.startswith("optimization-"))):
            outcome = self._outcome(part, level)
            if isinstance(outcome, Returned):
                returned[level] = outcome.outputs
            elif level is None:
                raise CannotRun(_why(outcome))
            else:
                self.problems.append(f"with {level}, {_why(outcome)}")
            if isinstance(outcome, TimedOut):
                # The other levels would take as long.
                break
        return returned

    def _outcome(self, part: ModelProto, setting: str | None) -> Outcome:
        """What comes of a part of the model with this setting of the target. Raises :class:`CannotRun`."""
        try:
            model = bytes(part.SerializeToString())
        except Exception as error:  # protobuf raises errors of several types for more than 2 GB
            raise CannotRun(f"it cannot be sent to a runtime: {error}") from error
        if len(model) > MOST_BYTES:
            raise CannotRun(f"it has {len(model) >> 20} MB; at most {MOST_BYTES >> 20} MB are sent to a runtime")
        fed = {value.name: self._inputs[value.name] for value in part.graph.input if value.name in self._inputs}
        # X is none of the inputs of a model of a user's own.
        X, outputs = np.zeros((1,), np.float32), tuple(value.name for value in part.graph.output)
        (number,) = self._session.submit([Request(X, outputs, model, {}, setting, more=fed, feeds_input=False)])
        return self._session.outcome(number)

    def _executed(self, place: _Place, outputs: _Tensors) -> Iterator[tuple[ModelCase, list[Execution]]]:
        """The executions of a node: what comes out is held to the reference on what goes in.

        Other nodes may compute other values at another level of optimization: those of equal values are judged together.
        """
        groups: dict[bytes, tuple[ModelCase, dict[Variant, VariantResult]]] = {}
        model, indices = self._analysis.model, place.of.node.indices
        for level, flowing in outputs.items():
            X = flowing[place.start]
            group = groups.get(X.tobytes())
            if group is None:
                case = place.case(X)
                if case is None:
                    continue
                group = groups[X.tobytes()] = case, {}
            returned = {"Y": flowing[place.end], **({"Indices": flowing[indices]} if indices is not None else {})}
            variant = Variant(group[0].case.outputs, None if level is None else _LEVELS[level])
            group[1][variant] = VariantResult(Returned(returned), model.opset)
        for case, results in groups.values():
            judged = judged_case(case.case, self._session.profile.description.name, case.case.oracle(), results)
            digest = hashlib.sha256(f"{model.sha256} {case.case.id}".encode()).hexdigest()
            # The values that flow there depend on the arithmetic of other nodes: two targets are compared by what was
            # executed, and by the verdict on it.
            yield (
                case,
                [
                    msgspec.structs.replace(line, case_sha256=digest, digests=dict.fromkeys(line.digests, digest))
                    for line in executions(judged)
                ],
            )


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
        case Inferred() | Accepted() | Returned():
            return "the target computes no values"


def _part_of(model: UserModel, outputs: Sequence[str], types: Types, *, own_outputs: bool = False) -> ModelProto:
    """The nodes of a model's main graph that make these tensors. Raises :class:`CannotRun` and :class:`BadModel`.

    ``types`` are those of its tensors as it declares them: not every runtime takes an output without a type. ``own_outputs``: these are outputs of the model, as it declares them. A missing constant becomes an input.
    """
    graph = model.proto.graph
    needed, nodes = _needed(graph.node, outputs)
    constants = [tensor for tensor in graph.initializer if tensor.name in needed]
    absent = [tensor for tensor in constants if tensor.name in model.missing]
    given = {tensor.name for tensor in constants} | model.missing.keys()
    declared = {value.name: value for value in graph.output} if own_outputs else {}
    part = ModelProto(ir_version=model.proto.ir_version)
    part.opset_import.extend(model.proto.opset_import)
    part.graph.name = graph.name or "model"
    part.graph.node.extend(nodes)
    part.graph.initializer.extend(tensor for tensor in constants if tensor.name not in model.missing)
    part.graph.sparse_initializer.extend(graph.sparse_initializer)
    part.graph.input.extend(helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in absent)
    part.graph.input.extend(value for value in graph.input if value.name in needed - given)
    part.graph.output.extend(declared.get(name) or _output(name, types.get(name)) for name in outputs)
    if sum(map(size_of, tensors(part.graph))) > MOST_BYTES:
        raise CannotRun(f"its constants have more than {MOST_BYTES >> 20} MB")
    for tensor in tensors(part.graph):
        tensor.CopyFrom(model.inline(tensor))
    return part


def _output(name: str, known: TensorType | None) -> ValueInfoProto:
    """An output with what is known of its type. A name of a size says nothing of an output."""
    if known is None or known.dtype not in NUMPY:
        return ValueInfoProto(name=name)
    sizes = known.sizes
    shape = None if sizes is None else [size if isinstance(size, int) else None for size in sizes]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(NUMPY[known.dtype]), shape)


def _needed(nodes: Sequence[NodeProto], outputs: Sequence[str]) -> tuple[set[str], list[NodeProto]]:
    """The tensors that these outputs depend on, and the nodes that make them, in order."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed.intersection(filter(None, node.output)):
            kept.append(node)
            needed.update(taken(node))
    return needed, kept[::-1]
