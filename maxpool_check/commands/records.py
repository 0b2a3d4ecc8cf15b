"""Reading records that a user names."""

from pathlib import Path

import click

from maxpool_check.results.record import ExitCode, Record
from maxpool_check.results.storage import BadRecord, CutOff
from maxpool_check.results.storage import read as read_record


class Truncated(click.ClickException):
    """A record that ends before its first line is complete."""

    exit_code = ExitCode.INCOMPLETE

    def show(self, file: object = None) -> None:
        """Print it to stderr."""
        click.echo(f"incomplete: {self.message}", err=True)


def read(path: Path) -> Record:
    """The record of a file, or an error with the right exit code."""
    try:
        return read_record(path)
    except CutOff as error:
        raise Truncated(str(error)) from error
    except (BadRecord, OSError) as error:
        reason = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise click.UsageError(f"cannot read the record {reason}") from error
