"""``maxpool-check report``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from maxpool_check.commands import options, rendering
from maxpool_check.commands.records import read

ONE_RECORD = ("json", "junit", "sarif")
"""The formats that are a document of their own."""


@click.command("report")
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RECORD...")
@click.option(
    "--format", "form", type=click.Choice(rendering.FORMATS), default="text",
    help="What to make of it.  [default: text]",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it here, not to stdout.")
@click.option(
    "--cases", type=click.Path(path_type=Path), metavar="PATH",
    help="Say on stderr which cases of PATH the record does not hold, and which have changed since.",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Show known divergences in full.")
@options.color
def command(
    records: tuple[Path, ...], form: str, output: Path | None, cases: Path | None, verbose: bool, color: str
) -> int:
    """Render records. Exits with 3 if one of them is incomplete."""
    from maxpool_check.comparing.corpus_difference import corpus_difference
    from maxpool_check.results.record import ExitCode

    if form in ONE_RECORD and len(records) > 1:
        raise click.UsageError(f"--format {form} is one document for one record")
    stored = [read(path) for path in records]
    shown = color if output is None else "never"

    def parts() -> Iterator[str]:
        for number, record in enumerate(stored):
            code = record.footer.exit_code if record.footer else ExitCode.INCOMPLETE
            yield "\n" if number else ""
            yield from rendering.parts(record, form, code, color=shown, verbose=verbose)

    if output is None:
        for part in parts():
            click.echo(part, nl=False, color=True)
    else:
        try:
            with output.open("w", encoding="utf-8") as file:
                file.writelines(parts())
        except OSError as error:
            raise click.UsageError(f"cannot write {output}: {error.strerror}") from error
    if cases is not None:
        corpus = options.collect((cases,), options.DEFAULT_CELLS)
        for path, record in zip(records, stored, strict=True):
            click.echo(f"{path}: {corpus_difference(record.executions, corpus.cases)}", err=True)
    incomplete = any(record.footer is None for record in stored)
    if incomplete:
        click.echo("incomplete: the run did not end", err=True)
    return ExitCode.INCOMPLETE if incomplete else ExitCode.AS_EXPECTED
