"""``maxpool-check protocol``."""

import textwrap
from collections import Counter
from pathlib import Path

import click

from maxpool_check import inert
from maxpool_check.commands import old_options as options
from maxpool_check.results.record import ExitCode
from maxpool_check.running.protocol_check import MISSING, OK, WRONG, ProtocolCheck, ProtocolStep
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.words import plural

EXAMPLES = Path(__file__).parents[1] / "docs/examples"
"""Complete kernels behind the protocol."""

_INDENT = " " * 8

_FILES = {"c": "maxpool.c", "python": "maxpool.py"}


@click.group("protocol")
def command() -> None:
    """Check a program that speaks the protocol, and print complete examples.

    'maxpool-check docs kernel' describes the protocol.

    \b
    Examples:
      maxpool-check protocol example --language c > maxpool.c
      maxpool-check protocol check "command:./maxpool"
    """


@command.command("example", short_help="Print a complete kernel, to begin with.")
@click.option("--language", type=click.Choice(list(_FILES)), default="c", help="Of the program.  [default: c]")
def example(language: str) -> int:
    """Print a complete kernel behind the protocol, to begin with.

    \b
    Examples:
      maxpool-check protocol example --language c > maxpool.c
      maxpool-check protocol example --language python > maxpool.py
    """
    click.echo((EXAMPLES / _FILES[language]).read_text(encoding="utf-8"), nl=False)
    return ExitCode.AS_EXPECTED


@command.command("check", short_help="Talk a program through the protocol.")
@click.argument("target", type=options.TARGET)
@options.timeout
@options.form()
def check(target: TargetName, timeout: float, form: str) -> int:
    """Talk a program through the protocol step by step, and say what is missing or wrong.

    TARGET is "command:PROGRAM ARG...". Exit codes: 0 all steps are ok, 1 something is missing or wrong, 2 usage, 3 the
    program cannot be run.

    \b
    Examples:
      maxpool-check protocol check "command:./maxpool"
      maxpool-check protocol check "command:python3 maxpool.py" --timeout 30 --format json
    """
    if target.program is None:
        raise click.UsageError(f"'{target}' is no program; write \"command:PROGRAM ARG...\"")
    steps: list[ProtocolStep] = []

    def report(step: ProtocolStep) -> None:
        steps.append(step)
        if form == "text":
            _print(step)

    try:
        ProtocolCheck(target, timeout, report).run()
    except CannotStart as error:
        raise options.Incomplete(str(error)) from error
    counts = Counter(step.state for step in steps)
    code = ExitCode.UNEXPECTED if counts[MISSING] or counts[WRONG] else ExitCode.AS_EXPECTED
    if form == "json":
        document = {"schema": "maxpool-check/protocol/1", "target": str(target), "exit_code": code}
        entries = [
            {**vars(step), "lines": [{"direction": direction, "line": line} for direction, line in step.lines]}
            for step in steps
        ]
        options.echo(inert.dumps({**document, "steps": entries}, indent=1))
    elif code:
        options.echo(f"\nWRONG  {counts[WRONG]} wrong, {counts[MISSING]} missing, of {plural(len(steps), 'step')}")
        options.echo("'maxpool-check docs kernel' describes the protocol")
    else:
        options.echo(f"\nOK  {plural(counts[OK], 'step')}")
        options.echo(f'Next: maxpool-check run corpus:edge -t "{inert.line(target)}"')
    return code


def _print(step: ProtocolStep) -> None:
    _wrapped(f"{step.state:8}{step.name}{': ' if step.message else ''}{step.message}", "")
    for direction, line in step.lines:
        _wrapped(f"{direction}: {line}", _INDENT)
    if step.fix:
        _wrapped(f"fix: {step.fix}", _INDENT)


def _wrapped(text: str, indent: str) -> None:
    """Print a text that may be longer than a line of the terminal, of which nothing is a command for it."""
    wrapper = textwrap.TextWrapper(options.width(), break_on_hyphens=False, drop_whitespace=True)
    wrapper.initial_indent, wrapper.subsequent_indent = indent, f"{_INDENT}  "
    options.echo("\n".join(wrapper.wrap(inert.line(text))))
