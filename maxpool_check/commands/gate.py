"""``maxpool-check gate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import compare, executing, options, records

if TYPE_CHECKING:
    from maxpool_check.comparing.transitions import Change
    from maxpool_check.results.record import Record


@click.command("gate")
@options.paths
@click.option(
    "--base", required=True, metavar="TARGET|RECORD.jsonl", help="What is used now: a target, or a record of it."
)
@click.option("--head", required=True, metavar="TARGET", help="What is to be used.")
@options.selection
@executing.jobs
@executing.timeout
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
    from maxpool_check.results.record import ExitCode

    options.check_writable([*[path for _, path in reports], *([output] if output else [])])
    if base == head:
        raise click.UsageError(f"the base and the head are the same, {base}")
    if output is not None and str(output) == base:
        raise click.UsageError(f"the record would overwrite the base, {base}")
    stored, old_name = _stored(base)
    record = executing.run_cases(
        paths,
        selected,
        [head] if stored else [base, head],
        max_cells,
        jobs=jobs,
        timeout=timeout,
        output=output,
        quiet=quiet,
    )
    assert record.footer is not None
    for error in record.footer.errors:
        click.echo(f"error: {error}", err=True)
    if not record.header.cases:
        return options.report_failure(form, "gate", ["no case is selected"], ExitCode.NOTHING_COMPARED)
    names = [target.name for target in record.header.targets]
    missing = [name for name in ([head] if stored else [base, head]) if name not in names]
    if missing:
        why = list(record.footer.errors) or [f"{name} was not asked" for name in missing]
        return options.report_failure(form, "gate", why, ExitCode.INCOMPLETE)
    old = record if stored is None else _asked(stored, record, selected)
    try:
        found = compare.changes(old, record, old_name, head, blocking, intersection=False)
    except Incomparable as error:
        raise click.UsageError(f"{base} cannot be the base: {error}; make it again from these cases") from error
    return compare.show("gate", [found], form, reports, verbose=verbose > 0, color=color)


def _stored(base: str) -> tuple[Record | None, str]:
    """The record that the base is, if it is one, and the name of its target."""
    if not base.endswith((".jsonl", ".jsonl.gz")):
        return None, base
    stored = records.read(Path(base))
    names = [target.name for target in stored.header.targets]
    if len(names) != 1:
        raise click.UsageError(f"{base} is a record of {len(names)} targets, a base is one: run it alone, with -o")
    return stored, names[0]


def _asked(stored: Record, record: Record, selected: Sequence[str]) -> Record:
    """The stored record; of a selection only the cases that were selected."""
    if not selected:
        return stored
    asked = {execution.case for execution in record.executions}
    return replace(stored, executions=tuple(one for one in stored.executions if one.case in asked))
