"""``maxpool-check report``."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check.commands import options
from maxpool_check.words import plural, some

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.results.record import Record

FORMATS = options.formats_with_checks("json:write", github="github:write")
"""The formats of the report of a run."""

ONE_RECORD = ("html", "json", "junit", "sarif")
"""The formats that are a document of their own."""

_MOST_IDS = 10  # In a sentence.
_MOST_BYTES = 50 * 2**20


@click.command("report")
@click.argument("records", nargs=-1, required=True, type=options.FILE, metavar="RECORD...")
@options.reports()
@click.option(
    "-o", "--output", type=options.FILE, metavar="DIR/", help="Write a static site of the records to this folder."
)
@click.option(
    "--history", "histories", multiple=True, type=options.FILE, metavar="FILE",
    help="With -o, the JSON report of a history, which becomes the trend of its runtime; xz may have compressed it. Repeatable.",
)  # fmt: skip
@click.option(
    "--corpus", type=options.FILE, metavar="PATH",
    help="Print to stderr which cases of PATH the record does not hold, and which have changed since.",
)  # fmt: skip
@click.option(
    "-v", "--cases", is_flag=True, help="Show known defects in full, and list the cases of each (text and Markdown)."
)
def command(
    records: tuple[Path, ...], reports: tuple[tuple[str, Path], ...], output: Path | None, histories: tuple[Path, ...],
    corpus: Path | None, cases: bool,
) -> int:  # fmt: skip
    """Render records: as text, as reports, or with -o as a static site.

    A site has every runtime, document, defect, kind, clause and case on a page of its own. Exits with 3 if the run of a
    record did not end, or a record has what no run writes.

    \b
    Examples:
      maxpool-check report record.jsonl --report html=report.html
      maxpool-check report build/*.jsonl --history history.json -o site
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.files import STDOUT, open_text
    from maxpool_check.reporting.run_report import RunReport
    from maxpool_check.results.record import ExitCode

    if output is not None:
        if reports or corpus is not None or cases:
            raise click.UsageError("-o writes a site; --report, --corpus and --cases are for reports without -o")
        return _write_site(records, histories, output)
    if histories:
        raise click.UsageError("--history is for a site; name its folder with -o")
    if len(records) > 1 and (alone := [kind for kind, _ in reports if kind in ONE_RECORD]):
        raise click.UsageError(f"--report {alone[0]} is one document for one record")
    stored = [options.read_record(path) for path in records]
    collected = CaseFiles([corpus]).read() if corpus is not None else None
    Output(reports).check_writable([*records, *(collected.files if collected else ())])
    for kind, path in reports or [("text", STDOUT)]:
        with open_text(path) as file:
            for number, record in enumerate(stored):
                file.write("\n" if number else "")
                colored = path == STDOUT and options.colored()
                FORMATS[kind](RunReport(record, record.exit_code, options.width(), colored, cases, cases), file)
    for source, record in zip(records, stored, strict=True) if collected is not None else ():
        parts = [
            f"{len(ids)} {words}: {', '.join(some(ids, _MOST_IDS))}"
            for words, ids in corpus_difference(record, collected.cases if collected else ()).items()
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


def corpus_difference(record: "Record", cases: "Collection[Case]") -> Mapping[str, Sequence[str]]:
    """How the cases of a record differ from those of a corpus: the ids of each difference, by id and digest."""
    recorded = {execution.case: execution.case_sha256 for execution in record.executions}
    current = {case.id: case.sha256 for case in cases}
    return {
        "not in the record": [case for case in current if case not in recorded],
        "changed since the record": [case for case, digest in current.items() if recorded.get(case, digest) != digest],
        "in the record only": [case for case in recorded if case not in current],
    }


def _write_site(records: Sequence[Path], histories: Sequence[Path], folder: Path) -> int:
    """Write a site. Raises ``click.UsageError``, also for two records of one name."""
    from maxpool_check.reporting.site.writing import NotASite, check_folder, write_site
    from maxpool_check.results.storage import name_of

    names = [name_of(path) for path in records]
    for path, name in zip(records, names, strict=True):
        if names.count(name) > 1:
            raise click.UsageError(f"two records are called '{name}', as {path}; their pages need different names")
    with options.raising(NotASite):
        check_folder(folder, [*records, *histories])
    stored = [(name, options.read_record(path)) for name, path in zip(names, records, strict=True)]
    count = write_site(stored, [_history(path) for path in histories], folder)
    options.echo(f"{folder}: {plural(count, 'page')} of {plural(len(stored), 'record')}")
    return 0


def _history(path: Path) -> Any:
    """A history from its JSON report. Raises ``click.UsageError``."""
    import json
    from lzma import LZMAError

    from maxpool_check.files import not_found, open_regular
    from maxpool_check.reporting.site.pages import History
    from maxpool_check.results.storage import decompressed

    try:
        with open_regular(path, _MOST_BYTES) as file:
            data = json.loads(decompressed(file).read(_MOST_BYTES))
        verdicts = {
            str(release["version"]): {str(verdict): int(count) for verdict, count in release["verdicts"].items()}
            for release in data["releases"]
            if "skipped" not in release
        }
        return History(str(data.get("distribution") or data["target"]), verdicts)
    except FileNotFoundError as error:
        raise click.UsageError(not_found(path, is_file=True)) from error
    except (OSError, EOFError, LZMAError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(
            f"{path} is no JSON report of a history; 'maxpool-check history --report json={path}' writes one"
        ) from error
