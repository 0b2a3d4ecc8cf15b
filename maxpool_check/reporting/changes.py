"""What has changed between two targets, for a terminal, in Markdown and as JSON."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from maxpool_check.comparing.gate import BLOCKING, Decision, Outcome
from maxpool_check.comparing.transitions import Change, Group, Transition, counts, groups
from maxpool_check.reporting.markdown import escaped, table
from maxpool_check.reporting.tensors import coordinates
from maxpool_check.results.record import Execution, TargetDescription

IN_FULL = 6
"""How many groups are shown in full in the terminal; the others take a line each."""

_STYLES = {Decision.SAFE: "bold green", Decision.REVIEW: "bold yellow", Decision.BLOCK: "bold red"}


@dataclass(frozen=True)
class Changes:
    """Everything a report of changes is made from.

    ``errors`` say why it is incomplete, ``left_out`` names the cases that could not be compared and were left out.
    """

    old: TargetDescription
    new: TargetDescription
    transitions: Sequence[Transition]
    outcome: Outcome
    errors: Sequence[str] = ()
    left_out: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether both sides were asked everything."""
        return not self.errors

    @property
    def last_line(self) -> str:
        """The decision, or why there is none."""
        if self.errors:
            return f"INCOMPLETE {self.errors[0].splitlines()[0]}"
        if not self.outcome.compared:
            return "NOTHING COMPARED neither target was held to a document"
        omitted = f"; {len(self.left_out)} cases left out" if self.left_out else ""
        return f"{self.outcome}{omitted}"

    @property
    def badness(self) -> tuple[bool, bool, int]:
        """What orders several: incomplete, then nothing compared, then by the decision."""
        return (not self.complete, not self.outcome.compared, list(Decision).index(self.outcome.decision))


def text(changes: Sequence[Changes], *, width: int, color: bool, verbose: bool) -> str:
    """The report for a terminal; its last line is the decision."""
    console = Console(file=io.StringIO(), width=width, force_terminal=color, no_color=not color, highlight=False)
    with console.capture() as captured:
        for one in changes:
            _text(console, one, verbose)
        if len(changes) > 1:
            # The last line is the decision on all of them.
            worst = max(changes, key=lambda one: one.badness)
            word, _, rest = worst.last_line.partition(" ")
            console.print(f"\n[bold]{word}[/] {escape(rest)} ({escape(worst.new.name)})", soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _text(console: Console, changes: Changes, verbose: bool) -> None:
    for label, target in (("old", changes.old), ("new", changes.new)):
        about = f"{target.distribution} {target.version}, {target.provider}, Python {target.python}"
        console.print(f"{label}  [bold]{escape(target.name)}[/]  {escape(about)}", soft_wrap=True)
    console.print()
    found = groups(changes.transitions)
    for number, group in enumerate(found):
        cases = f"{len(group.cases)} case{'s' if len(group.cases) != 1 else ''}"
        style = "red" if group.change in BLOCKING else "yellow"
        console.print(f"[bold {style}]{group.change.value}[/]  {escape(_kinds(group))}  {cases}")
        if number < IN_FULL or verbose:
            one = group.smallest
            about = f"{one.execution.case} ({one.execution.variant}): {one.execution.title}"
            console.print(Padding(escape(about), (0, 0, 0, 2), expand=False))
            for line in details(one):
                console.print(f"    {escape(line)}", soft_wrap=True)
            console.print()
    if len(found) > IN_FULL and not verbose:
        console.print()
    for change, count in counts(changes.transitions).items():
        if count:
            console.print(f"{count:6}  {change}")
    console.print()
    if found:
        smallest = found[0].smallest.execution
        file = smallest.origin.rpartition(":")[0]
        command = ["maxpool-check", "run", file, "-k", smallest.case, "--no-known", "-t", changes.old.name]
        command += ["-t", changes.new.name] if changes.new.name != changes.old.name else []
        console.print(f"[dim]{escape(shlex.join(command))}[/]", soft_wrap=True)
    style = _STYLES[changes.outcome.decision] if changes.complete else "bold red"
    word, _, rest = changes.last_line.partition(" ")
    console.print(f"[{style}]{word}[/] {escape(rest)}", soft_wrap=True)


def details(one: Transition) -> list[str]:
    """What was and what is, with the cells that show it."""
    lines = []
    for label, execution in (("old", one.old), ("new", one.new)):
        if execution is None:
            lines.append(f"{label}: not asked")
            continue
        kinds = f" ({', '.join(execution.kinds)})" if execution.kinds else ""
        lines.append(f"{label}: {execution.verdict}{kinds}{_said(execution)}")
        lines += [
            f"  {cell.output}{coordinates(cell.at)}: expected {cell.expected}, got {cell.got}"
            for cell in execution.cells
        ]
        lines += [
            f"  {cell.output}{coordinates(cell.at)}: the reference has {cell.reference}, it gives {cell.got}"
            for cell in execution.differences
        ]
    return lines


def _said(execution: Execution) -> str:
    if execution.cells or not execution.message:
        return ""
    message = " ".join(execution.message.split())
    return f": {message if len(message) <= 300 else message[:297] + '...'}"


def _kinds(group: Group) -> str:
    before, after = (", ".join(kinds) or "conforms" for kinds in group.kinds)
    if group.change in (Change.MISSING, Change.ADDED):
        return before if group.change is Change.MISSING else after
    return before if before == after else f"{before} -> {after}"


def markdown(changes: Sequence[Changes]) -> str:
    """The report in Markdown."""
    lines: list[str] = []
    for one in changes:
        lines += [f"# {escaped(one.old.name)} to {escaped(one.new.name)}", "", f"**{escaped(one.last_line)}**", ""]
        for label, target in (("old", one.old), ("new", one.new)):
            lines.append(
                f"- {label}: `{target.name}`, {target.distribution} {target.version}, {target.provider}, "
                f"Python {target.python}, numpy {target.numpy}"
            )
        lines += [f"- {escaped(' '.join(error.split()))}" for error in one.errors]
        lines += [f"- left out: {', '.join(f'`{case}`' for case in one.left_out)}"] if one.left_out else []
        rows = [[change, str(count)] for change, count in counts(one.transitions).items() if count]
        lines += ["", *table(["change", "executions"], rows, right=[1])]
        for group in groups(one.transitions):
            cases = group.cases
            lines += [
                "",
                f"## {group.change.value}: {escaped(_kinds(group))}",
                "",
                f"{len(cases)} cases. The smallest:",
            ]
            execution = group.smallest.execution
            lines += ["", f"`{execution.case}` ({execution.variant}): {escaped(execution.title)}", ""]
            lines += ["```text", *(line.replace("```", "'''") for line in details(group.smallest)), "```"]
            if len(cases) > 1:
                listed = ", ".join(f"`{case}`" for case in cases)
                lines += ["", f"<details><summary>All {len(cases)}</summary>", "", listed, "", "</details>"]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def as_json(command: str, changes: Sequence[Changes], exit_code: int) -> str:
    """One JSON document, every transition in it; ``command`` is ``compare`` or ``gate``."""
    document = {
        "schema": f"maxpool-check/{command}/1",
        "exit_code": exit_code,
        "comparisons": [
            {
                "old": msgspec.to_builtins(one.old),
                "new": msgspec.to_builtins(one.new),
                "decision": one.outcome.decision.value if one.complete and one.outcome.compared else None,
                "message": one.last_line,
                "compared": one.outcome.compared,
                "left_out": list(one.left_out),
                "summary": counts(one.transitions),
                "transitions": [_transition(transition) for transition in one.transitions],
            }
            for one in changes
        ],
        "errors": [{"message": error} for one in changes for error in one.errors],
    }
    return json.dumps(document, indent=1)


def _transition(one: Transition) -> dict[str, Any]:
    execution = one.execution
    return {
        "case": execution.case,
        "variant": execution.variant,
        "change": one.change.value,
        "title": execution.title,
        "origin": execution.origin,
        "old": _side(one.old),
        "new": _side(one.new),
    }


def _side(execution: Execution | None) -> Mapping[str, Any] | None:
    if execution is None:
        return None
    return {
        "verdict": execution.verdict,
        "kinds": list(execution.kinds),
        "message": execution.message,
        "opset": execution.opset,
        "digests": execution.digests,
        "interpretations": execution.interpretations,
        "cells": msgspec.to_builtins(execution.cells),
        "differences": msgspec.to_builtins(execution.differences),
    }
