"""Judges the MaxPool nodes of a model where they are: the model as it is deployed, and by a look at the tensors around each of them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

import msgspec
import numpy as np
from onnx import ModelProto

from maxpool_check.corpus.case import Case
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.models import parts
from maxpool_check.models.analysis import ModelAnalysis
from maxpool_check.models.cases import CaseMaker
from maxpool_check.models.deployed import (
    SHOWN_RIGHT,
    DeployedModel,
    LevelResult,
    LevelState,
    RightOutputs,
    Tensors,
    level_name,
    why_not_run,
)
from maxpool_check.models.inputs import CannotRun
from maxpool_check.reference.dtypes import same
from maxpool_check.results.outcomes import Crashed, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import FAULTS, Execution, Verdict
from maxpool_check.results.variants import LEVELS, Variant
from maxpool_check.running.case_run import judge_case, run_case
from maxpool_check.running.run import Progress
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.session import TargetSession

_LEVELS = {level.name: level for level in LEVELS}

_Lines = dict[tuple[str, str | None], tuple[Case, Execution]]
"""The case and the execution of each node in the model, by the id of its case and the level of optimization."""


class NotInPlace(CannotRun):
    """Nodes that are never tested in their model, with this target or at this place; the message says why."""


class ModelRun:
    """A model that was run on a target at every level of optimization: as it is deployed, and with tensors as further outputs.

    ``executed`` are the cases of its nodes in the model, with their executions; ``flowing`` are cases with the values that flow
    there, as its nodes compute them without optimization. ``levels`` has what the deployed model does at each level, the default
    first, and ``outputs`` what it returns there. ``not_in_place`` says why no node is judged in the model; empty if some are.
    """

    def __init__(self, session: TargetSession, analysis: ModelAnalysis, progress: Progress = lambda *_: None) -> None:
        """Run the model; ``progress`` gets how many executions are finished. Raises :class:`CannotRun` and :class:`BadModel`."""
        if session.profile.description.graphs is None:
            raise NotInPlace("it takes no ONNX models of several nodes; its MaxPool nodes are tested alone")
        self._analysis, self.deployed = analysis, DeployedModel(session, analysis, progress=progress)
        self._own = dict(self._outcomes())
        default = self._own[None]
        self.outputs: Tensors = default.outputs if isinstance(default, Returned) else {}
        nodes = [each for each in analysis.nodes if each.cases and each.node.scope.outer is None]
        makers = [each.maker for each in nodes if each.maker is not None]
        inside = "its MaxPool nodes are inside of other nodes, whose tensors cannot be outputs of the model"
        self.not_in_place = "" if makers else inside
        self._makers, self._inside = self._looked_inside(makers)
        self._lines: _Lines = {}
        for maker in self._makers:
            self._judge(maker, {level: Returned(self._results(maker, level)) for level in self._inside})
        seen = {level for level in self._inside if self._is_same(self._inside[level], self._own[level])}
        right = {level for level in seen if all(each.verdict is Verdict.CONFORMS for each in self._at(level))}
        trusted = right if self._makers else {self.deployed.base}
        self.right = RightOutputs(self.deployed, self._makers, self._inside, trusted)
        self.levels = [self._level(level, outcome, level in seen) for level, outcome in self._own.items()]

    @property
    def executed(self) -> list[tuple[Case, list[Execution]]]:
        """The cases of the nodes in the model, each with its executions."""
        cases = {id(case): case for case, _ in self._lines.values()}
        return [(case, [line for of, line in self._lines.values() if of is case]) for case in cases.values()]

    @property
    def flowing(self) -> list[Case]:
        """Cases with the values that flow in the model, as its nodes compute them without optimization."""
        starts = ((each, self._entering(each, self.deployed.base)) for each in self._makers)
        return [case.case for maker, X in starts if X is not None for case in maker.of_flow(X)]

    def _entering(self, maker: CaseMaker, level: str | None) -> np.ndarray | None:
        """What flows into the first of the nodes around a MaxPool, at a level where it was looked at; None if it is not known."""
        tensors = self._inside.get(level) or next(iter(self._inside.values()), None) or self.right.flowing
        return tensors.get(maker.around.start)

    @property
    def problems(self) -> list[str]:
        """What keeps the model from being judged, a sentence each without its full stop."""
        levels: dict[str, list[str]] = {}
        for level, each in zip(self._own, self.levels, strict=True):
            if each.state not in SHOWN_RIGHT and not any(line.verdict in FAULTS for line in self._at(level)):
                levels.setdefault(self._problem(each), []).append(each.level)
        problems = [f"at {', '.join(names)}, {why}" for why, names in levels.items()]
        if self.outputs and all(each.state in (*SHOWN_RIGHT, LevelState.NOT_RUN) for each in self.levels):
            return [f"it runs at the default level of optimization, but {each}" for each in problems]
        # A refusal is the same at most levels, and the default is the first.
        return problems if self.outputs else list(levels)[:1]

    def _problem(self, result: LevelResult) -> str:
        """Why the outputs at a level are neither right nor laid to a MaxPool."""
        what, base = "; ".join(map(str, result.differences)), level_name(self.deployed.base)
        without = f"; the same as at {base} without {' and '.join(result.without)}" if result.without else ""
        if result.state is LevelState.NOT_RUN:
            return result.message
        if not what:
            return "the target does not run it with the right results of MaxPool in its place, so that it cannot be compared"
        if result.state is LevelState.UNCLEAR:
            return f"it differs from {base} by what rounding may explain, or MaxPool: {what}{without}"
        if len(self._makers) < len(self._analysis.nodes):
            return f"it differs from {base}, and some MaxPool nodes cannot be looked at: {what}{without}"
        return f"it differs from {base}, and not because of MaxPool: {what}{without}"

    @property
    def is_doubtful(self) -> bool:
        """Whether the deployed model runs, and its outputs were not shown to be right: nothing makes up for that."""
        return any(
            each.state not in (*SHOWN_RIGHT, LevelState.NOT_RUN)
            and not any(line.verdict in FAULTS for line in self._at(level))
            for level, each in zip(self._own, self.levels, strict=True)
        )

    @property
    def right_nodes(self) -> set[str]:
        """The ids of the cases of nodes that are right in the model, if its outputs are right at every level."""
        if any(each.state not in SHOWN_RIGHT for each in self.levels):
            return set()
        looks = self.made_by_looking
        wrong = {
            line.case
            for _, line in self._lines.values()
            if line.verdict is not Verdict.CONFORMS and (line.case, line.variant) not in looks
        }
        return {case.id for case, _ in self._lines.values()} - wrong

    @property
    def made_by_looking(self) -> set[tuple[str, str]]:
        """The case and the variant of what is wrong only with further outputs: the deployed model is right, and computes other bits."""
        levels = {
            level
            for level, each in zip(self._own, self.levels, strict=True)
            if each.state in SHOWN_RIGHT and not each.is_seen
        }
        wrong = [line for (_, level), (_, line) in self._lines.items() if level in levels and line.verdict in FAULTS]
        return {(line.case, line.variant) for line in wrong}

    def _outcomes(self) -> Iterator[tuple[str | None, Outcome]]:
        for level in self.deployed.levels:
            outcome = self.deployed.run_at(level)
            yield level, outcome
            if isinstance(outcome, TimedOut):
                # The other levels would take as long.
                return

    def _looked_inside(self, makers: Sequence[CaseMaker]) -> tuple[list[CaseMaker], dict[str | None, Tensors]]:
        """The tensors around each node by level; a node around MaxPool without an exact result for what flows there is left out."""
        first, *others = [level for level, outcome in self._own.items() if isinstance(outcome, Returned)] or [None]
        tensors = self._looked(makers, first) if makers and isinstance(self._own[first], Returned) else None
        if tensors is None:
            return [*makers], {}
        kept = [
            each if each.in_place(tensors[each.around.start]) is not None else each.without_nodes for each in makers
        ]
        if any(mine is not other for mine, other in zip(kept, makers, strict=True)):
            tensors = self._looked(kept, first)
        found = {first: tensors, **{level: self._looked(kept, level) for level in others}}
        return kept, {level: each for level, each in found.items() if each is not None}

    def _looked(self, makers: Sequence[CaseMaker], level: str | None) -> Tensors | None:
        names = [name for each in makers for name in (each.around.start, each.around.end, each.node.used_indices)]
        outcome = self._with(filter(None, names), level)
        return {**self.deployed.inputs, **outcome.outputs} if isinstance(outcome, Returned) else None

    def _with(self, names: Iterable[str], level: str | None) -> Outcome:
        """What comes of the model with these tensors as further outputs."""
        return self.deployed.run(self._part(tuple(name for name in names if name not in self.deployed.inputs)), level)

    @cached_property
    def _part(self) -> Callable[[tuple[str, ...]], ModelProto]:
        """The model with these tensors as further outputs; the last one is kept, for all levels."""
        return lru_cache(1)(lambda names: parts.with_outputs(self.deployed.proto, names, self._analysis.declared.types))

    def _results(self, maker: CaseMaker, level: str | None) -> dict[str, np.ndarray]:
        """The outputs of a node at a level; a runtime may return no Indices."""
        names, tensors = {"Y": maker.around.end, "Indices": maker.node.used_indices}, self._inside[level]
        return {key: tensors[name] for key, name in names.items() if name in tensors}

    def _judge(self, maker: CaseMaker, outcomes: Mapping[str | None, Outcome]) -> list[Execution]:
        """Judge the outcomes of a node by level, and keep the executions.

        Other nodes may compute other values at another level of optimization: those of equal values are judged together.
        """
        groups: dict[bytes, tuple[Case, list[Job]]] = {}
        judged = []
        for level, outcome in outcomes.items():
            X = self._entering(maker, level)
            case = None if X is None else maker.in_place(X)
            if X is None or case is None:
                continue
            case, jobs = groups.setdefault(X.tobytes(), (case, []))
            variant = Variant(case.outputs, None if level is None else _LEVELS[level])
            jobs.append(Job(variant, opset=self._analysis.model.opset, outcome=outcome))
        for case, jobs in groups.values():
            run = judge_case(case, self.deployed.session.profile.description.name, case.oracle(), jobs)
            # The values that flow there depend on the arithmetic of other nodes: two targets are compared by what was
            # executed, and by the verdict on it.
            digest = hashlib.sha256(f"{self._analysis.model.sha256} {case.id}".encode()).hexdigest()
            for job, line in zip(jobs, run.executions, strict=True):
                level = None if job.variant.variation is None else job.variant.variation.name
                line = msgspec.structs.replace(line, case_sha256=digest, digests=dict.fromkeys(line.digests, digest))
                self._lines[case.id, level] = case, line
                judged.append(line)
        return judged

    def _at(self, level: str | None) -> list[Execution]:
        return [line for (_, of), (_, line) in self._lines.items() if of == level]

    def _is_same(self, outputs: Tensors, own: Outcome) -> bool:
        """Whether a run has the outputs of the deployed model, bit by bit."""
        if not isinstance(own, Returned):
            return False
        names = own.outputs.keys() - self.deployed.random
        return all(_equal(own.outputs[name], outputs[name]) for name in names if name in outputs)

    def _level(self, level: str | None, outcome: Outcome, is_seen: bool) -> LevelResult:
        """What the deployed model does at a level; what is wrong there is laid to nodes, whose executions then say so."""
        name = level_name(level)
        if not isinstance(outcome, Returned):
            why = why_not_run(outcome)
            self._refused(level, outcome)
            return LevelResult(name, LevelState.NOT_RUN, message=why, is_seen=False)
        state, differences = self.right.compared(outcome.outputs, level)
        lines = self._at(level)
        conforms = is_seen and bool(lines) and all(each.verdict is Verdict.CONFORMS for each in lines)
        is_open = any(each.differences or each.interpretations for each in lines)
        if conforms and ((state is LevelState.UNCLEAR and differences) or is_open):
            # A look at MaxPool changes nothing and shows right results: what is left is rounding, or a point that is open.
            state = LevelState.RIGHT
        if state in SHOWN_RIGHT:
            return LevelResult(
                name,
                state,
                differences if state is LevelState.REQUANTIZED else (),
                is_seen=is_seen or level not in self._inside,
            )
        if state is LevelState.WRONG and not (is_seen and any(each.verdict in FAULTS for each in lines)):
            self._lay_to_nodes(level, outcome.outputs, "; ".join(map(str, differences)))
        is_first = level is None or self.right(self.outputs, None)
        without = self.deployed.optimizers(level, self.right) if is_first and differences else ()
        return LevelResult(name, state, differences, without=without)

    def _refused(self, level: str | None, outcome: Outcome) -> None:
        """Lay a refusal or a crash to the nodes with whose right results the model runs, or that the target refuses alone, too."""
        fails = RefusedByTarget, Crashed
        # What the target refuses of the file alone, such as its external data, is not MaxPool's.
        if not isinstance(outcome, fails) or not isinstance(self.deployed.run(self.deployed.proto, level), fails):
            return
        for maker in self._makers:
            if self.right.with_results_of([maker], level) is not None or self._is_refused_alone(maker, level):
                self._judge(maker, {level: outcome})

    def _is_refused_alone(self, maker: CaseMaker, level: str | None) -> bool:
        X = self._entering(maker, level)
        case = None if X is None else next(maker.of_flow(X), None)
        if case is None:
            return False
        variant = Variant(case.case.outputs, None if level is None else _LEVELS[level])
        run = run_case(self.deployed.session, case.case, [variant])
        return any(each.verdict in (Verdict.REFUSES, Verdict.CRASHES) for each in run.judgements.values())

    def _lay_to_nodes(self, level: str | None, own: Tensors, message: str) -> None:
        """Find the nodes that make the outputs of the deployed model wrong, though a look at all of them at once shows nothing.

        First by one tensor of a node as a further output, if the outputs stay as they are; then by the nodes with whose right
        results the outputs are right.
        """
        found = False
        for maker in self._makers:
            for name_of_output, name in (("Indices", maker.node.used_indices), ("Y", maker.around.end)):
                outcome = self._with([name], level) if name else None
                if (
                    isinstance(outcome, Returned)
                    and name in outcome.outputs
                    and self._is_same(outcome.outputs, Returned(own))
                ):
                    before, base = dict(self._lines), self.deployed.base
                    looked = {**self._results(maker, level), name_of_output: outcome.outputs[name]}
                    outcomes = {base: Returned(self._results(maker, base))} if base in self._inside else {}
                    if any(
                        each.verdict in FAULTS for each in self._judge(maker, {**outcomes, level: Returned(looked)})
                    ):
                        found = True
                        break
                    self._lines = before
        if found:
            return
        text = f"{message}; with the right results of this MaxPool in its place, the model is right"
        kinds, severity = (DivergenceKind.Y_DEPENDS_ON_OPTIMIZATION,), Severity.WRONG_ON_FINITE
        for maker in [each for each in self._makers if self._is_right_with(each, level)] or self._makers:
            key = maker.in_place_id, level
            if key in self._lines and self._lines[key][1].verdict not in FAULTS:
                case, line = self._lines[key]
                changed = {"verdict": Verdict.DIVERGES, "kinds": kinds, "severity": severity, "message": text}
                self._lines[key] = case, msgspec.structs.replace(line, **changed)

    def _is_right_with(self, maker: CaseMaker, level: str | None) -> bool:
        outputs = self.right.with_results_of([maker], level)
        return outputs is not None and self.right(outputs, level)


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and bool(same(a, b).all())
