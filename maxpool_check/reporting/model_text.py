"""The tests of a user's models for a terminal: a table of the nodes, what is wrong, and what to do."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from maxpool_check import inert
from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis, node_of
from maxpool_check.models.cases import values_of
from maxpool_check.reporting.findings import Finding, sentence
from maxpool_check.reporting.model_report import ModelReport
from maxpool_check.reporting.model_tables import DECISIONS, print_nodes
from maxpool_check.reporting.model_words import cut, example, right_at, seen, shortened, state_of
from maxpool_check.reporting.text import styled, terminal
from maxpool_check.words import plural

_IN_FULL = 3
"""So many findings are shown with their values; the others take a line each."""


def write(report: ModelReport, file: TextIO) -> None:
    """Write the whole report."""
    with terminal(file, report.width, report.color) as console:
        for problem in report.run.problems:
            console.print(f"[bold red]ERROR[/]  {escape(inert.block(problem))}", soft_wrap=True)
        for target in report.record.header.targets:
            console.print(f"[bold]{styled(target.name)}[/]  {styled(target.software())}", soft_wrap=True)
        for model in report.models:
            _model(console, report, model)
        _findings(console, report)
        _special(console, report)
        _unseen(console, report)
        _profile(console, report)
        _notes(console, "Open in ONNX's text", ((each.node.name, each.open_points) for each in _nodes(report)))
        _upgrade(console, report)
        label, text = report.result
        console.print(f"[{_style(report)}]{styled(label)}[/]  {styled(text)}", soft_wrap=True)
        for line in following(report):
            console.print(f"Next: {styled(line)}", soft_wrap=True)


def _style(report: ModelReport) -> str:
    if report.upgrade is not None and report.result[0] in Decision.__members__:
        is_clean = report.upgrade.decision is not Decision.SAFE or not report.wrong_on_both
        return DECISIONS[report.upgrade.decision if is_clean else Decision.REVIEW]
    return "bold red" if report.exit_code else "bold green"


def _nodes(report: ModelReport) -> Iterator[NodeAnalysis]:
    for model in report.models:
        yield from model.nodes


def _model(console: Console, report: ModelReport, model: ModelAnalysis) -> None:
    judged = list(dict.fromkeys(each.maker.document.title for each in model.nodes if each.maker is not None))
    count = plural(sum(each.maker is not None for each in model.nodes), "MaxPool node")
    by = f", judged by {' and '.join(judged)}" if judged else ""
    console.print(
        f"\n[bold]{styled(str(model.model.path))}[/]  operator set {model.model.opset}, {count}{styled(by)}",
        soft_wrap=True,
    )
    for note in model.notes:
        console.print(Padding(styled(note), (0, 0, 0, 2), expand=False))
    for target in report.targets:
        why = report.test.not_in_place.get((target, model.model.name))
        if why is not None:
            console.print(Padding(styled(f"not run as a model on {target}: {why}"), (0, 0, 0, 2), expand=False))
    if model.nodes and report.targets:
        console.print()
        print_nodes(console, report, model)
    for result in report.untested:
        # What the analysis says is in the table.
        if result.node in model.nodes and not result.node.untested:
            text = f"{result.node.node.name} is not tested on {result.target}: {result.why_untested}"
            console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
    console.print()


def _findings(console: Console, report: ModelReport) -> None:
    """What fails: its title, where it was seen, the smallest execution that shows it."""
    # Of an upgrade, the changes say what the base does.
    head = report.upgrade.head if report.upgrade is not None else None
    findings = [each for each in report.run.unexpected if head in (None, each.target)]
    for number, finding in enumerate(findings):
        name = finding.defect.id if finding.defect is not None else ", ".join(finding.kinds)
        nodes = _listed(_names(report, finding))
        console.print(
            f"[bold red]{state_of(finding).value}[/]  [bold]{styled(name)}[/]  {styled(nodes)} on {styled(finding.target)}"
            f" ({finding.severity.value})"
        )
        if number >= _IN_FULL and not report.verbose:
            console.print()
            continue
        titles = [finding.title] if finding.defect is not None else list(map(sentence, finding.kinds))
        mechanism = [" ".join(finding.defect.reason.split())] if finding.defect is not None and report.verbose else []
        versions = [report.test.versions[name]] if name in report.test.versions else []
        of_target = (each for each in report.record.executions if each.target == finding.target)
        right = right_at(finding, of_target)
        for text in filter(None, (*titles, *mechanism, *versions, f"{seen(finding)} {right}")):
            console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
        for line in shortened(example(finding)):
            console.print(f"    {styled(line)}", soft_wrap=True)
        console.print()


def _names(report: ModelReport, finding: Finding) -> list[str]:
    """The nodes of a finding as the models call them."""
    concerned = {node_of(case) for case in finding.cases}
    return [name for node, name in _all_names(report).items() if node in concerned]


def _all_names(report: ModelReport) -> dict[str, str]:
    """The names of all nodes by the part of their cases' ids; with that of their model if there are several."""
    several = len(report.models) > 1
    return {
        node: f"{model.model.name}:{each.node.name}" if several else each.node.name
        for model in report.models
        for node, each in model.by_id.items()
    }


def _special(console: Console, report: ModelReport) -> None:
    """What is wrong on special values alone."""
    failing = {(each.defect.id, each.target) for each in report.run.unexpected if each.defect is not None}
    special = [
        each for each in report.run.special if each.defect is None or (each.defect.id, each.target) not in failing
    ]
    if not special:
        return
    console.print("[bold]Wrong on special values alone[/]  they do not concern you if these values never get there")
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for finding in special:
        name = finding.defect.id if finding.defect is not None else f"{', '.join(finding.kinds)} (no known defect)"
        values = dict.fromkeys(values_of(case).short for case in finding.cases)
        rows[name, f"on {', '.join(values)}", _listed(_names(report, finding))].append(finding.target)
    _grid(console, report, rows)
    for finding in special if report.verbose else ():
        console.print(Padding(styled(finding.title), (0, 0, 0, 2), expand=False))
        for line in shortened(finding.smallest):
            console.print(f"    {styled(line)}", soft_wrap=True)
        console.print()


def _unseen(console: Console, report: ModelReport) -> None:
    """The known defects that can reach a node, and that no execution showed."""
    nodes: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    names = _all_names(report)
    for (target, node), result in report.results.items():
        for reach in result.unseen:
            nodes[reach.defect.id, reach.needs, target].append(names[node])
    if not nodes:
        return
    console.print("[bold]Known defects that can reach a node, not seen with the values tested[/]")
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (name, needs, target), listed in nodes.items():
        rows[name, f"needs {needs}" if needs else "", _listed(listed)].append(target)
    _grid(console, report, rows)


def _grid(console: Console, report: ModelReport, rows: Mapping[tuple[str, str, str], Sequence[str]]) -> None:
    """A line for each row; with its targets if there are several, and not all of them have it."""
    table = Table.grid(padding=(0, 2))
    # The first column is the indentation. What people copy, the id, stays whole.
    table.add_column(width=0)
    table.add_column(no_wrap=True)
    for _ in range(3):
        table.add_column(overflow="fold")
    for row, targets in rows.items():
        on = "" if len(targets) == len(report.targets) else f"on {', '.join(targets)}"
        table.add_row("", *map(styled, (*row, on)))
    console.print(table)
    console.print()


def _listed(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(map(cut, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _profile(console: Console, report: ModelReport) -> None:
    """The conditions of SONNX that nodes break, and what would fix it."""
    rows: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for node in _nodes(report):
        for each in node.profile:
            rows[each.short, each.clause, each.message, each.fix].append(node.node.name)
    if not rows:
        return
    if not (report.verbose or report.checks_profile):
        shorts = ", ".join(dict.fromkeys(short for short, *_ in rows))
        console.print(
            f"[dim]Outside SONNX's profile by {styled(shorts)}; -v says why, and what would fix it[/]\n", soft_wrap=True
        )
        return
    console.print("[bold]Outside SONNX's profile[/]")
    for (_, clause, message, fix), nodes in rows.items():
        console.print(Padding(styled(f"{clause}: {message} ({_listed(nodes)})"), (0, 0, 0, 2), expand=False))
        console.print(Padding(styled(f"fix: {fix}"), (0, 0, 0, 4), expand=False))
    console.print()


def _notes(console: Console, heading: str, notes: Iterable[tuple[str, Sequence[str]]]) -> None:
    rows: dict[str, list[str]] = defaultdict(list)
    for name, sentences in notes:
        for each in sentences:
            rows[each].append(name)
    if rows:
        console.print(f"[bold]{styled(heading)}[/]")
        for text, names in rows.items():
            console.print(Padding(styled(f"{_listed(names)}: {text}"), (0, 0, 0, 2), expand=False))
        console.print()


def _upgrade(console: Console, report: ModelReport) -> None:
    """What has changed, and how the models' own outputs differ."""
    upgrade = report.upgrade
    if upgrade is None:
        return
    for group in upgrade.comparison.groups:
        nodes = list(dict.fromkeys(node_of(case).partition(":")[2] for case in group.cases))
        causes = " -> ".join(
            defect or ", ".join(kinds) or "conforms" for defect, kinds in zip(group.defects, group.kinds, strict=True)
        )
        console.print(f"[bold]{group.change.value}[/]  {styled(causes)}  {styled(_listed(nodes))}")
        for label, execution in (("base", group.smallest.old), ("head", group.smallest.new)):
            if execution is not None:
                cells = "".join(f": {cell}" for cell in execution.cells[:1])
                console.print(f"    {styled(f'{label}: {execution.verdict.value}{cells}')}", soft_wrap=True)
    changed = {each.change.value for changes in upgrade.special.values() for each in changes}
    if changed:
        listed = _listed([name.partition(":")[2] for name in upgrade.special])
        text = f"On special values alone ({', '.join(sorted(changed))}): {listed}; --strict counts them"
        console.print(f"[dim]{styled(text)}[/]", soft_wrap=True)
    if upgrade.outputs:
        console.print("[bold]Outputs of the models, base against head[/]  no verdict: other nodes compute them, too")
        for each in upgrade.outputs:
            console.print(f"  {styled(f'{each.model}: {each}')}", soft_wrap=True)
    console.print()


def following(report: ModelReport) -> Iterator[str]:
    """What the user can do next."""
    for finding in report.run.unexpected[:1] if report.exit_code else ():
        cases = [each for each in finding.executions if "/in-place/" not in each.case]
        # Values that a case file can make come before those that flow in the model.
        cases.sort(key=lambda each: each.case.endswith("/flows"))
        for execution in cases[:1]:
            path = execution.origin.rpartition(":")[0]
            case = f"{path}:{execution.case.partition(':')[2]}"
            words = ["maxpool-check", "repro", case, "-t", finding.target, *report.inputs, "-o", "repro"]
            yield shlex.join(words)
        if finding.defect is not None:
            yield shlex.join(["maxpool-check", "defects", finding.defect.id])
