"""``maxpool-check report``."""

import contextlib
import sys
from pathlib import Path

import click

from maxpool_check.commands import case_files, options, rendering
from maxpool_check.commands.records import read
from maxpool_check.comparing.corpus_difference import corpus_difference
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import ExitCode

ONE_RECORD = ("json", "junit", "sarif")
"""The formats that are a document of their own."""


@click.command("report")
@click.argument("records", nargs=-1, required=True, type=options.FILE, metavar="RECORD...")
@options.form(rendering.FORMATS, "The format of the report.")
@click.option("-o", "--output", type=options.FILE, metavar="FILE", help="Write to a file, not to stdout.")
@click.option(
    "--cases", type=options.FILE, metavar="PATH",
    help="Print to stderr which cases of PATH the record does not hold, and which have changed since.",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Show known divergences in full.")
@options.color
@options.bundled(output=options.Output)
def command(records: tuple[Path, ...], cases: Path | None, output: options.Output) -> int:
    """Render records. Exits with 3 if one of them is incomplete."""
    if output.form in ONE_RECORD and len(records) > 1:
        raise click.UsageError(f"--format {output.form} is one document for one record")
    stored = [read(path) for path in records]
    colored = output.output is None and output.colored
    output.check_writable()
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(output.output.open("w", encoding="utf-8")) if output.output else sys.stdout
        for number, record in enumerate(stored):
            code = record.footer.exit_code if record.footer else ExitCode.INCOMPLETE
            file.write("\n" if number else "")
            report = RunReport(record, code, options.width(), colored, output.verbose > 0)
            rendering.FORMATS[output.form](report, file)
    if cases is not None:
        corpus = case_files.CaseFiles([cases]).read()
        for path, record in zip(records, stored, strict=True):
            click.echo(f"{path}: {corpus_difference(record.executions, corpus.cases)}", err=True)
    if all(record.footer for record in stored):
        return ExitCode.AS_EXPECTED
    click.echo("incomplete: the run did not end", err=True)
    return ExitCode.INCOMPLETE
