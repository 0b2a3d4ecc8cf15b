"""The forms a record can be given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from maxpool_check.results.record import Record

FORMATS = ("text", "markdown", "json", "junit", "github", "sarif")


def write(record: Record, form: str, code: int, path: Path) -> None:
    """The report of a run as a file."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(parts(record, form, code))


def show(record: Record, form: str, code: int, *, color: str, verbose: bool) -> None:
    """The report of a run on stdout."""
    for part in parts(record, form, code, color=color, verbose=verbose):
        click.echo(part, nl=False, color=True)


def parts(record: Record, form: str, code: int, *, color: str = "never", verbose: bool = True) -> Iterator[str]:
    """The report of a run in one of the forms, ending in a newline; in parts where it grows with the run."""
    if form == "text":
        from maxpool_check.reporting import text

        yield text.render(record, code, width=options.width(), color=options.is_colored(color), verbose=verbose)
    elif form == "junit":
        from maxpool_check.reporting import junit

        yield from junit.parts(record)
    elif form == "sarif":
        from maxpool_check.reporting import sarif

        yield from sarif.parts(record)
        yield "\n"
    elif form == "json":
        from maxpool_check.reporting import json

        yield from json.parts(record, code)
        yield "\n"
    elif form == "github":
        from maxpool_check.reporting import github

        yield github.render(record, code)
    else:
        from maxpool_check.reporting import markdown

        yield markdown.render(record, code)
