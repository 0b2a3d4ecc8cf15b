"""The options of the commands, each once, the types of their values, and the settings of every run.

Nothing here imports what a command executes before a value is converted or completed.
"""

import contextlib
import importlib
import io
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from maxpool_check import inert

if TYPE_CHECKING:
    from maxpool_check.reporting.blocks import Block
    from maxpool_check.results.record import Record
    from maxpool_check.targets.name import TargetName

_Command = TypeVar("_Command", bound=Callable[..., Any])
Formats = Mapping[str, Callable[[Any, TextIO], None]]
"""The formats of a kind of report: functions that write one to a file."""

FORMATS = ("text", "markdown", "html", "json", "junit", "github", "sarif")


def imported(place: str) -> Any:
    """What is at ``module:name`` of the package."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"maxpool_check.{module}"), name)


def written_by(place: str) -> Callable[[Any, TextIO], None]:
    """A function of the package, which is imported when it is called: a run needs few of the formats, often none."""
    return lambda report, file: imported(place)(report, file)


def formats(json: str) -> Formats:
    """The formats of a kind of report."""
    places = {**{name: f"writers:write_{name}" for name in ("text", "markdown", "html")}, "json": json}
    return {name: written_by(f"reporting.{place}") for name, place in places.items()}


def formats_with_checks(json: str, github: str = "writers:write_github") -> Formats:
    """The formats of a kind of report that a CI system reads, too."""
    places = {"junit": "junit:write", "github": github, "sarif": "sarif:write"}
    return {**formats(json), **{name: written_by(f"reporting.{place}") for name, place in places.items()}}


def one_of(text: str, names: Iterable[str], what: str) -> str:
    """The text, if it is one of some names. Raises ``ValueError`` with all of them."""
    from maxpool_check.specifications.specification import nearest

    known = [*names]
    if text not in known:
        raise ValueError(f"unknown {what} '{text}'{nearest(text, known)}; known: {', '.join(known)}")
    return text


def echo(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print text of which nothing is a command for the terminal or for GitHub."""
    click.echo(inert.block(text), err=err, nl=nl)


def dump(schema: str, document: Mapping[str, Any]) -> None:
    """Print a JSON document."""
    click.echo(inert.dumps({"schema": f"maxpool-check/{schema}/1", **document}, indent=1))


class Incomplete(click.ClickException):
    """No target can be started, the processes to run in are lost, or a record is cut off."""

    exit_code = 3


_Errors = type[Exception] | tuple[type[Exception], ...]


@contextlib.contextmanager
def raising(usage: _Errors = (), incomplete: _Errors = (), about: str = "") -> Iterator[None]:
    """Turn errors of these types into ``click.UsageError``, with ``about`` before its message, or :class:`Incomplete`."""
    try:
        yield
    except incomplete as error:
        raise Incomplete(str(error)) from error
    except usage as error:
        raise click.UsageError(f"{about}{error}") from error


class _Words(click.ParamType):  # type: ignore[type-arg]
    """Values that are the words of an environment variable, as in a shell."""

    def split_envvar_value(self, rv: str) -> list[str]:
        """These words. Raises ``click.UsageError``."""
        with raising(ValueError, about=f"'{rv}' is not a list of words: "):
            return shlex.split(rv)


class _File(_Words, click.Path):
    """A path, of which a variable may hold several."""


class Value(_Words):
    """What a function makes of the text, such as ``targets.name:parse``; its ``ValueError`` is the message.

    ``completed_by`` are kinds of :mod:`maxpool_check.commands.completion`. In a configuration, the values of a list may be
    ``joined`` by this character, and a value that ``names_files`` is relative to its file.
    """

    def __init__(
        self, name: str, function: str | Callable[[str], Any] = str, completed_by: str = "", joined: str = "", *,
        names_files: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.joined, self.names_files = name, joined, names_files
        self._function, self._completed_by = function, completed_by

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; one that is not text, such as a default, stays as it is."""
        if not isinstance(value, str) or (ctx is not None and ctx.resilient_parsing):
            # To complete a line, nothing is imported that executes it.
            return value
        function = self._function if callable(self._function) else imported(self._function)
        try:
            return function(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The candidates that begin so."""
        from maxpool_check.commands.completion import candidates

        return candidates(self._completed_by, ctx, incomplete)


class Report(Value):
    """``FORMAT[=PATH]`` of some formats: a format and a file, ``-`` where none is named."""

    def __init__(self, formats: Iterable[str] = FORMATS) -> None:
        super().__init__("FORMAT[=PATH]", self._parsed, "reports files")
        self.formats = tuple(formats)

    def _parsed(self, text: str) -> tuple[str, Path]:
        name, equals, path = text.partition("=")
        if equals and not path:
            raise ValueError(f"'{text}' names no file; FORMAT=PATH, or FORMAT alone for stdout")
        return one_of(name, self.formats, "format"), Path(path or "-")


def _path(text: str) -> Path:
    if text.startswith("corpus"):
        # Nothing else need be imported for the paths of the user.
        imported("corpus.collection:located")(Path(text))
    return Path(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 10**6:
        raise ValueError(f"'{text}' is not a number of seconds above 0")
    return seconds


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"'{text}' is not a date, YYYY-MM-DD") from error


FILE = _File(path_type=Path)
COUNT, JOBS = click.IntRange(1, 2**31 - 1), click.IntRange(1, 1024)
TARGET = Value("TARGET", "targets.name:parse", "targets", names_files=True)
PATH = Value("PATH", _path, "paths files")
"""A file, a folder, or a name of the corpus that comes with the tool or of a part of it."""
CASE = Value("CASE", completed_by="cases files")
CASE_OR_DEFECT = Value("CASE", completed_by="defect cases files")
DEFECT = Value("ID|RUNTIME", completed_by="defect runtimes")
WORD = Value("WORD", completed_by="kind defect clause spec cases files")
SECONDS = Value("SECONDS", _seconds)
DATE = Value("DATE", _date)
KIND = Value(
    "KIND", lambda text: one_of(text, [each.value for each in imported("judging.kinds:DivergenceKind")], "kind"), "kind"
)
VARIANTS = Value("VARIANTS", "results.variants:parse_variants", "variants", ",")
VARIANT = Value("NAME", completed_by="variant")
VERSION = Value("V", completed_by="versions")
DOCUMENT = Value("NAME", lambda text: imported("specifications:specification")(text).name, "spec")
DOCUMENTS = Value("NAME,...", lambda text: imported("corpus.selection:names_of_documents")([text]), "spec")
"""Names of documents and families, or ``all``."""
SELECTION = Value("EXPR", completed_by="selection")
SHAPE = Value("NAME=SIZES", "models.shapes:shape_of")

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "timeout": {
        "type": SECONDS, "default": 10.0, "metavar": "SECONDS", "help": "The time limit of one execution.  [default: 10]",
    },
    "memory": {"type": COUNT, "metavar": "MB", "help": "What a target may allocate.  [default: no limit]"},
    "offline": {"is_flag": True, "help": "Reach no package index: use the environments that exist."},
    "find_links": {
        "type": _File(exists=True, file_okay=False, resolve_path=True), "metavar": "DIR",
        "help": "Make environments from the wheels of this folder, too; with --offline, from them alone.",
    },
    "max_cells": {"type": COUNT, "default": 2**25, "metavar": "N", "help": "The largest X or Y a case may have."},
    "dask": {
        "metavar": "SCHEDULER",
        "help": "Run on the workers of a dask cluster instead; its scheduler's address, such as tcp://HOST:8786.",
    },
    "quiet": {"is_flag": True, "help": "Print nothing but errors."},
    "cache": {"type": FILE, "metavar": "DIR", "help": "The folder of isolated environments."},
}  # fmt: skip
"""The settings of every run of a runtime, by name: keys of a configuration and variables, and options where one reaches for them."""

IN_ENVIRONMENT = ("offline", "find_links", "cache")
"""The settings that are read from environment variables, wherever a target is started."""


def settings() -> dict[str, click.Parameter]:
    """The options of the settings."""
    return {
        name: click.Option([f"--{name.replace('_', '-')}"], **{"default": None, **about})
        for name, about in SETTINGS.items()
    }


def setting(name: str, default: Any = None) -> Any:
    """The value of a setting: that of an option where the command has it, else of the configuration or a variable."""
    ctx, option = click.get_current_context(silent=True), settings()[name]
    option.default = default or option.default
    if ctx is None:
        return option.default
    if name not in ctx.params:
        option.handle_parse_result(ctx, {}, [])
    return ctx.params[name]


def is_given(name: str) -> bool:
    """Whether a parameter stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _set_variable(ctx: click.Context, param: click.Parameter, value: object) -> None:
    # Set for this process and those that it starts, since environments are made wherever a target is started.
    if value and not ctx.resilient_parsing:
        os.environ[f"MAXPOOL_CHECK_{str(param.name).upper()}"] = "1" if value is True else str(value)


def setting_option(name: str, **changed: Any) -> Callable[[_Command], _Command]:
    """The option of a setting."""
    in_environment = {"expose_value": False, "callback": _set_variable} if name in IN_ENVIRONMENT else {}
    return click.option(f"--{name.replace('_', '-')}", **{**SETTINGS[name], **in_environment, **changed})


def _joined(ctx: click.Context, param: click.Parameter, values: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for value in values for each in value))


def _unique(ctx: click.Context, param: click.Parameter, targets: tuple[Any, ...]) -> tuple[Any, ...]:
    for target in targets:
        if targets.count(target) > 1:
            raise click.BadParameter(f"'{target}' occurs twice", ctx, param)
    return targets


paths = click.argument(
    "paths", nargs=-1, type=PATH, metavar="[PATH]...", callback=lambda _ctx, _param, paths: paths or (Path("corpus"),)
)
folder = click.option(
    "-p", "--path", type=PATH, metavar="PATH",
    help="Where to look for the case.  [default: cases, then the corpus that comes with the tool]",
)  # fmt: skip
selected = click.option(
    "-k", "selected", multiple=True, type=SELECTION, metavar="EXPR",
    help="Only these cases: a glob of the id, or tag:, clause:, dtype:, spec:, defect: or kind: with a glob. Repeatable: those "
    "that match any.",
)  # fmt: skip
spec = click.option(
    "--spec", multiple=True, type=DOCUMENTS, callback=_joined, metavar="NAME,...",
    help="Only the cases of these documents or families, such as onnx-22, sonnx or openvino, which python: and command: "
    "targets then claim beside their own. Repeatable; all: every document.",
)  # fmt: skip
claims = click.option(
    "--spec", "claims", multiple=True, type=DOCUMENTS, callback=_joined, metavar="NAME,...",
    help="Documents, or families such as onnx or openvino, that python: and command: targets claim beside their own. "
    "Repeatable.",
)  # fmt: skip
variants = click.option(
    "--variants", type=VARIANTS, default="default", metavar="VARIANTS",
    help="How to execute each case: default (with Indices, and Y alone), all, or a list of twice, optimization-off, "
    "optimization-basic, optimization-extended, optimization-layout, oldest-opset, default-threads, ...",
)  # fmt: skip
jobs = click.option(
    "-j", "--jobs", type=JOBS, default=1, metavar="N",
    help="Processes to run in, each with a worker of every target.  [default: 1]",
)  # fmt: skip
known = click.option(
    "--known", multiple=True, type=FILE, metavar="FILE|none",
    help="Files of known defects. Repeatable; none: expect no divergence.  [default: defects/ and known-divergences.yaml at the corpus root]",
)  # fmt: skip
record = click.option("-o", "--output", type=FILE, metavar="RECORD.jsonl", help="Write the record here.")
transcript = click.option(
    "--transcript", type=FILE, metavar="FILE",
    help="Write every line that targets read and write here, as JSON lines with their times.",
)  # fmt: skip
quiet = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
shapes = click.option(
    "--shape", multiple=True, type=SHAPE, metavar="NAME=SIZES",
    help="Sizes that a model leaves open: images=1,3,224,224 for an input (or 1x3x224x224), batch=1 for a dimension. Repeatable.",
)  # fmt: skip
inputs = click.option(
    "--inputs", type=FILE, metavar="DIR|FILE.npz",
    help="Values of a model's inputs: NAME.npy or input_0.pb in a folder, or an .npz file.  [default: random]",
)  # fmt: skip


def reports(formats: Iterable[str] = FORMATS) -> Callable[[_Command], _Command]:
    """``--report``, as pairs of a format and a path."""
    kind = Report(formats)
    about = f"A report: {', '.join(kind.formats)}; without a path to stdout, instead of the text. Repeatable."
    return click.option("--report", "reports", multiple=True, metavar=kind.name, type=kind, help=about)


def targets(*default: str, otherwise: str = "") -> Callable[[_Command], _Command]:
    """``-t``, repeatable. ``otherwise`` is what a command without a default takes in the end."""
    shown = otherwise or "".join(default[:1])
    ending = f"  [default: {shown}, as installed]" if shown else ""
    return click.option(
        "-t", "--target", "targets", multiple=True, type=TARGET, default=default, callback=_unique, metavar="TARGET",
        help=f"Runtime to test, e.g. onnxruntime==1.23.2, or a kernel: python:FILE.py:FUNCTION, \"command:PROGRAM ARG...\". Repeatable.{ending}",
    )  # fmt: skip


def target(about: str = "The runtime.") -> Callable[[_Command], _Command]:
    """``-t``, once."""
    about += "  [default: onnxruntime]"
    return click.option("-t", "--target", type=TARGET, default="onnxruntime", metavar="TARGET", help=about)


def verbose(about: str) -> Callable[[_Command], _Command]:
    """``-v``."""
    return click.option("-v", "--verbose", count=True, help=f"{about}; -vv tracebacks of internal errors.")


def claiming(targets: "Iterable[TargetName]", specs: Iterable[str]) -> "tuple[TargetName, ...]":
    """The targets, with what ``--spec`` claims for the kernels among them. Raises ``click.UsageError``."""
    from maxpool_check.targets.name import BadTarget
    from maxpool_check.targets.name import claiming as claiming_targets

    with raising(BadTarget, about="--spec: "):
        return claiming_targets(targets, specs)


def colored() -> bool:
    """Whether to colour stdout: on a terminal, unless the user or NO_COLOR says otherwise."""
    ctx = click.get_current_context(silent=True)
    color = ctx.find_root().params.get("color", "never") if ctx is not None else "never"
    if color != "auto" or os.environ.get("NO_COLOR"):
        return bool(color == "always")
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def show(blocks: "Iterable[Block]", *, everything: bool = True) -> None:
    """Print blocks; only a terminal gets lines folded."""
    from maxpool_check.reporting.blocks import Document
    from maxpool_check.reporting.writers import terminal

    columns, text = width() if sys.stdout.isatty() else 10**5, io.StringIO()
    terminal.write(Document("", "", (), list(blocks)), text, columns, color=colored(), everything=everything)
    sys.stdout.write(text.getvalue().rstrip("\n") + "\n")


def width() -> int:
    """The width of the output: the columns of the terminal, or 100."""
    import shutil

    return max(40, shutil.get_terminal_size((100, 24)).columns)


def memory_in_bytes() -> int | None:
    """The bytes that a target may allocate."""
    memory = setting("memory")
    return memory * 2**20 if memory else None


def cluster(jobs: int) -> str | None:
    """The scheduler of dask, if the cases are to run on a cluster. Raises ``click.UsageError`` beside ``-j``."""
    scheduler: str | None = setting("dask")
    if scheduler is not None and jobs > 1:
        raise click.UsageError("-j is for this machine; with --dask the cluster's workers run the cases")
    return scheduler


def read_record(path: Path) -> "Record":
    """The record of a file, with warnings of what no run writes, or an error with the right exit code."""
    from maxpool_check.files import not_found
    from maxpool_check.results.storage import BadRecord, CutOff, read

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


def refuse_incomplete(path: Path, record: "Record") -> None:
    """Refuse to accept anything of a record that no run writes, or whose run did not complete or compared nothing.

    Raises ``click.UsageError``.
    """
    from maxpool_check.reporting.run_report import RunReport
    from maxpool_check.results.record import ExitCode

    if record.mistakes:
        raise click.UsageError(f"nothing of {path} can be accepted: no run writes such a record")
    if record.exit_code in (ExitCode.INCOMPLETE, ExitCode.NOTHING_COMPARED):
        reason = RunReport(record, record.exit_code).result[1]
        why = "its run is not complete" if record.exit_code == ExitCode.INCOMPLETE else "its run compared nothing"
        raise click.UsageError(f"nothing of {path} can be accepted: {why}: {reason}")


def kernels(targets: "Iterable[TargetName]") -> list[Path]:
    """The files of users' kernels: of functions, and those that a command line names."""
    words = [(*(each.function or ())[:1], *(each.program or ()), *filter(None, [each.outputs])) for each in targets]
    return [Path(word) for each in words for word in each]
