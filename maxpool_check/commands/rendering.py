"""The forms a record can be given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from maxpool_check.running.record import Record

FORMATS = ("text", "markdown", "json", "junit", "github", "sarif")


def write(record: Record, form: str, code: int, path: Path) -> None:
    """The report of a run as a file."""
    if form == "json":
        from maxpool_check.reporting import json

        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.parts(record, code))
            file.write("\n")
        return
    path.write_text(rendered(record, form, code), encoding="utf-8")


def show(record: Record, form: str, code: int, *, color: str, verbose: bool) -> None:
    """The report of a run on stdout."""
    if form == "json":
        from maxpool_check.reporting import json

        for part in json.parts(record, code):
            click.echo(part, nl=False)
        click.echo()
        return
    click.echo(rendered(record, form, code, color=color, verbose=verbose), nl=False, color=True)


def rendered(record: Record, form: str, code: int, *, color: str = "never", verbose: bool = True) -> str:
    """The report of a run in one of the forms, ending in a newline."""
    if form == "text":
        from maxpool_check.reporting import text

        return text.render(record, code, width=options.width(), color=options.is_colored(color), verbose=verbose)
    if form == "junit":
        from maxpool_check.reporting import junit

        return junit.render(record)
    if form == "sarif":
        from maxpool_check.reporting import sarif

        return sarif.render(record) + "\n"
    if form == "json":
        from maxpool_check.reporting import json

        return json.render(record, code) + "\n"
    if form == "github":
        from maxpool_check.reporting import github

        return github.render(record, code)
    from maxpool_check.reporting import markdown

    return markdown.render(record, code)
