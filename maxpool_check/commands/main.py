"""The command line: its commands, and what becomes of an error.

What only some calls need is imported where they need it: --help waits for click alone.
"""

from __future__ import annotations

import importlib
import io
import itertools
import os
import sys

import click

import maxpool_check

COMMANDS = {
    "run": "Ask targets every case, judge, print, write reports.",
    "lint": "Check case files and known divergences against the reference.",
    "list": "List the cases, one line each.",
    "generate": "Write cases that cover what can be particular about a MaxPool.",
    "coverage": "Count what the cases really execute on a target.",
    "reference": "Show the reference's answer for one case.",
    "explain": "Draw a case and what is wrong with an answer, or say what a kind means.",
    "repro": "Write a reproduction of a divergence that others can run.",
    "fuzz": "Draw cases at random, ask targets, and keep what is new.",
    "documents": "Put the documents side by side, with their errata.",
    "targets": "Show the known runtimes and what each can be asked.",
    "report": "Render records.",
    "compare": "Compare two records: what is fixed, regressed, or otherwise changed.",
    "gate": "Ask two targets, and say whether the one may replace the other.",
    "bisect": "Find the release where the verdict on a case changes.",
    "known": "Write known divergences from a record, and check those there are.",
    "history": "Ask many releases: which kinds each of them shows.",
    "import": "Write the tests of other suites as case files.",
    "schema": "Print the JSON Schema of a file format.",
}


_VERBOSE = ("run", "compare", "gate")


class _Commands(click.Group):
    """Loads a command when it is called, so that help and completion wait for nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"no command '{args[0]}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        # A module that others import cannot be called 'import'.
        name = "import_" if cmd_name == "import" else cmd_name
        module = importlib.import_module(f"maxpool_check.commands.{name}")
        command: click.Command = module.command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(maxpool_check.__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli() -> None:
    """Ask whether a runtime computes MaxPool as specified.

    Asks runtimes the cases of a corpus, holds every answer to the reference bit by bit, and reports where they diverge.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    # numpy's OpenBLAS starts a thread on every core, each of which spins at first; no matrix is multiplied here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        # A title or an id may hold what the terminal's encoding cannot write.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if given and given[0] in COMMANDS:
        _end_as_if_interrupted()
    try:
        sys.exit(_run(given))
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is still buffered must not raise again on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _run(given: list[str]) -> int:
    stdout = sys.stdout
    try:
        # Not every command has anything to say more verbosely; a traceback can be had of each.
        asked = given if given[:1] and given[0] in _VERBOSE else [one for one in given if one != "-vv"]
        code = cli.main(asked, prog_name="maxpool-check", standalone_mode=False, terminal_width=_help_width())
        sys.stdout.flush()
        return int(code or 0)
    except SystemExit as done:
        # When the reader of its output is gone, click muffles stdout and leaves with 1: an unexpected verdict, here.
        if sys.stdout is not stdout:
            raise BrokenPipeError from done
        raise
    except BrokenPipeError:
        raise
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return _explained(given, error.exit_code, getattr(error, "errors", [{"message": error.format_message()}]))
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return _explained(given, 130, [{"message": "interrupted"}])
    except OSError as error:
        click.echo(f"error: {error}", err=True)
        return _explained(given, 3, [{"message": str(error)}])
    except Exception as error:
        if "-vv" in given:
            import traceback

            traceback.print_exc()
        else:
            click.echo(f"internal error: {type(error).__name__}: {error}", err=True)
            click.echo("This is a defect of maxpool-check; -vv shows where it happened.", err=True)
        return _explained(given, 3, [{"message": f"internal error: {error}"}])


def _end_as_if_interrupted() -> None:
    """To be told to end is to be interrupted: what was started is ended, too."""
    import signal

    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _help_width() -> int:
    """The columns of a help page, as click has them; it would import shutil with its compressors to find out."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size().columns
    except (ValueError, OSError):
        columns = 80
    return max(min(columns, 80) - 2, 50)


def _explained(arguments: list[str], exit_code: int, errors: list[dict[str, object]]) -> int:
    """Keep the promise of --format json, one document on stdout, for errors that leave a command without one."""
    pairs = itertools.pairwise([*arguments, ""])
    wanted = any(pair == ("--format", "json") or pair[0] == "--format=json" for pair in pairs)
    if wanted and arguments[0] == "run":
        from maxpool_check.reporting import json as run_json

        click.echo(run_json.failure(exit_code, errors))
    elif wanted:
        import json

        click.echo(json.dumps({"schema": f"maxpool-check/{arguments[0]}/1", "exit_code": exit_code, "errors": errors}))
    return exit_code
