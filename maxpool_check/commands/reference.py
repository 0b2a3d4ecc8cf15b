"""``maxpool-check reference``."""

import sys
from pathlib import Path

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.explaining.reference import FORMATS
from maxpool_check.results.record import ExitCode


@click.command("reference")
@click.argument("case")
@case_files.folder
@options.form(FORMATS)
@click.option("-a", "--all", "everything", is_flag=True, help="Show every window and every cell, however many.")
@case_files.max_cells
def command(case: str, path: Path | None, form: str, everything: bool, max_cells: int) -> int:
    """Show the result of the reference for one case, with its windows.

    CASE is a full id, such as sonnx/float:float-example-3, or FILE.yaml:ID.

    \b
    Examples:
      maxpool-check reference sonnx/float:float-example-3
      maxpool-check reference cases/mine.yaml:padded --format json
    """
    FORMATS[form](case_files.find(case, path, max_cells), sys.stdout, everything)
    return ExitCode.AS_EXPECTED
