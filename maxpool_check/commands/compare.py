"""``maxpool-check compare``, and the options that ``gate`` shares with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from maxpool_check.commands import options, records, rendering
from maxpool_check.comparing.gate import BLOCKING, UNOBSERVABLE, TargetComparison, compare_targets
from maxpool_check.comparing.transitions import Change, Incomparable, paired
from maxpool_check.reporting.changes import FORMATS, ComparisonReport
from maxpool_check.specifications.attributes import nearest

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Changes(click.ParamType):  # type: ignore[type-arg]
    name = "CHANGE,..."

    def convert(
        self, value: str | tuple[Change, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Change, ...]:
        """A list of changes, ``any`` being all observable ones."""
        if not isinstance(value, str):
            return value
        changes = {change.value: change for change in Change if change not in UNOBSERVABLE}
        if value == "any":
            return tuple(changes.values())
        names = [name.strip() for name in value.split(",")]
        for name in names:
            if name not in changes:
                self.fail(f"unknown change '{name}'{nearest(name, changes)}; known: {', '.join(changes)}", param, ctx)
        return tuple(changes[name] for name in names)


def fail_on(command: _Command) -> _Command:
    """``--fail-on``."""
    default = ",".join(change.value for change in BLOCKING)
    return click.option(
        "--fail-on", "blocking", type=_Changes(), default=default,
        help=f"The changes that block, or 'any'.  [default: {default}]",
    )(command)  # fmt: skip


def outputs(command: _Command) -> _Command:
    """``--format``, ``--report``, ``-v`` and ``--color``."""
    for decorate in (
        options.color,
        click.option(
            "-v", "--verbose", count=True, help="Show every change in full; -vv tracebacks of internal errors."
        ),
        options.reports(FORMATS),
        options.form(FORMATS),
    ):
        command = decorate(command)
    return command


@click.command("compare")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--old-target", metavar="TARGET", help="The target of the old record.  [default: the only one]")
@click.option("--new-target", metavar="TARGET", help="The target of the new record.  [default: the only one]")
@click.option("--intersection", is_flag=True, help="Leave out cases that differ between the records.")
@fail_on
@outputs
def command(
    old: Path,
    new: Path,
    old_target: str | None,
    new_target: str | None,
    intersection: bool,
    blocking: Sequence[Change],
    form: str,
    reports: tuple[tuple[str, Path], ...],
    verbose: int,
    color: str,
) -> int:
    """Compare two records, OLD and NEW: what is the same, fixed, regressed, refused, accepted, or otherwise changed.

    Ends with SAFE, REVIEW or BLOCK. Exit codes: 0, 1 for BLOCK, 2 if the records hold different cases, 3 if one of them is
    incomplete, 4 if nothing can be compared.
    """
    options.check_writable([path for _, path in reports])
    before, after = records.read(old), records.read(new)
    try:
        comparisons = [
            compare_targets(before, after, names, blocking, intersection=intersection)
            for names in paired(before, after, (old_target, new_target))
        ]
    except Incomparable as error:
        hint = "; --intersection leaves out what differs" if "in both" in str(error) else ""
        raise click.UsageError(f"the records cannot be compared: {error}{hint}") from error
    return show("compare", comparisons, form, reports, verbose=verbose > 0, color=color)


def show(
    name: str,
    comparisons: Sequence[TargetComparison],
    form: str,
    reports: Sequence[tuple[str, Path]],
    *,
    verbose: bool,
    color: str,
) -> int:
    """Print what has changed, write the reports, and return the exit code."""
    report = ComparisonReport(name, comparisons, options.width(), options.is_colored(color), verbose)
    rendering.publish(FORMATS, form, report, reports, replace(report, color=False))
    return report.exit_code
