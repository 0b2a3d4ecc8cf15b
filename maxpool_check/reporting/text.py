"""The report of a run for a terminal: what is wrong, by kinds; a table; the verdict; what to do next."""

import contextlib
import io
import shlex
from collections import defaultdict
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from maxpool_check import inert
from maxpool_check.reporting.findings import Finding, explained, sentence
from maxpool_check.reporting.interpretations import interpretations, profiles
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.shapes import axis_lines
from maxpool_check.reporting.tensors import coordinates, planes, window_cells, window_text
from maxpool_check.results.record import Execution, ExitCode, Record, Verdict
from maxpool_check.words import plural

_IN_FULL = 4  # The other findings take a line each.
_STYLES = {
    Verdict.CONFORMS: "green",
    Verdict.DIVERGES: "red",
    Verdict.REFUSES: "yellow",
    Verdict.CRASHES: "bold red",
    Verdict.TIMES_OUT: "bold red",
    Verdict.INCONSISTENT: "yellow",
}
_NEXT: dict[int, str] = {
    ExitCode.UNEXPECTED: "correct the file of defects and run again",
    ExitCode.INCOMPLETE: "maxpool-check targets --check shows which installed runtimes start",
    ExitCode.NOTHING_COMPARED: "maxpool-check list PATH lists the cases",
}


@contextlib.contextmanager
def terminal(file: TextIO, width: int, color: bool = False) -> Iterator[Console]:
    """A console whose output is written to a file at the end, without blanks at the ends of lines.

    What it prints of others is :func:`styled`.
    """
    buffer = io.StringIO()
    yield Console(file=buffer, width=width, force_terminal=color, no_color=not color, highlight=False, emoji=False)
    # A long text is broken anywhere.
    file.write(inert.no_command("\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))))


def styled(text: str) -> str:
    """One line of foreign text, in rich's markup."""
    return escape(inert.line(text))


def write(report: RunReport, file: TextIO) -> None:
    """Write the whole report."""
    with terminal(file, report.width, report.color) as console:
        _render(console, report)


def _render(console: Console, report: RunReport) -> None:
    record = report.record
    for target in record.header.targets:
        about = [f"{target.distribution} {target.version}", target.provider, f"Python {target.python}"]
        if target.newest_opset is not None:
            about.append(f"operator sets to {target.newest_opset}")
        console.print(f"[bold]{styled(target.name)}[/]  {styled(', '.join(about))}", soft_wrap=True)
    for specs, policies in profiles(record):
        listed = ", ".join(f"{point} {interpretation}" for point, interpretation in policies.items())
        console.print(f"[dim]{styled(' '.join(specs))}: {styled(listed or 'nothing left open')}[/]", soft_wrap=True)
    console.print()
    in_full = report.unexpected if report.verbose else report.unexpected[:_IN_FULL]
    for finding in in_full:
        _finding(console, finding, report)
    known = [finding for finding in report.findings if finding.is_expected]
    _others(console, report.unexpected[len(in_full) :], "Also unexpected" if in_full else "Unexpected")
    _others(console, report.special, "Wrong on special values alone, which may never reach the node of the model")
    _others(console, report.inconsistent, "Inconsistent: the document allows each output, but variants differ")
    _defects(console, known)
    for finding in [*report.inconsistent, *known] if report.verbose else []:
        _finding(console, finding, report)
    for entry in report.outdated:
        text = styled(f"{entry.id} on {entry.target}: {entry.message}")
        console.print(f"[bold red]{entry.status.value.upper()}[/]  {text}\n")
    _errors(console, record)
    if record.header.targets:
        console.print(_table(report))
        console.print()
    _interpretations(console, record)
    _result(console, report)
    if following := _next(report):
        console.print(f"Next: {styled(following)}", soft_wrap=True)


def _finding(console: Console, finding: Finding, report: RunReport) -> None:
    smallest = finding.smallest
    label = "KNOWN" if finding.is_expected else finding.status.upper()
    label += f"  {finding.defect.id}" if finding.defect is not None else ""
    console.print(
        f"[bold {'red' if finding.is_unexpected else 'yellow'}]{styled(label)}[/]  "
        f"[bold]{styled(', '.join(finding.kinds))}[/]  "
        f"{plural(len(finding.cases), 'case')} on {styled(finding.target)} ({finding.severity.value})"
    )
    if finding.defect is not None:
        for text in (finding.title, " ".join(finding.defect.reason.split())):
            console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
    for text in (*map(sentence, finding.kinds), f"{smallest.case} ({smallest.variant}): {smallest.title}"):
        console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
    for line in details(smallest):
        console.print(f"    {styled(line)}", soft_wrap=True)
    command = ["maxpool-check", "run", _file(smallest), "-t", finding.target, "-k", smallest.case]
    command += ["--no-known"] if report.record.header.known_sha256 is None else []
    if _is_model(smallest):
        command = ["maxpool-check", "model", _file(smallest), "-t", finding.target]
    console.print(f"  [dim]{styled(shlex.join(command))}[/]\n", soft_wrap=True)


def details(execution: Execution) -> list[str]:
    """One execution, with X, the window of its first wrong cell in brackets, and every cell of the evidence."""
    lines: list[str] = []
    data = execution.input
    if data is not None:
        settings = ", ".join(f"{name}={value}" for name, value in data.attributes.items())
        policies = "".join(f"  {point}: {interpretation}" for point, interpretation in data.policies.items())
        lines.append(f"{data.dtype} X{coordinates(data.shape)}  {settings}{policies}")
        lines += [f"  {node}" for node in data.graph]
        if data.entering is not None:
            into = f"into MaxPool: {data.entering.dtype} {coordinates(data.entering.shape)}"
            lines.append(f"{into}; Y and Indices below are those of MaxPool")
        if execution.translation:
            lines.append(f"translation: {'; '.join(execution.translation)}")
        pooled = data.pooled
        if pooled.values is not None and execution.cells:
            cell = execution.cells[0]
            marked = window_cells(cell.at, cell.window, execution.layout)
            drawing = planes(pooled.values, pooled.shape, marked, execution.layout, only_marked=True)
            lines += [f"  {line}" for line in drawing]
    for cell in execution.cells:
        where = f"{cell.output}{coordinates(cell.at)}"
        lines.append(f"{where}  {window_text(cell.window)}: expected {cell.expected}, got {cell.got}  ({cell.kind})")
    if not execution.cells:
        lines.append(" ".join(execution.message.split()))
    lines += axis_lines(execution.shapes, execution.spec)
    lines += explained(execution.causes, execution.counts)
    total = sum(execution.counts.values())
    if total > len(execution.cells):
        lines.append(f"... {plural(total, 'wrong cell')} in total")
    return lines


def _others(console: Console, findings: list[Finding], heading: str) -> None:
    """A line for findings of the same kinds on one target."""
    rows: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        rows[finding.target, finding.kinds, finding.limit].append(finding)
    if not rows:
        return
    console.print(f"[bold]{heading}[/]")
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3)
    table.add_column(justify="right", no_wrap=True)
    for first, *others in rows.values():
        name = styled(first.smallest.case)
        cases = {case for finding in (first, *others) for case in finding.cases}
        kinds = styled(", ".join(first.kinds) + (" (a limit)" if first.limit else ""))
        table.add_row(name, kinds, plural(len(cases), "case"))
    console.print(Padding(table, (0, 0, 1, 2), expand=False))


def _defects(console: Console, findings: list[Finding]) -> None:
    """A line for each known defect: id, severity, title, number of cases."""
    if not findings:
        return
    console.print("[bold]Known defects[/]")
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", ratio=2)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=4)
    table.add_column(justify="right", no_wrap=True)
    for finding in findings:
        name = finding.defect.id if finding.defect is not None else ", ".join(finding.kinds)
        cells = (name, finding.severity.value, finding.title, plural(len(finding.cases), "case"))
        table.add_row(*map(styled, cells))
    console.print(Padding(table, (0, 0, 1, 2), expand=False))


def _errors(console: Console, record: Record) -> None:
    errors = [execution for execution in record.executions if execution.verdict == Verdict.ERROR]
    for execution in errors[:3]:
        text = f"{execution.case} on {execution.target}: {execution.message}"
        console.print(f"[bold red]ERROR[/]  {escape(inert.block(text))}")
        if execution.traceback:
            console.print(escape(inert.block(execution.traceback)), soft_wrap=True)
    if len(errors) > 3:
        console.print(f"  ... {len(errors)} executions failed in total")
    if errors:
        console.print()


def _table(report: RunReport) -> Table:
    verdicts = [verdict for verdict in Verdict if verdict is Verdict.CONFORMS or report.totals[verdict]]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("target", overflow="fold")
    for verdict in verdicts:
        table.add_column(verdict.value, justify="right", style=_STYLES.get(verdict, ""))
    for target in report.record.header.targets:
        table.add_row(styled(target.name), *[str(report.counts[target.name][verdict]) for verdict in verdicts])
    return table


def _interpretations(console: Console, record: Record) -> None:
    """What the results show of points that documents leave open, a line for each target and point."""
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for observed in interpretations(record):
        if not observed.translated:
            lines[observed.target, observed.point].append(f"{observed.text} ({observed.variant})")
    for (target, point), observations in lines.items():
        text = f"Unspecified behaviour of {target}: {point}: {', '.join(observations)}"
        console.print(f"[dim]{styled(text)}[/]")
    if lines:
        console.print()


def _result(console: Console, report: RunReport) -> None:
    label, text = report.result
    if report.record.footer is not None and label == "INCOMPLETE":
        for problem in report.problems or [text]:
            console.print(f"[bold red]{label}[/]  {escape(inert.block(problem))}")
        return
    style = "green" if label == "CONFORMS" else "yellow" if report.passed else "red"
    cases = plural(report.record.header.cases, "case")
    size = f"{plural(len(report.record.executions), 'execution')} of {cases}"
    console.print(f"[bold {style}]{label}[/]  {styled(text)} ({size})")


def _next(report: RunReport) -> str:
    """What the user can do next; empty if there is nothing."""
    if report.record.footer is None:
        return ""
    if report.exit_code == ExitCode.UNEXPECTED and report.unexpected:
        finding = report.unexpected[0]
        case = f"{_file(finding.smallest)}:{finding.smallest.case.rpartition(':')[2]}"
        return shlex.join(["maxpool-check", "explain", case, "-t", finding.target])
    if report.exit_code == ExitCode.AS_EXPECTED and report.findings:
        return "-v shows the known defects in full, --report markdown=PATH writes them to a file"
    if report.exit_code == ExitCode.INCOMPLETE and not report.problems:
        return ""
    return _NEXT.get(report.exit_code, "")


def _file(execution: Execution) -> str:
    return execution.origin.rpartition(":")[0]


def _is_model(execution: Execution) -> bool:
    """Whether the case was made of a user's model, which has no lines."""
    return execution.origin.endswith(":0")
