"""The table of the MaxPool nodes of a model for a terminal; on a narrow one, a paragraph for each node."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table

from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState
from maxpool_check.reporting.model_words import attributes, between, cut, input_type, profile_of
from maxpool_check.reporting.text import styled

_NARROW = 90
"""Below so many columns there is no table."""

_NAME = 32
"""The columns that names take at least, where they are so long."""

_RESULT = 16
"""The columns that a result takes at least: the id of most defects."""

_STYLES = {
    NodeState.CONFORMS: "green",
    NodeState.SPECIAL: "yellow",
    NodeState.ACCEPTED: "yellow",
    NodeState.NOT_TESTED: "yellow",
}
DECISIONS = {Decision.SAFE: "bold green", Decision.REVIEW: "bold yellow", Decision.BLOCK: "bold red"}
"""The styles of decisions."""


def print_nodes(console: Console, report: ModelReport, model: ModelAnalysis) -> None:
    """Print the nodes of a model, with their result on each target."""
    headings = ["MaxPool", "between", "input", "SONNX"]
    if console.width < _NARROW:
        for name, node in model.by_id.items():
            console.print(f"[bold]{styled(cut(_name(node)))}[/]")
            for heading, cell in zip([*headings, *_heads(report)], _cells(report, name, node), strict=True):
                console.print(Padding(f"{heading}: {cell}", (0, 0, 0, 2), expand=False))
        return
    console.print(_table(report, model, headings))


def _table(report: ModelReport, model: ModelAnalysis, headings: Sequence[str]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    longest = max(len(cut(_name(node))) for node in model.nodes)
    table.add_column("node", overflow="fold", min_width=min(longest, _NAME))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for heading in _heads(report):
        table.add_column(heading, overflow="fold", min_width=_RESULT)
    for name, node in model.by_id.items():
        table.add_row(styled(cut(_name(node))), *_cells(report, name, node))
    return table


def _heads(report: ModelReport) -> list[str]:
    """The headings of the columns of targets, and of the decision."""
    if report.upgrade is not None:
        return ["base", "head", "decision"]
    if len(report.targets) < 2:
        return ["result"] * len(report.targets)
    runtimes = {target.partition("==")[0] for target in report.targets}
    return [
        styled(target.partition("==")[2] or target) if len(runtimes) == 1 else styled(target)
        for target in report.targets
    ]


def _cells(report: ModelReport, name: str, node: NodeAnalysis) -> list[str]:
    cells = [styled(text) for text in (attributes(node), between(node), input_type(node), profile_of(node))]
    cells += [_state(report.results[target, name]) for target in report.targets]
    if report.upgrade is not None:
        made = report.upgrade.nodes.get(name)
        cells.append("" if made is None else f"[{DECISIONS[made.decision]}]{made.decision.value}[/]")
    return cells


def _name(node: NodeAnalysis) -> str:
    return node.node.name + ("" if node.node.where == "main graph" else f" ({node.node.where})")


def _state(result: NodeResult) -> str:
    if result.node.untested and not result.node.excluded:
        return styled(result.node.untested)
    return f"[{_STYLES.get(result.state, 'bold red')}]{styled(result.summary)}[/]"
