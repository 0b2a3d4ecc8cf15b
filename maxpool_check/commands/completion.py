"""``maxpool-check completion``."""

import click

from maxpool_check.commands.completing.shells import SHELLS, script
from maxpool_check.results.record import ExitCode


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def command(shell: str) -> int:
    """Print the script that completes commands, options and values in a shell.

    \b
    bash: eval "$(maxpool-check completion bash)"     in ~/.bashrc
    zsh:  eval "$(maxpool-check completion zsh)"      in ~/.zshrc, after compinit
    fish: maxpool-check completion fish | source      in ~/.config/fish/config.fish
    \f
    """
    click.echo(script(shell), nl=False)
    return ExitCode.AS_EXPECTED
