"""The tests of a user's models, node by node: the state of each MaxPool on each target, and what is known of it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from maxpool_check.comparing.gate import Decision
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis, Reach, node_of
from maxpool_check.models.cases import ALONE, values_of
from maxpool_check.models.repair import Repair
from maxpool_check.models.testing import ModelTest
from maxpool_check.models.upgrade import Upgrade, in_words
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import COMPARED, Execution, ExitCode, Record, Status, Verdict
from maxpool_check.results.result import Result
from maxpool_check.words import Term, plural, shortened, some


class NodeState(Term):
    """The state of a node on a target, the worst first."""

    ERROR = "error", "a test failed in a way that says nothing about MaxPool: exit code 3"
    WRONG = Result.WRONG.value, "the outputs are wrong on finite values, or on values that flow in the model"
    CRASHES = Result.CRASHES.value, "the process of the target dies or hangs"
    REFUSED = Result.REFUSED.value, "the target refuses the node, or the nodes around it"
    EXCLUDED = Result.EXCLUDED.value, "the document excludes the node, so that no runtime may execute it"
    ACCEPTED = "accepted", "the node is wrong, and a file of your own accepts it"
    SPECIAL = (
        "special",
        (
            "the node is right on finite values, and wrong on the values that a report names (`conforms except on NaN`), which "
            "fails with `--strict` only; values that cannot reach the node, whatever the inputs are in their ranges "
            "(`--input-range`), are not tested"
        ),
    )
    OUTSIDE = (
        "wrong outside this model",
        (
            "the node is wrong alone, or with the nodes around it cut out of the model, on values with which the deployed model "
            "is right at every level: it does not fail"
        ),
    )
    CONFORMS = "conforms", "everything that was compared is right"
    NOT_TESTED = (
        "not tested",
        (
            "nothing could be compared, and a line below the table says why: exit code 3 where no node fails, 4 where no node "
            "was compared"
        ),
    )

    @property
    def fails(self) -> bool:
        """Whether the exit code is not 0."""
        passing = (NodeState.ACCEPTED, NodeState.SPECIAL, NodeState.OUTSIDE, NodeState.CONFORMS, NodeState.NOT_TESTED)
        return self not in passing


@dataclass(frozen=True, eq=False)
class NodeResult:
    """A node on a target: its state, and the faults and the known defects that can reach it.

    ``seen`` are the ids of the known defects that its executions show, also of those that the user accepts.
    """

    node: NodeAnalysis
    target: str
    executions: Sequence[Execution]
    faults: Sequence[Fault]
    reach: Sequence[Reach]
    seen: Collection[str] = ()

    @cached_property
    def state(self) -> NodeState:
        """The worst of what was found."""
        if self.node.excluded:
            return NodeState.EXCLUDED
        verdicts = {each.verdict for each in self.executions}
        if Verdict.ERROR in verdicts:
            return NodeState.ERROR
        for state in (NodeState.WRONG, NodeState.CRASHES, NodeState.REFUSED):
            if any(each.unexpected and _FAULTS.get(each.verdict) is state for each in self.executions):
                return state
        statuses = {each.status for each in self.executions}
        if Status.EXPECTED in statuses:
            return NodeState.ACCEPTED
        if Status.OUTSIDE in statuses:
            return NodeState.OUTSIDE
        if Status.SPECIAL in statuses:
            return NodeState.SPECIAL
        return NodeState.CONFORMS if verdicts & COMPARED else NodeState.NOT_TESTED

    @property
    def is_exposed(self) -> bool:
        """Whether special values that can get there are wrong, or may be by a known defect that no execution showed."""
        is_known = any(each.defect.severity is Severity.WRONG_ON_SPECIAL for each in self.unseen)
        return self.state is NodeState.SPECIAL or (self.state is NodeState.CONFORMS and is_known)

    @property
    def names(self) -> list[str]:
        """The known defects that explain the state, or the kinds of divergence where none is known."""
        statuses = {
            NodeState.SPECIAL: Status.SPECIAL,
            NodeState.OUTSIDE: Status.OUTSIDE,
            NodeState.ACCEPTED: Status.EXPECTED,
        }
        status = statuses.get(self.state)
        chosen = [each for each in self.faults if (each.status == status if status else each.is_unexpected)]
        return list(dict.fromkeys(each.defect.id if each.defect else ", ".join(each.kinds) for each in chosen))

    @property
    def special(self) -> list[str]:
        """The sorts of values, shortly, on which it is wrong although it is right on finite ones."""
        return list(
            dict.fromkeys(values_of(each.case).short for each in self.executions if each.status == Status.SPECIAL)
        )

    @property
    def summary(self) -> str:
        """The state in words, with the known defects or kinds that explain it."""
        if self.node.untested and not self.node.excluded:
            return self.node.untested
        if self.state is NodeState.SPECIAL:
            return f"conforms except on {', '.join(self.special)}"
        if self.state is NodeState.NOT_TESTED and self.why_untested:
            return f"{self.state.value}: {self.why_untested}"
        refused = [each.case for each in self.executions if each.unexpected and each.verdict is Verdict.REFUSES]
        is_around = self.state is NodeState.REFUSED and not any(f"/{ALONE}/" in case for case in refused)
        around = ["with the nodes around it"] * is_around
        return " ".join([self.state.value, *around, ", ".join(self.names)]).rstrip()

    @property
    def why_untested(self) -> str:
        """Why nothing was compared, on a line."""
        messages = dict.fromkeys(" ".join(each.message.split()) for each in self.executions)
        return self.node.untested or "; ".join(filter(None, messages))

    @property
    def unseen(self) -> list[Reach]:
        """The known defects that can reach the node with the values that flow there, and that no execution showed."""
        return [each for each in self.reach if each.defect.id not in self.seen]


_FAULTS = {
    Verdict.DIVERGES: NodeState.WRONG,
    Verdict.UNSTABLE: NodeState.WRONG,
    Verdict.CRASHES: NodeState.CRASHES,
    Verdict.TIMES_OUT: NodeState.CRASHES,
    Verdict.REFUSES: NodeState.REFUSED,
}
"""The states of nodes by the verdict of an unexpected execution."""


def listed(models: Sequence[ModelAnalysis]) -> str:
    """The files of the first models in words, and how many more there are."""
    return ", ".join(some([f"{each.model.name}{each.model.path.suffix}" for each in models], 4))


def level_of(variant: str) -> str:
    """The level of optimization of a variant, by its name."""
    return variant.partition("optimization-")[2] or "default"


def state_of(fault: Fault) -> NodeState:
    """The state of the nodes that a fault is about."""
    return _FAULTS.get(fault.example.verdict, NodeState.WRONG)


@dataclass(frozen=True)
class ModelReport:
    """The tests of models. ``upgrade`` has the decisions where two targets were compared.

    ``inputs`` are the options that gave each model its inputs and shapes, by its path. ``checks_profile``: a node outside SONNX's
    profile is an unexpected result. ``repair`` is what was done about the nodes that fail, if that was asked for. ``written`` is the path of
    the record.
    """

    models: Sequence[ModelAnalysis]
    test: ModelTest
    record: Record
    upgrade: Upgrade | None = None
    checks_profile: bool = False
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    repair: Repair | None = None
    written: str = "RECORD"

    @cached_property
    def run(self) -> RunReport:
        """The record as that of a run."""
        return RunReport(self.record, self.exit_code)

    def open_points(self, name: str, node: NodeAnalysis) -> list[str]:
        """What the document leaves open for a node, with what each target does there."""
        results = [self.results[target, name] for target in self.targets]
        return node.points_with_results(each for result in results for each in result.executions)

    @property
    def targets(self) -> list[str]:
        """The names of the targets that started."""
        return [target.name for target in self.record.header.targets]

    @cached_property
    def results(self) -> Mapping[tuple[str, str], NodeResult]:
        """The results by target and node, in the order of the models."""
        executions: dict[tuple[str, str], list[Execution]] = defaultdict(list)
        for execution in self.record.executions:
            executions[execution.target, node_of(execution.case)].append(execution)
        faults: dict[tuple[str, str], list[Fault]] = defaultdict(list)
        for fault in RunReport(self.record, 0).faults:
            for name in dict.fromkeys(map(node_of, fault.cases)):
                faults[fault.target, name].append(fault)
        results = {}
        for target in self.targets:
            for model in self.models:
                for name, node in model.by_id.items():
                    key, reach = (target, name), self.test.reach.get(target, {}).get(name, [])
                    seen = self.test.seen.get(key, ())
                    results[key] = NodeResult(node, target, executions[key], faults[key], reach, seen)
        return results

    @property
    def nodes(self) -> Iterator[NodeAnalysis]:
        """The nodes of all models."""
        return (node for model in self.models for node in model.nodes)

    @property
    def empty(self) -> list[ModelAnalysis]:
        """The models without a MaxPool that a document judges."""
        return [model for model in self.models if all(node.maker is None for node in model.nodes)]

    @property
    def outside_profile(self) -> list[NodeAnalysis]:
        """The nodes outside SONNX's profile, if that counts."""
        return [node for node in self.nodes if node.profile and self.checks_profile]

    @property
    def untested(self) -> list[NodeResult]:
        """The results that compared nothing, of nodes that a document judges."""
        results = self.results.values()
        return [each for each in results if each.state is NodeState.NOT_TESTED and not each.node.node.unjudged]

    @cached_property
    def wrong_on_both(self) -> Mapping[str, NodeResult]:
        """The nodes that fail on the base as on the head of an upgrade, which does not block it: their result on the head."""
        upgrade = self.upgrade
        if upgrade is None or not {upgrade.base, upgrade.head} <= set(self.targets):
            return {}
        return {
            name: self.results[upgrade.head, name]
            for name, made in upgrade.nodes.items()
            if made.decision is not Decision.BLOCK
            and all(self.results[target, name].state.fails for target in (upgrade.base, upgrade.head))
        }

    def reason(self, name: str) -> str:
        """The reason of the decision on a node, in words."""
        if self.upgrade is None or name not in self.upgrade.nodes:
            return ""
        both = self.wrong_on_both.get(name)
        return in_words(self.upgrade.nodes[name]) + (f"; {_on_both([both])}" if both else "")

    @cached_property
    def unbounded_inputs(self) -> list[str]:
        """The inputs that may hold NaN or -inf for all that is said of them, of models with a node that is wrong on special values."""
        names = dict[str, None]()
        for model in self.models:
            found = [each for each in self.results.values() if each.node in model.nodes and each.is_exposed]
            if any(not each.node.range.is_finite for each in found):
                inputs = [value.name for value in model.model.inputs if model.tested.is_float(value.name)]
                names |= {name: None for name in inputs if name not in model.input_ranges}
        return [*names]

    @property
    def unbounded_behind(self) -> list[str]:
        """The first operators whose outputs are unbounded though their inputs are not, of models with an exposed node."""
        exposed = [each.node for each in self.results.values() if each.is_exposed and not each.node.range.is_finite]
        models = (each for each in self.models if any(node in each.nodes for node in exposed))
        return [found for each in models if (found := each.first_unbounded)]

    @cached_property
    def exit_code(self) -> ExitCode:
        """The exit code of the command."""
        footer, code = self.record.footer, self.test.exit_code
        is_excluded = any(node.excluded for node in self.nodes)
        if footer is None or code is ExitCode.INCOMPLETE:
            return ExitCode.INCOMPLETE
        if footer.errors and code is ExitCode.AS_EXPECTED and not is_excluded:
            return ExitCode.INCOMPLETE
        if self.repair is not None and self.repair.nodes:
            return ExitCode.AS_EXPECTED if self.repair.is_complete else ExitCode.UNEXPECTED
        if self.outside_profile or is_excluded:
            return ExitCode.UNEXPECTED
        if code is ExitCode.NOTHING_COMPARED:
            return code
        code = code if self.upgrade is None else self.upgrade.exit_code
        return ExitCode.INCOMPLETE if code is ExitCode.AS_EXPECTED and (self.untested or footer.errors) else code

    @property
    def result(self) -> tuple[str, str]:
        """The result in one or two words, and a sentence without its full stop."""
        label, sentence = self._states()
        if self.exit_code is ExitCode.INCOMPLETE:
            failed = [each.message for each in self.record.executions if each.verdict is Verdict.ERROR]
            problem = next(iter([*self.run.problems, *failed]), sentence)
            return Result.INCOMPLETE.value, shortened(problem.splitlines()[0], 300)
        if all(node.maker is None for node in self.nodes):
            if unjudged := [node.node for node in self.nodes if node.node.op != "GlobalMaxPool"]:
                why = f"'{unjudged[0].name}' is {unjudged[0].unjudged}"
                return Result.NOTHING_COMPARED.value, f"no MaxPool in {listed(self.models)} is judged: {why}"
            return Result.NOTHING_COMPARED.value, f"there is no MaxPool in {listed(self.models)}"
        if self.exit_code is ExitCode.NOTHING_COMPARED:
            empty = [name for name, counts in self.run.counts.items() if not any(counts[each] for each in COMPARED)]
            others = f"on {', '.join(empty)}; {sentence}" if len(empty) < len(self.targets) else ""
            return Result.NOTHING_COMPARED.value, f"no result could be compared {others}".rstrip()
        if self.repair is not None and self.repair.nodes and (self.repair.is_complete or self.repair.needs_session):
            special = any(each.status == Status.SPECIAL for each in self.record.executions)
            left = "; what special values alone show may be left: --strict counts it, too" if special else ""
            made = Result.NEEDS_SESSION_OPTION if self.repair.needs_session else Result.REPAIRED
            return made.value, f"{self.repair.sentence}{left}"
        if self.upgrade is None or any(node.excluded for node in self.nodes):
            return label, sentence
        label, reasons = self.upgrade.decision.value, [self.upgrade.reason]
        for state in NodeState:
            of_state = [each for each in self.wrong_on_both.values() if each.state is state]
            reasons += [f"{plural(len(of_state), 'node')} {_on_both(of_state)}"] if of_state else []
        if outside := len(self.outside_profile):
            reasons.append(f"{plural(outside, 'node is', 'nodes are')} outside SONNX's profile")
            label = label if self.upgrade.exit_code else f"{Result.OUTSIDE_PROFILE.value}, {label}"
        reasons += [f"no MaxPool in {listed(self.empty)}"] if self.empty else []
        return label, "; ".join([*reasons, *self._notes([self.upgrade.head])])

    def _notes(self, targets: Sequence[str]) -> list[str]:
        """Whether what fails does so in a session with the default options, and what could not be run."""
        failing = [each for each in self.record.executions if each.target in targets and each.unexpected]
        is_right = bool(failing) and all(level_of(each.variant) != "default" for each in failing)
        note = ["right here at the default level of optimization, which sessions use"] * is_right
        names = ", ".join(f"'{name}'" for name in some(self.unbounded_inputs, 3))
        behind = ", ".join(some(self.unbounded_behind, 3)) if not names else ""
        note += [f"NaN and -inf are not excluded, since nothing is known of {names}"] if names else []
        note += [f"NaN and -inf are not excluded, since nothing is known behind {behind}"] if behind else []
        return [*note, *(shortened(each, 160, end=False) for each in self.test.problems)]

    def _states(self) -> tuple[str, str]:
        """The worst state, and how many nodes are in which, by target if there are several."""
        found: set[NodeState] = set()
        parts = []
        for target in self.targets:
            own = [each for (name, _), each in self.results.items() if name == target and not each.node.node.unjudged]
            counts = Counter(each.state for each in own)
            found |= counts.keys()
            numbers = [plural(counts[state], *words) for state, words in _WORDS.items() if counts[state]]
            parts.append(f"{', '.join(numbers)} on {target}")
        outside = len(self.outside_profile)
        parts += [f"{plural(outside, 'is', 'are')} outside SONNX's profile"] if outside else []
        parts += [f"no MaxPool in {listed(self.empty)}"] if self.empty else []
        is_exposed = any(each.is_exposed for each in self.results.values())
        passed = Result.CONFORMS_ON_FINITE_VALUES if is_exposed else Result.CONFORMS
        passed = Result.ACCEPTED if NodeState.ACCEPTED in found else passed
        label = Result.OUTSIDE_PROFILE.value if outside else passed.value
        label = next((state.value for state in NodeState if state.fails and state in found), label)
        total = plural(sum(node.maker is not None for node in self.nodes), "MaxPool node")
        return label, f"of {total}, {'; '.join([*parts, *self._notes(self.targets)])}"


def _on_both(results: Sequence[NodeResult]) -> str:
    """What is wrong with nodes of one state on both targets of an upgrade: ``is wrong on both: ORT-PAD-FOLDED``."""
    words = _WORDS[results[0].state]
    names = list(dict.fromkeys(name for each in results for name in each.names))
    return f"{words[len(results) > 1]} on both" + (f": {', '.join(names)}" if names else "")


_WORDS = {
    NodeState.ERROR: ("failed to be tested", "failed to be tested"),
    NodeState.WRONG: ("is wrong", "are wrong"),
    NodeState.CRASHES: ("crashes", "crash"),
    NodeState.REFUSED: ("is refused", "are refused"),
    NodeState.EXCLUDED: ("is excluded by its document", "are excluded by their documents"),
    NodeState.ACCEPTED: ("is wrong as accepted", "are wrong as accepted"),
    NodeState.SPECIAL: ("conforms except on special values", "conform except on special values"),
    NodeState.OUTSIDE: ("is wrong outside this model alone", "are wrong outside this model alone"),
    NodeState.CONFORMS: ("conforms", "conform"),
    NodeState.NOT_TESTED: ("is not tested", "are not tested"),
}
