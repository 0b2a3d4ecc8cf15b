"""Options that several commands share, and the dataclasses that a command gets them in."""

import dataclasses
import functools
import importlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from maxpool_check import inert
from maxpool_check.commands.offline import offline
from maxpool_check.corpus.selection import names_of_documents
from maxpool_check.files import not_found
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.models.shapes import shape_of
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.results.storage import BadRecord, CutOff, read
from maxpool_check.results.variants import VARIATIONS, parse_variants
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.name import BadTarget, TargetName, parse
from maxpool_check.targets.name import claiming as claiming_targets

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Report = TypeVar("_Report")
Formats = Mapping[str, Callable[[_Report, TextIO], None]]
"""The formats of a kind of report: functions that write one to a file."""


def written_by(module: str, function: str = "write") -> Callable[[Any, TextIO], None]:
    """A function of a module, which is imported when it is called: a run needs few of the formats, often none."""

    def write(report: Any, file: TextIO) -> None:
        getattr(importlib.import_module(module), function)(report, file)

    return write


def echo(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print text of which nothing is a command for the terminal or for GitHub."""
    click.echo(inert.block(text), err=err, nl=nl)


class Incomplete(click.ClickException):
    """No target can be started, the processes to run in are lost, or a record is cut off."""

    exit_code = ExitCode.INCOMPLETE


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """What a function makes of the text; its ``ValueError`` is the message."""

    def __init__(self, name: str, function: Callable[[str], Any]) -> None:
        self.name = name
        self._function = function

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; one that is not text, such as a default, stays as it is."""
        try:
            return self._function(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


class NearestChoice(click.Choice):  # type: ignore[type-arg]
    """The name of a format; an unknown one is refused with the nearest."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(list(names))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name."""
        if value not in self.choices:
            self.fail(
                f"no format '{value}'{nearest(value, self.choices)}; there are: {', '.join(self.choices)}", param, ctx
            )
        return super().convert(value, param, ctx)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 10**6:
        raise ValueError(f"'{text}' is not a number of seconds above 0")
    return seconds


def _kind(text: str) -> str:
    names = [kind.value for kind in DivergenceKind]
    if text not in names:
        raise ValueError(f"unknown kind '{text}'{nearest(text, names)}; known: {', '.join(names)}")
    return text


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"'{text}' is not a date, YYYY-MM-DD") from error


def joined(ctx: click.Context, param: click.Parameter, values: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The entries of several lists, without repetitions."""
    return tuple(dict.fromkeys(each for value in values for each in value))


def _unique(ctx: click.Context, param: click.Parameter, targets: tuple[TargetName, ...]) -> tuple[TargetName, ...]:
    for target in targets:
        if targets.count(target) > 1:
            raise click.BadParameter(f"'{target}' occurs twice", ctx, param)
    return targets


FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
TARGET = Parsed("TARGET", parse)
SECONDS = Parsed("SECONDS", _seconds)
DATE = Parsed("DATE", _date)
DOCUMENT = Parsed("NAME", lambda text: specification(text).name)
DOCUMENTS = Parsed("NAME,...", lambda text: names_of_documents([text]))
"""Names of documents and families, or ``all``."""

timeout = click.option(
    "--timeout", type=SECONDS, default=10.0, metavar="SECONDS",
    help="The time limit of one execution.  [default: 10]",
)  # fmt: skip
jobs = click.option(
    "-j", "--jobs", type=COUNT, default=1, metavar="N",
    help="Processes to run in, each with a worker of every target.  [default: 1]",
)  # fmt: skip
dask = click.option(
    "--dask", metavar="SCHEDULER",
    help="Run on the workers of a dask cluster instead; its scheduler's address, such as tcp://HOST:8786.",
)  # fmt: skip
memory = click.option("--memory", type=COUNT, metavar="MB", help="What a target may allocate.  [default: no limit]")
variants = click.option(
    "--variants", type=Parsed("VARIANTS", parse_variants), default="default", metavar="VARIANTS",
    help="How to execute each case: default (with Indices, and Y alone), all, or a list of "
    f"{', '.join(variation.name for variation in VARIATIONS)}.",
)  # fmt: skip
known_files = click.option(
    "--known", "known_files", multiple=True, type=FILE, metavar="FILE",
    help="Files of known defects. Repeatable.  [default: defects/ and known-divergences.yaml at the corpus root]",
)  # fmt: skip
no_known = click.option("--no-known", is_flag=True, help="Expect no divergence.")
specs = click.option(
    "--spec", "specs", multiple=True, type=DOCUMENTS, callback=joined, metavar="NAME,...",
    help="Documents, or families such as onnx or openvino, that python: and command: targets claim beside their own. "
    "Repeatable.",
)  # fmt: skip
record = click.option("-o", "--output", type=FILE, metavar="RECORD.jsonl", help="Write the record here.")
transcript = click.option(
    "--transcript", type=FILE, metavar="FILE",
    help="Write every line that targets read and write here, as JSON lines with their times.",
)  # fmt: skip
quiet = click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
color = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto",
    help="Colour the output.  [default: auto]",
)  # fmt: skip


inputs = click.option(
    "--inputs", type=FILE, metavar="DIR|FILE.npz", help="Values of a model's inputs.  [default: random]"
)
shapes = click.option(
    "--shape", "shapes", multiple=True, type=Parsed("NAME=SIZES", shape_of), metavar="NAME=SIZES", help="Sizes."
)


def targets(*default: str, otherwise: str = "") -> Callable[[_Command], _Command]:
    """``-t``, repeatable. ``otherwise`` is what a command without a default takes in the end."""
    shown = otherwise or "".join(default[:1])
    ending = f"  [default: {shown}, as installed]" if shown else ""
    named = click.option(
        "-t", "--target", "targets", multiple=True, type=TARGET, default=default, callback=_unique, metavar="TARGET",
        help=f"Runtime to test, e.g. onnxruntime==1.23.2, or a kernel: python:FILE.py:FUNCTION, \"command:PROGRAM ARG...\". Repeatable.{ending}",
    )  # fmt: skip
    return lambda command: named(offline(command))


def target(about: str = "The runtime.") -> Callable[[_Command], _Command]:
    """``-t``, once."""
    about += "  [default: onnxruntime]"
    named = click.option("-t", "--target", type=TARGET, default="onnxruntime", metavar="TARGET", help=about)
    return lambda command: named(offline(command))


def kind(about: str) -> Callable[[_Command], _Command]:
    """``--kind``."""
    return click.option("--kind", type=Parsed("KIND", _kind), metavar="KIND", help=about)


def form(formats: Iterable[str] = ("text", "json"), about: str = "What to print.") -> Callable[[_Command], _Command]:
    """``--format``."""
    about += "  [default: text]"
    return click.option("--format", "form", type=click.Choice(list(formats)), default="text", help=about)


def reports(formats: Iterable[str]) -> Callable[[_Command], _Command]:
    """``--report``."""
    names = list(formats)

    def parse_report(text: str) -> tuple[str, Path]:
        name, _, path = text.partition("=")
        if name not in names or not path:
            raise ValueError(f"'{text}' is not FORMAT=PATH with FORMAT one of {', '.join(names)}")
        return name, Path(path)

    about = f"Write a report: {', '.join(names)}. Repeatable."
    kind = Parsed("FORMAT=PATH", parse_report)
    return click.option("--report", "reports", multiple=True, metavar="FORMAT=PATH", type=kind, help=about)


def verbose(about: str) -> Callable[[_Command], _Command]:
    """``-v``."""
    return click.option("-v", "--verbose", count=True, help=f"{about}; -vv tracebacks of internal errors.")


def in_bytes(memory: int | None) -> int | None:
    """The bytes of ``--memory``."""
    return memory * 2**20 if memory else None


def claiming(targets: Iterable[TargetName], specs: Iterable[str]) -> tuple[TargetName, ...]:
    """The targets, with what ``--spec`` claims for the kernels among them. Raises ``click.UsageError``."""
    try:
        return claiming_targets(targets, specs)
    except BadTarget as error:
        raise click.UsageError(f"--spec: {error}") from error


def check_exclusive(jobs: int, scheduler: str | None) -> None:
    """Refuse ``-j`` together with ``--dask``."""
    if scheduler is not None and jobs > 1:
        raise click.UsageError("-j is for this machine; with --dask the cluster's workers run the cases")


def reusing_sessions(targets: Iterable[TargetName]) -> tuple[TargetName, ...]:
    """The targets of ``--reuse-sessions``. Raises ``click.UsageError`` for those without sessions."""
    named = tuple(targets)
    without = [str(target) for target in named if not target.has_sessions]
    if without:
        raise click.UsageError(
            f"--reuse-sessions is for ONNX Runtime in Python; {', '.join(without)}: no sessions to reuse"
        )
    return tuple(dataclasses.replace(target, reuses_sessions=True) for target in named)


def bundled(**classes: type[Any]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Pass a command its options in dataclasses: each takes the options that its fields name."""

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def bundling(**arguments: Any) -> int:
            for name, bundle in classes.items():
                fields = {field.name for field in dataclasses.fields(bundle)} & arguments.keys()
                arguments[name] = bundle(**{field: arguments.pop(field) for field in fields})
            return command(**arguments)

        return bundling

    return decorated


def width() -> int:
    """The width of the output: the columns of the terminal, or 100."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def read_record(path: Path) -> Record:
    """The record of a file, with warnings of what no run writes, or an error with the right exit code."""
    try:
        record = read(path)
    except CutOff as error:
        raise Incomplete(str(error)) from error
    except FileNotFoundError as error:
        raise click.UsageError(
            f"{not_found(path, is_file=True)}; 'maxpool-check run -o {path}' writes a record"
        ) from error
    except (BadRecord, OSError) as error:
        reason = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise click.UsageError(f"cannot read the record {reason}") from error
    for mistake in record.mistakes:
        echo(f"warning: {mistake}", err=True)
    return record


def kernels(targets: Iterable[TargetName]) -> list[Path]:
    """The files of users' kernels: of functions, and those that a command line names."""
    words = [(*(each.function or ())[:1], *(each.program or ()), *filter(None, [each.outputs])) for each in targets]
    return [Path(word) for each in words for word in each]
