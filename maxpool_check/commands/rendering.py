"""Writes reports to files and to stdout.

A format is a function that writes a report to a text file. A new format of a run is its module and a line in ``FORMATS``.
"""

import sys
from collections.abc import Callable, Mapping
from typing import TextIO, TypeVar

import click

from maxpool_check.commands import options
from maxpool_check.reporting import github, json, junit, markdown, sarif, text
from maxpool_check.reporting.run_report import RunReport

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


def publish(
    formats: Mapping[str, Callable[[_Report, TextIO], None]],
    report: _Report,
    output: options.Output,
    plain: _Report | None = None,
    *,
    silent: bool = False,
) -> None:
    """Print a report and write it to files; ``plain`` is the report for files, ``silent`` prints only JSON."""
    # Files first: if one cannot be written, that is an error, and stdout must not hold a document.
    for kind, path in output.reports:
        with path.open("w", encoding="utf-8") as file:
            formats[kind](plain or report, file)
    if output.form == "json" or not silent:
        formats[output.form](report, sys.stdout)
    for kind, path in () if silent else output.files:
        click.echo(f"{kind}: {path}", err=True)
