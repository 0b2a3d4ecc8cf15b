"""What a command prints and writes: its reports, its record and its transcript."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from maxpool_check.commands.old_options import Formats, echo
from maxpool_check.files import STDOUT, conflict, open_text

_Report = TypeVar("_Report")


@dataclass(frozen=True)
class Output:
    """What to print and what to write."""

    form: str = "text"
    reports: Sequence[tuple[str, Path]] = ()
    output: Path | None = None
    quiet: bool = False
    verbose: int = 0
    color: str = "never"
    transcript: Path | None = None

    @property
    def colored(self) -> bool:
        """Whether to colour stdout: on a terminal, unless the user or NO_COLOR says otherwise."""
        if self.color != "auto" or os.environ.get("NO_COLOR"):
            return self.color == "always"
        return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The reports, the record and the transcript, each with what it is."""
        others = {"record": self.output, "transcript": self.transcript}
        return [*self.reports, *((name, path) for name, path in others.items() if path is not None)]

    @property
    def takes_stdout(self) -> bool:
        """Whether a file to write is ``-``, so that nothing else may be printed to stdout."""
        return any(path == STDOUT for _, path in self.files)

    def check_writable(self, inputs: Iterable[Path] = ()) -> None:
        """Refuse files that cannot be written, or that are ``inputs``, before the run and not after it."""
        outputs = [path for _, path in self.files] + ([STDOUT] if self.form == "json" and self.takes_stdout else [])
        if message := conflict(outputs, inputs):
            raise click.UsageError(message)
        if self.output is not None and self.output.suffix == ".xz":
            # It could be read only after a complete run.
            plain = self.output.with_suffix("")
            raise click.UsageError(
                f"{self.output}: a record is written line by line, which xz cannot do; write {plain}, and then: xz -9 {plain}"
            )
        for _, path in self.files:
            if path == STDOUT:
                continue
            new = not path.exists()
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.open("ab").close()
                if new:
                    path.unlink()
            except OSError as error:
                raise click.UsageError(f"cannot write to {path}: {error.strerror}") from error

    def publish(self, formats: Formats[_Report], report: _Report, plain: _Report, *, silent: bool = False) -> None:
        """Print a report and write it to files; ``plain`` is the report for files, ``silent`` prints only JSON."""
        # Files first: if one cannot be written, that is an error, and stdout must not hold a document.
        for kind, path in self.reports:
            with open_text(path) as file:
                formats[kind](plain, file)
        if not self.takes_stdout and (self.form == "json" or not silent):
            formats[self.form](report, sys.stdout)
        for kind, path in () if silent else self.files:
            if path != STDOUT:
                echo(f"{kind}: {path}", err=True)
