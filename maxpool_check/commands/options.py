"""Options and errors that several commands share."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import FORMATS, Corpus
from maxpool_check.corpus.collection import collect as read_cases
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.tensors import SizeLimits
from maxpool_check.results.record import ExitCode
from maxpool_check.specifications import specification
from maxpool_check.specifications.attributes import nearest
from maxpool_check.words import plural

_Command = TypeVar("_Command", bound=Callable[..., Any])

DEFAULT_CELLS = 2**24


class Mistakes(click.ClickException):
    """Files that cannot be used: every problem on a line of its own."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: Sequence[object], consequence: str = "nothing was run") -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
        self._consequence = consequence

    @property
    def errors(self) -> list[dict[str, object]]:
        """The problems as JSON."""
        names = ("path", "line", "column", "message")
        return [{name: getattr(problem, name) for name in names if hasattr(problem, name)} for problem in self.problems]

    def show(self, file: Any = None) -> None:
        """Print the problems and their number to stderr."""
        click.echo(self.message, err=True)
        click.echo(f"{plural(len(self.problems), 'problem')}; {self._consequence}", err=True)


class Report(click.ParamType):  # type: ignore[type-arg]
    """``FORMAT=PATH`` with one of the formats."""

    name = "FORMAT=PATH"

    def __init__(self, formats: Iterable[str]) -> None:
        self._formats = list(formats)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        """A format and a file."""
        kind, _, path = value.partition("=")
        if kind not in self._formats or not path:
            self.fail(f"'{value}' is not FORMAT=PATH with FORMAT one of {', '.join(self._formats)}", param, ctx)
        return kind, Path(path)


def form(formats: Iterable[str] = ("text", "json")) -> Callable[[_Command], _Command]:
    """``--format``."""
    return click.option(
        "--format", "form", type=click.Choice(list(formats)), default="text", help="What to print.  [default: text]"
    )


def reports(formats: Iterable[str]) -> Callable[[_Command], _Command]:
    """``--report``."""
    about = f"Write a report: {', '.join(formats)}. Repeatable."
    return click.option("--report", "reports", multiple=True, metavar="FORMAT=PATH", type=Report(formats), help=about)


def max_cells(command: _Command) -> _Command:
    """``--max-cells``."""
    return click.option(
        "--max-cells",
        type=click.IntRange(min=1),
        default=DEFAULT_CELLS,
        metavar="N",
        help=f"The largest X or Y a case may have.  [default: {DEFAULT_CELLS}]",
    )(command)


def selection(command: _Command) -> _Command:
    """``-k``."""
    return click.option(
        "-k",
        "selected",
        multiple=True,
        metavar="EXPR",
        help="Only these cases: a glob on the id, or tag:NAME. Repeatable.",
    )(command)


class _Document(click.ParamType):  # type: ignore[type-arg]
    """The name of a document."""

    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The full name of the document."""
        try:
            return specification(value).name
        except ValueError as error:
            self.fail(str(error), param, ctx)


def document(*, required: bool) -> Callable[[_Command], _Command]:
    """``--spec``."""
    about = (
        "The document, e.g. onnx-22; onnx-N is the MaxPool of operator set N."
        if required
        else "Only the cases of this document, in full."
    )
    return click.option("--spec", type=_Document(), required=required, help=about)


def color(command: _Command) -> _Command:
    """``--color``."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Colour the output.  [default: auto]",
    )(command)


def paths(command: _Command) -> _Command:
    """``PATH...``."""
    return click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")(command)


def collect(paths: Sequence[Path], cells: int) -> Corpus:
    """Read the cases of the paths, or show what is wrong with them."""
    # Cases live to the end: the time of garbage collections among them grows with their number, for each case.
    gc.disable()
    try:
        corpus = read_cases(paths, SizeLimits(cells))
    except CorpusError as error:
        raise Mistakes(error.problems) from error
    finally:
        gc.freeze()
        gc.enable()
    for problem in corpus.left_out:
        left_out(problem)
    return corpus


def left_out(problem: Problem) -> None:
    """Print the test of another suite that is skipped, and the reason."""
    click.echo(f"left out: {problem.path}: {problem.message}", err=True)


def find(name: str, folder: Path, cells: int) -> Case:
    """One case by its full id, or as FILE.yaml:ID; FILE may be one of another suite."""
    file, _, short = name.rpartition(":")
    is_file = Path(file).suffix in (".yaml", ".yml", *FORMATS)
    path = Path(file) if is_file else folder
    if not path.exists():
        raise click.UsageError(f"'{path}' not found; pass the case files with -p PATH, or the case as FILE.yaml:ID")
    cases = collect([path], cells).cases
    if is_file:
        name = next((case.id for case in cases if case.id.rpartition(":")[2] == short), name)
    return one_of(cases, name, str(path))


def one_of(cases: Sequence[Case], name: str, where: str) -> Case:
    """The case of this full id."""
    for case in cases:
        if case.id == name:
            return case
    hint = nearest(name, [case.id for case in cases])
    raise click.UsageError(f"no case '{name}' in {where}{hint}; 'maxpool-check list {where}' lists the cases")


def is_colored(color: str) -> bool:
    """Whether to colour stdout: on a terminal, unless the user or NO_COLOR says otherwise."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def width() -> int:
    """The width of the output: the columns of the terminal, or 100."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def check_writable(paths: Sequence[Path]) -> None:
    """Refuse an output that cannot be written, before the run and not after it."""
    for path in paths:
        new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
            if new:
                path.unlink()
        except OSError as error:
            raise click.UsageError(f"cannot write to {path}: {error.strerror}") from error


def report_failure(form: str, command: str, errors: Sequence[str], code: ExitCode) -> ExitCode:
    """Print that there is nothing to show, and why; the exit code."""
    if form == "json":
        messages = [{"message": error} for error in errors]
        click.echo(json.dumps({"schema": f"maxpool-check/{command}/1", "exit_code": code, "errors": messages}))
    else:
        reasons = "; ".join(error.splitlines()[0] for error in errors)
        click.echo(f"{'INCOMPLETE' if code is ExitCode.INCOMPLETE else 'NOTHING COMPARED'} {reasons}")
    return code
