"""The tests of a user's models for a terminal: a table of the nodes, what is wrong, and what to do."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis, node_of
from maxpool_check.models.cases import values_of
from maxpool_check.reporting.findings import Finding, sentence
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState
from maxpool_check.reporting.model_words import attributes, between, input_type, profile_of, seen, shortened, state_of
from maxpool_check.reporting.text import styled, terminal
from maxpool_check.words import plural

_IN_FULL = 3
"""So many findings are shown with their values; the others take a line each."""

_STYLES = {
    NodeState.CONFORMS: "green",
    NodeState.SPECIAL: "yellow",
    NodeState.ACCEPTED: "yellow",
    NodeState.NOT_TESTED: "yellow",
}
_DECISIONS = {Decision.SAFE: "bold green", Decision.REVIEW: "bold yellow", Decision.BLOCK: "bold red"}


def write(report: ModelReport, file: TextIO) -> None:
    """Write the whole report."""
    with terminal(file, report.width, report.color) as console:
        for target in report.record.header.targets:
            about = f"{target.distribution} {target.version}, {target.provider}, Python {target.python}"
            console.print(f"[bold]{styled(target.name)}[/]  {styled(about)}", soft_wrap=True)
        for model in report.models:
            _model(console, report, model)
        _findings(console, report)
        _special(console, report)
        _unseen(console, report)
        _profile(console, report)
        _notes(console, "Open in ONNX's text", ((each.node.name, each.open_points) for each in _nodes(report)))
        _upgrade(console, report)
        for problem in report.run.problems:
            console.print(f"[bold red]ERROR[/]  {styled(problem)}", soft_wrap=True)
        label, text = report.result
        console.print(f"[{_style(report)}]{styled(label)}[/]  {styled(text)}", soft_wrap=True)
        for line in following(report):
            console.print(f"Next: {styled(line)}", soft_wrap=True)


def _style(report: ModelReport) -> str:
    if report.upgrade is not None and report.result[0] in Decision.__members__:
        return _DECISIONS[report.upgrade.decision]
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
    if model.nodes:
        console.print()
        console.print(_table(report, model))
        console.print()


def _table(report: ModelReport, model: ModelAnalysis) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("node", overflow="fold", ratio=3)
    table.add_column("MaxPool", overflow="fold", ratio=3)
    table.add_column("between", overflow="fold", ratio=2)
    table.add_column("input", overflow="fold", ratio=3)
    table.add_column("SONNX", overflow="fold", ratio=2)
    for target in report.targets:
        table.add_column(styled(target) if len(report.targets) > 1 else "result", overflow="fold", ratio=3)
    if report.upgrade is not None:
        table.add_column("decision", overflow="fold")
    for name, node in model.by_id.items():
        results = [_state(report.results[target, name]) for target in report.targets]
        decision = []
        if report.upgrade is not None:
            made = report.upgrade.nodes.get(name)
            decision = ["" if made is None else f"[{_DECISIONS[made.decision]}]{made.decision.value}[/]"]
        where = "" if node.node.where == "main graph" else f" ({node.node.where})"
        columns = (node.node.name + where, attributes(node), between(node), input_type(node), profile_of(node))
        table.add_row(*map(styled, columns), *results, *decision)
    return table


def _state(result: NodeResult) -> str:
    if result.node.untested:
        return styled(result.node.untested)
    style = _STYLES.get(result.state, "bold red")
    names = f" {styled(', '.join(result.names))}" if result.names and result.state is not NodeState.SPECIAL else ""
    word = (
        f"conforms except on {', '.join(result.special)}" if result.state is NodeState.SPECIAL else result.state.value
    )
    return f"[{style}]{word}[/]{names}"


def _findings(console: Console, report: ModelReport) -> None:
    """What fails: its title, where it was seen, the smallest execution that shows it."""
    findings = report.run.unexpected
    for number, finding in enumerate(findings):
        name = finding.defect.id if finding.defect is not None else ", ".join(finding.kinds)
        nodes = ", ".join(_names(report, finding))
        console.print(
            f"[bold red]{state_of(finding).value}[/]  [bold]{styled(name)}[/]  {styled(nodes)} on {styled(finding.target)}"
            f" ({finding.severity.value})"
        )
        if number >= _IN_FULL and not report.verbose:
            continue
        titles = [finding.title] if finding.defect is not None else list(map(sentence, finding.kinds))
        mechanism = [" ".join(finding.defect.reason.split())] if finding.defect is not None and report.verbose else []
        versions = [report.test.versions[name]] if name in report.test.versions else []
        for text in (*titles, *mechanism, *versions, seen(finding)):
            console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
        for line in shortened(finding.smallest):
            console.print(f"    {styled(line)}", soft_wrap=True)
        console.print()


def _names(report: ModelReport, finding: Finding) -> list[str]:
    """The nodes of a finding as the models call them."""
    names = {name: each.node.name for model in report.models for name, each in model.by_id.items()}
    return list(dict.fromkeys(names[node_of(case)] for case in finding.cases))


def _special(console: Console, report: ModelReport) -> None:
    """What is wrong on special values alone."""
    failing = {(each.defect.id, each.target) for each in report.run.unexpected if each.defect is not None}
    special = [
        each
        for each in report.run.findings
        if each.is_special and (each.defect is None or (each.defect.id, each.target) not in failing)
    ]
    if not special:
        return
    console.print("[bold]Wrong on special values alone[/]  they do not concern you if these values never get there")
    rows: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in special:
        name = finding.defect.id if finding.defect is not None else ", ".join(finding.kinds)
        rows[name, finding.target].append(finding)
    lines = []
    for (name, target), findings in rows.items():
        values = dict.fromkeys(values_of(case).short for finding in findings for case in finding.cases)
        nodes = dict.fromkeys(node for finding in findings for node in _names(report, finding))
        lines.append((name, f"on {', '.join(values)}", _listed(list(nodes)), target))
    _grid(console, lines)


def _unseen(console: Console, report: ModelReport) -> None:
    """The known defects that can reach a node, and that no execution showed."""
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (target, _), result in report.results.items():
        for reach in result.unseen if result.executions else result.reach:
            rows[reach.defect.id, reach.needs, target].append(result.node.node.name)
    if not rows:
        return
    console.print("[bold]Known defects that can reach a node, not seen with the values tested[/]")
    lines = [
        (name, f"needs {needs}" if needs else "", _listed(nodes), target)
        for (name, needs, target), nodes in rows.items()
    ]
    _grid(console, lines)


def _grid(console: Console, lines: Sequence[tuple[str, str, str, str]]) -> None:
    table = Table.grid(padding=(0, 2))
    for _ in range(4):
        table.add_column(overflow="fold")
    for line in lines:
        table.add_row(*map(styled, line))
    console.print(Padding(table, (0, 0, 1, 2), expand=False))


def _listed(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


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
            yield shlex.join(["maxpool-check", "repro", case, "-t", finding.target, "-o", "repro"])
        if finding.defect is not None:
            yield shlex.join(["maxpool-check", "defects", finding.defect.id])
