"""Reading records that a user names."""

from pathlib import Path

import click

from maxpool_check.commands import options
from maxpool_check.results.record import Record
from maxpool_check.results.storage import BadRecord, CutOff
from maxpool_check.results.storage import read as read_record


def read(path: Path) -> Record:
    """The record of a file, or an error with the right exit code."""
    try:
        return read_record(path)
    except CutOff as error:
        raise options.Incomplete(str(error)) from error
    except (BadRecord, OSError) as error:
        reason = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise click.UsageError(f"cannot read the record {reason}") from error
