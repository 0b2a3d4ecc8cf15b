"""What has changed between two targets, for a terminal."""

import shlex
from typing import TextIO

from rich.console import Console
from rich.padding import Padding

from maxpool_check.comparing.gate import Decision, TargetComparison, TransitionGroup, worst
from maxpool_check.comparing.transitions import Change
from maxpool_check.reporting.abridged import some
from maxpool_check.reporting.changes import MOST_NAMES, ComparisonReport, details, group_cause, titles
from maxpool_check.reporting.reruns import run_on
from maxpool_check.reporting.text import styled, terminal
from maxpool_check.words import plural

_IN_FULL = 6  # The other groups take a line each, and name their cases if they block.
_STYLES = {Decision.SAFE: "bold green", Decision.REVIEW: "bold yellow", Decision.BLOCK: "bold red", None: "bold red"}


def write(report: ComparisonReport, file: TextIO) -> None:
    """Write the report; its last line is the decision on all comparisons."""
    with terminal(file, report.width, report.color) as console:
        for comparison in report.comparisons:
            _comparison(console, comparison, report.verbose)
        if not report.comparisons:
            console.print(styled(report.result), soft_wrap=True)
        if len(report.comparisons) > 1:
            decisive = worst(report.comparisons)
            word, _, rest = str(decisive).partition(" ")
            console.print(f"\n[bold]{word}[/] {styled(rest)} ({styled(decisive.new.name)})", soft_wrap=True)


def _comparison(console: Console, comparison: TargetComparison, verbose: bool) -> None:
    for label, target in (("old", comparison.old), ("new", comparison.new)):
        console.print(f"{label}  [bold]{styled(target.name)}[/]  {styled(target.software())}", soft_wrap=True)
    console.print()
    changed = comparison.groups
    for number, group in enumerate(changed):
        _group(console, group, comparison, in_full=number < _IN_FULL or verbose, verbose=verbose)
    if len(changed) > _IN_FULL and not verbose:
        console.print()
    wrong = comparison.summary.wrong_in_both
    for change, count in comparison.summary.counts.items():
        if count:
            notes = (
                [f"{comparison.summary.accepted[change]} of them accepted"]
                if change in comparison.summary.accepted
                else []
            )
            notes += [f"{wrong} of them wrong in both"] if change is Change.SAME and wrong else []
            console.print(f"{count:6}  {', '.join([change.value, *notes])}")
    console.print()
    for message in (*comparison.tools, *comparison.unused):
        console.print(styled(message), soft_wrap=True)
    _unchanged(console, comparison, verbose)
    open_changes = [group for group in changed if group.accepted is None]
    if open_changes:
        execution = open_changes[0].smallest.execution
        command = run_on(execution, [comparison.old.name, comparison.new.name])
        console.print(f"[dim]Next: {styled(shlex.join(command))}[/]", soft_wrap=True)
    word, _, rest = str(comparison).partition(" ")
    console.print(f"[{_STYLES[comparison.decision]}]{word}[/] {styled(rest)}", soft_wrap=True)


def _unchanged(console: Console, comparison: TargetComparison, verbose: bool) -> None:
    """What is wrong on both targets, which is no change, a line for each defect or kinds."""
    groups = comparison.summary.unchanged
    if not groups:
        return
    console.print("Wrong in both, which is no change:")
    for group in groups if verbose else groups[:_IN_FULL]:
        cases = some(group.cases, len(group.cases)) if verbose else [group.smallest.execution.case]
        of = plural(len(group.cases), "case")
        console.print(
            f"  {styled(group_cause(group))}  {of}: {styled(', '.join(cases))}{', ...' if len(cases) < len(group.cases) else ''}",
            soft_wrap=True,
        )
    if len(groups) > _IN_FULL and not verbose:
        console.print(f"  and {len(groups) - _IN_FULL} more; -v shows them")
    console.print()


def _group(
    console: Console, group: TransitionGroup, comparison: TargetComparison, *, in_full: bool, verbose: bool
) -> None:
    blocks = group.blocks
    style, cases = "red" if blocks else "yellow", plural(len(group.cases), "case")
    console.print(f"[bold {style}]{group.change.value}[/]  {styled(group_cause(group))}  {cases}", soft_wrap=True)
    if group.accepted is not None:
        console.print(Padding(styled(f"accepted: {group.accepted}"), (0, 0, 0, 2), expand=False))
    if in_full:
        execution = group.smallest.execution
        for text in (*titles(group.defects, comparison), f"{execution.case} ({execution.variant}): {execution.title}"):
            console.print(Padding(styled(text), (0, 0, 0, 2), expand=False))
        for line in details(group.smallest):
            console.print(f"    {styled(line)}", soft_wrap=True)
    # The case of the example needs no list.
    if (blocks or verbose) and (len(group.cases) > 1 or not in_full):
        if in_full:
            console.print("  Cases:")
        for name in some(group.cases, len(group.cases) if verbose else MOST_NAMES):
            console.print(f"    {styled(name)}", soft_wrap=True)
    if in_full:
        console.print()
