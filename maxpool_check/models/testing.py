"""Tests the MaxPool nodes of models on targets: alone, with the nodes around them, and in place; writes the lines of a record."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from maxpool_check.corpus.collection import Corpus
from maxpool_check.corpus.conditions import Features
from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.judging.defects import Defect
from maxpool_check.models.analysis import ModelAnalysis, node_of
from maxpool_check.models.cases import SPECIAL, ModelCase
from maxpool_check.models.flow import ModelRun
from maxpool_check.models.model_file import BadModel
from maxpool_check.models.model_part import CannotRun, random_inputs, read_inputs
from maxpool_check.models.reach import Reach, reaching, shown_by
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
from maxpool_check.results.variants import DEFAULT_VARIANTS, variant_named
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.running.run import RunPlan, known_entry, run
from maxpool_check.targets.name import TargetName


@dataclass(frozen=True)
class ModelPlan:
    """The models to test, the targets, and what is known of them.

    ``accepted`` are the defects that the user accepts, from ``accepted_files``; ``defects`` those that name what is found,
    and ``versions`` which versions show them.
    ``inputs`` holds values of the inputs. ``whole``: the models' own outputs are computed, too. ``seconds`` limits one execution, ``memory`` a worker, in bytes. ``strict``: what is
    wrong on special values alone is unexpected, too.
    """

    models: Sequence[ModelAnalysis]
    targets: Sequence[TargetName]
    defects: Sequence[Defect] = ()
    versions: DefectVersions = field(default_factory=DefectVersions)
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
    a target, by target and model. ``versions`` says which versions show a known defect, by its id. ``outputs`` are the
    models' own outputs, by target and model, where they were computed.
    """

    targets: list[TargetDescription] = field(default_factory=list)
    reach: dict[str, dict[str, list[Reach]]] = field(default_factory=dict)
    not_in_place: dict[tuple[str, str], str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
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
        executed: list[tuple[ModelCase, list[Execution]]] = []
        for analysis in plan.models:
            of_model: list[ModelCase] = []
            for session in executor.sessions:
                name = session.profile.description.name
                if all(each.maker is None for each in analysis.nodes):
                    break
                try:
                    inputs = given.get(analysis) or random_inputs(analysis.model, analysis.tested.types)
                    in_model = ModelRun(session, analysis, inputs)
                    if plan.whole:
                        found.outputs[name, analysis.model.name] = in_model.own_outputs()
                except (CannotRun, BadModel, OSError) as error:
                    found.not_in_place[name, analysis.model.name] = str(error)
                    continue
                executed += in_model.executed
                # All targets are tested with the values of the first one that has any.
                of_model = of_model or in_model.flowing
            flowing += of_model
        tested = [*(case for each in plan.models for node in each.nodes for case in node.cases), *flowing]
        lines = _Lines(plan, found, tested, executed, write)
        cases = [each.case for each in tested]
        corpus = Corpus(tuple(cases), (), False)
        run(
            RunPlan(corpus, cases, plan.targets, plan.accepted, plan.accepted_files, plan.seconds, plan.memory),
            lines.take, progress, executor,
        )  # fmt: skip
    return found


def _span(versions: DefectVersions, defect: Defect) -> str:
    """The versions that show a defect, and the one that no longer does, in words."""
    fixed = versions.fixed_in(defect)
    return f"versions {versions.span(defect)}" + (f"; {fixed} does not have it" if fixed is not None else "")


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
        self._found.versions.setdefault(defect.id, _span(self._plan.versions, defect))
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
