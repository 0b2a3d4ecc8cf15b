"""``maxpool-check report``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_output import Output
from maxpool_check.corpus.case import Case
from maxpool_check.files import STDOUT, open_text
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import ExitCode, Record

FORMATS: options.Formats[RunReport] = {
    "text": options.written_by("maxpool_check.reporting.text"),
    "markdown": options.written_by("maxpool_check.reporting.markdown"),
    "html": options.written_by("maxpool_check.reporting.html.run"),
    "json": options.written_by("maxpool_check.reporting.json"),
    "junit": options.written_by("maxpool_check.reporting.junit"),
    "github": options.written_by("maxpool_check.reporting.github"),
    "sarif": options.written_by("maxpool_check.reporting.sarif"),
}
"""The formats of the report of a run. A new one is its module and a line here."""

ONE_RECORD = ("html", "json", "junit", "sarif")
"""The formats that are a document of their own."""

_MOST_IDS = 10  # In a sentence.


@click.command("report")
@click.argument("records", nargs=-1, required=True, type=options.FILE, metavar="RECORD...")
@options.form(FORMATS, "The format of the report.")
@click.option("-o", "--output", type=options.FILE, metavar="FILE", help="Write to a file, not to stdout.")
@click.option(
    "--corpus", type=options.FILE, metavar="PATH",
    help="Print to stderr which cases of PATH the record does not hold, and which have changed since.",
)  # fmt: skip
@click.option("--cases", is_flag=True, help="List the cases of each defect, and leave nothing out (text and Markdown).")
@click.option("-v", "--verbose", is_flag=True, help="Show known defects in full.")
@options.color
@options.bundled(output=Output)
def command(records: tuple[Path, ...], corpus: Path | None, cases: bool, output: Output) -> int:
    """Render records. Exits with 3 if one of them is incomplete, or has what no run writes.

    \b
    Examples:
      maxpool-check report record.jsonl --format html -o report.html
      maxpool-check report record.jsonl -v
    """
    if output.form in ONE_RECORD and len(records) > 1:
        raise click.UsageError(f"--format {output.form} is one document for one record")
    stored = [options.read_record(path) for path in records]
    path = output.output
    colored = path is None and output.colored
    collected = case_files.CaseFiles([corpus]).read() if corpus is not None else None
    output.check_writable([*records, *(collected.files if collected else ())])
    with open_text(path or STDOUT) as file:
        for number, record in enumerate(stored):
            code = record.footer.exit_code if record.footer else ExitCode.INCOMPLETE
            file.write("\n" if number else "")
            report = RunReport(record, code, options.width(), colored, output.verbose > 0, cases)
            FORMATS[output.form](report, file)
    if collected is not None:
        for source, record in zip(records, stored, strict=True):
            parts = [
                f"{len(ids)} {words}: {', '.join(ids[:_MOST_IDS])}{' ...' if len(ids) > _MOST_IDS else ''}"
                for words, ids in corpus_difference(record, collected.cases).items()
                if ids
            ]
            options.echo(f"{source}: {'; '.join(parts) or 'the record holds every case as it is'}", err=True)
    if any(record.mistakes for record in stored):
        options.echo("inconsistent: no run writes such a record", err=True)
    elif all(record.footer for record in stored):
        return ExitCode.AS_EXPECTED
    else:
        options.echo("incomplete: the run did not end", err=True)
    return ExitCode.INCOMPLETE


def corpus_difference(record: Record, cases: Sequence[Case]) -> Mapping[str, Sequence[str]]:
    """How the cases of a record differ from those of a corpus: the ids of each difference, by id and digest."""
    recorded = {execution.case: execution.case_sha256 for execution in record.executions}
    current = {case.id: case.sha256 for case in cases}
    return {
        "not in the record": [case for case in current if case not in recorded],
        "changed since the record": [case for case, digest in current.items() if recorded.get(case, digest) != digest],
        "in the record only": [case for case in recorded if case not in current],
    }
