"""``maxpool-check gate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import asking, compare, options, records

if TYPE_CHECKING:
    from maxpool_check.comparing.transitions import Change
    from maxpool_check.running.record import Record


@click.command("gate")
@options.paths
@click.option(
    "--base", required=True, metavar="TARGET|RECORD.jsonl", help="What is used now: a target, or a record of it."
)
@click.option("--head", required=True, metavar="TARGET", help="What is to be used.")
@options.selection
@asking.jobs
@asking.timeout
@compare.fail_on
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RECORD.jsonl", help="Write the record here.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
@compare.outputs
@options.max_cells
def command(
    paths: tuple[Path, ...],
    base: str,
    head: str,
    selected: tuple[str, ...],
    jobs: int,
    timeout: float,
    blocking: Sequence[Change],
    output: Path | None,
    quiet: bool,
    form: str,
    reports: tuple[tuple[str, Path], ...],
    verbose: int,
    max_cells: int,
    color: str,
) -> int:
    """Ask two targets every case of PATH..., and say whether the one may replace the other.

    Ends with SAFE (no observable change), REVIEW (fixed, changed where the documents leave a point open, newly accepted:
    production may rely on what was) or BLOCK (regressed, newly refused, a new crash). Exits with 0, or with 1 on BLOCK; 2
    usage or a bad file, 3 could not complete, 4 nothing was compared.
    """
    from maxpool_check.comparing.transitions import Incomparable

    options.hold_writable([*[path for _, path in reports], *([output] if output else [])])
    stored = records.read(Path(base)) if base.endswith((".jsonl", ".jsonl.gz")) else None
    if base == head:
        raise click.UsageError(f"the base and the head are the same, {base}")
    record = asking.ask(
        paths,
        selected,
        [head] if stored else [base, head],
        max_cells,
        jobs=jobs,
        timeout=timeout,
        output=output,
        quiet=quiet,
    )
    for error in record.footer.errors if record.footer else ():
        click.echo(f"error: {error}", err=True)
    names = [target.name for target in record.header.targets]
    missing = [name for name in (head,) if name not in names] + ([] if stored or base in names else [base])
    if missing or record.footer is None:
        return asking.could_not(form, "gate", [f"{name} was not asked" for name in missing])
    if stored is not None:
        old, (old_name, *others) = _asked(stored, record, selected), [target.name for target in stored.header.targets]
        if others:
            raise click.UsageError(
                f"{base} is a record of several targets; a base is one: {', '.join([old_name, *others])}"
            )
    else:
        old, old_name = record, base
    try:
        found = compare.changes(old, record, old_name, head, blocking, intersection=False)
    except Incomparable as error:
        raise click.UsageError(f"{base} cannot be the base: {error}; make it again from these cases") from error
    return compare.show("gate", [found], form, reports, verbose=verbose > 0, color=color)


def _asked(stored: Record, record: Record, selected: Sequence[str]) -> Record:
    """The stored record; of a selection only the cases that were selected."""
    if not selected:
        return stored
    asked = {execution.case for execution in record.executions}
    return replace(stored, executions=tuple(one for one in stored.executions if one.case in asked))
