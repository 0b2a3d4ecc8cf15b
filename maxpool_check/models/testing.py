"""Tests the MaxPool nodes of models on targets: alone, with the nodes around them, and in place; writes the lines of a record."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import msgspec
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.corpus.conditions import shown_by
from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.ledger import Ledger
from maxpool_check.models.analysis import ModelAnalysis, Reach, node_of, reaching
from maxpool_check.models.cases import CHAIN, FLOWS, IN_PLACE, SPECIAL, is_special, values_of
from maxpool_check.models.deployed import LevelResult
from maxpool_check.models.flow import ModelRun, NotInPlace
from maxpool_check.models.inputs import FIRST_SEED, CannotRun
from maxpool_check.models.model_file import BadModel
from maxpool_check.results.details import RunSettings
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.record import (
    FAULTS,
    REPORTED,
    Execution,
    ExitCode,
    KnownStatus,
    Line,
    RunFooter,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import DEFAULT_VARIANTS, variant_named
from maxpool_check.running.decisions import RunPlan, apply_known, known_entry
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.running.header import header
from maxpool_check.running.run import run
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.session import TargetSession


@dataclass(frozen=True)
class ModelPlan:
    """The models to test, the targets, and what is known of them.

    ``accepted`` are the defects that the user accepts, from ``accepted_files``; ``defects`` those that name what is found,
    and ``versions`` which versions show them. ``seconds`` limits one execution, ``memory`` a worker, in bytes. ``strict``: what
    is wrong on special values alone is unexpected, too. ``compares_outputs``: the models' own outputs are kept.
    ``command`` are the words of the command line to record. ``allows_incomplete``: what could not be run is no error.
    """

    models: Sequence[ModelAnalysis]
    targets: Sequence[TargetName]
    defects: Sequence[Defect] = ()
    versions: DefectVersions = field(default_factory=DefectVersions)
    accepted: Sequence[Defect] = ()
    accepted_files: Sequence[Path] = ()
    seconds: float = 60.0
    memory: int | None = None
    strict: bool = False
    compares_outputs: bool = False
    command: Sequence[str] = ()
    allows_incomplete: bool = False


@dataclass
class ModelTest:
    """What the tests of models found besides the lines of their record.

    ``reach`` has the known defects that can reach a node, by target and node; ``not_in_place`` says why a model was not run on
    a target, by target and model. ``seen`` has the ids of the known defects that a node shows, by target and node. ``outputs`` are the
    models' own outputs, by target and model, where they were computed. ``failing`` has what fails, by target and node, and
    ``flowing`` the cases with values that flow in a model, by node. ``levels`` has what a deployed model does at each level of
    optimization, by target and model; ``right`` are the target and node of those that are right in it at every level, and
    ``outside`` the defects and kinds that such a node shows with the values that flow there, outside the model; ``unseen`` has the
    target, the case and the variant of what a look at a node made wrong. ``problems`` say what of the models could not be run as it
    is, a line each; ``has_doubts``: outputs of a model that runs were not shown to be right. ``exit_code`` is that of the
    executions, whatever could not be run.
    """

    targets: list[TargetDescription] = field(default_factory=list)
    reach: dict[str, dict[str, list[Reach]]] = field(default_factory=dict)
    not_in_place: dict[tuple[str, str], str] = field(default_factory=dict)
    seen: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    outputs: dict[tuple[str, str], Mapping[str, np.ndarray]] = field(default_factory=dict)
    failing: dict[tuple[str, str], list[Execution]] = field(default_factory=dict)
    flowing: dict[str, list[Case]] = field(default_factory=dict)
    levels: dict[tuple[str, str], Sequence[LevelResult]] = field(default_factory=dict)
    right: set[tuple[str, str]] = field(default_factory=set)
    outside: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    unseen: set[tuple[str, str, str]] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    has_doubts: bool = False
    exit_code: ExitCode = ExitCode.INCOMPLETE


def run_models(
    plan: ModelPlan, write: Callable[[Line], None], progress: Callable[[int], None] = lambda _: None,
    found: ModelTest | None = None,
) -> ModelTest:  # fmt: skip
    """Test the models, and pass each line of the record to ``write``. ``progress`` gets the number of finished cases.

    ``found`` is filled as the tests go on, so that it holds what was found before an interruption.
    """
    found = ModelTest() if found is None else found
    config = ExecutionConfig(tuple(plan.targets), plan.seconds, plan.memory, frozenset(DEFAULT_VARIANTS))
    with contextlib.closing(LocalExecutor(config)) as executor:
        # While the targets start.
        cases = [case.case for each in plan.models for node in each.nodes for case in node.cases]
        seeds = {"random-inputs": FIRST_SEED} if any(not each.inputs for each in plan.models) else {}
        names = tuple(variant.name for variant in sorted(DEFAULT_VARIANTS))
        settings = RunSettings(variants=names, strict=plan.strict, whole=False, catalogue_sha256=None)
        head = header(cases, (), plan.accepted_files, plan.command, seeds=seeds, settings=settings)
        found.targets = executor.descriptions
        lines = _Lines(plan, found, write)
        write(msgspec.structs.replace(head, targets=tuple(found.targets)))
        for analysis in plan.models:
            if not any(each.cases for each in analysis.nodes):
                continue
            if analysis.random_constants:
                found.problems.append(f"{analysis.model.path}: {analysis.random_constants}")
            for case in (flowing := _in_models(analysis, executor.sessions, plan, found, lines)):
                found.flowing.setdefault(node_of(case.id), []).append(case)
            # First what tells whether a node outside its model stands for the node in it.
            cases = [*flowing, *cases]
        corpus = Corpus(tuple(cases), (), False)
        lines.cases |= {case.id: case for case in cases}
        run(
            RunPlan(corpus, cases, plan.targets, plan.accepted, plan.accepted_files, plan.seconds, plan.memory),
            lines.take, progress, executor,
        )  # fmt: skip
    return found


def _in_models(
    analysis: ModelAnalysis, sessions: Sequence[TargetSession], plan: ModelPlan, found: ModelTest, lines: "_Lines"
) -> list[Case]:
    """Run a model on each target, and judge its nodes there; cases with what flows in it, the same for all targets."""
    flowing: list[Case] = []
    for session in sessions:
        key = session.profile.description.name, analysis.model.name
        try:
            in_model = ModelRun(session, analysis)
            found.levels[key] = in_model.levels
            found.right |= {(key[0], node_of(case)) for case in in_model.right_nodes}
            found.unseen |= {(key[0], *each) for each in in_model.made_by_looking}
            for case, executed in in_model.executed:
                lines.cases[case.id] = case
                for execution in executed:
                    lines.in_place(execution)
            flowing = flowing or in_model.flowing
            if plan.compares_outputs:
                found.outputs[key] = in_model.outputs
            if in_model.not_in_place:
                found.not_in_place[key] = in_model.not_in_place
            if in_model.is_doubtful:
                found.has_doubts = True
                found.problems.append(
                    f"{analysis.model.path}: not shown to be right on {key[0]}: {'; '.join(in_model.problems)}"
                )
            elif problems := in_model.problems:
                raise CannotRun("; ".join(problems))
        except NotInPlace as error:
            found.not_in_place[key] = str(error)
        except (CannotRun, BadModel, OSError) as error:
            found.not_in_place[key] = str(error)
            line = str(error).partition("\n")[0]
            found.problems.append(f"{analysis.model.path}: not run as a model on {key[0]}: {line}")
    return flowing


class _Lines:
    """Passes the lines of a run on as those of a record of models: with what is known of each execution.

    ``cases`` are the cases of the executions by id.
    """

    def __init__(self, plan: ModelPlan, found: ModelTest, write: Callable[[Line], None]) -> None:
        self.cases: dict[str, Case] = {}
        self._plan, self._found, self._write = plan, found, write
        self._nodes = {name: node for model in plan.models for name, node in model.by_id.items()}
        self._targets = {target.name: target for target in found.targets}
        self._features: dict[str, Features] = {}
        self._known: dict[tuple[str, str], Defect] = {}
        self._summary = RunSummary()
        self._of_chains: list[Execution] = []
        self._faults: set[tuple[str, str, str]] = set()
        accepted = [entry for defect in plan.accepted for entry in defect.expected]
        self._ledgers = {}
        for name, target in self._targets.items():
            self._ledgers[name] = Ledger(
                [entry for entry in accepted if entry.covers(target)], date.today(), target.version, target.architecture
            )
            found.reach[name] = {
                key: reaching(plan.defects, target, node.features, node.variants) for key, node in self._nodes.items()
            }

    def in_place(self, execution: Execution) -> None:
        """Take an execution in a model, to which nothing was applied yet."""
        self._execution(apply_known(execution, self._ledgers[execution.target]))

    def take(self, line: Line) -> None:
        """Take a line of the run, and write what it becomes; the first line is written already."""
        if isinstance(line, RunFooter):
            self._footer(line)
        elif isinstance(line, StoredOutput):
            self._write(line)
        elif isinstance(line, Execution):
            node, outputs = self._nodes[node_of(line.case)].node, self.cases[line.case].outputs
            # The model executes the node with Indices if it has them.
            if node.indices is None or "Indices" not in outputs or variant_named(line.variant).has_indices:
                if line.case.split("/")[-2] == CHAIN and line.verdict in FAULTS:
                    # Whose fault it is shows when the other MaxPool nodes are tested.
                    self._of_chains.append(line)
                else:
                    self._execution(line)

    def _of_chain(self, execution: Execution) -> Execution:
        """An execution with other MaxPool nodes around the node, which is not judged where one of these is wrong without it."""
        name = node_of(execution.case)
        maker, model = self._nodes[name].maker, name.rpartition(":")[0]
        pools = maker.beyond.pools if maker is not None and maker.beyond is not None else ()
        others = [key for key, each in self._nodes.items() if key.startswith(f"{model}:") and each.node.output in pools]
        if not any((execution.target, each, _values(execution.case)) in self._faults for each in others):
            return execution
        message = "another MaxPool of the chain is wrong itself"
        plain = {"verdict": Verdict.NOT_EXPRESSIBLE, "kinds": (), "message": message, "severity": "", "status": ""}
        return msgspec.structs.replace(
            execution, **plain, cells=(), counts={}, windows={}, wrong={}, shapes={}, causes=()
        )

    def _execution(self, execution: Execution) -> None:
        if execution.verdict in FAULTS:
            self._faults.add((execution.target, node_of(execution.case), _values(execution.case)))
        labelled = self._labelled(execution) if execution.verdict in REPORTED else execution
        if labelled.status == "new":
            self._found.failing.setdefault((labelled.target, node_of(labelled.case)), []).append(labelled)
        self._summary.add(labelled)
        self._write(labelled)

    def _labelled(self, execution: Execution) -> Execution:
        """The execution with the known defect that it shows, and its status: no known defect excuses a user's model."""
        variant, case = variant_named(execution.variant), self.cases[execution.case]
        features = self._features.setdefault(case.id, Features(case))
        defect = shown_by(self._plan.defects, self._targets[execution.target], features, variant, execution)
        if defect is not None:
            self._found.seen.setdefault((execution.target, node_of(case.id)), set()).add(defect.id)
        if execution.status == "expected":
            return execution
        status = execution.status or ("new" if execution.verdict in FAULTS else "inconsistent")
        if SPECIAL in case.tags and not self._plan.strict and execution.verdict is Verdict.DIVERGES:
            status = "special"
        if status == "new" and self._is_outside(execution, case, None if defect is None else defect.id):
            status = "outside"
        if defect is None:
            return msgspec.structs.replace(execution, status=status)
        self._known[execution.target, defect.id] = defect
        return msgspec.structs.replace(execution, status=status, known=defect.id)

    def _is_outside(self, execution: Execution, case: Case, defect: str | None) -> bool:
        """Whether a fault outside the model says nothing of the node in it: values that flow there show it, and are right there."""
        key = execution.target, node_of(case.id)
        if (execution.target, case.id, execution.variant) in self._found.unseen:
            return True
        if key not in self._found.right or case.id.split("/")[-2] == IN_PLACE:
            return False
        seen = self._found.outside.setdefault(key, set())
        names = {defect} if defect is not None else {*execution.kinds}
        if FLOWS in case.tags:
            seen |= names | {*execution.kinds}
        # The finite values of other cases have both signs.
        return names <= seen or (FLOWS not in case.tags and self._nodes[key[1]].is_never_negative)

    def _footer(self, line: RunFooter) -> None:
        for each in self._of_chains:
            self._execution(self._of_chain(each))
        entries = [
            known_entry(
                defect,
                self._targets[target],
                defect.expected,
                KnownStatus.EXPECTED,
                "",
                self._plan.versions.summary(defect),
            )
            for (target, _), defect in self._known.items()
        ]
        excused = self._plan.allows_incomplete and not self._found.has_doubts
        problems = () if excused else self._found.problems
        # Statuses say already what counts.
        code = self._found.exit_code = self._summary.exit_code(line.known, line.errors, strict=False)
        self._write(
            msgspec.structs.replace(
                line, executions=self._summary.executions, known=(*line.known, *entries), errors=(*line.errors, *problems),
                exit_code=ExitCode.INCOMPLETE if problems else code,
                summary={target: dict(counts) for target, counts in self._summary.verdicts.items()},
            )
        )  # fmt: skip


def _values(case: str) -> str:
    """What a fault of a case is about: special values of one sort, or all others."""
    return values_of(case).name if is_special(case) else ""
