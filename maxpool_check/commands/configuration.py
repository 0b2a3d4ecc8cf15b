"""The configuration: a table of TOML whose keys are the parameters of the commands, and environment variables.

What it sets becomes the ``default_map`` of a command. A key at the top is for all commands that have the parameter, one in
the section of a command for that command alone; a variable ``MAXPOOL_CHECK_KEY`` is stronger than both, and click itself reads
``MAXPOOL_CHECK_COMMAND_KEY``.
"""

import functools
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.commands.main import COMMANDS, cli
from maxpool_check.files import read_regular

PROGRAM, PREFIX = "maxpool-check", "MAXPOOL_CHECK_"
OWN_NAME, PROJECT_NAME = "maxpool-check.toml", "pyproject.toml"

SECTIONS = tuple(name for name in COMMANDS if " " not in name)
SHARED = (
    *("paths", "targets", "spec", "variants", "known", "accept", "fail_on", "strict", "jobs", "color"),
    *options.SETTINGS,
)
"""The parameters that may be set for all commands: what they execute, and the settings of every run."""

_OF_MODELS = ("paths", "spec")
"""What is set for all commands is about cases, and not about models."""

_EXCLUDED_BY = {
    "jobs": ("dask",),
    "dask": ("jobs",),
    "targets": ("base", "head", "records"),
    "base": ("targets",),
    "head": ("targets",),
    "output": ("cases",),
    "reports": ("cases",),
}
"""The parameters beside which a configured one has no effect."""

_OWN_WORDS = "maxpool_check.words"
"""The key of the words of a command in ``click.Context.meta``: its name, and what follows."""

_MOST_BYTES = 2**20
_KERNEL = re.compile(r"^(python:|command:(?=[^ ]*/)|)((?<=:).+|[^:]+\.jsonl(?:\.gz|\.xz)?)$")
"""A target that names a file: the kind of a kernel and its file, or a record."""


class BadConfiguration(click.ClickException):
    """A configuration that cannot be used; the message says where and why."""

    exit_code = 2


@dataclass(frozen=True)
class Entry:
    """A value, and where it comes from, for messages."""

    value: Any
    where: str


class Defaults(dict[str, Any]):
    """The defaults of one command by parameter, but those that an option of the command line excludes."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        super().__init__({name: entry.value for name, entry in entries.items()})
        self.where = {name: entry.where for name, entry in entries.items()}

    def __contains__(self, name: object) -> bool:
        source = click.get_current_context().get_parameter_source
        excluding = _EXCLUDED_BY.get(str(name), ())
        return super().__contains__(name) and all(source(each) is not ParameterSource.COMMANDLINE for each in excluding)


@dataclass(frozen=True)
class Configuration:
    """A file, if there is one, and environment variables; entries are by section, '' being the top, and parameter."""

    path: Path | None = None
    entries: Mapping[tuple[str, str], Entry] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def of(self, path: Sequence[str], parameters: Sequence[click.Parameter]) -> dict[str, Entry]:
        """What is set for a command, by parameter, and the settings of every run."""
        section = path[0].partition(" ")[0]
        names = {*options.SETTINGS, "color", *(str(each.name) for each in parameters)}
        shared = names & {*SHARED} - ({*_OF_MODELS} if section == "model" else set())
        levels = [
            {name: self.entries["", name] for name in shared if ("", name) in self.entries},
            {name: self.entries[section, name] for name in names if (section, name) in self.entries},
            # As elsewhere, an empty variable is one that is not set.
            {name: self._variable(name) for name in shared if self.variables.get(f"{PREFIX}{name.upper()}")},
        ]
        found: dict[str, Entry] = {}
        for level in levels:
            found = {name: each for name, each in found.items() if not {*_EXCLUDED_BY.get(name, ())} & level.keys()}
            found |= level
        if "path" in names and (paths := self.entries.get(("", "paths"))) and len(paths.value) == 1:
            found.setdefault("path", Entry(paths.value[0], paths.where))
        single = {str(each.name) for each in parameters if not _is_many(each)}
        for name, entry in found.items():
            if name in single and isinstance(entry.value, list) and len(entry.value) == 1:
                found[name] = Entry(entry.value[0], entry.where)
        return found

    def _variable(self, name: str) -> Entry:
        variable = f"{PREFIX}{name.upper()}"
        text = self.variables[variable]
        parameter = parameters_of("")[name]
        return Entry(parameter.type.split_envvar_value(text) if _is_many(parameter) else text, variable)

    def unknown_variables(self) -> Iterator[str]:
        """The variables that begin as those of keys, and are none, with what they may have meant."""
        known = {f"{PREFIX}{name.upper()}" for name in (*SHARED, "config", "requires_browser")}
        for name in sorted(self.variables):
            if name.startswith(PREFIX) and name not in known:
                known |= {
                    f"{PREFIX}{'_'.join(path).upper()}_{str(each.name).upper()}"
                    for path, leaf in leaves()
                    for each in leaf.params
                }
                if name not in known:
                    yield f"{name} is no variable of maxpool-check{_nearest(name, known)}"


def configure(ctx: click.Context, path: Sequence[str], leaf: click.Command, words: Sequence[str]) -> None:
    """Give a command its defaults; ``words`` are those of the command line from its name on."""
    ctx.meta[_OWN_WORDS] = tuple(words)
    try:
        configuration = load(ctx.params.get("config"))
        defaults = Defaults(configuration.of(path, leaf.params))
    except BadConfiguration:
        # The documentation must be there to fix it.
        if ctx.resilient_parsing or path[0] == "docs":
            return
        raise
    if not ctx.resilient_parsing:
        for message in configuration.unknown_variables():
            click.echo(inert.line(f"warning: {message}"), err=True)
        for name in {*options.IN_ENVIRONMENT} & {*defaults}:
            # What makes environments reads them there, in this process and in those that it starts.
            if value := defaults[name]:
                os.environ.setdefault(f"{PREFIX}{name.upper()}", "1" if value is True else str(value))
    if "color" in defaults.where and ctx.get_parameter_source("color") is ParameterSource.DEFAULT:
        ctx.params["color"] = defaults["color"]
    if ctx.params.get("config") == "none":
        ctx.auto_envvar_prefix = None
    nested: dict[str, Any] = defaults
    for name in reversed(path):
        nested = {name: nested}
    ctx.default_map = nested


def load(file: str | None, folder: Path | None = None) -> Configuration:
    """The configuration of a file, or of the nearest one from ``folder`` upwards. Raises :class:`BadConfiguration`."""
    if file == "none":
        return Configuration()
    path, table = (Path(file), _table(Path(file))) if file else _nearest_file(folder or Path.cwd())
    entries: dict[tuple[str, str], Entry] = {}
    if path is None or table is None:
        return Configuration(path, entries, os.environ)
    text, prefix = _content(path).decode(), ["tool", PROGRAM] if path.name == PROJECT_NAME else []
    for name, value in table.items():
        is_section = name in SECTIONS and isinstance(value, Mapping)
        for key, inner in value.items() if is_section else ((name, value),):
            section = name if is_section else ""
            line = _line_of(text, [*prefix, *filter(None, [section])], key)
            where = f"{shown(path)}{f':{line}' if line else ''}: {f'[{section}] ' if section else ''}{key}"
            parameter = parameters_of(section).get(key.replace("-", "_"))
            if parameter is None or "_" in key:
                raise BadConfiguration(f"{where} {_unknown(section, key)}")
            try:
                entries[section, str(parameter.name)] = Entry(_value(parameter, inner, path.absolute().parent), where)
            except ValueError as error:
                raise BadConfiguration(f"{where} {error}") from error
    return Configuration(path, entries, os.environ)


def leaves() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that is no group, with its words."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from (((name, inner), leaf) for inner, leaf in command.commands.items())
        elif command is not None:
            yield (name,), command


@functools.cache
def parameters_of(section: str) -> dict[str, click.Parameter]:
    """The parameters that a section may set: the options of its commands, and the files that they take; '' is the top."""
    if not section:
        every = {**parameters_of("gate"), **parameters_of("run"), **options.settings()}
        return {name: each for name, each in every.items() if name in SHARED} | {"color": cli.params[1]}
    found = [each for path, leaf in leaves() if path[0].partition(" ")[0] == section for each in leaf.params]
    # Of two of one name, the one that takes several values decides: that of gate, and not the one of gate accept.
    found.sort(key=_is_many)
    return {str(each.name): each for each in found if isinstance(each, click.Option) or each.name == "paths"}


def placed(error: click.ClickException) -> click.ClickException:
    """An error with the place that the wrong value was set in, if that is not the command line: ``pyproject.toml:7: jobs``."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None or not error.param.name:
        return error
    source = error.ctx.get_parameter_source(error.param.name)
    if source is ParameterSource.ENVIRONMENT:
        return BadConfiguration(f"{error.ctx.auto_envvar_prefix}_{error.param.name.upper()}: {error.message}")
    if source is ParameterSource.DEFAULT_MAP and isinstance(error.ctx.default_map, Defaults):
        return BadConfiguration(f"{error.ctx.default_map.where[error.param.name]}: {error.message}")
    return error


def command_line() -> tuple[str, ...]:
    """The words of the command line that is running, with what a configuration added to them as options."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return ()
    words: list[str] = list(ctx.find_root().obj or ())
    named: list[str] = []
    arguments: list[str] = []
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if source not in (ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT):
            continue
        configured = (ctx.default_map or {}).get(parameter.name or "")
        value = parameter.value_from_envvar(ctx) if source is ParameterSource.ENVIRONMENT else configured
        values = [str(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
        option = max(parameter.opts, key=len)
        if isinstance(parameter, click.Argument):
            arguments += values
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            # What is set for this process alone is no parameter.
            is_set = ctx.params.get(parameter.name or "", parameter.type_cast_value(ctx, value))
            named += [option] if is_set else []
        else:
            named += [word for each in values for word in (option, each)]
    if not named and not arguments:
        return (PROGRAM, *words)
    own = ctx.meta[_OWN_WORDS]
    end = own.index("--") if "--" in own else len(own)
    # What it says is all that holds.
    return (PROGRAM, "--config", "none", *own[:end], *named, *own[end:], *arguments)


def described() -> str:
    """What holds for each key that may be set for all commands, or that is set, and where it comes from, as text."""
    configuration = load(click.get_current_context().find_root().params["config"])
    rows = {
        _key(name): (_text(parameters_of("")[name].to_info_dict()["default"]), "default")
        for name in SHARED
        if name in parameters_of("")
    }
    for path, leaf in leaves():
        section = path[0].partition(" ")[0]
        for name, entry in configuration.of(path, leaf.params).items():
            own = configuration.entries.get((section, name))
            is_own = own is not None and own.where == entry.where
            rows[f"{section}.{_key(name)}" if is_own else _key(name)] = (_text(entry.value), entry.where)
            for parameter in (each for each in leaf.params if each.name == name):
                try:
                    parameter.type_cast_value(click.Context(leaf), entry.value)
                except click.BadParameter as error:
                    raise BadConfiguration(f"{entry.where}: {error.message}") from error
    widths = [max(map(len, rows)), min(40, max(len(value) for value, _ in rows.values()))]
    lines = [f"{key.ljust(widths[0])}  {value.ljust(widths[1])}  {where}" for key, (value, where) in rows.items()]
    return "\n".join([f"file: {shown(configuration.path) if configuration.path else 'none'}", "", *lines])


def schema() -> dict[str, Any]:
    """The JSON Schema of ``maxpool-check.toml``, and of the table ``tool.maxpool-check`` of a ``pyproject.toml``."""
    tables: dict[str, dict[str, Any]] = {}
    for section in ("", *SECTIONS):
        properties = {
            _key(name): {
                "description": getattr(each, "help", None) or "Case files and folders of them.",
                **_schema(each),
            }
            for name, each in parameters_of(section).items()
        }
        tables[section] = {"type": "object", "properties": properties, "additionalProperties": False}
    whole = tables.pop("")
    # 'targets' is a key as well as a command.
    tables["targets"] = {"anyOf": [tables["targets"], whole["properties"]["targets"]]}
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The configuration of maxpool-check"}
    return {**about, **whole, "properties": {**whole["properties"], **tables}}


def shown(path: Path) -> str:
    """A path as a message shows it: from the working folder, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _key(name: str) -> str:
    return name.replace("_", "-")


def _is_many(parameter: click.Parameter) -> bool:
    return bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _schema(parameter: click.Parameter) -> dict[str, Any]:
    """The JSON Schema of a parameter's value in a file."""
    kind = parameter.type
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return {"type": "boolean"}
    if isinstance(kind, options.Report):
        files = {name: {"type": "string", "minLength": 1} for name in kind.formats}
        return {"type": "object", "properties": files, "additionalProperties": False}
    each: dict[str, Any] = {"type": "string", "minLength": 1}
    if isinstance(kind, click.Choice):
        each = {"enum": list(kind.choices)}
    elif isinstance(kind, click.IntRange) or getattr(parameter, "count", False):
        each = {"type": "integer", "minimum": 1}
    elif kind is options.SECONDS or isinstance(kind, click.FloatRange):
        each = {"type": "number", "exclusiveMinimum": 0}
    is_list = _is_many(parameter) or (isinstance(kind, options.Value) and kind.joined)
    return {"anyOf": [each, {"type": "array", "items": each}]} if is_list else each


def _value(parameter: click.Parameter, value: object, folder: Path) -> Any:
    """The value of a key as the command line would have it; paths are relative to ``folder``. Raises ``ValueError``."""
    kind = parameter.type
    if isinstance(kind, options.Report):
        if not isinstance(value, Mapping):
            raise ValueError('must be a table of paths by format, such as {html = "build/report.html"}')
        return [f"{name}={_relocated(str(path), folder)}" for name, path in value.items()]
    joined = getattr(kind, "joined", "")
    is_list = _is_many(parameter) or bool(joined)
    if isinstance(value, Mapping) or (isinstance(value, list) and not is_list):
        raise ValueError("must be a list of values" if is_list else "must be one value")
    if isinstance(value, bool) and kind is click.BOOL:
        return value
    names_files = isinstance(kind, click.Path) or kind is options.PATH
    texts = [str(each) for each in (value if isinstance(value, list) else [value])]
    if names_files:
        texts = [_relocated(each, folder) for each in texts]
    elif isinstance(kind, options.Value) and kind.names_files:
        # The file of a kernel, or a record.
        texts = [_KERNEL.sub(lambda match: f"{match[1]}{_relocated(match[2], folder)}", each) for each in texts]
    return joined.join(texts) if joined else texts if is_list else texts[0]


def _relocated(path: str, folder: Path) -> str:
    """A path that is relative to ``folder``, from the working folder; ``-``, ``none`` and names of the corpus stay."""
    if (
        path in ("-", "none", "corpus")
        or path.startswith("corpus:")
        or folder == Path.cwd()
        or Path(path).is_absolute()
    ):
        return path
    return os.path.join(os.path.relpath(folder), path)  # noqa: PTH118 (keeps './')


def _nearest_file(folder: Path) -> tuple[Path | None, Mapping[str, Any] | None]:
    """The nearest configuration from a folder upwards."""
    for candidate in (folder, *folder.parents):
        own, project = candidate / OWN_NAME, candidate / PROJECT_NAME
        # A project may have nothing to do with this tool: its file is parsed only if it names it.
        names_it = project.is_file() and PROGRAM.encode() in _content(project)
        table = _toml(project).get("tool", {}) if names_it else {}
        has_table = isinstance(table, Mapping) and PROGRAM in table
        if own.is_file() and has_table:
            names = f"{shown(own)} and the table tool.{PROGRAM} of {shown(project)}"
            raise BadConfiguration(f"{names} both configure; keep one of them")
        if own.is_file() or has_table:
            path = own if own.is_file() else project
            return path, _table(path)
    return None, None


def _table(path: Path) -> Mapping[str, Any]:
    """The table of this tool: that of a pyproject.toml, or the whole file."""
    table = _toml(path)
    if path.name == PROJECT_NAME:
        tool = table.get("tool", {})
        if not isinstance(tool, dict) or PROGRAM not in tool:
            raise BadConfiguration(f"{shown(path)} has no table [tool.{PROGRAM}]")
        table = tool[PROGRAM]
        if not isinstance(table, dict):
            raise BadConfiguration(f"{shown(path)}: tool.{PROGRAM} must be a table")
    return table


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise BadConfiguration(f"{shown(path)}: {error.strerror}") from error


def _toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(_content(path).decode())
    except UnicodeDecodeError as error:
        raise BadConfiguration(f"{shown(path)}: not UTF-8") from error
    except (ValueError, RecursionError) as error:
        message, _, place = str(error).partition(" (at ")
        line = re.match(r"line (\d+), column (\d+)", place)
        where = f":{line[1]}:{line[2]}" if line else ""
        raise BadConfiguration(f"{shown(path)}{where}: no TOML: {message if line else error}") from error


def _nearest(name: str, names: set[str]) -> str:
    from maxpool_check.specifications.specification import nearest

    return nearest(name, sorted(names))


def _unknown(section: str, name: str) -> str:
    """Why a key is unknown where it stands."""
    if not section and name in SECTIONS:
        return f"is the section of a command: [{name}]"
    known = {*map(_key, parameters_of(section))}
    places = [each for each in ("", *SECTIONS) if name in map(_key, parameters_of(each))]
    # The option --target sets the key 'targets', where there is one.
    if places and f"{name}s" not in known:
        here = f"into [{section}]" if section else "to the top"
        return f"does not belong {here}, but into {', '.join(f'[{each}]' if each else 'the top' for each in places)}"
    names = known | (set() if section else {*SECTIONS})
    return f"is an unknown key{_nearest(name, names)}; keys are {', '.join(sorted(names))}"


def _line_of(text: str, tables: list[str], key: str) -> int | None:
    """The line that sets a key or begins its table; None where it is written in another way than usual."""
    header = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?")
    begins = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := header.fullmatch(line):
            table = [name.strip().strip("\"'") for name in match[1].split(".")]
            if table[: len(tables) + 1] == [*tables, key]:
                return number
        elif table == tables and begins.match(line):
            return number
    return None
