"""Runs models on targets with the tensors around each MaxPool as outputs, and judges the nodes by what flows there."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.models.cases import ModelCase
from maxpool_check.models.model_part import CannotRun, NotInPlace, levels_of, part_of
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
from maxpool_check.targets.session import TargetSession

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
        part = part_of(self._analysis.model, names, self._analysis.declared.types, own_outputs=True)
        (number,) = self._session.submit([part.request(self._inputs, None)])
        outcome = self._session.outcome(number)
        if not isinstance(outcome, Returned):
            raise CannotRun(f"as a whole, {_why(outcome)}")
        return outcome.outputs

    def _tensors(self, places: Sequence[_Place]) -> _Tensors:
        names = dict.fromkeys(
            name for each in places for name in (each.start, each.end, each.of.node.indices) if name is not None
        )
        part = part_of(self._analysis.model, tuple(names), self._analysis.declared.types)
        returned = {}
        for level in levels_of(self._session.profile.settings):
            (number,) = self._session.submit([part.request(self._inputs, level)])
            outcome = self._session.outcome(number)
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

    def _executed(self, place: _Place, outputs: _Tensors) -> Iterator[tuple[ModelCase, list[Execution]]]:
        """The executions of a node: what comes out is held to the reference on what goes in.

        Other nodes may compute other values at another level of optimization: those of equal values are judged together.
        """
        groups: dict[str, dict[Variant, VariantResult]] = {}
        cases: dict[str, ModelCase] = {}
        model, indices = self._analysis.model, place.of.node.indices
        for level, tensors in outputs.items():
            X = tensors[place.start]
            key = hashlib.sha256(X.tobytes()).hexdigest()
            case = cases.get(key) or place.case(X)
            if case is None:
                continue
            cases[key] = case
            returned = {"Y": tensors[place.end], **({"Indices": tensors[indices]} if indices is not None else {})}
            variant = Variant(case.case.outputs, None if level is None else _LEVELS[level])
            groups.setdefault(key, {})[variant] = VariantResult(Returned(returned), model.opset)
        for key, results in groups.items():
            case = cases[key]
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
