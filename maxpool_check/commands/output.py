"""What a command prints and writes: its reports, its record and its transcript; and files that cannot be used, as an error."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.commands.options import Formats
from maxpool_check.files import STDOUT, conflict, open_text
from maxpool_check.words import plural, shortened

if TYPE_CHECKING:
    from maxpool_check.reporting.github import Annotation
    from maxpool_check.running.run import Progress

_MOST = 20
"""The most problems that are printed as text."""


class Mistakes(click.ClickException):
    """Files that cannot be used: every problem on a line of its own."""

    exit_code = 2

    def __init__(self, problems: Sequence[object], consequence: str = "there are no results") -> None:
        more = [f"... and {len(problems) - _MOST} more"] if len(problems) > _MOST else []
        super().__init__("\n".join(map(inert.line, [*problems[:_MOST], *more])))
        self.problems = problems
        self._consequence = consequence

    @property
    def errors(self) -> list[dict[str, object]]:
        """The problems as JSON."""
        names = ("path", "line", "column", "message")
        return [
            {name: getattr(problem, name) for name in names if hasattr(problem, name)} or {"message": str(problem)}
            for problem in self.problems
        ]

    def show(self, file: Any = None) -> None:
        """Print the problems and their number to stderr."""
        click.echo(f"{self.message}\n{plural(len(self.problems), 'problem')}; {self._consequence}", file, err=True)


@dataclass(frozen=True)
class Output:
    """What to print and what to write: reports by format, the one to ``-`` instead of the text on stdout.

    ``quiet``: nothing is printed but, where the command fails, a line that says what has failed.
    """

    reports: Sequence[tuple[str, Path]] = ()
    output: Path | None = None
    quiet: bool = False
    transcript: Path | None = None

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The reports, the record and the transcript, each with what it is."""
        others = {"record": self.output, "transcript": self.transcript}
        return [*self.reports, *((name, path) for name, path in others.items() if path is not None)]

    @property
    def prints_text(self) -> bool:
        """Whether stdout has the text: no file to write is ``-``."""
        return all(path != STDOUT for _, path in self.files)

    @property
    def prints_json(self) -> bool:
        """Whether stdout has the report as JSON."""
        return ("json", STDOUT) in self.reports

    def check_writable(self, inputs: Iterable[Path] = ()) -> None:
        """Refuse files that cannot be written, or that are ``inputs``, before the run and not after it."""
        if message := conflict([path for _, path in self.files], inputs):
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

    def publish(
        self, formats: Formats, report: Any, exit_code: int,
        annotations: Callable[[Any], "Iterable[Annotation]"] = lambda _: (),
    ) -> None:  # fmt: skip
        """Write a report to files, then print it; ``annotations`` gives those of GitHub."""
        from maxpool_check.reporting.writers import Display

        screen = Display(options.width(), options.colored(), options.setting("verbose") > 0)
        # Files first: if one cannot be written, that is an error, and stdout must not hold a document.
        for kind, path in sorted(self.reports, key=lambda each: each[1] == STDOUT):
            whole = Display(screen.width, everything=screen.everything or kind == "text")
            with open_text(path) as file:
                formats.write(kind, report, file, screen if path == STDOUT else whole)
        if self.quiet and exit_code:
            verdict = formats.document(report).verdict
            options.echo(f"{verdict.word}  {shortened(verdict.sentence)}", err=True)
        elif self.prints_text and not self.quiet:
            formats.write("text", report, sys.stdout, screen)
        for kind, path in () if self.quiet else self.files:
            if path != STDOUT:
                options.echo(f"{kind}: {path}", err=True)
        in_workflow = os.environ.get("GITHUB_ACTIONS") == "true"
        if in_workflow and self.prints_text and any(kind == "github" for kind, _ in self.reports):
            from maxpool_check.reporting import github

            for line in github.commands(list(annotations(report))):
                click.echo(line)


@contextlib.contextmanager
def progress_bar(unit: str, total: int | None, *, quiet: bool) -> "Iterator[Progress]":
    """A function to call with the number that is done; a bar shows it on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    # It is slow to import.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda done, total=None, doing="": bar.update(
            task, completed=done, total=total, description=inert.line(doing) if doing else None
        )
