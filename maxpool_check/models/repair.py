"""Tries remedies: on the cases of a defect, and on the nodes of a model that need one, which is then written with them."""

import contextlib
import filecmp
import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import meets
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Defect, Remedy
from maxpool_check.judging.kinds import read_table
from maxpool_check.models.analysis import ModelAnalysis
from maxpool_check.models.cases import SPECIAL
from maxpool_check.models.flow import CannotRun, ModelRun, NotInPlace
from maxpool_check.models.model_file import BadModel, Place, UserModel, external_file, read_model, tensors
from maxpool_check.models.rewriting import CannotRewrite, rewritten
from maxpool_check.models.testing import ModelPlan, ModelTest
from maxpool_check.models.upgrade import OutputDifference, output_differences
from maxpool_check.results.record import FAULTS, Execution, Verdict
from maxpool_check.results.variants import LEVELS, WITH_INDICES, Y_ONLY, Variant
from maxpool_check.running.case_run import executions, run_case
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.targets.name import BadTarget, TargetName
from maxpool_check.targets.session import TargetSession
from maxpool_check.words import plural

_MOST_TOGETHER = 2
"""How many rewrites of one node are tried together."""

_WRONG = {*FAULTS, Verdict.ERROR}
"""The verdicts that prove nothing right."""


def _at_every_level(variant: Variant) -> list[Variant]:
    return [variant, *(Variant(variant.outputs, level) for level in LEVELS)]


def _run(session: TargetSession, case: Case, variant: Variant, rewrites: Sequence[str]) -> tuple[list[Execution], int]:
    """Execute a case at every level of optimization with these rewrites of its MaxPool. Raises :class:`CannotRewrite`.

    Returns the executions that are wrong, and how many conform; others were not compared.
    """
    # A document of another domain says what the node means there.
    meaning = () if case.specification.domain is None else (case.specification, case.policies)
    parsed = ModelProto.FromString
    session.rewrite = lambda model: rewritten(parsed(model), lambda *_: rewrites, *meaning).SerializeToString()
    try:
        lines = executions(run_case(session, case, _at_every_level(variant)))
    finally:
        session.rewrite = None
    conforming = sum(each.verdict is Verdict.CONFORMS for each in lines)
    return [each for each in lines if each.verdict in _WRONG], conforming


@dataclass(frozen=True)
class RemedyTrial:
    """What the remedies of a defect do on its cases.

    ``repaired`` has, by remedy, the cases that are right with it at every level of optimization, of all that are wrong without;
    ``left`` are those that no remedy repairs. Each case is named with its variant.
    """

    repaired: Mapping[Remedy, Sequence[str]]
    left: Sequence[str]


def try_remedies(
    defect: Defect, cases: Iterable[Case], target: TargetName, most: int, seconds: float = 60.0, memory: int | None = None
) -> RemedyTrial:  # fmt: skip
    """Execute cases that show a defect on a target, without its remedies and with each of them.

    What does not show it without them is left out; after ``most`` executions that do, it ends. ``seconds`` and ``memory``
    limit one execution, as of :class:`ModelPlan`.
    """
    left: list[str] = []
    with contextlib.ExitStack() as stack:

        @cache
        def session_of(optimizers: tuple[str, ...]) -> TargetSession:
            executor = LocalExecutor(_config([target.disabling(optimizers)], seconds, memory))
            stack.callback(executor.close)
            return executor.sessions[0]

        version = session_of(()).profile.description.version
        repaired: dict[Remedy, list[str]] = {
            each: [] for each in defect.remedies if each.words and each.is_for(version)
        }
        for case, variant in itertools.product(cases, (WITH_INDICES, Y_ONLY)):
            faults, _ = _run(session_of(()), case, variant, ())
            shown = [entry.shown(variant) for entry in defect.expected if entry.binds(case.id)]
            if not any({*each.kinds} in shown for each in faults):
                continue
            name = f"{case.id} ({variant})"
            helping = [each for each in repaired if _helps(each, case, variant, session_of)]
            for remedy in helping:
                repaired[remedy].append(name)
            left += [name] * (not helping)
            most -= 1
            if not most:
                break
    return RemedyTrial(repaired, left)


def _helps(
    remedy: Remedy, case: Case, variant: Variant, session_of: Callable[[tuple[str, ...]], TargetSession]
) -> bool:
    rewrites = (remedy.rewrite,) if remedy.rewrite else ()
    if not meets(remedy.conditions, Features(case)):
        return False
    try:
        faults, conforming = _run(session_of(remedy.optimizers), case, variant, rewrites)
    except (CannotRewrite, BadTarget):
        return False
    return conforming > 0 and not faults


def _config(targets: Sequence[TargetName], seconds: float, memory: int | None) -> ExecutionConfig:
    variants = frozenset(each for variant in (WITH_INDICES, Y_ONLY) for each in _at_every_level(variant))
    return ExecutionConfig(tuple(targets), seconds, memory, variants)


@dataclass(frozen=True)
class NodeRepair:
    """What is done about a node that fails.

    ``id`` is that of :attr:`ModelAnalysis.by_id`. ``defects`` are the known ones that it shows; ``rewrites`` what works, and
    ``why`` what was tried if nothing does. ``executions`` is how many of the node conform with them.
    """

    id: str
    name: str
    defects: tuple[str, ...]
    rewrites: tuple[str, ...] = ()
    why: str = ""
    executions: int = 0


@dataclass(frozen=True)
class Repair:
    """A model that was written with remedies, and the proof of it. ``sha256`` is that of the file.

    ``optimizers`` are those that its sessions must disable. ``in_place`` is how many executions of its nodes in the model
    conform, ``outputs`` how its own outputs differ from those before, by target, and ``problems`` what is still wrong.
    """

    path: Path
    sha256: str
    nodes: tuple[NodeRepair, ...]
    optimizers: tuple[str, ...] = ()
    in_place: int = 0
    outputs: Sequence[tuple[str, OutputDifference]] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing wrong is left."""
        return not self.problems and all(each.rewrites or self.optimizers for each in self.nodes)

    @property
    def sentence(self) -> str:
        """What was done, in a sentence without its full stop."""
        count = plural(sum(bool(each.rewrites) for each in self.nodes), "node")
        done = f"has {count} rewritten"
        if self.optimizers:
            done = f"is unchanged, and its sessions must disable {' and '.join(self.optimizers)}"
        proved = sum(each.executions for each in self.nodes)
        in_place = f", and {self.in_place} in the model" if self.in_place else ""
        return f"{self.path} {done}; {plural(proved, 'execution')} of its nodes{in_place} conform, at every level"


def repair(plan: ModelPlan, test: ModelTest, path: Path) -> Repair:
    """Write the model of a plan with the first remedies that work for the nodes that failed in its test, and prove them.

    Raises :class:`BadModel` if it cannot be written.
    """
    return _Repairing(plan, test, path).made()


@dataclass
class _Repairing:
    """The repair of one model while it is made; ``in_place`` and ``problems`` are those of :class:`Repair` so far."""

    plan: ModelPlan
    test: ModelTest
    path: Path
    in_place: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def analysis(self) -> ModelAnalysis:
        """The model and its nodes."""
        return self.plan.models[0]

    @cached_property
    def model(self) -> ModelProto:
        """The model as it is in its file."""
        return ModelProto.FromString(self.analysis.model.path.read_bytes())

    @cached_property
    def failed(self) -> Mapping[str, list[Execution]]:
        """What failed, by the id of the node."""
        failed: dict[str, list[Execution]] = {}
        for (_, name), lines in self.test.failing.items():
            failed.setdefault(name, []).extend(lines)
        return failed

    def made(self) -> Repair:
        """Try what sessions can do, and then rewrites of each node."""
        disabled = [each for name in self.failed for remedy in self._remedies(name) for each in remedy.optimizers]
        if optimizers := tuple(dict.fromkeys(disabled)):
            with contextlib.suppress(BadTarget), self._sessions(optimizers) as opened:
                nodes = [self._proved(opened, name, ()) for name in self.failed]
                if not any(each.why for each in nodes):
                    return self._written(opened, nodes, optimizers)
        with self._sessions(()) as opened:
            return self._written(opened, [self._repaired(opened, name) for name in self.failed], ())

    def _remedies(self, name: str) -> list[Remedy]:
        """Those of the known defects that a node shows, in the order in which they are tried."""
        known = {line.known for line in self.failed[name]}
        remedies = [remedy for defect in self.plan.defects if defect.id in known for remedy in defect.remedies]
        return sorted(remedies, key=lambda remedy: remedy.rank)

    @contextlib.contextmanager
    def _sessions(self, optimizers: tuple[str, ...]) -> Iterator[Sequence[TargetSession]]:
        """A session of each target, with these optimizers disabled. Raises :class:`BadTarget` where that is not possible."""
        targets = [target.disabling(optimizers) for target in self.plan.targets]
        config = _config(targets, self.plan.seconds, self.plan.memory)
        with contextlib.closing(LocalExecutor(config)) as executor:
            self.problems += executor.errors
            yield executor.sessions

    def _repaired(self, sessions: Sequence[TargetSession], name: str) -> NodeRepair:
        """The first rewrites with which a node conforms on every target."""
        is_known = all(line.known for line in self.failed[name])
        names = [each.rewrite for each in self._remedies(name)] if is_known else [*read_table("remedies.yaml")]
        names, reasons = [*dict.fromkeys(filter(None, names))], dict[str, str]()
        for count in range(1, _MOST_TOGETHER + 1):
            for rewrites in itertools.combinations(names, count):
                made = self._proved(sessions, name, rewrites)
                if not made.why:
                    return made
                reasons.setdefault(rewrites[0], made.why)
        tried = "; ".join(f"{rewrite} {why}" for rewrite, why in reasons.items())
        return replace(self._proved((), name, ()), why=tried or "no remedy is known")

    def _proved(self, sessions: Sequence[TargetSession], name: str, rewrites: tuple[str, ...]) -> NodeRepair:
        """A node on adversarial values and on those that flow in the model, at every level: what is wrong with rewrites."""
        node, conforming = self.analysis.by_id[name], 0
        known = tuple(sorted({line.known for line in self.failed[name] if line.known}))
        made = NodeRepair(name, node.node.name, known, rewrites)
        try:
            # Sizes that the model leaves open are known of its cases.
            self._rewritten([made])
            for session in sessions:
                for case in [each.case for each in node.cases] + self.test.flowing.get(name, []):
                    faults, right = _run(session, case, node.variants[0], rewrites)
                    conforming += right
                    # Those of special values fail a model only if these count.
                    all_count = self.plan.strict or SPECIAL not in case.tags
                    if wrong := [each for each in faults if all_count or each.verdict is not Verdict.DIVERGES]:
                        about = f"{case.title.rpartition(', ')[2]}, {wrong[0].variant}"
                        return replace(made, rewrites=(), why=f"leaves it wrong on {wrong[0].target}: {about}")
        except CannotRewrite as error:
            return replace(made, rewrites=(), why=f"does not apply: it {error}")
        if sessions and not conforming:
            return replace(made, rewrites=(), why="leaves nothing that could be compared")
        return replace(made, executions=conforming)

    def _rewritten(self, nodes: Sequence[NodeRepair]) -> ModelProto:
        """The model with the rewrites of nodes. Raises :class:`CannotRewrite`."""
        wanted = {}
        for each in filter(lambda each: each.rewrites, nodes):
            node = self.analysis.by_id[each.id].node
            wanted[node.scope.place, node.output] = each.rewrites
        done: list[tuple[Place, str]] = []

        def choice(place: Place, node: NodeProto) -> Sequence[str]:
            # Inlined functions move the numbers of nodes, and so the places of graphs inside of others.
            rewrites = wanted.get((place, node.output[0]), ())
            done.extend([(place, node.output[0])] * bool(rewrites))
            return rewrites

        made = rewritten(self.model, choice)
        if len(done) < len(wanted):
            raise CannotRewrite(
                "is in a function of the model or in another operator domain, where nothing is rewritten"
            )
        return made

    def _written(
        self, sessions: Sequence[TargetSession], nodes: Sequence[NodeRepair], optimizers: tuple[str, ...]
    ) -> Repair:
        """Write the model, and run it as a whole. Raises :class:`BadModel`."""
        is_changed = any(each.rewrites for each in nodes)
        _copy_external(self.analysis.model, self.model, self.path)
        data = self._rewritten(nodes).SerializeToString() if is_changed else self.analysis.model.path.read_bytes()
        self.path.write_bytes(data)
        repaired = read_model(self.path)
        outputs = [each for session in sessions for each in self._outputs(session, repaired)]
        found = self.in_place, outputs, tuple(self.problems)
        return Repair(self.path, repaired.sha256, tuple(nodes), optimizers, *found)

    def _outputs(self, session: TargetSession, repaired: UserModel) -> list[tuple[str, OutputDifference]]:
        """Run the model on a target, with its nodes judged in it; how its own outputs differ from those before."""
        target, old = session.profile.description.name, self.analysis
        # A target with disabled optimizers has a longer name.
        plain = next(name for name in map(str, self.plan.targets) if target.startswith(name))
        try:
            run = ModelRun(session, replace(old, model=replace(repaired, name=old.model.name)))
            outputs = run.own_outputs()
        except (CannotRun, BadModel, OSError) as error:
            if not (isinstance(error, NotInPlace) or self.plan.allows_incomplete):
                self.problems.append(f"the model does not run on {target}: {str(error).partition(chr(10))[0]}")
            return []
        lines = [line for _, lines in run.executed for line in lines]
        wrong = [line for line in lines if line.verdict in _WRONG]
        self.in_place += sum(line.verdict is Verdict.CONFORMS for line in lines)
        self.problems += [f"{line.case} ({line.variant}) is still wrong on {target}: {line.message}" for line in wrong]
        differences = output_differences(old.model.name, self.test.outputs.get((plain, old.model.name), {}), outputs)
        failed = (line for lines in self.failed.values() for line in lines if line.target == plain)
        # In the model, at the level of optimization that sessions have by default.
        if not any("/in-place/" in line.case and "optimization" not in line.variant for line in failed):
            self.problems += [f"{each} on {target}, and were right before" for each in differences if each.cells]
        return [(target, each) for each in differences]


def _copy_external(model: UserModel, proto: ModelProto, path: Path) -> None:
    """Copy the files of external data of a model beside another one, byte for byte. Raises :class:`BadModel`."""
    for tensor in tensors(proto.graph):
        if tensor.data_location != TensorProto.EXTERNAL or tensor.name in model.missing:
            continue
        file, *_ = external_file(model.path, tensor)
        copy = path.absolute().parent / next(each.value for each in tensor.external_data if each.key == "location")
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        elif not filecmp.cmp(file, copy, shallow=False):
            raise BadModel(f"{copy} exists with other contents than {file}; name a file in another folder")
