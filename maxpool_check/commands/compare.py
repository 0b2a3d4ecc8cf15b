"""``maxpool-check compare``, and the options that ``gate`` shares with it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from maxpool_check.commands import options
from maxpool_check.comparing.gate import BLOCKING, UNOBSERVABLE, TargetComparison, compare_targets
from maxpool_check.comparing.transitions import Change, Incomparable, paired
from maxpool_check.reporting.changes import FORMATS, ComparisonReport
from maxpool_check.results.record import ExitCode
from maxpool_check.specifications.specification import nearest

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _changes(text: str) -> tuple[Change, ...]:
    """A list of changes, ``any`` being all observable ones."""
    changes = {change.value: change for change in Change if change not in UNOBSERVABLE}
    names = list(changes) if text == "any" else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in changes:
            raise ValueError(f"unknown change '{name}'{nearest(name, changes)}; known: {', '.join(changes)}")
    return tuple(changes[name] for name in names)


_BLOCKING = ",".join(change.value for change in BLOCKING)

fail_on = click.option(
    "--fail-on", "blocking", type=options.Parsed("CHANGE,...", _changes), default=_BLOCKING,
    help=f"The changes that block, or 'any'.  [default: {_BLOCKING}]",
)  # fmt: skip


def outputs(command: _Command) -> _Command:
    """``--format``, ``--report``, ``-v`` and ``--color``."""
    verbose = options.verbose("Show every change in full")
    return options.form(FORMATS)(options.reports(FORMATS)(verbose(options.color(command))))


@click.command("compare")
@click.argument("old", type=options.FILE)
@click.argument("new", type=options.FILE)
@click.option("--old-target", metavar="TARGET", help="The target of the old record.  [default: the only one]")
@click.option("--new-target", metavar="TARGET", help="The target of the new record.  [default: the only one]")
@click.option("--intersection", is_flag=True, help="Leave out cases that differ between the records.")
@fail_on
@outputs
@options.bundled(output=options.Output)
def command(
    old: Path, new: Path, old_target: str | None, new_target: str | None, intersection: bool,
    blocking: Sequence[Change], output: options.Output,
) -> int:  # fmt: skip
    """Compare two records, OLD and NEW: what is the same, fixed, regressed, refused, accepted, or otherwise changed.

    Ends with SAFE, REVIEW or BLOCK. Exit codes: 0, 1 for BLOCK, 2 if the records hold different cases, 3 if one of them is
    incomplete, 4 if nothing can be compared.
    """
    output.check_writable([old, new])
    before, after = options.read_record(old), options.read_record(new)
    try:
        comparisons = [
            compare_targets(before, after, names, blocking, intersection=intersection)
            for names in paired(before, after, (old_target, new_target))
        ]
    except Incomparable as error:
        hint = "; --intersection leaves out what differs" if "in both" in str(error) else ""
        raise click.UsageError(f"the records cannot be compared: {error}{hint}") from error
    return show("compare", comparisons, output)


def show(name: str, comparisons: Sequence[TargetComparison], output: options.Output) -> ExitCode:
    """Print what has changed, write the reports, and return the exit code."""
    report = ComparisonReport(name, comparisons, options.width(), output.colored, output.verbose > 0)
    output.publish(FORMATS, report, replace(report, color=False))
    return report.exit_code
