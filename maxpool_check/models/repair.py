"""Tries remedies: on the cases of a defect, and on the nodes of a model that need one, which is then written with them."""

import contextlib
import filecmp
import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, cached_property
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, checker, printer

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.graphs.context import MAX_POOL, name_before
from maxpool_check.judging.defects import Defect, Remedy
from maxpool_check.judging.kinds import read_table
from maxpool_check.models.analysis import ModelAnalysis
from maxpool_check.models.cases import CHAIN, SPECIAL
from maxpool_check.models.deployed import LevelState
from maxpool_check.models.flow import ModelRun, NotInPlace
from maxpool_check.models.inputs import CannotRun
from maxpool_check.models.model_file import (
    BadModel,
    Place,
    UserModel,
    external_file,
    graphs,
    read_model,
    sort_nodes,
    subgraphs,
    tensors,
)
from maxpool_check.models.rewriting import CannotRewrite, rewritten
from maxpool_check.models.testing import ModelPlan, ModelTest
from maxpool_check.models.upgrade import OutputDifference, output_differences
from maxpool_check.results.record import FAULTS, Execution, Verdict
from maxpool_check.results.variants import LEVELS, WITH_INDICES, Y_ONLY, Variant
from maxpool_check.running.case_run import run_case
from maxpool_check.running.runner import ExecutionConfig, LocalRunner
from maxpool_check.targets.name import BadTarget, TargetName
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession
from maxpool_check.words import plural

_MOST_TOGETHER = 2
"""How many rewrites of one node are tried together."""

_MOST_FILES = 4
"""How many files are written and judged, each with the next rewrites of its nodes, before a repair is given up."""

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
    neighbours = _neighbours(case)

    def choice(_: Place, node: NodeProto) -> Sequence[str]:
        return () if node.output[0] in neighbours else rewrites

    def with_rewrites(request: Request) -> Request:
        model = rewritten(ModelProto.FromString(request.model), choice, *meaning)
        return replace(request, model=model.SerializeToString())

    session.rewrite = with_rewrites
    try:
        lines = run_case(session, case, _at_every_level(variant)).executions
    finally:
        session.rewrite = None
    conforming = sum(each.verdict is Verdict.CONFORMS for each in lines)
    return [each for each in lines if each.verdict in _WRONG], conforming


def _neighbours(case: Case) -> set[str]:
    """The outputs of the MaxPool nodes around the judged one, in the model of a case."""
    context = case.context
    before = {name_before(number) for number, node in enumerate(context.before) if node.op == MAX_POOL}
    after = {f"after_{number}" for number, node in enumerate(context.after) if node.op == MAX_POOL}
    is_last = bool(context.after) and context.after[-1].op == MAX_POOL
    return before | after | ({"Y", "unused"} if is_last else set())


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
            runner = LocalRunner(_config([target.disabling(optimizers)], seconds, memory))
            stack.callback(runner.close)
            return runner.sessions[0]

        version = session_of(()).profile.description.version
        repaired: dict[Remedy, list[str]] = {
            each: [] for each in defect.remedies if each.words and each.is_for(version)
        }
        for case, variant in itertools.product(cases, (WITH_INDICES, Y_ONLY)):
            faults, _ = _run(session_of(()), case, variant, ())
            shown = [effect.shown(variant) for effect in defect.effects if CaseFeatures(case).applies(defect, effect)]
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
    if not CaseFeatures(case).meets(remedy.conditions):
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
    ``why`` what was tried if nothing does. ``executions`` is how many of the node conform with them. ``before`` and ``after`` are
    the node and what takes its place, in ONNX's text form.
    """

    id: str
    name: str
    defects: tuple[str, ...]
    rewrites: tuple[str, ...] = ()
    why: str = ""
    executions: int = 0
    before: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Repair:
    """What was done about the nodes of a model that fail.

    ``path`` is the file that was written, and ``sha256`` its digest; None: none was written. ``optimizers`` are those that sessions
    of the unchanged model must disable, ``by_session``: the user asked for that. ``in_place`` is how many executions of the nodes
    in the model conform, ``outputs`` how its own outputs differ from those before, by target, and ``problems`` what is still wrong.
    """

    path: Path | None
    sha256: str
    nodes: tuple[NodeRepair, ...]
    optimizers: tuple[str, ...] = ()
    by_session: bool = False
    in_place: int = 0
    outputs: Sequence[tuple[str, OutputDifference]] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing wrong is left in the file that was written, or in the sessions that the user asked for."""
        return (
            not self.problems and (self.by_session or not self.optimizers) and not any(each.why for each in self.nodes)
        )

    @property
    def needs_session(self) -> bool:
        """Whether sessions with an option of ONNX Runtime are right, and no file was written."""
        return bool(self.optimizers) and not self.problems

    @property
    def sentence(self) -> str:
        """What was done, in a sentence without its full stop."""
        count = plural(sum(bool(each.rewrites) for each in self.nodes), "node")
        done = f"{self.path} has {count} rewritten"
        if self.optimizers:
            done = f"no file is written; sessions of the model must disable {' and '.join(self.optimizers)}"
        proved = sum(each.executions for each in self.nodes)
        in_place = f", and {self.in_place} in the model" if self.in_place else ""
        return f"{done}; {plural(proved, 'execution')} of its nodes{in_place} conform, at every level"

    def lines(self, model: str) -> list[str]:
        """The lines to paste that make such a session of a model: in Python, in C++, and by a key that every language has."""
        names = ", ".join(f'"{name}"' for name in self.optimizers)
        key, value = "optimization.disable_specified_optimizers", ";".join(self.optimizers)
        return [
            f'session = onnxruntime.InferenceSession("{model}", disabled_optimizers=[{names}])  # Python',
            f'options.add_session_config_entry("{key}", "{value}")  # Python, SessionOptions',
            f'session_options.AddConfigEntry("{key}", "{value}");  // C++',
        ]


class RepairBy(str, Enum):
    """What a user lets a repair change."""

    FILE = "file"
    SESSION = "session"


def repair(
    plan: ModelPlan, test: ModelTest, path: Path, by: RepairBy = RepairBy.FILE, *, copies: bool = True
) -> Repair:  # fmt: skip
    """Repair the nodes of a model that failed in its test on the targets of a plan, and prove it.

    By the ``file``, the first rewrites that work are written to it, and it is read back, loaded and judged as it is; where only
    options of sessions work, nothing is written. ``copies``: a model of which nothing fails is copied. Raises :class:`BadModel` if
    it cannot be written.
    """
    making = _Repairing(plan, test, path)
    if not making.failed:
        is_allowed = not any(each.excluded for each in making.analysis.nodes)
        return making.copy() if copies and is_allowed else Repair(None, "", ())
    return making.made(by)


@dataclass
class _Repairing:
    """The repair of one model while it is made; ``problems`` are those of :class:`Repair` so far."""

    plan: ModelPlan
    test: ModelTest
    path: Path
    problems: list[str] = field(default_factory=list)

    @property
    def analysis(self) -> ModelAnalysis:
        """The model and its nodes."""
        return self.plan.models[0]

    @cached_property
    def model(self) -> ModelProto:
        """The model as it is in its file, with its nodes in order."""
        model = ModelProto.FromString(self.analysis.model.path.read_bytes())
        sort_nodes(model.graph)
        return model

    @cached_property
    def failed(self) -> Mapping[str, list[Execution]]:
        """What failed, by the id of the node."""
        failed: dict[str, list[Execution]] = {}
        for (target, name), lines in self.test.failing.items():
            if target in map(str, self.plan.targets):
                failed.setdefault(name, []).extend(lines)
        return failed

    def copy(self) -> Repair:
        """Copy the model, with its external data."""
        _copy_external(self.analysis.model, self.model, self.path)
        shutil.copyfile(self.analysis.model.path, self.path)
        return Repair(self.path, self.analysis.model.sha256, ())

    def made(self, by: RepairBy) -> Repair:
        """Rewrite each node, or find what sessions can do."""
        by_file = self._by_file() if by is RepairBy.FILE else None
        if by_file is not None and by_file.is_complete:
            return by_file
        by_session = self._by_session(by is RepairBy.SESSION)
        if by_session is not None:
            return by_session
        none = tuple(
            NodeRepair(name, self._name(name), self._known(name), why="no option of a session is known")
            for name in self.failed
        )
        return by_file or Repair(None, "", none)

    def _name(self, node: str) -> str:
        return self.analysis.by_id[node].node.name

    def _known(self, node: str) -> tuple[str, ...]:
        return tuple(sorted({line.known for line in self.failed[node] if line.known}))

    def _remedies(self, name: str) -> list[Remedy]:
        """Those of the known defects that a node shows, in the order in which they are tried."""
        known = self._known(name)
        remedies = [remedy for defect in self.plan.defects if defect.id in known for remedy in defect.remedies]
        return sorted(remedies, key=lambda remedy: remedy.rank)

    @contextlib.contextmanager
    def _sessions(self, optimizers: tuple[str, ...]) -> Iterator[Sequence[TargetSession]]:
        """A session of each target, with these optimizers disabled. Raises :class:`BadTarget` where that is not possible."""
        targets = [target.disabling(optimizers) for target in self.plan.targets]
        config = _config(targets, self.plan.seconds, self.plan.memory)
        with contextlib.closing(LocalRunner(config)) as runner:
            self.problems += runner.errors
            yield runner.sessions

    def _by_session(self, by_session: bool) -> Repair | None:
        """The sessions with which the unchanged model is right; None if none are."""
        known = [each for name in self.failed for remedy in self._remedies(name) for each in remedy.optimizers]
        found = [each for levels in self.test.levels.values() for level in levels for each in level.without]
        tried = [tuple(dict.fromkeys(each)) for each in (known, found, [*known, *found])]
        for optimizers in dict.fromkeys(filter(None, tried)):
            with contextlib.suppress(BadTarget), self._sessions(optimizers) as opened:
                nodes = [self._proved(opened, name, ()) for name in self.failed]
                if not any(each.why for each in nodes):
                    judged = self._judged(opened, self.analysis.model)
                    if not judged.problems:
                        return replace(judged, nodes=tuple(nodes), optimizers=optimizers, by_session=by_session)
        return None

    def _by_file(self) -> Repair:
        """The file with the first rewrites of each node with which it is right; the last that was tried, unwritten, if none is."""
        with self._sessions(()) as opened:
            works = {name: self._working(opened, name) for name in self.failed}
            result = Repair(None, "", tuple(each[0] for each in works.values()))
            if any(each.why for each in result.nodes):
                return result
            most = max(map(len, works.values()))
            for number in range(min(most, _MOST_FILES)):
                nodes = tuple(each[min(number, len(each) - 1)] for each in works.values())
                result = self._written(opened, nodes)
                if result.is_complete:
                    return result
        return result

    def _working(self, sessions: Sequence[TargetSession], name: str) -> list[NodeRepair]:
        """The rewrites with which a node conforms on every target, in the order in which they are tried; why none is, otherwise."""
        is_known = all(line.known for line in self.failed[name])
        names = [each.rewrite for each in self._remedies(name)] if is_known else [*read_table("remedies.yaml")]
        names, reasons, works = [*dict.fromkeys(filter(None, names))], dict[str, str](), list[NodeRepair]()
        for count in range(1, _MOST_TOGETHER + 1):
            for rewrites in itertools.combinations(names, count):
                made = self._proved(sessions, name, rewrites)
                if made.why:
                    reasons.setdefault(rewrites[0], made.why)
                else:
                    works.append(made)
            if works:
                return works
        tried = "; ".join(f"{rewrite} {why}" for rewrite, why in reasons.items())
        return [replace(self._proved((), name, ()), why=tried or "no remedy is known")]

    def _proved(self, sessions: Sequence[TargetSession], name: str, rewrites: tuple[str, ...]) -> NodeRepair:
        """A node on adversarial values and on those that flow in the model, at every level: what is wrong with rewrites."""
        node, conforming = self.analysis.by_id[name], 0
        made = NodeRepair(name, node.node.name, self._known(name), rewrites)
        # What says nothing of the node in its model.
        outside = {kind for each in self.plan.targets for kind in self.test.outside.get((str(each), name), ())}
        # Other MaxPool nodes of a chain may be wrong themselves.
        of_chain = any(f"/{CHAIN}/" in line.case for line in self.failed[name])
        cases = [each.case for each in node.cases if of_chain or each.how != CHAIN] + self.test.flowing.get(name, [])
        try:
            # Sizes that the model leaves open are known of its cases.
            made = self._shown(made)
            for session in sessions:
                for case in cases:
                    faults, right = _run(session, case, node.variants[0], rewrites)
                    conforming += right
                    # Those of special values fail a model only if these count.
                    all_count = self.plan.strict or SPECIAL not in case.tags
                    faults = [each for each in faults if not outside.issuperset(each.kinds)]
                    if wrong := [each for each in faults if all_count or each.verdict is not Verdict.DIVERGES]:
                        about = f"{case.title.rpartition(', ')[2]}, {wrong[0].variant}"
                        return replace(made, rewrites=(), why=f"leaves it wrong on {wrong[0].target}: {about}")
        except CannotRewrite as error:
            return replace(made, rewrites=(), why=f"does not apply: it {error}")
        if sessions and not conforming:
            return replace(made, rewrites=(), why="leaves nothing that could be compared")
        return replace(made, executions=conforming)

    def _shown(self, made: NodeRepair) -> NodeRepair:
        """The node with what takes its place, as text. Raises :class:`CannotRewrite`."""
        if not made.rewrites:
            return made
        old = {node.SerializeToString() for graph in graphs(self.model.graph) for node in graph.node}
        new = [
            node
            for graph in graphs(self._rewritten([made]).graph)
            for node in graph.node
            if node.SerializeToString() not in old and not [*subgraphs(node)]
        ]
        proto = self.analysis.by_id[made.id].node.proto
        before, *after = (printer.to_text(node).strip() for node in (proto, *new))
        return replace(made, before=before, after=tuple(after))

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

    def _written(self, sessions: Sequence[TargetSession], nodes: tuple[NodeRepair, ...]) -> Repair:
        """Write the file, read it back, and judge it; it is removed if anything is wrong. Raises :class:`BadModel`."""
        copies = _copy_external(self.analysis.model, self.model, self.path)
        made = self.path.with_name(f".{self.path.name}.unproved")
        try:
            made.write_bytes(self._rewritten(nodes).SerializeToString())
            model = read_model(made)
            judged = replace(self._judged(sessions, model), nodes=nodes)
            if refused := _refused_by_checker(self.analysis.model.path, made):
                judged = replace(judged, problems=(f"onnx.checker refuses the file: {refused}", *judged.problems))
            if judged.is_complete:
                made.replace(self.path)
                copies = []
                return replace(judged, path=self.path, sha256=model.sha256)
            return judged
        finally:
            for each in (made, *copies):
                each.unlink(missing_ok=True)

    def _judged(self, sessions: Sequence[TargetSession], model: UserModel) -> Repair:
        """What is still wrong with a model as it is deployed, and with its nodes in it."""
        problems, outputs, right = [*self.problems], list[tuple[str, OutputDifference]](), 0
        for session in sessions:
            target, old = session.profile.description.name, self.analysis
            # A target with disabled optimizers has a longer name.
            plain = next(name for name in map(str, self.plan.targets) if target.startswith(name))
            try:
                run = ModelRun(session, replace(old, model=replace(model, name=old.model.name)))
            except (CannotRun, BadModel, OSError) as error:
                if not (isinstance(error, NotInPlace) or self.plan.allows_incomplete):
                    problems.append(f"the model does not run on {target}: {str(error).partition(chr(10))[0]}")
                continue
            if run.problems and not self.plan.allows_incomplete:
                problems.append(f"the model does not run on {target}: {run.problems[0].partition(chr(10))[0]}")
            lines = [line for _, lines in run.executed for line in lines]
            right += sum(line.verdict is Verdict.CONFORMS for line in lines)
            wrong = [line for line in lines if line.verdict in _WRONG]
            problems += [f"{line.case} ({line.variant}) is still wrong on {target}: {line.message}" for line in wrong]
            problems += [
                f"at {each.level} on {target}, {each}" for each in run.levels if each.state is LevelState.WRONG
            ]
            before = self.test.outputs.get((plain, old.model.name), {})
            outputs += [(target, each) for each in output_differences(old.model.name, before, run.outputs)]
        return Repair(None, "", (), in_place=right, outputs=tuple(outputs), problems=tuple(problems))


def _refused_by_checker(original: Path, made: Path) -> str:
    """Why onnx.checker refuses a file, if it does not refuse the original; empty otherwise."""
    try:
        checker.check_model(str(original))
    except Exception:  # onnx's C++ raises errors of several types
        return ""
    try:
        checker.check_model(str(made))
    except Exception as error:
        return str(error).partition("\n")[0]
    return ""


def _copy_external(model: UserModel, proto: ModelProto, path: Path) -> list[Path]:
    """Copy the files of external data of a model beside another one, byte for byte. Returns the new files. Raises :class:`BadModel`."""
    copies: list[Path] = []
    for tensor in tensors(proto.graph):
        if tensor.data_location != TensorProto.EXTERNAL or tensor.name in model.missing:
            continue
        file, *_ = external_file(model.path, tensor)
        copy = path.absolute().parent / next(each.value for each in tensor.external_data if each.key == "location")
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
            copies.append(copy)
        elif not filecmp.cmp(file, copy, shallow=False):
            raise BadModel(f"{copy} exists with other contents than {file}; name a file in another folder")
    return copies
