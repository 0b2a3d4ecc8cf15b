"""Reading records that a user names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from maxpool_check.results.record import Record


class Truncated(click.ClickException):
    """A record that ends before its first line is whole: exit code 3."""

    exit_code = 3

    def show(self, file: object = None) -> None:
        """Print it to stderr."""
        click.echo(f"incomplete: {self.message}", err=True)


def read(path: Path) -> Record:
    """The record of a file, or an error with the right exit code."""
    from maxpool_check.results.storage import BadRecord, CutOff
    from maxpool_check.results.storage import read as read_record

    try:
        return read_record(path)
    except CutOff as error:
        raise Truncated(str(error)) from error
    except (BadRecord, OSError) as error:
        why = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise click.UsageError(f"cannot read the record {why}") from error
