"""The configuration: a table of TOML whose keys are the parameters of the commands, and environment variables.

What it sets becomes the ``default_map`` of a command. A key at the top is for all commands that have the parameter, one in
the section of a command for that command alone; a variable ``MAXPOOL_CHECK_KEY`` is stronger than both, and click itself reads
``MAXPOOL_CHECK_COMMAND_KEY``.

A file that the user named is read whole, one that was found as far as :mod:`maxpool_check.commands.trust` says.
"""

import functools
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from maxpool_check import inert
from maxpool_check.commands import options, trust
from maxpool_check.commands.main import COMMANDS, cli
from maxpool_check.files import open_regular

PROGRAM, PREFIX = "maxpool-check", "MAXPOOL_CHECK_"
OWN_NAME, PROJECT_NAME = "maxpool-check.toml", "pyproject.toml"

SECTIONS = tuple(name for name in COMMANDS if " " not in name)
SHARED = (
    *("paths", "targets", "spec", "variants", "known", "accept", "fail_on", "strict", "jobs", "color"),
    *options.SETTINGS,
)
"""The parameters that may be set for all commands: what they execute, and the settings of every run."""

_EXCLUDED_BY = {
    "jobs": ("dask",),
    "dask": ("jobs",),
    "targets": ("base", "head", "records"),
    "base": ("targets",),
    "head": ("targets",),
}
"""The options beside which a configured one has no effect."""

_MOST_BYTES = 2**20
_Table = tuple[Mapping[str, Any], os.stat_result]

_KERNEL = re.compile(r"^(python:|command:(?=[^ ]*/)|)((?<=:).+|[^:]+\.jsonl(?:\.gz|\.xz)?)$")
"""A target that names a file: the kind of a kernel and its file, or a record."""


class BadConfiguration(click.ClickException):
    """A configuration that cannot be used; the message says where and why."""

    exit_code = 2


@dataclass(frozen=True)
class Entry:
    """A value, None for none, and where it comes from, for messages.

    ``note`` is what the user is told where the command line has no other value; ``is_error``: then the command ends with it.
    """

    value: Any
    where: str
    note: str = ""
    is_error: bool = False


class Defaults(dict[str, Any]):
    """The defaults of one command by parameter, but those that an option of the command line excludes."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        super().__init__({name: entry.value for name, entry in entries.items() if entry.value is not None})
        self.where = {name: entry.where for name, entry in entries.items()}
        self._noted = {name: entry for name, entry in entries.items() if entry.note}

    def __contains__(self, name: object) -> bool:
        """Whether there is a default; click asks where neither the command line nor a variable has a value."""
        ctx = click.get_current_context(silent=True)
        if ctx is None:
            return super().__contains__(name)
        excluding = _EXCLUDED_BY.get(str(name), ())
        if any(ctx.get_parameter_source(each) is ParameterSource.COMMANDLINE for each in excluding):
            return False
        if not ctx.resilient_parsing and (entry := self._noted.pop(str(name), None)) is not None:
            if entry.is_error:
                raise BadConfiguration(entry.note)
            click.echo(inert.line(entry.note), err=True)
        return super().__contains__(name)


@dataclass(frozen=True)
class Configuration:
    """A file, if there is one, and environment variables; entries are by section, '' being the top, and parameter.

    ``is_found`` says that the user did not name the file, ``distrusted`` why what it would start is ignored.
    """

    path: Path | None = None
    entries: Mapping[tuple[str, str], Entry] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    is_found: bool = False
    distrusted: str = ""

    def of(self, path: Sequence[str], parameters: Sequence[click.Parameter]) -> dict[str, Entry]:
        """What is set for a command, by parameter, and the settings of every run. Raises :class:`BadConfiguration`."""
        section = path[0].partition(" ")[0]
        # What is set for all commands is about cases, and not about models.
        shared = {*SHARED} - ({"paths", "spec"} if section == "model" else set())
        found = {}
        for name, parameter in {**parameters_of(""), **{str(each.name): each for each in parameters}}.items():
            # As elsewhere, an empty variable is one that is not set.
            variable = f"{PREFIX}{name.upper()}"
            entry = self.entries.get((section, name), self.entries.get(("", name)) if name in shared else None)
            if name in shared and (text := self.variables.get(variable)):
                found[name] = Entry(parameter.type.split_envvar_value(text) if _is_many(parameter) else text, variable)
            elif entry is not None and self.path is not None:
                try:
                    value = _value(parameter, entry.value, self.path.absolute().parent)
                except ValueError as error:
                    raise BadConfiguration(f"{entry.where} {error}") from error
                found[name] = Entry(value, entry.where)
                if self.is_found:
                    found[name] = self._limited(section, name, parameter.type, found[name])
        return found

    def _limited(self, section: str, name: str, kind: click.ParamType[Any], entry: Entry) -> Entry:
        """An entry of a file that was found, without what the command does not take from it."""
        acting, rest = trust.acting_part(name, kind, entry.value)
        if not acting or self.path is None:
            return entry
        path = shown(self.path)
        what = _text(acting) if trust.names_targets(kind) else f"{_key(name)} {_text(acting)}"
        why = self.distrusted or trust.refusal(section, name, kind, acting, self.path)
        if not why:
            return replace(entry, note=f"{what}, from {path}" if trust.starts(name, kind) else "")
        note = f"{path}: {what} is ignored, since {why}; name it on the command line, or use --config {path}"
        # Without a target, a test of the default one must not pass instead; what is explained is no test.
        is_error = name == "targets" and not rest and section != "explain"
        return Entry(rest or None, f"{entry.where}, without {what}", note if is_error else f"warning: {note}", is_error)

    def unknown_variables(self) -> Iterator[str]:
        """The variables that begin as those of keys, and are none, with what they may have meant."""
        known = {f"{PREFIX}{name.upper()}" for name in (*SHARED, "config", "requires_browser")}
        if unknown := {name for name in self.variables if name.startswith(PREFIX)} - known:
            from maxpool_check.specifications.specification import nearest

            own = {"_".join((*path, str(each.name))).upper() for path, leaf in leaves() for each in leaf.params}
            known |= {f"{PREFIX}{name}" for name in own}
            for name in sorted(unknown - known):
                yield f"{name} is no variable of maxpool-check{nearest(name, sorted(known))}"


def configure(ctx: click.Context, path: Sequence[str], leaf: click.Command) -> None:
    """Give a command its defaults."""
    try:
        configuration = load(ctx.params.get("config"))
        entries = configuration.of(path, leaf.params)
        if not any(trust.names_targets(each.type) for each in leaf.params):
            # It makes no environments, and has nothing to say about them.
            entries = {
                name: each for name, each in entries.items() if not each.note or name not in ("find_links", "offline")
            }
        defaults = Defaults(entries)
    except BadConfiguration:
        # The documentation must be there to fix it.
        if ctx.resilient_parsing or path[0] == "docs":
            return
        raise
    if not ctx.resilient_parsing:
        for message in configuration.unknown_variables():
            click.echo(inert.line(f"warning: {message}"), err=True)
        _set_variables(defaults)
    if "color" in defaults.where and ctx.get_parameter_source("color") is ParameterSource.DEFAULT:
        ctx.params["color"] = defaults["color"]
    if ctx.params.get("config") == "none":
        ctx.auto_envvar_prefix = None
    nested: dict[str, Any] = defaults
    for name in reversed(path):
        nested = {name: nested}
    ctx.default_map = nested


def _set_variables(defaults: Defaults) -> None:
    """Set the variables that what makes environments reads, in this process and in those that it starts."""
    for name in options.IN_ENVIRONMENT:
        if name in defaults and (value := defaults[name]):
            os.environ.setdefault(f"{PREFIX}{name.upper()}", "1" if value is True else str(value))


def load(file: str | None, folder: Path | None = None) -> Configuration:
    """The configuration of a file, or of the nearest one from ``folder`` upwards. Raises :class:`BadConfiguration`."""
    if file == "none":
        return Configuration()
    path, read = (Path(file), _table(Path(file))) if file else _nearest_file(folder or Path.cwd())
    table, status = read or (None, None)
    distrusted = trust.distrusted(path, status) if path is not None and status is not None and not file else ""
    if path is not None and not isinstance(table, Mapping):
        raise BadConfiguration(f"{shown(path)} has no table [tool.{PROGRAM}]")
    entries: dict[tuple[str, str], Entry] = {}
    for name, value in (table or {}).items():
        is_section = name in SECTIONS and isinstance(value, Mapping)
        section = name if is_section else ""
        for key, inner in value.items() if is_section else ((name, value),):
            where = f"{shown(Path(str(path)))}: {f'[{section}] ' if section else ''}{key}"
            parameter = key.replace("-", "_")
            if parameter not in parameters_of(section) or "_" in key:
                raise BadConfiguration(f"{where} {_unknown(section, key)}")
            entries[section, parameter] = Entry(inner, where)
    return Configuration(path, entries, os.environ, is_found=not file, distrusted=distrusted)


def _unknown(section: str, key: str) -> str:
    from maxpool_check.specifications.specification import nearest

    if not section and key in SECTIONS:
        return f"is the section of a command: [{key}]"
    keys = sorted({*map(_key, parameters_of(section)), *(() if section else SECTIONS)})
    return f"is an unknown key{nearest(key, keys)}; keys are {', '.join(keys)}"


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
    # Of two of one name, that of gate decides, and not the one of gate accept.
    found = [
        each for path, leaf in reversed([*leaves()]) if path[0].partition(" ")[0] == section for each in leaf.params
    ]
    return {str(each.name): each for each in found if isinstance(each, click.Option) or each.name == "paths"}


def placed(error: click.ClickException) -> click.ClickException:
    """An error with the place that the wrong value was set in, if that is not the command line: ``pyproject.toml: jobs``."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None or not error.param.name:
        return error
    source = error.ctx.get_parameter_source(error.param.name)
    if source is ParameterSource.ENVIRONMENT:
        return BadConfiguration(f"{error.ctx.auto_envvar_prefix}_{error.param.name.upper()}: {error.message}")
    if source is ParameterSource.DEFAULT_MAP and isinstance(error.ctx.default_map, Defaults):
        return BadConfiguration(f"{error.ctx.default_map.where[error.param.name]}: {error.message}")
    return error


def command_line() -> tuple[str, ...]:
    """The command line that is running, with what a configuration or a variable added to it, so that it needs neither."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return ()
    words = list(ctx.find_root().obj or ())
    added: list[str] = []
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(str(parameter.name))
        if source not in (ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT):
            continue
        value = (ctx.default_map or {}).get(str(parameter.name))
        value = parameter.value_from_envvar(ctx) if source is ParameterSource.ENVIRONMENT else value
        values = [str(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
        option = max(parameter.opts, key=len)
        if isinstance(parameter, click.Argument):
            words += values
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            added += [option] if parameter.type_cast_value(ctx, value) else []
        else:
            added += [word for each in values for word in (option, each)]
    if words == list(ctx.find_root().obj or ()) and not added:
        return (PROGRAM, *words)
    begin = words.index(ctx.find_root().invoked_subcommand or "")
    end = words.index("--") if "--" in words else begin + 1
    return (PROGRAM, "--config", "none", *words[begin:end], *added, *words[end:])


def described() -> tuple[str, list[tuple[str, str, str]]]:
    """The file, and each key that may be set for all commands, or that is set: what holds, and where it comes from."""
    configuration = load(click.get_current_context().find_root().params["config"])
    defaults = {_key(name): each.to_info_dict()["default"] for name, each in parameters_of("").items()}
    rows = {key: (key, _text(value), "default") for key, value in defaults.items()}
    for path, leaf in leaves():
        for name, entry in configuration.of(path, leaf.params).items():
            section = path[0].partition(" ")[0]
            key = f"{section}.{_key(name)}" if f"[{section}]" in entry.where else _key(name)
            rows[key] = (key, _text(entry.value), entry.where)
            for parameter in (each for each in leaf.params if each.name == name):
                try:
                    parameter.type_cast_value(click.Context(leaf), entry.value)
                except click.BadParameter as error:
                    raise BadConfiguration(f"{entry.where}: {error.message}") from error
    return shown(configuration.path) if configuration.path else "none", [*rows.values()]


def schema() -> dict[str, Any]:
    """The JSON Schema of ``maxpool-check.toml``, and of the table ``tool.maxpool-check`` of a ``pyproject.toml``."""
    tables: dict[str, dict[str, Any]] = {
        section: {
            "type": "object",
            "properties": {_key(name): _schema(each) for name, each in parameters_of(section).items()},
            "additionalProperties": False,
        }
        for section in ("", *SECTIONS)
    }
    whole = tables.pop("")
    # 'targets' is a key as well as a command.
    tables["targets"] = {"anyOf": [tables["targets"], whole["properties"]["targets"]]}
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The configuration of maxpool-check"}
    return {**about, **whole, "properties": {**whole["properties"], **tables}}


def _schema(parameter: click.Parameter) -> dict[str, Any]:
    """The JSON Schema of a parameter's value in a file."""
    kind, about = parameter.type, getattr(parameter, "help", None) or "Case files and folders of them."
    each: dict[str, Any] = {"type": ["string", "number"]}
    if isinstance(kind, options.Report):
        return {"description": about, "type": "object", "propertyNames": {"enum": list(kind.formats)}}
    if isinstance(parameter, click.Option) and parameter.is_flag:
        each = {"type": "boolean"}
    elif isinstance(kind, click.Choice):
        each = {"enum": list(kind.choices)}
    elif isinstance(kind, click.IntRange):
        each = {"type": "integer", "minimum": 1}
    is_list = _is_many(parameter) or (isinstance(kind, options.Value) and kind.joined)
    return {"description": about, **({"anyOf": [each, {"type": "array", "items": each}]} if is_list else each)}


def shown(path: Path) -> str:
    """A path as a message shows it: from the working folder, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _key(name: str) -> str:
    return name.replace("_", "-")


def _is_many(parameter: click.Parameter) -> bool:
    return bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else "-" if value is None else str(value)


def _value(parameter: click.Parameter, value: object, folder: Path) -> Any:
    """The value of a key as the command line would have it; paths are relative to ``folder``. Raises ``ValueError``."""
    kind = parameter.type
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
    if any("\0" in str(each) for each in inner):
        raise ValueError("has a NUL character, which no path, program or name may have")
    if isinstance(kind, options.Report):
        if not isinstance(value, Mapping):
            raise ValueError('must be a table of paths by format, such as {html = "build/report.html"}')
        return [f"{name}={_relocated(str(path), folder)}" for name, path in value.items()]
    if isinstance(value, bool):
        return value if kind is click.BOOL else str(value)
    texts = [str(each) for each in (value if isinstance(value, list) else [value])]
    if isinstance(kind, click.Path) or kind is options.PATH:
        texts = [_relocated(each, folder) for each in texts]
    elif trust.names_targets(kind):
        # The file of a kernel, or a record.
        texts = [_KERNEL.sub(lambda match: f"{match[1]}{_relocated(match[2], folder)}", each) for each in texts]
    joined = getattr(kind, "joined", "")
    if isinstance(value, Mapping) or not (_is_many(parameter) or joined or len(texts) == 1):
        raise ValueError("must be a value or a list of values" if _is_many(parameter) else "must be one value")
    return joined.join(texts) if joined else texts if _is_many(parameter) else texts[0]


def _relocated(path: str, folder: Path) -> str:
    """A path that is relative to ``folder``, from the working folder; ``-``, ``none`` and names of the corpus stay."""
    if path in ("-", "none", "corpus") or path.startswith("corpus:") or folder == Path.cwd():
        return path
    return os.path.join(os.path.relpath(folder), path)  # noqa: PTH118 (keeps './')


def _nearest_file(folder: Path) -> tuple[Path | None, _Table | None]:
    """The nearest configuration from a folder upwards."""
    for candidate in trust.searched(folder):
        names = [name for name in (OWN_NAME, PROJECT_NAME) if os.path.isfile(candidate / name)]  # noqa: PTH113 (raises nothing)
        found = [(candidate / name, table) for name in names if (table := _table(candidate / name)) is not None]
        if len(found) > 1:
            both = " and ".join(shown(file) for file, _ in found)
            raise BadConfiguration(f"{both} both configure; keep one of them")
        if found:
            return found[0]
    return None, None


def _table(path: Path) -> _Table | None:
    """The table of this tool, the whole file or a part of a pyproject.toml, and the status of the file; None without a table."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        with open_regular(path, _MOST_BYTES) as file:
            text, status = file.read(_MOST_BYTES).decode(), os.fstat(file.fileno())
        if path.name == PROJECT_NAME and PROGRAM not in text:
            # What has nothing to do with this tool need not be right.
            return None
        table = tomllib.loads(text)
    except OSError as error:
        raise BadConfiguration(f"{shown(path)}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadConfiguration(f"{shown(path)}: no TOML: {error}") from error
    own = table if path.name != PROJECT_NAME else table.get("tool", {}).get(PROGRAM)
    return None if own is None else (own, status)
