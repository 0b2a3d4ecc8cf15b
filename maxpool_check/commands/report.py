"""``maxpool-check report``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from maxpool_check.commands import options
from maxpool_check.words import plural

FORMATS = options.Formats("reporting.run_view:document", {"json": "reporting.json:write"}, "reporting.run_items:checks")
"""The formats of the report of a run."""

ONE_RECORD = ("html", "json", "junit", "sarif")
"""The formats that are a document of their own."""

_HISTORIES = (".json", ".json.xz")
"""How the names of histories end."""
_MOST_BYTES = 50 * 2**20


@options.command("report")
@click.argument("records", nargs=-1, required=True, type=options.FILE, metavar="RECORD...")
@options.reports()
@click.option(
    "-o", "--output", type=options.FILE, metavar="DIR/", help="Write a static site of the records to this folder."
)
def command(records: tuple[Path, ...], reports: tuple[tuple[str, Path], ...], output: Path | None) -> int:
    """Render records: as text, as reports, or with -o as a static site.

    A site has every runtime, document, defect, kind, clause and case on a page of its own. Of a site, RECORD may also be the JSON
    report of a history, FILE.json or FILE.json.xz, which becomes the trend of its runtime. Exits with 3 if the run of a record did
    not end, or a record has what no run writes. -v shows known defects in full, and lists the cases of each (text and Markdown).

    \b
    Examples:
      maxpool-check report record.jsonl --report html=report.html
      maxpool-check report build/*.jsonl history.json -o site
    """
    from maxpool_check.commands.output import Output
    from maxpool_check.files import STDOUT, open_text
    from maxpool_check.reporting.run_report import RunReport
    from maxpool_check.reporting.writers import Display
    from maxpool_check.results.record import ExitCode

    histories = [path for path in records if path.name.endswith(_HISTORIES)]
    if output is not None:
        if reports:
            raise click.UsageError("-o writes a site; --report is for reports without -o")
        return _write_site([path for path in records if path not in histories], histories, output)
    if histories:
        raise click.UsageError(f"{histories[0]} is a history, which is for a site; name its folder with -o")
    if len(records) > 1 and (alone := [kind for kind, _ in reports if kind in ONE_RECORD]):
        raise click.UsageError(f"--report {alone[0]} is one document for one record")
    stored, verbose = [options.read_record(path) for path in records], options.setting("verbose") > 0
    Output(reports).check_writable(records)
    for kind, path in reports or [("text", STDOUT)]:
        with open_text(path) as file:
            for number, record in enumerate(stored):
                file.write("\n" if number else "")
                display = Display(options.width(), path == STDOUT and options.colored(), verbose)
                FORMATS.write(kind, RunReport(record, record.exit_code), file, display)
    if any(record.mistakes for record in stored):
        options.echo("inconsistent: no run writes such a record", err=True)
    elif all(record.footer for record in stored):
        return ExitCode.AS_EXPECTED
    else:
        options.echo("incomplete: the run did not end", err=True)
    return ExitCode.INCOMPLETE


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
