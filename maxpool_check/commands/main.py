"""The command line: its commands in groups, and the exit codes of errors.

The module of a command is imported when the command is called, and imports what it executes inside its function: help and
completion need click alone.
"""

import atexit
import contextlib
import errno
import gc
import io
import itertools
import os
import signal
import sys
import traceback
from typing import Any, TextIO

import click
from click.shell_completion import CompletionItem

import maxpool_check
from maxpool_check.commands import options, registry
from maxpool_check.commands.registry import COMMANDS, GROUPS

_FAILURES = {
    "run": "reporting.json:failure",
    "gate": "reporting.changes_json:failure",
    "model": "reporting.model_json:failure",
}
"""What makes the JSON of a command that executed nothing, where that has a schema of the whole report."""


class _Commands(click.Group):
    """Imports a command when it is called, and gives it the defaults that a configuration sets."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for name, commands in GROUPS.items():
            with formatter.section(name):
                formatter.write_dl(list(commands.items()), col_max=14)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands, none of which is imported, or options."""
        names = [each for each in COMMANDS if each.startswith(incomplete)]
        items = [CompletionItem(each, help=COMMANDS[each]) for each in names]
        return items or click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command, rest = self.get_command(ctx, args[0]), args[1:]
        if command is None:
            return super().resolve_command(ctx, args)
        path, leaf = [args[0]], command
        if isinstance(command, click.Group) and rest and rest[0] in command.commands:
            path, leaf = [*path, rest[0]], command.commands[rest[0]]
        if not isinstance(leaf, click.Group) and not ctx.resilient_parsing and not {"-h", "--help"} & set(rest):
            from maxpool_check.commands import configuration

            configuration.configure(ctx, path, leaf)
        return path[0], command, rest

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            return registry.command(cmd_name)
        if not cmd_name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(cmd_name, COMMANDS, 1)
            if cmd_name.endswith((".onnx", ".yaml")):
                near = [f"maxpool-check {'model' if cmd_name.endswith('.onnx') else 'run'} {cmd_name}"]
            ctx.fail(f"no command '{cmd_name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        return None


def _without_variables(ctx: click.Context, param: click.Parameter, file: str | None) -> str | None:
    if file == "none":
        ctx.auto_envvar_prefix = None
    return file


@click.group(
    cls=_Commands,
    params=[*options.SHARED],
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "MAXPOOL_CHECK"},
)
@click.option(
    "--config", metavar="FILE", is_eager=True, callback=_without_variables,
    help="Read this configuration, not the nearest maxpool-check.toml or pyproject.toml; none: no file and no variables.",
)  # fmt: skip
@click.version_option(maxpool_check.__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli(config: str | None, **shared: Any) -> None:
    """Does this runtime compute MaxPool as specified?

    Executes MaxPool on real releases of real runtimes and compares Y and Indices with a reference, bit by bit. It names
    every difference, draws the window that the wrong cell comes from, and explains it by a reviewed defect of the
    runtime where one is known.

    \b
    Examples:
      maxpool-check run -t onnxruntime==1.32.0
      maxpool-check model my.onnx
    """


def program() -> None:
    """Be the program ``maxpool-check``: as :func:`main`, but memory is left to the system, which frees it at once."""
    try:
        main()
    except SystemExit as done:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, AttributeError):
                stream.flush()
        os._exit(done.code if isinstance(done.code, int) else 0)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    # Cases live to the end: among them, garbage collections as often as usual take a tenth of a run.
    gc.set_threshold(100_000)
    # OpenBLAS starts a busy thread on every core when numpy is imported; nothing here needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        # A title or an id may hold what the terminal's encoding cannot write.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if closed := [name for name in ("stdout", "stderr") if getattr(sys, name) is None]:
        print(f"error: {' and '.join(closed)} is closed", file=sys.stderr or sys.stdout)
        sys.exit(2)
    # These end a command as Ctrl-C does, with its worker processes; nohup has SIGHUP ignored. Windows has only SIGTERM.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        code = _run(words)
        # Who interrupts again would otherwise kill Python at its end, which has another exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(code)
    except BrokenPipeError:
        # The reader of the output is gone.
        _drop(sys.stdout)
        sys.exit(141)
    except OSError:
        # Not even the error can be printed.
        _drop(sys.stdout)
        _drop(sys.stderr)
        sys.exit(3)


def _drop(stream: TextIO) -> None:
    """Forget what is still buffered for a stream that cannot be written: it must not raise again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(words: list[str]) -> int:
    stdout = sys.stdout
    try:
        for word in words:
            # Half of a character cannot be written to a record.
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise click.UsageError(f"the argument '{word}' is not UTF-8")
        code = cli.main(words, prog_name="maxpool-check", standalone_mode=False, obj=tuple(words))
        sys.stdout.flush()
        return int(code or 0)
    except (SystemExit, BrokenPipeError) as done:
        # When the reader of its output is gone, click replaces stdout and exits with 1, which means an unexpected result here.
        if sys.stdout is not stdout:
            raise BrokenPipeError from done
        raise
    except click.exceptions.Exit as done:
        return done.exit_code
    except (Exception, KeyboardInterrupt) as error:
        return _failed(words, error)


def _failed(words: list[str], error: BaseException) -> int:
    """Print an error, also as the one document on stdout where that is JSON, and return the exit code."""
    from maxpool_check import inert
    from maxpool_check.commands import configuration

    code = 3
    shown = message = str(error)
    if isinstance(error, click.ClickException):
        error = configuration.placed(error)
        buffer = io.StringIO()
        error.show(buffer)
        shown, message, code = buffer.getvalue().rstrip("\n"), error.format_message(), error.exit_code
    elif isinstance(error, (click.Abort, KeyboardInterrupt)):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # click raises Abort for an interruption, which may say what became of it.
        shown = message = f"interrupted {error.__cause__ or error}".rstrip()
        code = 130
    elif isinstance(error, MemoryError):
        shown = f"error: not enough memory: {message}"
    elif isinstance(error, OSError):
        # Whatever writes another file names it.
        name = error.filename or ("stdout" if error.errno == errno.ENOSPC else "")
        message = f"{name}: {error.strerror}" if name else message
        shown = f"error: {message}"
    else:
        shown = message = f"internal error: {type(error).__name__}: {error}"
        shown += "\nThis is a defect of maxpool-check; -vv shows the traceback."
        if "-vv" in words:
            shown = "".join(traceback.format_exception(error))
    click.echo(inert.block(shown), err=True)
    given = [*words, *("=".join(pair) for pair in itertools.pairwise(words))]
    if {"--json", "--report=json"} & set(given):
        errors = getattr(error, "errors", [{"message": message}])
        command = next((word for word in words if word in COMMANDS), "")
        if command in _FAILURES:
            click.echo(registry.imported(_FAILURES[command])(code, errors))
        else:
            click.echo(inert.dumps({"schema": f"maxpool-check/{command}/1", "exit_code": code, "errors": errors}))
    return code
