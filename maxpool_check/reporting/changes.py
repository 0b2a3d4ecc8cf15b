"""What has changed between two targets, for a terminal, in Markdown and as JSON."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import msgspec
from rich.console import Console
from rich.padding import Padding

from maxpool_check import inert
from maxpool_check.comparing.gate import BLOCKING, Decision, TargetComparison, worst
from maxpool_check.comparing.transitions import Change, Transition, TransitionGroup, counts
from maxpool_check.reporting.markdown import software
from maxpool_check.reporting.markup import bullets, code, codes, escaped, fenced, folded, joined, table
from maxpool_check.reporting.tensors import coordinates
from maxpool_check.reporting.text import styled, terminal
from maxpool_check.results.record import FAULTS, AllowedDifference, Cell, Execution, ExitCode
from maxpool_check.words import plural

_IN_FULL = 6  # The other groups take a line each in the terminal.
_STYLES = {Decision.SAFE: "bold green", Decision.REVIEW: "bold yellow", Decision.BLOCK: "bold red", None: "bold red"}
_SIDE = ("verdict", "kinds", "known", "message", "opset", "digests", "interpretations", "cells", "differences")


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
    with terminal(file, report.width, report.color) as console:
        for comparison in report.comparisons:
            _comparison(console, comparison, report.verbose)
        if len(report.comparisons) > 1:
            decisive = worst(report.comparisons)
            word, _, rest = str(decisive).partition(" ")
            console.print(f"\n[bold]{word}[/] {styled(rest)} ({styled(decisive.new.name)})", soft_wrap=True)


def _comparison(console: Console, comparison: TargetComparison, verbose: bool) -> None:
    for label, target in (("old", comparison.old), ("new", comparison.new)):
        about = f"{target.distribution} {target.version}, {target.provider}, Python {target.python}"
        console.print(f"{label}  [bold]{styled(target.name)}[/]  {styled(about)}", soft_wrap=True)
    console.print()
    changed = comparison.groups
    for number, group in enumerate(changed):
        _change(console, group, comparison, in_full=number < _IN_FULL or verbose)
    if len(changed) > _IN_FULL and not verbose:
        console.print()
    for change, count in counts(comparison.transitions).items():
        if count:
            wrong = sum(
                each.new.verdict in FAULTS for each in comparison.transitions if each.change is Change.SAME and each.new
            )
            both = f", {wrong} of them wrong in both" if change == Change.SAME.value and wrong else ""
            console.print(f"{count:6}  {change}{both}")
    console.print()
    if changed:
        execution = changed[0].smallest.execution
        path, _, line = execution.origin.rpartition(":")
        command = ["maxpool-check", "run", path, "-k", execution.case, "--no-known"]
        if line == "0":
            # A case of a user's model, which has no lines.
            command = ["maxpool-check", "model", path]
        for name in dict.fromkeys([comparison.old.name, comparison.new.name]):
            command += ["-t", name]
        console.print(f"[dim]{styled(shlex.join(command))}[/]", soft_wrap=True)
    word, _, rest = str(comparison).partition(" ")
    console.print(f"[{_STYLES[comparison.decision]}]{word}[/] {styled(rest)}", soft_wrap=True)


def _change(console: Console, group: TransitionGroup, comparison: TargetComparison, *, in_full: bool) -> None:
    style = "red" if group.change in BLOCKING else "yellow"
    cases = plural(len(group.cases), "case")
    console.print(f"[bold {style}]{group.change.value}[/]  {styled(_cause(group))}  {cases}")
    if not in_full:
        return
    execution = group.smallest.execution
    for text in (*_titles(group, comparison), f"{execution.case} ({execution.variant}): {execution.title}"):
        console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
    for line in _details(group.smallest):
        console.print(f"    {styled(line)}", soft_wrap=True)
    console.print()


def _details(transition: Transition) -> list[str]:
    """Both results, with their first wrong or differing cells."""
    lines = []
    for label, execution in (("old", transition.old), ("new", transition.new)):
        if execution is None:
            lines.append(f"{label}: not executed")
            continue
        kinds = f" ({', '.join(execution.kinds)})" if execution.kinds else ""
        message = "" if execution.cells else " ".join(execution.message.split())
        # The cause is often at the end, behind the place in the runtime's source.
        shown = f": {message if len(message) <= 300 else f'{message[:120]} ... {message[-175:]}'}" if message else ""
        lines.append(f"{label}: {execution.verdict.value}{kinds}{shown}")
        cells: tuple[Cell | AllowedDifference, ...] = (*execution.cells, *execution.differences)
        for cell in cells:
            right = f"expected {cell.expected}" if isinstance(cell, Cell) else f"reference {cell.reference}"
            lines.append(f"  {cell.output}{coordinates(cell.at)}: {right}, got {cell.got}")
    return lines


def _titles(group: TransitionGroup, comparison: TargetComparison) -> list[str]:
    """Severity and title of the known defects of a group."""
    entries = (comparison.defects.get(name) for name in dict.fromkeys(group.defects) if name is not None)
    return [f"{entry.id} ({entry.severity}): {entry.title}" for entry in entries if entry is not None and entry.title]


def _cause(group: TransitionGroup) -> str:
    """The known defects before and after, or the kinds where there is none."""
    sides = zip(group.defects, group.kinds, strict=True)
    before, after = (defect or ", ".join(kinds) or "conforms" for defect, kinds in sides)
    if group.change in (Change.MISSING, Change.ADDED):
        return before if group.change is Change.MISSING else after
    return before if before == after else f"{before} -> {after}"


def write_markdown(report: ComparisonReport, file: TextIO) -> None:
    """Write the report in Markdown."""
    file.write(joined(block for comparison in report.comparisons for block in _blocks(comparison)) + "\n")


def _blocks(comparison: TargetComparison) -> Iterator[str]:
    old, new, changes = comparison.old, comparison.new, comparison.transitions
    yield f"# {escaped(old.name)} to {escaped(new.name)}"
    yield f"**{escaped(str(comparison))}**"
    left_out = [f"left out: {codes(comparison.left_out)}"] if comparison.left_out else []
    errors = [escaped(" ".join(error.split())) for error in comparison.errors]
    targets = [f"{label}: {code(target.name)}, {software(target)}" for label, target in (("old", old), ("new", new))]
    yield bullets([*targets, *errors, *left_out])
    rows = [[change, str(count)] for change, count in counts(changes).items() if count]
    yield table(["change", "executions"], rows, right=[1])
    for group in comparison.groups:
        execution, cases = group.smallest.execution, plural(len(group.cases), "case")
        yield f"## {group.change.value}: {escaped(_cause(group))}"
        yield f"{cases}. The smallest:"
        yield f"{code(execution.case)} ({escaped(execution.variant)}): {escaped(execution.title)}"
        yield bullets(map(escaped, _titles(group, comparison)))
        yield fenced(_details(group.smallest))
        if len(group.cases) > 1:
            yield folded(f"All {cases}", codes(group.cases))


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
                "transitions": [
                    {
                        **_fields(transition.execution, "case", "variant", "title", "origin"),
                        "change": transition.change,
                        "old": transition.old and _fields(transition.old, *_SIDE),
                        "new": transition.new and _fields(transition.new, *_SIDE),
                    }
                    for transition in comparison.transitions
                ],
            }
            for comparison in report.comparisons
        ],
        "errors": [{"message": error} for comparison in report.comparisons for error in comparison.errors],
    }
    file.write(inert.dumps(document, indent=1) + "\n")


def _fields(execution: Execution, *names: str) -> dict[str, Any]:
    return {name: msgspec.to_builtins(getattr(execution, name)) for name in names}


FORMATS = {"text": write_text, "markdown": write_markdown, "json": write_json}
