"""The report of a run for a terminal: what was tested, what is wrong, refused and not expressible, the result, what to do next."""

import contextlib
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from maxpool_check import inert
from maxpool_check.reporting.findings import Finding, explained, sentence
from maxpool_check.reporting.interpretations import interpretations, profiles
from maxpool_check.reporting.next_steps import execute_again, next_step
from maxpool_check.reporting.provenance import made_with
from maxpool_check.reporting.reasons import ReasonGroup, by_file, not_judged, refusals
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.shapes import axis_lines
from maxpool_check.reporting.tensors import coordinates, planes, window_cells, window_text
from maxpool_check.results.record import Execution, Record, Verdict
from maxpool_check.words import plural

_IN_FULL = 4  # The other findings take a line each.
_REASONS = 6
_NARROW = 72  # Columns in which four columns of text are unreadable.
_NOT_JUDGED = {
    Verdict.NOT_EXPRESSIBLE: "Not expressible to",
    Verdict.NOT_CLAIMED: "Not claimed by",
    Verdict.UNKNOWN: "Not inferred by",
    Verdict.UNDEFINED: "Not judged on",
}
_STYLES = {
    Verdict.CONFORMS: "green",
    Verdict.DIVERGES: "red",
    Verdict.REFUSES: "yellow",
    Verdict.CRASHES: "bold red",
    Verdict.TIMES_OUT: "bold red",
    Verdict.INCONSISTENT: "yellow",
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
    _tested(console, report)
    in_full = report.unexpected if report.in_full else report.unexpected[:_IN_FULL]
    for finding in in_full:
        _finding(console, finding, report)
    expected = [finding for finding in report.findings if finding.is_expected]
    inconsistent = [finding for finding in expected if finding.is_inconsistency]
    known = [finding for finding in expected if not (finding.is_inconsistency or finding.is_refusal)]
    _others(console, report.unexpected[len(in_full) :], "Also unexpected" if in_full else "Unexpected")
    _others(console, report.special, "Wrong on special values alone, which may never reach the node of the model")
    _defects(console, report, known, "Known defects")
    _others(console, report.inconsistent, "Inconsistent: the document allows each output, but variants differ")
    _defects(console, report, inconsistent, "Known inconsistencies")
    for target in record.header.targets:
        own = [finding for finding in report.findings if finding.target == target.name]
        _reasons(console, refusals(own), f"Refused by {target.name}", report)
        for verdict, reasons in not_judged(record, target.name).items():
            _reasons(console, reasons, f"{_NOT_JUDGED[verdict]} {target.name}", report)
    for finding in [*report.inconsistent, *expected] if report.in_full else []:
        _finding(console, finding, report)
    for entry in report.outdated:
        text = styled(f"{entry.id} on {entry.target}: {entry.message}")
        console.print(f"[bold red]{entry.status.value.upper()}[/]  {text}\n")
    _errors(console, record)
    _interpretations(console, record)
    _result(console, report)
    if following := next_step(report):
        console.print(f"Next: {styled(following)}", soft_wrap=True)


def _tested(console: Console, report: RunReport) -> None:
    """What was tested, and the numbers by verdict and by severity."""
    header = report.record.header
    for target in header.targets:
        opsets = f", operator sets to {target.newest_opset}" if target.newest_opset is not None else ""
        console.print(f"[bold]{styled(target.name)}[/]  {styled(target.software() + opsets)}", soft_wrap=True)
    for specs, policies in profiles(report.record):
        listed = ", ".join(f"{point} {interpretation}" for point, interpretation in policies.items())
        console.print(f"[dim]{styled(' '.join(specs))}: {styled(listed or 'nothing left open')}[/]", soft_wrap=True)
    if (corpus := header.corpus) is not None and (report.in_full or corpus.version is not None):
        console.print(styled(f"Corpus: {corpus}, {plural(corpus.cases, 'case')}, SHA-256 {corpus.sha256[:16]}"))
    for name, fact in made_with(header, header.targets) if report.in_full else ():
        console.print(f"[dim]{styled(f'{name}: {fact}')}[/]", soft_wrap=True)
    console.print(f"Tested: {report.tested}\n")
    verdicts = [verdict for verdict in Verdict if verdict is Verdict.CONFORMS or report.totals[verdict]]
    by_verdict = [[report.counts[target.name][verdict] for verdict in verdicts] for target in header.targets]
    _numbers(
        console, "target", verdicts, {target.name: row for target, row in zip(header.targets, by_verdict, strict=True)}
    )
    by_severity = {
        severity.value: (tally.defects, tally.new, tally.executions, tally.cases)
        for severity, tally in report.severities.items()
    }
    _numbers(console, "severity", ("defects", "new", "executions", "cases"), by_severity)


def _finding(console: Console, finding: Finding, report: RunReport) -> None:
    smallest = finding.smallest
    console.print(
        f"[bold {'red' if finding.is_unexpected else 'yellow'}]{styled(finding.label)}[/]  [bold]{styled(finding.heading)}[/]  "
        f"{plural(len(finding.cases), 'case')} on {styled(finding.target)} ({finding.severity.value})"
    )
    if finding.defect is not None:
        for text in (finding.title, " ".join(finding.defect.reason.split()), *finding.notices):
            console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
    elif finding.is_unexpected and finding.explanation:
        console.print(Padding(styled(finding.explanation), (0, 0, 0, 2), expand=False))
    for text in (*map(sentence, finding.example_kinds), f"{smallest.case} ({smallest.variant}): {smallest.title}"):
        console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
    for line in details(smallest):
        console.print(f"    {styled(line)}", soft_wrap=True)
    if report.cases:
        for text in by_file(finding.cases):
            console.print(f"    {styled(text)}", soft_wrap=True)
    console.print(f"  [dim]{styled(execute_again(finding, report))}[/]\n", soft_wrap=True)


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


def _defects(console: Console, report: RunReport, findings: list[Finding], heading: str) -> None:
    """A line for each known defect: id, severity, title, number of cases; with its target if the record has several."""
    if not findings:
        return
    several = len(report.record.header.targets) > 1
    console.print(f"[bold]{heading}[/]")
    if console.width < _NARROW:
        for finding in findings:
            amount = plural(len(finding.cases), "case")
            on = f" on {finding.target}" if several else ""
            text = styled(f"{finding.heading}{on} ({finding.severity.value}, {amount}): {finding.title}")
            console.print(Padding(text, (0, 0, 0, 2), expand=False))
        console.print()
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", ratio=2)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=4)
    table.add_column(justify="right", no_wrap=True)
    for finding in findings:
        title = f"{finding.title} (on {finding.target})" if several else finding.title
        cells = (finding.heading, finding.severity.value, title, plural(len(finding.cases), "case"))
        table.add_row(*map(styled, cells))
    console.print(Padding(table, (0, 0, 1, 2), expand=False))


def _reasons(console: Console, reasons: Sequence[ReasonGroup], heading: str, report: RunReport) -> None:
    """A line for each frequent reason: a refusal or limit, the defect, the reason, number of executions."""
    if not reasons:
        return
    everything = report.in_full or len(reasons) <= _REASONS + 1
    shown = reasons if everything else reasons[:_REASONS]
    console.print(f"[bold]{styled(heading)}[/]")
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", ratio=5)
    table.add_column(justify="right", no_wrap=True)
    for reason in shown:
        words = ": ".join(filter(None, (reason.label, reason.defect, reason.text)))
        table.add_row(styled(words), plural(len(reason.executions), "execution"))
    if len(shown) < len(reasons):
        rest = sum(len(reason.executions) for reason in reasons[len(shown) :])
        table.add_row(f"{len(reasons) - len(shown)} rarer reasons, which -v lists", plural(rest, "execution"))
    console.print(Padding(table, (0, 0, 1, 2), expand=False))


def _errors(console: Console, record: Record) -> None:
    errors: dict[tuple[str, str], list[Execution]] = defaultdict(list)
    for execution in (each for each in record.executions if each.verdict is Verdict.ERROR):
        errors[execution.target, execution.message].append(execution)
    for execution, *others in list(errors.values())[:3]:
        count = f" ({len(others) + 1} executions)" if others else ""
        text = f"{execution.case} on {execution.target}: {execution.message}{count}"
        console.print(f"[bold red]ERROR[/]  {escape(inert.block(text))}")
        if execution.traceback:
            console.print(escape(inert.block(execution.traceback)), soft_wrap=True)
    if len(errors) > 3:
        console.print(f"  ... {sum(map(len, errors.values()))} executions failed in total")
    if errors:
        console.print()


def _numbers(console: Console, name: str, headings: Sequence[str], rows: Mapping[str, Sequence[int]]) -> None:
    """Rows of numbers: a table if it fits into the width, else a line for each, so that no number is cut off."""
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(name, overflow="fold")
    for heading in headings:
        style = _STYLES.get(heading, "") if isinstance(heading, Verdict) else ""
        table.add_column(str(heading), justify="right", style=style)
    for row, numbers in rows.items():
        table.add_row(styled(row), *map(str, numbers))
    if max(map(len, (name, *rows))) + sum(max(len(str(heading)), 5) + 2 for heading in headings) <= console.width:
        console.print(table)
    else:
        for row, numbers in rows.items():
            words = ", ".join(f"{heading} {number}" for heading, number in zip(headings, numbers, strict=True))
            console.print(styled(f"{row}: {words}"))
    console.print()


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
