"""``maxpool-check completion``."""

import click

from maxpool_check.commands.completing.shells import SHELLS, script
from maxpool_check.results.record import ExitCode


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def command(shell: str) -> int:
    """Print the script that completes commands, options and values in a shell.

    It completes targets that are known here, ids of cases, kinds, defects, clauses and documents; see 'maxpool-check docs
    configuration' for where the script belongs.

    \b
    Examples:
      maxpool-check completion bash > ~/.maxpool-check.bash
      maxpool-check completion fish > ~/.config/fish/completions/maxpool-check.fish
    """
    click.echo(script(shell), nl=False)
    return ExitCode.AS_EXPECTED
