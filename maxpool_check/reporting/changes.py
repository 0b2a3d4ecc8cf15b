"""What has changed between two targets, for a terminal, in Markdown and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from maxpool_check.comparing.gate import BLOCKING, Decision, TargetComparison, worst
from maxpool_check.comparing.transitions import Change, Transition, TransitionGroup, counts, groups
from maxpool_check.reporting.markdown import escaped, table
from maxpool_check.reporting.tensors import coordinates
from maxpool_check.reporting.text import terminal
from maxpool_check.results.record import Execution, ExitCode
from maxpool_check.words import plural

IN_FULL = 6
"""How many groups are shown in full in the terminal; the others take a line each."""

_STYLES = {Decision.SAFE: "bold green", Decision.REVIEW: "bold yellow", Decision.BLOCK: "bold red", None: "bold red"}


@dataclass(frozen=True)
class ComparisonReport:
    """Comparisons and how to show them; ``command`` is ``compare`` or ``gate``."""

    command: str
    comparisons: Sequence[TargetComparison]
    width: int = 100
    color: bool = False
    verbose: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the worst comparison."""
        return worst(self.comparisons).exit_code


def write_text(report: ComparisonReport, file: TextIO) -> None:
    """Write the report for a terminal; its last line is the decision on all comparisons."""
    console = terminal(report.width, report.color)
    with console.capture() as captured:
        for comparison in report.comparisons:
            _comparison(console, comparison, report.verbose)
        if len(report.comparisons) > 1:
            decisive = worst(report.comparisons)
            word, _, rest = str(decisive).partition(" ")
            console.print(f"\n[bold]{word}[/] {escape(rest)} ({escape(decisive.new.name)})", soft_wrap=True)
    file.write("\n".join(line.rstrip() for line in captured.get().split("\n")))


def _comparison(console: Console, comparison: TargetComparison, verbose: bool) -> None:
    for label, target in (("old", comparison.old), ("new", comparison.new)):
        about = f"{target.distribution} {target.version}, {target.provider}, Python {target.python}"
        console.print(f"{label}  [bold]{escape(target.name)}[/]  {escape(about)}", soft_wrap=True)
    console.print()
    changed = groups(comparison.transitions)
    for number, group in enumerate(changed):
        style = "red" if group.change in BLOCKING else "yellow"
        cases = plural(len(group.cases), "case")
        console.print(f"[bold {style}]{group.change.value}[/]  {escape(_kinds(group))}  {cases}")
        if number < IN_FULL or verbose:
            execution = group.smallest.execution
            about = f"{execution.case} ({execution.variant}): {execution.title}"
            console.print(Padding(escape(about), (0, 0, 0, 2), expand=False))
            for line in _details(group.smallest):
                console.print(f"    {escape(line)}", soft_wrap=True)
            console.print()
    if len(changed) > IN_FULL and not verbose:
        console.print()
    for change, count in counts(comparison.transitions).items():
        if count:
            console.print(f"{count:6}  {change}")
    console.print()
    if changed:
        execution = changed[0].smallest.execution
        names = dict.fromkeys([comparison.old.name, comparison.new.name])
        command = ["maxpool-check", "run", execution.origin.rpartition(":")[0], "-k", execution.case, "--no-known"]
        command += [word for name in names for word in ("-t", name)]
        console.print(f"[dim]{escape(shlex.join(command))}[/]", soft_wrap=True)
    word, _, rest = str(comparison).partition(" ")
    console.print(f"[{_STYLES[comparison.decision]}]{word}[/] {escape(rest)}", soft_wrap=True)


def _details(transition: Transition) -> list[str]:
    """Both results, with the cells that show them."""
    lines = []
    for label, execution in (("old", transition.old), ("new", transition.new)):
        if execution is None:
            lines.append(f"{label}: not executed")
            continue
        kinds = f" ({', '.join(execution.kinds)})" if execution.kinds else ""
        lines.append(f"{label}: {execution.verdict.value}{kinds}{_message(execution)}")
        lines += [
            f"  {cell.output}{coordinates(cell.at)}: expected {cell.expected}, got {cell.got}"
            for cell in execution.cells
        ]
        lines += [
            f"  {cell.output}{coordinates(cell.at)}: reference {cell.reference}, got {cell.got}"
            for cell in execution.differences
        ]
    return lines


def _message(execution: Execution) -> str:
    if execution.cells or not execution.message:
        return ""
    message = " ".join(execution.message.split())
    return f": {message if len(message) <= 300 else message[:297] + '...'}"


def _kinds(group: TransitionGroup) -> str:
    before, after = (", ".join(kinds) or "conforms" for kinds in group.kinds)
    if group.change in (Change.MISSING, Change.ADDED):
        return before if group.change is Change.MISSING else after
    return before if before == after else f"{before} -> {after}"


def write_markdown(report: ComparisonReport, file: TextIO) -> None:
    """Write the report in Markdown."""
    file.write("\n\n".join("\n".join(_markdown(comparison)) for comparison in report.comparisons) + "\n")


def _markdown(comparison: TargetComparison) -> list[str]:
    old, new, changes = comparison.old, comparison.new, comparison.transitions
    lines = [f"# {escaped(old.name)} to {escaped(new.name)}", "", f"**{escaped(str(comparison))}**", ""]
    lines += [
        f"- {label}: `{target.name}`, {target.distribution} {target.version}, {target.provider}, "
        f"Python {target.python}, numpy {target.numpy}"
        for label, target in (("old", old), ("new", new))
    ]
    lines += [f"- {escaped(' '.join(error.split()))}" for error in comparison.errors]
    if comparison.left_out:
        lines.append(f"- left out: {', '.join(f'`{case}`' for case in comparison.left_out)}")
    rows = [[change, str(count)] for change, count in counts(changes).items() if count]
    lines += ["", *table(["change", "executions"], rows, right=[1])]
    for group in groups(changes):
        execution, cases = group.smallest.execution, plural(len(group.cases), "case")
        lines += ["", f"## {group.change.value}: {escaped(_kinds(group))}", "", f"{cases}. The smallest:"]
        lines += ["", f"`{execution.case}` ({execution.variant}): {escaped(execution.title)}", ""]
        lines += ["```text", *(line.replace("```", "'''") for line in _details(group.smallest)), "```"]
        if len(group.cases) > 1:
            names = ", ".join(f"`{case}`" for case in group.cases)
            lines += ["", f"<details><summary>All {cases}</summary>", "", names, "", "</details>"]
    return lines


def write_json(report: ComparisonReport, file: TextIO) -> None:
    """Write one JSON document with every transition."""
    document = {
        "schema": f"maxpool-check/{report.command}/1",
        "exit_code": report.exit_code,
        "comparisons": [
            {
                "old": msgspec.to_builtins(comparison.old),
                "new": msgspec.to_builtins(comparison.new),
                "decision": comparison.decision,
                "message": str(comparison),
                "compared": comparison.gate.compared,
                "left_out": comparison.left_out,
                "summary": counts(comparison.transitions),
                "transitions": [_transition(transition) for transition in comparison.transitions],
            }
            for comparison in report.comparisons
        ],
        "errors": [{"message": error} for comparison in report.comparisons for error in comparison.errors],
    }
    file.write(json.dumps(document, indent=1) + "\n")


def _transition(transition: Transition) -> dict[str, Any]:
    execution = transition.execution
    return {
        "case": execution.case,
        "variant": execution.variant,
        "change": transition.change,
        "title": execution.title,
        "origin": execution.origin,
        "old": _side(transition.old),
        "new": _side(transition.new),
    }


def _side(execution: Execution | None) -> Mapping[str, Any] | None:
    names = ("verdict", "kinds", "message", "opset", "digests", "interpretations", "cells", "differences")
    return None if execution is None else {name: msgspec.to_builtins(getattr(execution, name)) for name in names}


FORMATS = {"text": write_text, "markdown": write_markdown, "json": write_json}
