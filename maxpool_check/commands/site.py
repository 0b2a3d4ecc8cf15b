"""``maxpool-check site``."""

import json
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path

import click

from maxpool_check.commands import old_options as options
from maxpool_check.files import open_regular
from maxpool_check.reporting.site.history import History
from maxpool_check.reporting.site.writing import NotASite, check_folder, write_site
from maxpool_check.results.record import ExitCode
from maxpool_check.results.storage import decompressed, name_of
from maxpool_check.words import plural

_MOST_BYTES = 50 * 2**20


@click.command("site")
@click.argument("records", nargs=-1, required=True, type=options.FILE, metavar="RECORD...")
@click.option("-o", "--output", required=True, type=options.FILE, metavar="DIR", help="The folder of the site.")
@click.option(
    "--history", "histories", multiple=True, type=options.FILE, metavar="FILE",
    help="The JSON report of a history, which becomes the trend of its runtime; xz may have compressed it. Repeatable.",
)  # fmt: skip
def command(records: tuple[Path, ...], output: Path, histories: tuple[Path, ...]) -> int:
    """Write a static site from records: every runtime, document, defect, kind, clause and case on a page of its own.

    \b
    Examples:
      maxpool-check site record.jsonl -o site
      maxpool-check site build/*.jsonl --history history.json -o site
    """
    names = _names(records)
    try:
        check_folder(output, [*records, *histories])
    except NotASite as error:
        raise click.UsageError(str(error)) from error
    stored = [(names[path], options.read_record(path)) for path in records]
    count = write_site(stored, [_history(path) for path in histories], output)
    options.echo(f"{output}: {plural(count, 'page')} of {plural(len(stored), 'record')}")
    return ExitCode.AS_EXPECTED


def _names(records: Sequence[Path]) -> dict[Path, str]:
    """The names of records: those of their files. Raises ``click.UsageError`` if two are alike."""
    names = {path: name_of(path) for path in records}
    for path, name in names.items():
        if list(names.values()).count(name) > 1:
            raise click.UsageError(f"two records are called '{name}', as {path}; their pages need different names")
    return names


def _history(path: Path) -> History:
    """A history from its JSON report. Raises ``click.UsageError``."""
    try:
        with open_regular(path, _MOST_BYTES) as file:
            data = json.loads(decompressed(file).read(_MOST_BYTES))
        verdicts = {
            str(release["version"]): {str(verdict): int(count) for verdict, count in release["verdicts"].items()}
            for release in data["releases"]
            if "skipped" not in release
        }
        return History(str(data.get("distribution") or data["target"]), verdicts)
    except (OSError, EOFError, LZMAError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(
            f"{path} is no JSON report of a history; 'maxpool-check history --report json={path}' writes one"
        ) from error
