"""Completes a command line for a shell: click's own mechanism, on commands that are made of the offer and import nothing."""

import os
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from maxpool_check.commands.completing.candidates import CANDIDATES
from maxpool_check.commands.completing.offer import offer
from maxpool_check.commands.main import COMMANDS

PROGRAM, VARIABLE = "maxpool-check", "_MAXPOOL_CHECK_COMPLETE"

# Readline replaces what follows the last of its break characters, and : and = are among them: candidates lose what is before.
_BASH = """\
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} word before= type value
    word=${line##*[[:space:]]}
    if [[ $word != [\\'\\"]* ]]; then
        before=${word%%"${word##*[$COMP_WORDBREAKS]}"}
    fi
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("${value#"$before"}")
                [[ $value == *[/:=] ]] && compopt -o nospace
                ;;
        esac
    done < <(COMP_WORDS=$line COMP_CWORD= %(complete_var)s=bash_complete "$1" 2>/dev/null)
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a parts whole response
    local type key descr
    (( ! $+commands[%(prog_name)s] )) && return 1
    response=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) %(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)}")
    for type key descr in ${response}; do
        case $type in
            dir) _path_files -/ ;;
            file) compset -P '*='; _path_files ;;
            plain)
                if [[ $key == *[/:=] ]]; then
                    parts+=("$key")
                else
                    whole+=("${key//:/\\\\:}:$descr")
                fi
                ;;
        esac
    done
    (( $#parts )) && compadd -S '' -a parts
    (( $#whole )) && _describe -V unsorted whole
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""


class _Bash(BashComplete):
    source_template = _BASH
    source = ShellComplete.source

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor; without COMP_CWORD, of the line up to the cursor."""
        if os.environ.get("COMP_CWORD"):
            return super().get_completion_args()
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        return words[1:], incomplete


class _Zsh(ZshComplete):
    source_template = _ZSH

    def format_completion(self, item: CompletionItem) -> str:
        """Three lines; an empty one would be lost."""
        return f"{item.type}\n{item.value}\n{(item.help or '').replace(':', ' ').strip() or '-'}"


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": FishComplete}
"""The shells that are completed in."""


def script(shell: str) -> str:
    """The script that a shell reads at its start."""
    return SHELLS[shell](click.Command(PROGRAM), {}, PROGRAM, VARIABLE).source()


def complete(instruction: str) -> int:
    """Print the candidates for the command line in the environment, as the script of the shell reads them."""
    shell, _, what = instruction.partition("_")
    if shell not in SHELLS or what != "complete":
        return 1
    try:
        text = SHELLS[shell](_Commands(PROGRAM, params=None), {}, PROGRAM, VARIABLE).complete()
    except Exception:
        # A shell would show what is printed in the middle of the line that is typed.
        return 1
    click.echo(text.encode(errors="replace"))
    return 0


class _Commands(click.Group):
    """The commands of the tool, of which only those are made that are on the command line."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*map(_parameter, offer()["options"]), *self._help(ctx)]

    def _help(self, ctx: click.Context) -> list[click.Parameter]:
        option = self.get_help_option(ctx)
        return [option] if option else []

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        two = " ".join(args[:2])
        return (two, self.get_command(ctx, two), args[2:]) if two in COMMANDS else super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command(cmd_name, offer()["commands"][cmd_name]) if cmd_name in COMMANDS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands, which need no cache."""
        if not incomplete.startswith("-"):
            return [
                CompletionItem(name, help=about)
                for name, about in COMMANDS.items()
                if name.startswith(incomplete) and " " not in name
            ]
        return click.Command.shell_complete(self, ctx, incomplete)


class _Group(click.Group):
    """The commands of a command; a hidden one is meant where none is named."""

    hidden_command: str | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.hidden_command and (not args or args[0] not in self.commands):
            args = [self.hidden_command, *args]
        return super().parse_args(ctx, args)


def _command(name: str, data: dict[str, Any]) -> click.Command:
    settings = {"help_option_names": ["-h", "--help"]}
    if "commands" in data:
        commands = {each: _command(each, of) for each, of in data["commands"].items()}
        group = _Group(name, commands, context_settings=settings, help=data["help"])
        group.hidden_command = next(iter(data["hidden"]), None)
        return group
    return click.Command(
        name, params=list(map(_parameter, data["parameters"])), context_settings=settings, help=data["help"]
    )


def _parameter(data: dict[str, Any]) -> click.Parameter:
    candidates = CANDIDATES.get(data["completed"])
    settings: dict[str, Any] = {"type": click.Choice(data["choices"]) if "choices" in data else click.STRING}
    if "choices" not in data:
        settings["shell_complete"] = lambda ctx, _, incomplete: candidates(ctx, incomplete) if candidates else []
    if "options" not in data:
        return click.Argument([data["name"]], nargs=data["nargs"], required=False, **settings)
    if data["flag"]:
        return click.Option([*data["options"], data["name"]], is_flag=True, help=data["help"])
    return click.Option(
        [*data["options"], data["name"]], multiple=data["multiple"], nargs=data["nargs"], help=data["help"], **settings
    )
