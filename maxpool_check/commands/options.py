"""Options that several commands share, and the dataclasses that a command gets them in."""

import dataclasses
import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import ExitCode
from maxpool_check.results.variants import VARIATIONS, parse_variants
from maxpool_check.specifications import specification
from maxpool_check.specifications.attributes import nearest
from maxpool_check.targets.name import TargetName, parse

_Command = TypeVar("_Command", bound=Callable[..., Any])


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


def _unique(ctx: click.Context, param: click.Parameter, targets: tuple[TargetName, ...]) -> tuple[TargetName, ...]:
    for target in targets:
        if targets.count(target) > 1:
            raise click.BadParameter(f"'{target}' occurs twice", ctx, param)
    return targets


FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
TARGET = Parsed("TARGET", parse)
DOCUMENT = Parsed("NAME", lambda text: specification(text).name)

timeout = click.option(
    "--timeout", type=Parsed("SECONDS", _seconds), default=10.0, metavar="SECONDS",
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
variants = click.option(
    "--variants", type=Parsed("VARIANTS", parse_variants), default="default", metavar="VARIANTS",
    help="How to execute each case: default (with Indices, and Y alone), all, or a list of "
    f"{', '.join(variation.name for variation in VARIATIONS)}.",
)  # fmt: skip
known_files = click.option(
    "--known", "known_files", multiple=True, type=FILE, metavar="FILE",
    help="Known divergences. Repeatable.  [default: known-divergences.yaml at the corpus root]",
)  # fmt: skip
no_known = click.option("--no-known", is_flag=True, help="Expect no divergence.")
record = click.option("-o", "--output", type=FILE, metavar="RECORD.jsonl", help="Write the record here.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
color = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto",
    help="Colour the output.  [default: auto]",
)  # fmt: skip


def targets(*default: str) -> Callable[[_Command], _Command]:
    """``-t``, repeatable."""
    ending = f"  [default: {default[0]}, as installed]" if default else ""
    return click.option(
        "-t", "--target", "targets", multiple=True, type=TARGET, default=default, callback=_unique, metavar="TARGET",
        help=f"Runtime to test, e.g. onnxruntime==1.23.2. Repeatable.{ending}",
    )  # fmt: skip


def target(about: str = "The runtime.") -> Callable[[_Command], _Command]:
    """``-t``, once."""
    about += "  [default: onnxruntime]"
    return click.option("-t", "--target", type=TARGET, default="onnxruntime", metavar="TARGET", help=about)


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


def check_exclusive(jobs: int, scheduler: str | None) -> None:
    """Refuse ``-j`` together with ``--dask``."""
    if scheduler is not None and jobs > 1:
        raise click.UsageError("-j is for this machine; with --dask the cluster's workers run the cases")


def bundled(**classes: type[Any]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Pass a command its options in dataclasses: each takes the options that its fields name."""

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def bundling(**arguments: Any) -> int:
            bundles = {}
            for name, bundle in classes.items():
                fields = {field.name for field in dataclasses.fields(bundle)} & arguments.keys()
                bundles[name] = bundle(**{field: arguments.pop(field) for field in fields})
            return command(**arguments, **bundles)

        return bundling

    return decorated


def width() -> int:
    """The width of the output: the columns of the terminal, or 100."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def check_writable(paths: Sequence[Path]) -> None:
    """Refuse files that cannot be written."""
    for path in paths:
        new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
            if new:
                path.unlink()
        except OSError as error:
            raise click.UsageError(f"cannot write to {path}: {error.strerror}") from error


@dataclass(frozen=True)
class Output:
    """What to print and what to write."""

    form: str = "text"
    reports: Sequence[tuple[str, Path]] = ()
    output: Path | None = None
    quiet: bool = False
    verbose: int = 0
    color: str = "never"

    @property
    def colored(self) -> bool:
        """Whether to colour stdout: on a terminal, unless the user or NO_COLOR says otherwise."""
        if self.color != "auto" or os.environ.get("NO_COLOR"):
            return self.color == "always"
        return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The reports and the record, each with what it is."""
        return [*self.reports, *([("record", self.output)] if self.output else [])]

    def check_writable(self) -> None:
        """Refuse files that cannot be written, before the run and not after it."""
        check_writable([path for _, path in self.files])
