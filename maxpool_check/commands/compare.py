"""``maxpool-check compare``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maxpool_check.commands import options, records

if TYPE_CHECKING:
    from maxpool_check.comparing.transitions import Change
    from maxpool_check.reporting.changes import Changes
    from maxpool_check.results.record import Record

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Changes(click.ParamType):  # type: ignore[type-arg]
    name = "CHANGE,..."

    def convert(
        self, value: str | tuple[Change, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Change, ...]:
        """A list of changes, ``any`` being all that can be observed."""
        from maxpool_check.comparing.gate import UNSEEN
        from maxpool_check.comparing.transitions import Change
        from maxpool_check.specifications.attributes import nearest

        if not isinstance(value, str):
            return value
        seen = {change.value: change for change in Change if change not in UNSEEN}
        if value == "any":
            return tuple(seen.values())
        names = [name.strip() for name in value.split(",")]
        for name in names:
            if name not in seen:
                self.fail(f"'{name}' is no change{nearest(name, seen)}; there are {', '.join(seen)}", param, ctx)
        return tuple(seen[name] for name in names)


def fail_on(command: _Command) -> _Command:
    """``--fail-on``."""
    return click.option(
        "--fail-on", "blocking", type=_Changes(), default="regressed,newly-refused,crash-new",
        help="The changes that block, or 'any'.  [default: regressed,newly-refused,crash-new]",
    )(command)  # fmt: skip


def outputs(command: _Command) -> _Command:
    """``--format``, ``--report``, ``-v`` and ``--color``."""
    for decorate in (
        options.color,
        click.option("-v", "--verbose", count=True, help="Show every change in full; -vv tracebacks of internal errors."),
        click.option(
            "--report", "reports", multiple=True, metavar="FORMAT=PATH", type=options.Report(("text", "markdown", "json")),
            help="Write a report: text, markdown, json. Repeatable.",
        ),
        click.option(
            "--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text",
            help="What to print.  [default: text]",
        ),
    ):  # fmt: skip
        command = decorate(command)
    return command


@click.command("compare")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--old-target", metavar="TARGET", help="Which target of the old record.  [default: the only one]")
@click.option("--new-target", metavar="TARGET", help="Which target of the new record.  [default: the only one]")
@click.option("--intersection", is_flag=True, help="Leave out cases that are not the same variant in both records.")
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

    Ends with SAFE, REVIEW or BLOCK. Exits with 0, or with 1 on BLOCK; 2 where the records do not answer the same
    variants, 3 where one of them is incomplete, 4 where nothing can be compared.
    """
    from maxpool_check.comparing.transitions import Incomparable, paired

    options.check_writable([path for _, path in reports])
    before, after = records.read(old), records.read(new)
    try:
        pairs = paired(before, after, (old_target, new_target))
        found = [changes(before, after, *pair, blocking, intersection=intersection) for pair in pairs]
    except Incomparable as error:
        hint = "; --intersection leaves out what differs" if "in both" in str(error) else ""
        raise click.UsageError(f"the records cannot be compared: {error}{hint}") from error
    return show("compare", found, form, reports, verbose=verbose > 0, color=color)


def changes(
    old: Record, new: Record, old_target: str, new_target: str, blocking: Sequence[Change], *, intersection: bool
) -> Changes:
    """What has changed from one target to another, and what it comes to."""
    from maxpool_check.comparing.gate import decide
    from maxpool_check.comparing.transitions import left_out, transitions
    from maxpool_check.reporting.changes import Changes

    found = transitions(old, new, old_target, new_target, intersection=intersection)
    errors = []
    for label, record, name in (("old", old, old_target), ("new", new, new_target)):
        if record.footer is None:
            errors.append(f"the {label} record is incomplete: its run did not end")
        elif any(one.target == name and one.verdict == "error" for one in record.executions):
            errors.append(f"some cases could not be asked of {name}; the {label} record says why")
    was, now = (
        next(target for target in record.header.targets if target.name == name)
        for record, name in ((old, old_target), (new, new_target))
    )
    omitted = left_out(old, new, old_target, new_target)
    return Changes(was, now, found, decide(found, blocking), errors, omitted)


def show(
    name: str,
    found: Sequence[Changes],
    form: str,
    reports: Sequence[tuple[str, Path]],
    *,
    verbose: bool,
    color: str,
) -> int:
    """Print what has changed, write the reports, and give the exit code."""
    from maxpool_check.comparing.gate import Decision
    from maxpool_check.reporting import changes as rendering
    from maxpool_check.results.record import ExitCode

    code = ExitCode.AS_EXPECTED
    if any(not one.complete for one in found):
        code = ExitCode.INCOMPLETE
    elif any(not one.outcome.compared for one in found):
        code = ExitCode.NOTHING_COMPARED
    elif any(one.outcome.decision is Decision.BLOCK for one in found):
        code = ExitCode.UNEXPECTED

    def rendered(form: str, colored: bool) -> str:
        if form == "json":
            return rendering.as_json(name, found, code) + "\n"
        if form == "markdown":
            return rendering.markdown(found)
        return rendering.text(found, width=options.width(), color=colored, verbose=verbose)

    # Files first: one that cannot be written is an error, and then there is no other document on stdout.
    for kind, path in reports:
        path.write_text(rendered(kind, False), encoding="utf-8")
    click.echo(rendered(form, options.is_colored(color)), nl=False, color=True)
    for kind, path in reports:
        click.echo(f"{kind}: {path}", err=True)
    return code
