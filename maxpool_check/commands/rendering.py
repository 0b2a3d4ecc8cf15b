"""Writes reports to files and to stdout.

A format is a function that writes a report to a text file. A new format of a run is its module and a line in ``FORMATS``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO, TypeVar

import click

from maxpool_check.commands import options
from maxpool_check.reporting import github, json, junit, markdown, sarif, text
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Record

_Report = TypeVar("_Report")

FORMATS: Mapping[str, Callable[[RunReport, TextIO], None]] = {
    "text": text.write,
    "markdown": markdown.write,
    "json": json.write,
    "junit": junit.write,
    "github": github.write,
    "sarif": sarif.write,
}
"""The formats of the report of a run."""


def write(record: Record, form: str, code: int, path: Path) -> None:
    """Write the report of a run to a file."""
    with path.open("w", encoding="utf-8") as file:
        FORMATS[form](RunReport(record, code, options.width(), verbose=True), file)


def show(record: Record, form: str, code: int, *, color: str, verbose: bool) -> None:
    """Print the report of a run."""
    FORMATS[form](RunReport(record, code, options.width(), options.is_colored(color), verbose), sys.stdout)


def publish(
    formats: Mapping[str, Callable[[_Report, TextIO], None]],
    form: str,
    report: _Report,
    reports: Sequence[tuple[str, Path]],
    plain: _Report | None = None,
) -> None:
    """Print a report in one format and write it to files in others; ``plain`` is the report without colours."""
    # Files first: one that cannot be written is an error, and then stdout must not hold a document.
    for kind, path in reports:
        with path.open("w", encoding="utf-8") as file:
            formats[kind](plain or report, file)
    formats[form](report, sys.stdout)
    for kind, path in reports:
        click.echo(f"{kind}: {path}", err=True)
