"""``maxpool-check config``."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.commands.configured import Defaults, Misconfigured
from maxpool_check.commands.main import COMMANDS as PROGRAM_COMMANDS
from maxpool_check.commands.main import module_of
from maxpool_check.configuration.file import BadConfiguration, shown
from maxpool_check.configuration.keys import CACHE_VARIABLE, COMMANDS, KEYS, SECTIONS, Key, keys_of
from maxpool_check.configuration.settings import Configuration, Setting
from maxpool_check.results.record import ExitCode
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.cache import cache


@dataclass(frozen=True)
class _Row:
    """A key, its value, and where that comes from; ``otherwise`` is what holds where it has none."""

    key: str
    value: Any
    source: str
    otherwise: str = "-"


@click.command("config")
@click.option("--command", "name", metavar="COMMAND", help="What holds for this command, e.g. run.")
@options.form()
@click.pass_context
def command(ctx: click.Context, name: str | None, form: str) -> int:
    """Show what holds for each key of the configuration, and where it comes from.

    That is the file and its line, an environment variable, or the default. Without --command, they are the keys of all
    commands, and those that the file or the environment sets for one command.

    \b
    Examples:
      maxpool-check config
      maxpool-check config --command run
    """
    if name is not None and name not in COMMANDS:
        raise click.UsageError(
            f"'{name}' has no keys{nearest(name, COMMANDS)}; commands with keys are {', '.join(COMMANDS)}"
        )
    defaults = ctx.find_root().default_map
    configuration = defaults.configuration if isinstance(defaults, Defaults) else Configuration()
    try:
        _check(configuration)
        rows = list(_of_command(configuration, name) if name is not None else _of_all(configuration))
    except BadConfiguration as error:
        raise Misconfigured(str(error)) from error
    file = configuration.file.path if configuration.file else None
    if form == "json":
        entries = [{"key": row.key, "value": row.value, "source": row.source} for row in rows]
        document = {
            "schema": "maxpool-check/config/1",
            "file": str(file) if file else None,
            "command": name,
            "keys": entries,
        }
        options.echo(inert.dumps({**document, "unknown_variables": configuration.unknown_variables}, indent=1))
        return ExitCode.AS_EXPECTED
    options.echo(f"file: {inert.line(shown(file)) if file else 'none'}\n")
    cells = [(row.key, inert.line(_text(row.value, row.otherwise)), inert.line(row.source)) for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in (0, 1)]
    for key, value, source in cells:
        options.echo(f"{key.ljust(widths[0])}  {value.ljust(min(widths[1], 40))}  {source}")
    return ExitCode.AS_EXPECTED


def _check(configuration: Configuration) -> None:
    """Check every value by the option that it sets. Raises ``click.ClickException`` and :class:`BadConfiguration`."""
    for name in COMMANDS:
        ctx = click.Context(_command(name), info_name=name)
        for parameter in ctx.command.params:
            if setting := configuration.of(name).get(parameter.name or ""):
                value = setting.value
                if isinstance(value, list) and not (parameter.multiple or parameter.nargs == -1):
                    continue
                try:
                    parameter.type_cast_value(ctx, value)
                except click.BadParameter as error:
                    raise Misconfigured(f"{setting.where}: {error.message}") from error


def _of_command(configuration: Configuration, name: str) -> Iterator[_Row]:
    """The keys of a command."""
    settings = configuration.of(name)
    for parameter, key in keys_of(name).items():
        setting = settings.get(parameter)
        yield _row(key, key.name, setting, partial(_default, name, parameter))


def _of_all(configuration: Configuration) -> Iterator[_Row]:
    """The keys of all commands, and those that are set for one."""
    shared = configuration.shared()
    for key in KEYS:
        if key.shared:
            yield _row(key, key.name, shared.get(key.name), partial(_defaults, key.parameters))
    yield _Row("cache", str(cache().parent), CACHE_VARIABLE if CACHE_VARIABLE in configuration.variables else "default")
    for section in SECTIONS:
        for setting in configuration.of(section).values():
            if setting.source.of_one_command:
                yield _row(setting.key, f"{section}.{setting.key.name}", setting, lambda: None)


def _row(key: Key, name: str, setting: Setting | None, default: Callable[[], Any]) -> _Row:
    if setting is None:
        return _Row(name, default(), "default", key.otherwise)
    return _Row(name, setting.value, setting.where)


def _defaults(parameters: Mapping[str, str]) -> Any:
    """The default of most commands, with those of others."""
    values = {name: _default(name, parameter) for name, parameter in parameters.items()}
    common = max(values.values(), key=lambda value: list(values.values()).count(value))
    others = {name: value for name, value in values.items() if value != common}
    return common if not others else {"": common, **others}


def _default(name: str, parameter: str) -> Any:
    """The default of a parameter, as text."""
    for each in _command(name).params:
        if each.name == parameter:
            value = each.to_info_dict()["default"]
            value = value() if callable(value) else value
            if isinstance(value, (list, tuple)):
                return [str(part) for part in value]
            return value if value is None or isinstance(value, (bool, int, float)) else str(value)
    raise KeyError(f"{name} has no parameter {parameter}")


def _command(name: str) -> click.Command:
    if name in PROGRAM_COMMANDS:
        command: click.Command = importlib.import_module(module_of(name)).command
        return command
    group, _, inner = name.partition(" ")
    return importlib.import_module(module_of(group)).command.commands[inner]


def _text(value: Any, otherwise: str) -> str:
    if value is None or value == []:
        return otherwise
    if isinstance(value, Mapping):
        parts = ((name, _text(each, otherwise)) for name, each in value.items())
        return "; ".join(f"{name}: {text}" if name else text for name, text in parts)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
