"""The options of the commands, each once, the types of their values, and the options that every command takes.

Nothing here imports what a command executes before a value is converted or completed.
"""

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from maxpool_check import inert
from maxpool_check.commands.registry import imported

if TYPE_CHECKING:
    from maxpool_check.reporting.blocks import Block, Document
    from maxpool_check.reporting.writers import Display
    from maxpool_check.results.record import Record
    from maxpool_check.targets.name import TargetName

_Command = TypeVar("_Command", bound=Callable[..., Any])
FORMATS = ("text", "markdown", "html", "json", "junit", "github", "sarif")


@dataclass(frozen=True)
class Formats:
    """The formats of a kind of report, by the places of the functions that make it, ``module:name`` in the package.

    ``view`` makes blocks of a report, ``data`` are functions that write one to a file by format, such as ``json``. Where there are
    ``items``, which CI systems read, ``junit``, ``sarif`` and ``github`` are formats, too. What a format needs is imported when it is
    written: a run needs few of the formats, often none.
    """

    view: str
    data: Mapping[str, str]
    items: str = ""

    def __iter__(self) -> Iterator[str]:
        names = FORMATS if self.items else ("text", "markdown", "html")
        return iter(dict.fromkeys([*(name for name in names if name != "json" or "json" in self.data), *self.data]))

    def document(self, report: Any) -> "Document":
        """The report as blocks."""
        document: Document = imported(self.view)(report)
        return document

    def write(self, name: str, report: Any, file: TextIO, display: "Display") -> None:
        """Write a report in a format."""
        if name in self.data:
            imported(self.data[name])(report, file)
        elif name in ("junit", "sarif"):
            imported(f"reporting.{name}:write")(imported(self.items)(report), file)
        else:
            from maxpool_check.reporting.writers import html, markdown, terminal

            match name:
                case "text":
                    terminal.write(self.document(report), file, display)
                case "markdown":
                    markdown.write(self.document(report), file, everything=display.everything)
                case "github":
                    markdown.write_summary(self.document(report), file)
                case "html":
                    html.write(self.document(report), file)


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


def words(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """The words of values that have one or several, separated by commas. Raises ``click.BadParameter`` for an empty one."""
    found = [word.strip() for value in values for word in value.split(",")]
    if not all(found):
        raise click.BadParameter("a word is empty; separate several by commas", context, parameter)
    return tuple(dict.fromkeys(found))


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

    A shell completes the ``names``, where there are any, else files. In a configuration, the values of a list may be ``joined``
    by this character, and a value that ``names_files`` is relative to its file.
    """

    def __init__(
        self, name: str, function: str | Callable[[str], Any] = str, names: Callable[[], Iterable[str]] = tuple,
        joined: str = "", *, names_files: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.joined, self.names_files = name, joined, names_files
        self._function, self._names = function, names

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
        """The names that begin so, behind those of a list; without one, the shell completes a file."""
        before, comma, _ = incomplete.rpartition(",")
        names = (f"{before}{comma}{name}" for name in self._names() if name not in before.split(","))
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


class Report(Value):
    """``FORMAT[=PATH]`` of some formats: a format and a file, ``-`` where none is named."""

    def __init__(self, formats: Iterable[str] = FORMATS) -> None:
        super().__init__("FORMAT[=PATH]", self._parsed, lambda: (*self.formats, *(f"{name}=" for name in self.formats)))
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


def _kinds() -> list[str]:
    return [kind.value for kind in imported("judging.kinds:DivergenceKind")]


def _documents() -> Iterable[str]:
    names: Iterable[str] = imported("specifications:SPECIFICATIONS")
    return names


def _runtimes() -> Iterable[str]:
    names: Iterable[str] = imported("targets.runtimes:RUNTIMES")
    return names


FILE = _File(path_type=Path)
COUNT, JOBS = click.IntRange(1, 2**31 - 1), click.IntRange(1, 1024)
TARGET = Value("TARGET", "targets.name:parse", _runtimes, names_files=True)
PATH = Value("PATH", _path)
"""A file, a folder, or a name of the corpus that comes with the tool or of a part of it."""
CASE = Value("CASE")
DEFECT = Value("ID|RUNTIME", names=_runtimes)
WORD = Value("WORD", names=lambda: [*_kinds(), *_documents()])
SECONDS = Value("SECONDS", _seconds)
DATE = Value("DATE", _date)
KIND = Value("KIND", lambda text: one_of(text, _kinds(), "kind"), _kinds)
VARIANTS = Value(
    "VARIANTS", "results.variants:parse_variants",
    lambda: ["default", "all", *(each.name for each in imported("results.variants:VARIATIONS"))], ",",
)  # fmt: skip
VARIANT = Value("NAME", names=lambda: [each.name for each in imported("results.variants:ALL_VARIANTS")])
DOCUMENT = Value("NAME", lambda text: imported("specifications:specification")(text).name, _documents)
DOCUMENTS = Value("NAME,...", lambda text: imported("corpus.selection:names_of_documents")([text]), _documents)
"""Names of documents and families, or ``all``."""
SHAPE = Value("NAME=SIZES", "models.shapes:shape_of")
INPUT_RANGE = Value("NAME=LOW:HIGH", "models.ranges:input_range")


class Shared(click.Option):
    """An option of the program that each command takes, too.

    Its value is read by :func:`setting`. Of the values for the program and for the command, the one of the stronger source
    counts: the command line, a variable, the configuration; of two from the same source, the one for the command.
    """

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Give the value to the program, and to the variable that is read wherever an environment is made."""
        value, args = super().handle_parse_result(ctx, opts, args)
        root = ctx.find_root()
        source, of_program = (each.get_parameter_source(self.name) or ParameterSource.DEFAULT for each in (ctx, root))
        if ctx is not root:
            ctx.params.pop(self.name, None)
        if source is ParameterSource.DEFAULT or source > of_program:
            return value, args
        root.params[self.name] = value
        root.set_parameter_source(self.name, source)
        if self.name in _IN_ENVIRONMENT and value and not ctx.resilient_parsing:
            os.environ[f"MAXPOOL_CHECK_{self.name.upper()}"] = "1" if value is True else str(value)
        return value, args

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The lines of the help, which the program alone has."""
        return super().get_help_record(ctx) if ctx.parent is None else None


SHARED = (
    Shared(["-q", "--quiet"], is_flag=True, help="Print no progress and no report: of run, model, gate, bisect and history, one line where they fail."),
    Shared(["-v", "--verbose"], count=True, help="Print everything, in full; -vv: tracebacks of internal errors, too."),
    Shared(
        ["--color"], type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the output.  [default: auto]",
    ),
    Shared(
        ["--timeout"], type=SECONDS, metavar="SECONDS",
        help="The time limit of one execution.  [default: 10; where whole models are executed, 60]",
    ),
    Shared(["--memory"], type=COUNT, metavar="MB", help="What a target may allocate.  [default: no limit]"),
    Shared(["--offline"], is_flag=True, help="Reach no package index: use the environments that exist."),
    Shared(
        ["--find-links"], type=_File(exists=True, file_okay=False, resolve_path=True), metavar="DIR",
        help="Make environments from the wheels of this folder, too; with --offline, from them alone.",
    ),
    Shared(["--cache"], type=FILE, metavar="DIR", help="The folder of isolated environments."),
    Shared(["--max-cells"], type=COUNT, metavar="N", help="The largest X or Y a case may have.  [default: 33554432]"),
)  # fmt: skip
"""The options of the program that each command takes, too."""

_IN_ENVIRONMENT = ("offline", "find_links", "cache")
"""The shared options that are read from environment variables, wherever a target is started."""

DEFAULTS: Mapping[str, Any] = {"timeout": 10.0, "max_cells": 2**25}
"""The values of shared options without a value."""


def setting(name: str, default: Any = None) -> Any:
    """The value of a shared option; ``default`` is one for the command."""
    ctx = click.get_current_context(silent=True)
    value = ctx.find_root().params.get(name) if ctx is not None else None
    return (default or DEFAULTS.get(name)) if value is None else value


EXCLUDED_BY = {
    **dict.fromkeys(("base", "head"), ("targets",)),
    "targets": ("base", "head", "records"), "jobs": ("dask",), "dask": ("jobs",),
}  # fmt: skip
"""The options beside which a configured one has no effect."""

SETTLE = "maxpool_check.settle"
"""The key of the function, among the ``meta`` data of a context, that a command calls with its context before it runs."""


class Command(click.Command):
    """A command that takes the shared options, too."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters of the command, and the shared options."""
        return [*super().get_params(ctx), *SHARED]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; what one of them excludes has no default."""
        given, _, _ = self.make_parser(ctx).parse_args([*args])
        defaults = (ctx.default_map or {}).items()
        ctx.default_map = {
            name: value for name, value in defaults if given.keys().isdisjoint(EXCLUDED_BY.get(name, ()))
        }
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the shared options."""
        names = ", ".join(each.opts[0] for each in SHARED)
        formatter.write_paragraph()
        formatter.write_text(f"Every command takes {names}, which 'maxpool-check --help' explains.")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        ctx.meta.get(SETTLE, lambda _: None)(ctx)
        return super().invoke(ctx)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


def command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """A command that takes the shared options, too."""
    return click.command(name, cls=Command)


def is_given(name: str) -> bool:
    """Whether a parameter stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


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
    "-k", "selected", multiple=True, metavar="EXPR",
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
    help="Files of defects, which explain, and of results that you accept, which excuse. Repeatable. They add to defects/ and "
    "known-divergences.yaml at the corpus root; none: without these.",
)  # fmt: skip
record = click.option("-o", "--output", type=FILE, metavar="RECORD.jsonl", help="Write the record here.")
transcript = click.option(
    "--transcript", type=FILE, metavar="FILE",
    help="Write every line that targets read and write here, as JSON lines with their times.",
)  # fmt: skip
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


def claiming(targets: "Iterable[TargetName]", specs: Iterable[str]) -> "tuple[TargetName, ...]":
    """The targets, with what ``--spec`` claims for the kernels among them. Raises ``click.UsageError``."""
    from maxpool_check.targets.name import BadTarget
    from maxpool_check.targets.name import claiming as claiming_targets

    with raising(BadTarget, about="--spec: "):
        return claiming_targets(targets, specs)


def colored() -> bool:
    """Whether to colour stdout: on a terminal, unless the user or NO_COLOR says otherwise."""
    color = setting("color", "never")
    if color != "auto" or os.environ.get("NO_COLOR"):
        return bool(color == "always")
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def show(blocks: "Iterable[Block]", *, everything: bool = True) -> None:
    """Print blocks; only a terminal gets lines folded."""
    from maxpool_check.reporting.blocks import Document
    from maxpool_check.reporting.writers import Display, terminal

    columns, text = width() if sys.stdout.isatty() else 10**5, io.StringIO()
    terminal.write(Document("", "", (), list(blocks)), text, Display(columns, colored(), everything))
    sys.stdout.write(text.getvalue().rstrip("\n") + "\n")


def width() -> int:
    """The width of the output: the columns of the terminal, or 100."""
    import shutil

    return max(40, shutil.get_terminal_size((100, 24)).columns)


def memory_in_bytes() -> int | None:
    """The bytes that a target may allocate."""
    memory = setting("memory")
    return memory * 2**20 if memory else None


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
            f"{not_found(path, is_file=True)}; 'run', 'gate' and 'model' write a record with -o {path}"
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
