"""The tests of a user's models, node by node: the state of each MaxPool on each target, and what is known of it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from maxpool_check.comparing.gate import Decision
from maxpool_check.judging.faults import Fault
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis, Reach, node_of
from maxpool_check.models.cases import values_of
from maxpool_check.models.repair import Repair
from maxpool_check.models.testing import ModelTest
from maxpool_check.models.upgrade import Upgrade, in_words
from maxpool_check.reporting.blocks import Document
from maxpool_check.reporting.items import Checks
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import COMPARED, Execution, ExitCode, Record, Verdict
from maxpool_check.words import plural, shortened


class NodeState(str, Enum):
    """The state of a node on a target, the worst first."""

    ERROR = "error"
    """A test failed in a way that says nothing about the target."""
    WRONG = "WRONG"
    """Its outputs are wrong on finite values, or on values that flow in the model."""
    CRASHES = "CRASHES"
    """The process of the target dies or hangs."""
    REFUSED = "REFUSED"
    """The target refuses the node, or the nodes around it."""
    EXCLUDED = "EXCLUDED"
    """The node's document excludes it, so that no runtime may execute it."""
    ACCEPTED = "accepted"
    """It is wrong, and a file of the user's own accepts it."""
    SPECIAL = "special"
    """It is right on finite values, and wrong on infinities, NaN, zeros of both signs, or the lowest value."""
    OUTSIDE = "wrong outside this model"
    """It is wrong alone, or with the nodes around it cut out, on values with which it is right in the model at every level."""
    CONFORMS = "conforms"
    """Every result that was compared is right."""
    NOT_TESTED = "not tested"
    """Nothing could be compared."""

    @property
    def fails(self) -> bool:
        """Whether the exit code is not 0."""
        passing = (NodeState.ACCEPTED, NodeState.SPECIAL, NodeState.OUTSIDE, NodeState.CONFORMS, NodeState.NOT_TESTED)
        return self not in passing


class ModelLabel(str, Enum):
    """How the last line begins, unless with the worst state of a node that fails, or with the decision on an upgrade."""

    CONFORMS = "CONFORMS"
    ACCEPTED = "ACCEPTED"
    REPAIRED = "REPAIRED"
    NEEDS_SESSION_OPTION = "NEEDS A SESSION OPTION"
    OUTSIDE_PROFILE = "OUTSIDE PROFILE"
    NOTHING_TESTED = "NOTHING TESTED"
    INCOMPLETE = "INCOMPLETE"


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
        if "expected" in statuses:
            return NodeState.ACCEPTED
        if "outside" in statuses:
            return NodeState.OUTSIDE
        if "special" in statuses:
            return NodeState.SPECIAL
        return NodeState.CONFORMS if verdicts & COMPARED else NodeState.NOT_TESTED

    @property
    def names(self) -> list[str]:
        """The known defects that explain the state, or the kinds of divergence where none is known."""
        statuses = {NodeState.SPECIAL: "special", NodeState.OUTSIDE: "outside", NodeState.ACCEPTED: "expected"}
        status = statuses.get(self.state)
        chosen = [each for each in self.faults if (each.status == status if status else each.is_unexpected)]
        return list(dict.fromkeys(each.defect.id if each.defect else ", ".join(each.kinds) for each in chosen))

    @property
    def special(self) -> list[str]:
        """The sorts of values, shortly, on which it is wrong although it is right on finite ones."""
        return list(dict.fromkeys(values_of(each.case).short for each in self.executions if each.status == "special"))

    @property
    def summary(self) -> str:
        """The state in words, with the known defects or kinds that explain it."""
        if self.node.untested and not self.node.excluded:
            return self.node.untested
        if self.state is NodeState.SPECIAL:
            return f"conforms except on {', '.join(self.special)}"
        if self.state is NodeState.NOT_TESTED and self.why_untested:
            return f"{self.state.value}: {self.why_untested}"
        return " ".join([self.state.value, ", ".join(self.names)]).rstrip()

    @property
    def why_untested(self) -> str:
        """Why nothing was compared, on a line."""
        messages = dict.fromkeys(" ".join(each.message.split()) for each in self.executions)
        return self.node.untested or "; ".join(filter(None, messages))

    @property
    def unseen(self) -> list[Reach]:
        """The known defects that can reach the node with the values that flow there, and that no execution showed."""
        return [
            each
            for each in self.reach
            if each.defect.id not in self.seen and not (each.needs_negative and self.node.around.is_behind_relu)
        ]


_FAULTS = {
    Verdict.DIVERGES: NodeState.WRONG,
    Verdict.UNSTABLE: NodeState.WRONG,
    Verdict.CRASHES: NodeState.CRASHES,
    Verdict.TIMES_OUT: NodeState.CRASHES,
    Verdict.REFUSES: NodeState.REFUSED,
}
"""The states of nodes by the verdict of an unexpected execution."""


def level_of(variant: str) -> str:
    """The level of optimization of a variant, by its name."""
    return variant.partition("optimization-")[2] or "default"


def state_of(fault: Fault) -> NodeState:
    """The state of the nodes that a fault is about."""
    return _FAULTS.get(fault.smallest.verdict, NodeState.WRONG)


@dataclass(frozen=True)
class ModelReport:
    """The tests of models and how to show them. ``upgrade`` has the decisions where two targets were compared.

    ``inputs`` are the options that gave the models their inputs and shapes. ``checks_profile``: a node outside SONNX's profile is
    an unexpected result. ``repair`` is what was done about the nodes that fail, if that was asked for.
    """

    models: Sequence[ModelAnalysis]
    test: ModelTest
    record: Record
    upgrade: Upgrade | None = None
    checks_profile: bool = False
    inputs: Sequence[str] = ()
    repair: Repair | None = None
    width: int = 100
    color: bool = False
    verbose: bool = False

    def documents(self, form: Form) -> Iterator[Document]:
        """The report in this form."""
        from maxpool_check.reporting.model_view import document

        yield document(self, form)

    def checks(self) -> Checks:
        """The report for CI systems."""
        from maxpool_check.reporting.model_json import checks

        return checks(self)

    @cached_property
    def run(self) -> RunReport:
        """The record as that of a run."""
        return RunReport(self.record, self.exit_code, self.width, self.color, self.verbose)

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
            return ModelLabel.INCOMPLETE.value, problem.splitlines()[0]
        if all(node.maker is None for node in self.nodes):
            names = ", ".join(model.model.path.name for model in self.models)
            return ModelLabel.NOTHING_TESTED.value, f"there is no MaxPool in {names}"
        if self.exit_code is ExitCode.NOTHING_COMPARED:
            empty = [name for name, counts in self.run.counts.items() if not any(counts[each] for each in COMPARED)]
            others = f"on {', '.join(empty)}; {sentence}" if len(empty) < len(self.targets) else ""
            return ModelLabel.NOTHING_TESTED.value, f"no result could be compared {others}".rstrip()
        if self.repair is not None and self.repair.nodes and (self.repair.is_complete or self.repair.needs_session):
            special = any(each.status == "special" for each in self.record.executions)
            left = "; what special values alone show may be left: --strict counts it, too" if special else ""
            made = ModelLabel.NEEDS_SESSION_OPTION if self.repair.needs_session else ModelLabel.REPAIRED
            return made.value, f"{self.repair.sentence}{left}"
        if self.upgrade is None or any(node.excluded for node in self.nodes):
            return label, sentence
        label, reasons = self.upgrade.decision.value, [self.upgrade.reason]
        for state in NodeState:
            of_state = [each for each in self.wrong_on_both.values() if each.state is state]
            reasons += [f"{plural(len(of_state), 'node')} {_on_both(of_state)}"] if of_state else []
        if outside := len(self.outside_profile):
            reasons.append(f"{plural(outside, 'node is', 'nodes are')} outside SONNX's profile")
            label = label if self.upgrade.exit_code else f"{ModelLabel.OUTSIDE_PROFILE.value}, {label}"
        return label, "; ".join([*reasons, *self._notes([self.upgrade.head])])

    def _notes(self, targets: Sequence[str]) -> list[str]:
        """Whether what fails does so in a session with the default options, and what could not be run."""
        failing = [each for each in self.record.executions if each.target in targets and each.unexpected]
        is_right = bool(failing) and all(level_of(each.variant) != "default" for each in failing)
        note = ["right here at the default level of optimization, which sessions use"] * is_right
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
        empty = [model.model.path.name for model in self.models if all(node.maker is None for node in model.nodes)]
        parts += [f"no MaxPool in {', '.join(empty)}"] if empty else []
        passed = ModelLabel.ACCEPTED if NodeState.ACCEPTED in found else ModelLabel.CONFORMS
        label = ModelLabel.OUTSIDE_PROFILE.value if outside else passed.value
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
