"""The defaults of options that a configuration sets, for click, and the command line that would do without it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from maxpool_check import inert
from maxpool_check.commands.main import OWN_WORDS
from maxpool_check.configuration.file import BadConfiguration
from maxpool_check.configuration.keys import COMMANDS, variables
from maxpool_check.configuration.settings import Configuration, Setting, configuration

PROGRAM = "maxpool-check"


class Misconfigured(click.ClickException):
    """A configuration that cannot be used."""

    exit_code = 2


class Defaults(Mapping[str, Any]):
    """The defaults of the commands of a group; the file is read when a command that has keys is called.

    ``file`` is None for the nearest one. ``words`` are those of the command line.
    """

    def __init__(self, file: str | None, words: Sequence[str], prefix: str = "") -> None:
        self._file, self._words, self._prefix = file, words, prefix

    @cached_property
    def configuration(self) -> Configuration:
        """What the file and the environment say. Raises :class:`Misconfigured`."""
        try:
            found = configuration(os.environ, Path(self._file) if self._file is not None else None)
        except BadConfiguration as error:
            # The help must be there to fix it.
            if {"-h", "--help"} & set(self._words):
                return Configuration()
            raise Misconfigured(str(error)) from error
        for name in found.unknown_variables:
            click.echo(inert.line(f"warning: {_unknown_variable(name)}"), err=True)
        return found

    def settings(self, command: str) -> Mapping[str, Setting]:
        """The settings of a command, by parameter. Raises :class:`Misconfigured`."""
        try:
            return self.configuration.of(command)
        except BadConfiguration as error:
            raise Misconfigured(str(error)) from error

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        command = f"{self._prefix}{name}"
        if command in COMMANDS:
            return CommandDefaults(self.settings(command))
        if any(each.startswith(f"{command} ") for each in COMMANDS):
            return Defaults(self._file, self._words, f"{command} ")
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _unknown_variable(name: str) -> str:
    from maxpool_check.specifications.specification import nearest

    return f"{name} is no variable of maxpool-check{nearest(name, variables())}"


class CommandDefaults(Mapping[str, Any]):
    """The defaults of one command: its settings, but those that an option of the command line excludes."""

    def __init__(self, settings: Mapping[str, Setting]) -> None:
        self.settings = settings

    def __getitem__(self, name: str) -> Any:
        setting = self.settings[name]
        ctx = click.get_current_context()
        if any(ctx.get_parameter_source(other) is ParameterSource.COMMANDLINE for other in setting.key.excluded_by):
            raise KeyError(name)
        parameter = next(each for each in ctx.command.params if each.name == name)
        if isinstance(setting.value, list) and not (parameter.multiple or parameter.nargs == -1):
            # Of a list, an option that is not repeatable takes the only one.
            if len(setting.value) != 1:
                raise KeyError(name)
            return setting.value[0]
        return setting.value

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)


def place(error: click.ClickException) -> str:
    """Where a wrong value was set, if it was not on the command line: ``pyproject.toml:7: jobs``."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None or not error.param.name:
        return ""
    setting = _used(error.ctx).get(error.param.name)
    return setting.where if setting else ""


def command_line() -> tuple[str, ...]:
    """The words of the command line that is running, with what a configuration added to them as options."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return ()
    words: list[str] = list(ctx.find_root().obj or ())
    added = _words(ctx)
    if not any(added):
        return (PROGRAM, *words)
    options, arguments = added
    own = ctx.meta[OWN_WORDS]
    end = own.index("--") if "--" in own else len(own)
    # What it says is all that holds.
    return (PROGRAM, "--no-config", *own[:end], *options, *own[end:], *arguments)


def _used(ctx: click.Context) -> dict[str, Setting]:
    """The settings that the parameters of a command got their values from."""
    defaults = ctx.default_map
    if not isinstance(defaults, CommandDefaults):
        return {}
    return {
        name: setting
        for name, setting in defaults.settings.items()
        if ctx.get_parameter_source(name) in (ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT)
    }


def _words(ctx: click.Context) -> tuple[list[str], list[str]]:
    """The options and the arguments that a configuration has set."""
    options: list[str] = []
    arguments: list[str] = []
    for name, setting in _used(ctx).items():
        parameter = next(each for each in ctx.command.params if each.name == name)
        values = [setting.value] if isinstance(setting.value, (str, bool)) else list(setting.value)
        if isinstance(parameter, click.Argument):
            arguments += map(str, values)
        elif setting.value is not False:
            option = max(parameter.opts, key=len)
            options += [word for value in values for word in ((option,) if value is True else (option, str(value)))]
    return options, arguments
