"""The page of a user's models: each MaxPool node with its result, what is wrong, what can reach it, and what SONNX says of it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TextIO

from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis, Reach
from maxpool_check.reporting.html.page import write_page
from maxpool_check.reporting.html.views import FindingView, filters
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState
from maxpool_check.reporting.model_words import attributes, between, input_type, profile_of, seen, state_of

_LOOKS = {
    NodeState.CONFORMS: "good",
    NodeState.SPECIAL: "REVIEW",
    NodeState.ACCEPTED: "REVIEW",
    NodeState.NOT_TESTED: "",
}
"""The classes of states in the style sheet; any other state is bad."""


@dataclass(frozen=True)
class Shown:
    """A text in a table, and its class in the style sheet."""

    text: str
    look: str


@dataclass(frozen=True)
class NodeRow:
    """A node in the table: its name and attributes, its result on each target, and the decision on it."""

    name: str
    cells: Sequence[str]
    results: Sequence[Shown]
    decision: Shown | None
    reason: str


@dataclass(frozen=True)
class Wrong:
    """What is wrong with nodes: the finding, the state it means, and how and with which values it was seen."""

    view: FindingView
    label: str
    seen: str


class ModelPage:
    """What the page of models shows."""

    def __init__(self, report: ModelReport) -> None:
        self.report = report

    @property
    def title(self) -> str:
        """The names of the models."""
        return ", ".join(model.model.path.name for model in self.report.models)

    def rows(self, model: ModelAnalysis) -> list[NodeRow]:
        """The nodes of a model."""
        return [self._row(name, node) for name, node in model.by_id.items()]

    def _row(self, name: str, node: NodeAnalysis) -> NodeRow:
        where = "" if node.node.where == "main graph" else f" ({node.node.where})"
        results = [_result(self.report.results[target, name]) for target in self.report.targets]
        cells = (attributes(node), between(node), input_type(node), profile_of(node))
        made = None if self.report.upgrade is None else self.report.upgrade.nodes.get(name)
        decision = None if made is None else Shown(made.decision.value, made.decision.value)
        return NodeRow(f"{node.node.name}{where}", cells, results, decision, self.report.reason(name))

    def not_in_place(self, model: ModelAnalysis) -> list[tuple[str, str]]:
        """The targets on which the model was not run as a whole, with the reason."""
        found: Mapping[tuple[str, str], str] = self.report.test.not_in_place
        return [(target, why) for (target, name), why in found.items() if name == model.model.name]

    @cached_property
    def wrong(self) -> list[Wrong]:
        """What is wrong, first what fails, then what special values alone show, then what the user accepts."""
        run = self.report.run
        accepted = [each for each in run.findings if each.is_expected]
        targets = {target.name: target for target in self.report.record.header.targets}
        labels = [*((each, state_of(each).value) for each in run.unexpected)]
        labels += [
            *((each, "special values alone") for each in run.special),
            *((each, "accepted") for each in accepted),
        ]
        return [
            Wrong(FindingView(finding, targets[finding.target], self.report.record), label, seen(finding))
            for finding, label in labels
        ]

    @property
    def filters(self) -> dict[str, list[str]]:
        """The values of each filter that occur; empty if there is nothing to filter."""
        return filters([each.view for each in self.wrong])

    @property
    def unseen(self) -> list[tuple[str, str, Reach]]:
        """The known defects that can reach a node of a target and that no execution showed."""
        return [
            (result.node.node.name, target, reach)
            for (target, _), result in self.report.results.items()
            for reach in result.unseen
        ]

    @property
    def nodes(self) -> list[NodeAnalysis]:
        """The nodes of all models."""
        return [node for model in self.report.models for node in model.nodes]

    @property
    def command(self) -> str:
        """The command line; empty if the record does not have it."""
        return shlex.join(self.report.record.header.command)


def write(report: ModelReport, file: TextIO) -> None:
    """Write the page of models."""
    page = ModelPage(report)
    write_page("model.html", file, {"page": page, "report": report, "header": report.record.header})


def _result(result: NodeResult) -> Shown:
    if result.node.untested and not result.node.excluded:
        return Shown(result.node.untested, "")
    return Shown(result.summary, _LOOKS.get(result.state, "bad"))
