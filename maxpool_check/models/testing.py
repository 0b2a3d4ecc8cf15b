"""Tests the MaxPool nodes of models on targets: alone, with the nodes around them, and in place; writes the lines of a record."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import msgspec
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.judging.defects import Defect, Effect
from maxpool_check.models.analysis import ModelAnalysis, Reach, node_of, reaching
from maxpool_check.models.arrivals import arrivals
from maxpool_check.models.cases import CHAIN, FLOWS, IN_PLACE, SPECIAL, is_special, values_of
from maxpool_check.models.deployed import LevelResult
from maxpool_check.models.flow import ModelRun, NotInPlace
from maxpool_check.models.inputs import FIRST_SEED, CannotRun
from maxpool_check.models.model_file import BadModel
from maxpool_check.results.details import RunSettings
from maxpool_check.results.record import (
    FAULTS,
    REPORTED,
    Execution,
    ExitCode,
    KnownEntry,
    Line,
    RunFooter,
    Status,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import DEFAULT_VARIANTS, variant_named
from maxpool_check.running.header import OF_PROCESS, CommandLine, header
from maxpool_check.running.labels import Labels
from maxpool_check.running.run import Progress, RunPlan, write_results
from maxpool_check.running.runner import ExecutionConfig, LocalRunner
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.session import TargetSession


@dataclass(frozen=True)
class ModelPlan:
    """The models to test, the targets, and what is known of them.

    ``accepted`` are the divergences that the user accepts, in the form of defects, from ``accepted_files``; ``defects`` name what
    is found, and ``versions`` says which versions show them. ``seconds`` limits one execution, ``memory`` a worker, in bytes.
    ``strict``: what is wrong on special values alone is unexpected, too. ``compares_outputs``: the models' own outputs are kept.
    ``command`` is the command line to record. ``allows_incomplete``: what could not be run is no error.
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
    command: CommandLine = OF_PROCESS
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
    target, the case and the variant of what a look at a node made wrong. ``fixed_sizes`` has the target and the model that leaves
    sizes open, where the tested ones are written into what the target gets. ``special`` has the target and the node that is wrong on
    special values alone, with words for the inputs that make it wrong. ``problems`` say what of the models could not be run as it
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
    fixed_sizes: set[tuple[str, str]] = field(default_factory=set)
    special: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    has_doubts: bool = False
    exit_code: ExitCode = ExitCode.INCOMPLETE


def run_models(
    plan: ModelPlan, write: Callable[[Line], None], progress: Progress = lambda *_: None,
    found: ModelTest | None = None,
) -> ModelTest:  # fmt: skip
    """Test the models, and pass each line of the record to ``write``.

    ``progress`` gets how many executions of each model are finished, and then how many cases. ``found`` is filled as the tests
    go on, so that it holds what was found before an interruption.
    """
    found = ModelTest() if found is None else found
    config = ExecutionConfig(tuple(plan.targets), plan.seconds, plan.memory, frozenset(DEFAULT_VARIANTS))
    with contextlib.closing(LocalRunner(config)) as runner:
        progress(0, None, f"starting {', '.join(map(str, plan.targets))}")
        # While the targets start.
        cases = [case.case for each in plan.models for node in each.nodes for case in node.cases]
        seeds = {"random-inputs": FIRST_SEED} if any(not each.inputs for each in plan.models) else {}
        names = tuple(variant.name for variant in sorted(DEFAULT_VARIANTS))
        settings = RunSettings(variants=names, strict=plan.strict, whole=False, catalogue_sha256=None)
        head = header(cases, (), plan.accepted_files, plan.command, seeds=seeds, settings=settings)
        found.targets = runner.descriptions
        fixing = [each.profile.description.name for each in runner.sessions if each.profile.fixed_sizes]
        found.fixed_sizes = {(name, each.model.name) for name in fixing for each in plan.models if each.has_open_sizes}
        head = msgspec.structs.replace(head, targets=tuple(found.targets))
        write(head)
        labels, summary = _ModelLabels(plan, found), RunSummary()

        def write_in_place(case: Case, execution: Execution) -> None:
            if (labelled := labels.label(case, execution)) is not None:
                summary.add(labelled)
                write(labelled)

        for analysis in plan.models:
            if not any(each.cases for each in analysis.nodes):
                continue
            if analysis.random_constants:
                found.problems.append(f"{analysis.model.path}: {analysis.random_constants}")
            for case in (flowing := _in_models(analysis, runner.sessions, plan, found, write_in_place, progress)):
                found.flowing.setdefault(node_of(case.id), []).append(case)
            # First what tells whether a node outside its model stands for the node in it.
            cases = [*flowing, *cases]
        # Last those with other MaxPool nodes, when it is known which of these are wrong without them.
        cases.sort(key=_is_of_chain)
        run_plan = RunPlan(Corpus(tuple(cases), (), False), cases, plan.targets, plan.accepted, plan.accepted_files)
        excused = plan.allows_incomplete and not found.has_doubts
        problems = () if excused else tuple(found.problems)

        def finished(number: int) -> None:
            progress(number, len(cases), f"testing {node_of(cases[min(number, len(cases) - 1)].id)}")

        def write_line(line: Line) -> None:
            if isinstance(line, RunFooter):
                errors = [error for error in line.errors if error not in problems]
                # Statuses say already what counts.
                found.exit_code = summary.exit_code(line.known, errors, strict=False)
            write(line)

        write_results(
            run_plan, head, runner.runs(cases), lambda: runner.given_up, write_line, [*runner.errors, *problems], finished,
            labels, summary,
        )  # fmt: skip
        _add_arrivals(runner.sessions, plan.models, found)
    return found


def _add_arrivals(sessions: Sequence[TargetSession], models: Sequence[ModelAnalysis], found: ModelTest) -> None:
    """Say which inputs put special values in front of the nodes that are wrong on them."""
    for session, analysis in itertools.product(sessions, models):
        target = session.profile.description.name
        names = [name for name in analysis.by_id if (target, name) in found.special]
        if names and (target, analysis.model.name) not in found.not_in_place:
            for name, sentence in arrivals(session, analysis, names):
                found.special[target, name].append(sentence)


def _in_models(
    analysis: ModelAnalysis,
    sessions: Sequence[TargetSession],
    plan: ModelPlan,
    found: ModelTest,
    write: Callable[[Case, Execution], None],
    progress: Progress,
) -> list[Case]:
    """Run a model on each target, and judge its nodes there; cases with what flows in it, the same for all targets."""
    flowing: list[Case] = []
    for session in sessions:
        key = session.profile.description.name, analysis.model.name
        try:
            in_model = ModelRun(session, analysis, progress)
            found.levels[key] = in_model.levels
            found.fixed_sizes |= {key} if in_model.deployed.has_fixed_sizes else set()
            found.right |= {(key[0], node_of(case)) for case in in_model.right_nodes}
            found.unseen |= {(key[0], *each) for each in in_model.made_by_looking}
            for case, executed in in_model.executed:
                for execution in executed:
                    write(case, execution)
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
            found.problems.append(f"{analysis.model.path}: not run as a model on {key[0]}: {_why(error, analysis)}")
    return flowing


def _why(error: Exception, analysis: ModelAnalysis) -> str:
    """Why a model was not run, on one line; sizes that it leaves open may be the cause."""
    line = " ".join(str(error).split())
    if not analysis.tested.assumed:
        return line
    return f"{line}; the model leaves sizes open, and {analysis.chosen_sizes} may be why: {analysis.shape_options}"


class _ModelLabels:
    """Labels the executions of models: no defect excuses a user's model, but what the user accepts does."""

    def __init__(self, plan: ModelPlan, found: ModelTest) -> None:
        self._plan, self._found = plan, found
        self._nodes = {name: node for model in plan.models for name, node in model.by_id.items()}
        self._labels = Labels(found.targets, plan.accepted, date.today(), lambda: plan.defects, plan.versions.summary)
        self._faults: set[tuple[str, str, str]] = set()
        for target in found.targets:
            found.reach[target.name] = {
                key: reaching(plan.defects, target, node.features, node.variants, node.range)
                for key, node in self._nodes.items()
            }

    def label(self, case: Case, execution: Execution) -> Execution | None:
        """The execution with its defect and its status in the model; None if the model does not execute the node so."""
        node = self._nodes[node_of(case.id)].node
        # The model executes the node with Indices if it has them.
        may_have_both = node.indices is not None and "Indices" in case.outputs and not _is_in_place(case)
        if may_have_both and not variant_named(execution.variant).has_indices:
            return None
        if _is_of_chain(case) and execution.verdict in FAULTS:
            execution = self._of_chain(execution)
        if execution.verdict in FAULTS:
            self._faults.add((execution.target, node_of(case.id), _values(case.id)))
        if execution.verdict not in REPORTED:
            return execution
        labelled = self._with_status(case, self._labels.label(case, execution))
        if labelled.status == Status.NEW:
            self._found.failing.setdefault((labelled.target, node_of(case.id)), []).append(labelled)
        return labelled

    def entries(self, is_complete: Callable[[str, Effect, str], bool]) -> Iterator[KnownEntry]:
        """What the footer says of defects, as of :meth:`Labels.entries`."""
        return self._labels.entries(is_complete)

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

    def _with_status(self, case: Case, execution: Execution) -> Execution:
        """The execution with its status, which says whether its fault counts in the model."""
        if execution.known is not None:
            self._found.seen.setdefault((execution.target, node_of(case.id)), set()).add(execution.known)
        if execution.status == Status.EXPECTED:
            # What is accepted is seen all the same.
            names = self._labels.explaining_defects(case, execution)
            self._found.seen.setdefault((execution.target, node_of(case.id)), set()).update(names)
            return execution
        status = Status.NEW if execution.verdict in FAULTS else Status.INCONSISTENT
        is_special = SPECIAL in case.tags and not self._plan.strict and execution.verdict is Verdict.DIVERGES
        if is_special and not self._is_ordinary(execution):
            status = Status.SPECIAL
            self._found.special.setdefault((execution.target, node_of(case.id)), [])
        if status == Status.NEW and self._is_outside(execution, case, execution.known):
            status = Status.OUTSIDE
        return msgspec.structs.replace(execution, status=status)

    def _is_ordinary(self, execution: Execution) -> bool:
        """Whether a fault needs no special values: a wrong shape, or a fault that the node showed with other values."""
        failing = self._found.failing.get((execution.target, node_of(execution.case)), ())
        if execution.known is not None:
            return bool(execution.shapes) or any(each.known == execution.known for each in failing)
        return bool(execution.shapes) or any({*execution.kinds} <= {*each.kinds} for each in failing)

    def _is_outside(self, execution: Execution, case: Case, defect: str | None) -> bool:
        """Whether a fault outside the model says nothing of the node in it: values that flow there show it, and are right there."""
        key = execution.target, node_of(case.id)
        if (execution.target, case.id, execution.variant) in self._found.unseen:
            return True
        if key not in self._found.right or _is_in_place(case):
            return False
        seen = self._found.outside.setdefault(key, set())
        names = {defect} if defect is not None else {*execution.kinds}
        if FLOWS in case.tags:
            seen |= names | {*execution.kinds}
        # The finite values of other cases have both signs.
        return names <= seen or (FLOWS not in case.tags and self._nodes[key[1]].range.low >= 0)


def _is_in_place(case: Case) -> bool:
    """Whether a case is a node in its model."""
    return case.id.split("/")[-2] == IN_PLACE


def _is_of_chain(case: Case) -> bool:
    """Whether a case has other MaxPool nodes around the node."""
    return case.id.split("/")[-2] == CHAIN


def _values(case: str) -> str:
    """What a fault of a case is about: special values of one sort, or all others."""
    return values_of(case).name if is_special(case) else ""
