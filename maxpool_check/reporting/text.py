"""The report of a run for a terminal: what is wrong, by kinds; a table; the verdict; what to do next."""

from __future__ import annotations

import io
import shlex

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from maxpool_check.reporting.findings import (
    VERDICTS,
    Finding,
    explained,
    findings,
    interpretations,
    profiles,
    sentence,
    summary,
)
from maxpool_check.reporting.tensors import coordinates, planes, window_cells, window_text
from maxpool_check.results.record import Execution, KnownEntry, Record

IN_FULL = 4
"""How many findings are shown in full; the others take a line each."""

_STYLES = {"conforms": "green", "diverges": "red", "refuses": "yellow", "crashes": "bold red", "times-out": "bold red"}


def render(record: Record, exit_code: int, *, width: int, color: bool, verbose: bool = False) -> str:
    """The whole report; ``verbose`` shows known divergences in full."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=color, no_color=not color, highlight=False, soft_wrap=False
    )
    with console.capture() as captured:
        _render(console, record, exit_code, verbose)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _render(console: Console, record: Record, exit_code: int, verbose: bool) -> None:
    for target in record.header.targets:
        about = [f"{target.distribution} {target.version}", target.provider, f"Python {target.python}"]
        if target.newest_opset is not None:
            about.append(f"operator sets to {target.newest_opset}")
        console.print(f"[bold]{escape(target.name)}[/]  {escape(', '.join(about))}", soft_wrap=True)
    for specs, policies in profiles(record):
        interpretations = (
            ", ".join(f"{point} {interpretation}" for point, interpretation in policies.items()) or "nothing left open"
        )
        console.print(f"[dim]{escape(' '.join(specs))}: {escape(interpretations)}[/]", soft_wrap=True)
    console.print()
    found = findings(record)
    unexpected = [finding for finding in found if finding.status != "expected"]
    with_known = record.header.known_sha256 is not None
    in_full = unexpected if verbose else unexpected[:IN_FULL]
    for finding in in_full:
        _finding(console, finding, with_known)
    rest = [finding for finding in found if finding not in in_full]
    _others(console, rest, "Also unexpected" if in_full else "Unexpected", expected=False)
    _others(console, rest, "Known divergences, as expected", expected=True)
    if verbose:
        for finding in (finding for finding in found if finding.status == "expected"):
            _finding(console, finding, with_known)
    _stale(console, record.footer.known if record.footer else ())
    _errors(console, record)
    console.print(_table(record))
    console.print()
    _readings(console, record)
    _verdict(console, record, exit_code, unexpected)
    _next(console, record, exit_code, unexpected)


def _finding(console: Console, finding: Finding, with_known: bool) -> None:
    smallest = finding.smallest
    label = {"new": "NEW", "changed": "CHANGED", "expected": "KNOWN"}.get(finding.status, finding.status.upper())
    count = len(finding.cases)
    console.print(
        f"[bold {'yellow' if finding.status == 'expected' else 'red'}]{label}[/]  [bold]{', '.join(finding.kinds)}[/]  "
        f"{count} case{'s' if count != 1 else ''} on {escape(finding.target)}"
        + (f" ({escape(', '.join(finding.known))})" if finding.known else "")
    )
    for kind in finding.kinds:
        console.print(Padding(escape(sentence(kind)), (0, 0, 0, 2), expand=False))
    console.print(
        Padding(f"{escape(smallest.case)} ({smallest.variant}): {escape(smallest.title)}", (0, 0, 0, 2), expand=False)
    )
    for line in details(smallest):
        console.print(f"    {escape(line)}", soft_wrap=True)
    command = ["maxpool-check", "run", _file(smallest), "-t", finding.target, "-k", smallest.case]
    command += [] if with_known else ["--no-known"]
    console.print(f"  [dim]{escape(shlex.join(command))}[/]", soft_wrap=True)
    console.print()


def details(execution: Execution) -> list[str]:
    """One execution, with X, the window of its first wrong cell in brackets, and every cell of the evidence."""
    lines: list[str] = []
    asked = execution.input
    if asked is not None:
        settings = ", ".join(f"{name}={value}" for name, value in asked.attributes.items())
        policies = "".join(f"  {point}: {interpretation}" for point, interpretation in asked.policies.items())
        lines.append(f"{asked.dtype} X{coordinates(asked.shape)}  {settings}{policies}")
        if execution.translation:
            lines.append(f"asked: {'; '.join(execution.translation)}")
        if asked.values is not None and execution.cells:
            cell = execution.cells[0]
            marked = window_cells(cell.at, cell.window, execution.layout)
            shown = planes(asked.values, asked.shape, marked, execution.layout, only_marked=True)
            lines += [f"  {line}" for line in shown]
    for cell in execution.cells:
        where = f"{cell.output}{coordinates(cell.at)}"
        lines.append(f"{where}  {window_text(cell.window)}: expected {cell.expected}, got {cell.got}  ({cell.kind})")
    if not execution.cells:
        lines.append(" ".join(execution.message.split()))
    lines += [explained(cause) for cause in execution.causes]
    total = sum(execution.counts.values())
    if total > len(execution.cells):
        lines.append(f"... {total} wrong cells in all")
    return lines


def _others(console: Console, found: list[Finding], heading: str, *, expected: bool) -> None:
    """A line for each finding that is not shown in full; known ones by their entry."""
    rows: dict[str, list[Finding]] = {}
    for finding in found:
        if (finding.status == "expected") == expected:
            rows.setdefault(f"{finding.target} {finding.kinds} {finding.limit}", []).append(finding)
    if not rows:
        return
    console.print(f"[bold]{heading}[/]")
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3)
    table.add_column(justify="right", no_wrap=True)
    for group in rows.values():
        kinds = sorted({kind for finding in group for kind in finding.kinds})
        count = len({case for finding in group for case in finding.cases})
        limit = " (a limit)" if all(finding.limit for finding in group) else ""
        entries = group[0].known
        more = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
        name = f"{entries[0]}{more}" if entries else group[0].smallest.case
        table.add_row(escape(name), ", ".join(kinds) + limit, f"{count} case{'s' if count != 1 else ''}")
    console.print(Padding(table, (0, 0, 1, 2), expand=False))


def _stale(console: Console, entries: tuple[KnownEntry, ...]) -> None:
    for entry in entries:
        if entry.status in ("stale", "expired"):
            console.print(
                f"[bold red]{entry.status.upper()}[/]  {escape(entry.id)} on {escape(entry.target)}: "
                f"{escape(entry.message)}"
            )
            console.print()


def _errors(console: Console, record: Record) -> None:
    failed = 0
    for execution in record.executions:
        if execution.verdict == "error":
            failed += 1
            if failed <= 3:
                console.print(f"[bold red]ERROR[/]  {escape(execution.case)} on {escape(execution.target)}: "
                              f"{escape(execution.message)}")  # fmt: skip
    if failed > 3:
        console.print(f"  ... {failed} executions in all could not be asked")
    if failed:
        console.print()


def _table(record: Record) -> Table:
    counts = summary(record.executions)
    shown = [verdict for verdict in VERDICTS if verdict == "conforms" or any(c[verdict] for c in counts.values())]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("target", overflow="fold")
    for verdict in shown:
        table.add_column(verdict, justify="right", style=_STYLES.get(verdict, ""))
    for target in record.header.targets:
        of_target = counts.get(target.name, {})
        table.add_row(escape(target.name), *[str(of_target.get(verdict, 0)) for verdict in shown])
    return table


def _readings(console: Console, record: Record) -> None:
    """What the answers show of points that documents leave open, a line for each target and point."""
    lines: dict[tuple[str, str], list[str]] = {}
    for one in interpretations(record):
        if not one.translated:
            lines.setdefault((one.target, one.point), []).append(f"{one} ({one.variant})")
    for (target, point), found in lines.items():
        console.print(f"[dim]{escape(target)} reads {point} as {escape(', '.join(found))}[/]")
    if lines:
        console.print()


def _verdict(console: Console, record: Record, exit_code: int, unexpected: list[Finding]) -> None:
    cases = record.header.cases
    asked = f"{len(record.executions)} executions of {cases} case{'s' if cases != 1 else ''}"
    footer = record.footer
    if footer is None:
        console.print(f"[bold red]INCOMPLETE[/]  the run did not end; {asked} are in the record")
        return
    for error in footer.errors:
        console.print(f"[bold red]INCOMPLETE[/]  {escape(error.splitlines()[0])}")
    known = sum(1 for execution in record.executions if execution.status == "expected")
    if exit_code == 0:
        tail = f", {known} of them divergences that are known" if known else ""
        console.print(f"[bold green]AS EXPECTED[/]  {asked}{tail}")
    elif exit_code == 4:
        console.print(f"[bold red]NOTHING COMPARED[/]  {asked}; none of them held a target to a document")
    elif exit_code == 1:
        stale = sum(1 for entry in footer.known if entry.status in ("stale", "expired"))
        informative = sum(1 for execution in record.executions if execution.information)
        wrong = len({case for finding in unexpected for case in finding.cases})
        parts = [f"{wrong} case{'s diverge' if wrong != 1 else ' diverges'} unexpectedly"] if wrong else []
        if stale:
            parts.append(f"{stale} known divergence{'s' if stale != 1 else ''} to remove or review")
        if informative:
            parts.append(f"{informative} difference{'s' if informative != 1 else ''} that the documents allow")
        console.print(f"[bold red]UNEXPECTED[/]  {'; '.join(parts)} "
                      f"({asked})")  # fmt: skip


def _next(console: Console, record: Record, exit_code: int, unexpected: list[Finding]) -> None:
    if exit_code == 1 and unexpected:
        smallest = unexpected[0].smallest
        case = f"{_file(smallest)}:{smallest.case.rpartition(':')[2]}"
        command = shlex.join(["maxpool-check", "explain", case, "-t", unexpected[0].target])
        console.print(f"Next: {escape(command)}", soft_wrap=True)
    elif exit_code == 1:
        console.print("Next: correct known-divergences.yaml, then run again")
    elif exit_code == 3 and record.footer is not None:
        console.print("Next: maxpool-check targets --check TARGET says whether a target starts")
    elif exit_code == 4:
        console.print("Next: maxpool-check list PATH names the cases")
    elif exit_code == 0 and any(execution.status == "expected" for execution in record.executions):
        console.print("Next: -v shows the known divergences, --report markdown=PATH writes them down")


def _file(execution: Execution) -> str:
    return execution.origin.rpartition(":")[0]
