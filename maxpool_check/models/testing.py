"""Tests the MaxPool nodes of models on targets: alone, with the nodes around them, and in place; writes the lines of a record."""

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from maxpool_check.corpus.collection import Corpus
from maxpool_check.corpus.conditions import Features
from maxpool_check.judging.defects import Defect
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis, node_of
from maxpool_check.models.cases import SPECIAL, ModelCase
from maxpool_check.models.in_place import CannotRun, levels_of, part_of, random_inputs, read_inputs
from maxpool_check.models.model_file import BadModel
from maxpool_check.models.reach import Reach, reaching, shown_by
from maxpool_check.results.outcomes import Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import (
    FAULTS,
    REPORTED,
    Execution,
    KnownEntry,
    KnownStatus,
    Line,
    RunFooter,
    RunHeader,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import DEFAULT_VARIANTS, LEVELS, Variant, variant_named
from maxpool_check.running.case_run import executions, judged_case
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.running.run import RunPlan, known_entry, run
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.plans import VariantResult
from maxpool_check.targets.session import TargetSession

_LEVELS = {level.name: level for level in LEVELS}


@dataclass(frozen=True)
class ModelPlan:
    """The models to test, the targets, and what is known of them.

    ``accepted`` are the defects that the user accepts, from ``accepted_files``; ``defects`` those that name what is found.
    ``inputs`` holds values of the inputs. ``whole``: the models' own outputs are computed, too. ``seconds`` limits one execution, ``memory`` a worker, in bytes. ``strict``: what is
    wrong on special values alone is unexpected, too.
    """

    models: Sequence[ModelAnalysis]
    targets: Sequence[TargetName]
    defects: Sequence[Defect] = ()
    accepted: Sequence[Defect] = ()
    accepted_files: Sequence[Path] = ()
    inputs: Path | None = None
    seconds: float = 60.0
    memory: int | None = None
    strict: bool = False
    whole: bool = False


@dataclass
class ModelTest:
    """What the tests of models found besides the lines of their record.

    ``reach`` has the known defects that can reach a node, by target and node; ``not_in_place`` says why a model was not run on
    a target, by target and model. ``outputs`` are the models' own outputs, by target and model, where they were computed.
    """

    targets: list[TargetDescription] = field(default_factory=list)
    reach: dict[str, dict[str, list[Reach]]] = field(default_factory=dict)
    not_in_place: dict[tuple[str, str], str] = field(default_factory=dict)
    outputs: dict[tuple[str, str], Mapping[str, np.ndarray]] = field(default_factory=dict)


def run_models(
    plan: ModelPlan, write: Callable[[Line], None], progress: Callable[[int], None] = lambda _: None
) -> ModelTest:
    """Test the models, and pass each line of the record to ``write``. ``progress`` gets the number of finished cases.

    Raises :class:`BadModel` for inputs that do not fit.
    """
    given = {} if plan.inputs is None else {each: read_inputs(plan.inputs, each.model) for each in plan.models}
    found = ModelTest()
    config = ExecutionConfig(tuple(plan.targets), plan.seconds, plan.memory, frozenset(DEFAULT_VARIANTS))
    with contextlib.ExitStack() as stack:
        executor = LocalExecutor(config)
        stack.callback(executor.close)
        found.targets = executor.descriptions
        flowing: list[ModelCase] = []
        in_place: list[tuple[ModelCase, list[Execution]]] = []
        for analysis in plan.models:
            of_model: list[ModelCase] = []
            for session in executor.sessions:
                name = session.profile.description.name
                try:
                    inputs = given.get(analysis) or random_inputs(analysis.model, analysis.tested.types)
                    outputs = _outputs(session, analysis, inputs)
                    if plan.whole:
                        found.outputs[name, analysis.model.name] = _own_outputs(session, analysis, inputs)
                except (CannotRun, BadModel, OSError) as error:
                    found.not_in_place[name, analysis.model.name] = str(error)
                    continue
                in_place += _in_place(name, analysis, outputs)
                # All targets are tested with the values of the first one that has any.
                of_model = of_model or list(_of_flow(analysis, outputs))
            flowing += of_model
        tested = [*(case for each in plan.models for node in each.nodes for case in node.cases), *flowing]
        lines = _Lines(plan, found, tested, in_place, write)
        cases = [each.case for each in tested]
        corpus = Corpus(tuple(cases), (), False)
        run(
            RunPlan(corpus, cases, plan.targets, plan.accepted, plan.accepted_files, plan.seconds, plan.memory),
            lines.take, progress, executor,
        )  # fmt: skip
    return found


_Outputs = Mapping[str | None, Mapping[str, np.ndarray]]
"""The tensors of a model at each level of optimization; None: the default."""


def _outputs(session: TargetSession, analysis: ModelAnalysis, inputs: Mapping[str, np.ndarray]) -> _Outputs:
    """The tensors before and behind each MaxPool of the main graph, computed in the model. Raises :class:`CannotRun`."""
    if session.profile.description.graphs is None:
        raise CannotRun("it takes no ONNX models of several nodes")
    nodes = _in_main_graph(analysis)
    if not nodes:
        raise CannotRun("all of its MaxPool nodes are in inner graphs, which have no outputs of their own")
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


def _own_outputs(
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
        case _:
            return f"it failed: {outcome}"


def _in_place(target: str, analysis: ModelAnalysis, outputs: _Outputs) -> Iterator[tuple[ModelCase, list[Execution]]]:
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


def _of_flow(analysis: ModelAnalysis, outputs: _Outputs) -> Iterator[ModelCase]:
    """Cases with the values that flow in a model, as its nodes compute them without optimization."""
    tensors = outputs.get("optimization-off", outputs[None])
    for each in _in_main_graph(analysis):
        assert each.maker is not None
        yield from each.maker.of_flow(tensors[each.around.start])


class _Lines:
    """Passes the lines of a run on as those of a record of models: with what is known of each execution, and those in place."""

    def __init__(
        self, plan: ModelPlan, found: ModelTest, tested: Sequence[ModelCase],
        in_place: Sequence[tuple[ModelCase, list[Execution]]], write: Callable[[Line], None],
    ) -> None:  # fmt: skip
        self._plan, self._found, self._write = plan, found, write
        self._cases = {each.case.id: each.case for each in (*tested, *(case for case, _ in in_place))}
        self._in_place = [line for _, lines in in_place for line in lines]
        self._nodes = {name: node for model in plan.models for name, node in model.by_id.items()}
        self._targets = {target.name: target for target in found.targets}
        self._features: dict[str, Features] = {}
        self._known: dict[tuple[str, str], Defect] = {}
        self._summary = RunSummary()
        for target in found.targets:
            found.reach[target.name] = {
                name: reaching(plan.defects, target, node.features, node.variants) for name, node in self._nodes.items()
            }

    def take(self, line: Line) -> None:
        """Take a line of the run, and write what it becomes."""
        if isinstance(line, RunHeader):
            self._write(msgspec.structs.replace(line, targets=tuple(self._found.targets), cases=len(self._cases)))
        elif isinstance(line, RunFooter):
            for execution in self._in_place:
                self._execution(execution)
            self._footer(line)
        elif self._is_of_model(line):
            self._execution(line)

    def _is_of_model(self, execution: Execution) -> bool:
        """Whether the model executes the node so: with Indices if something uses them."""
        node = self._nodes[node_of(execution.case)]
        return (
            node.node.indices is None
            or "Indices" not in self._cases[execution.case].outputs
            or (variant_named(execution.variant).has_indices)
        )

    def _execution(self, execution: Execution) -> None:
        labelled = self._labelled(execution) if execution.verdict in REPORTED else execution
        self._summary.add(labelled)
        self._write(labelled)

    def _labelled(self, execution: Execution) -> Execution:
        """The execution with the known defect that it shows, and its status: no known defect excuses a user's model."""
        if execution.status == "expected":
            return execution
        variant, case = variant_named(execution.variant), self._cases[execution.case]
        features = self._features.setdefault(case.id, Features(case))
        defect = shown_by(self._plan.defects, self._targets[execution.target], features, variant, execution.kinds)
        status = execution.status or ("new" if execution.verdict in FAULTS else "inconsistent")
        if SPECIAL in case.tags and not self._plan.strict and execution.verdict is Verdict.DIVERGES:
            status = "special"
        if defect is None:
            return msgspec.structs.replace(execution, status=status)
        self._known[execution.target, defect.id] = defect
        return msgspec.structs.replace(execution, status=status, known=defect.id)

    def _footer(self, line: RunFooter) -> None:
        entries = [
            known_entry(defect, target, defect.expected, KnownStatus.EXPECTED, "")
            for (target, _), defect in self._known.items()
        ]
        known: tuple[KnownEntry, ...] = (*line.known, *entries)
        self._write(
            msgspec.structs.replace(
                line, executions=self._summary.executions, known=known,
                summary={target: dict(counts) for target, counts in self._summary.verdicts.items()},
                exit_code=self._summary.exit_code(line.known, line.errors, strict=self._plan.strict),
            )
        )  # fmt: skip


def executions_of(lines: Iterable[Execution], target: str, node: str) -> list[Execution]:
    """The executions of a node on a target."""
    return [line for line in lines if line.target == target and node_of(line.case) == node]
