"""The table of the MaxPool nodes of a model for a terminal; on a narrow one, a paragraph for each node."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState
from maxpool_check.reporting.model_words import attributes, between, cut, input_type, profile_of
from maxpool_check.reporting.text import styled

_OTHER = 10
"""The columns that any other cell takes at least."""

_NAME = 32
"""The columns that names take at least, where they are so long."""

_GAP = 2
"""The blanks between two columns."""

_RESULT = 16
"""The columns that a result takes at least; more if a word of it is longer, such as the id of a defect, which people copy."""

_STYLES = {
    NodeState.CONFORMS: "green",
    NodeState.SPECIAL: "yellow",
    NodeState.ACCEPTED: "yellow",
    NodeState.NOT_TESTED: "yellow",
}
DECISIONS = {Decision.SAFE: "bold green", Decision.REVIEW: "bold yellow", Decision.BLOCK: "bold red"}
"""The styles of decisions."""


def print_nodes(console: Console, report: ModelReport, model: ModelAnalysis) -> None:
    """Print the nodes of a model, with their result on each target: as a table if there is room for it."""
    headings = ["node", "MaxPool", "between", "input", "SONNX", *_heads(report)]
    rows = [[styled(cut(_name(node))), *_cells(report, name, node)] for name, node in model.by_id.items()]
    results = [
        _OTHER if head == "decision" else max(_RESULT, *(_longest_word(row[number]) for row in rows))
        for number, head in enumerate(headings[5:], 5)
    ]
    least = [_name_width(model), *[_OTHER] * 4, *results]
    room = console.width - _GAP * len(headings)
    if room < sum(least):
        for name, *cells in rows:
            console.print(f"[bold]{name}[/]")
            for heading, cell in zip(headings[1:], cells, strict=True):
                console.print(Padding(f"{heading}: {cell}", (0, 0, 0, 2), expand=False))
        return
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for heading, width in zip(headings, _widths(headings, rows, least, room), strict=True):
        table.add_column(heading, overflow="fold", width=width)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]], least: Sequence[int], room: int) -> list[int]:
    """The widths of columns: as their cells need, or less where there is no room, the widest first. ``rows`` are in rich's markup."""
    columns = zip(headings, *rows, strict=True)
    widths = [max(Text.from_markup(cell).cell_len for cell in column) for column in columns]
    while sum(widths) > room:
        _, widest = max((width, number) for number, width in enumerate(widths) if width > least[number])
        widths[widest] -= 1
    return widths


def _longest_word(cell: str) -> int:
    """The columns of the longest word of a cell in rich's markup."""
    return max((len(word) for word in Text.from_markup(cell).plain.split()), default=0)


def _name_width(model: ModelAnalysis) -> int:
    """The columns that the names of nodes take at least."""
    return min(max(len(cut(_name(node))) for node in model.nodes), _NAME)


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
    # The reason takes lines of its own, below the table.
    text = result.state.value if result.state is NodeState.NOT_TESTED else result.summary
    return f"[{_STYLES.get(result.state, 'bold red')}]{styled(text)}[/]"
