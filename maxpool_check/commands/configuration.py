"""The configuration: a table of TOML, whose values become the ``default_map`` of the command that is called.

A key at the top is for every command that has the option, one in the section of a command for it alone. A file that the user
named is read whole, one that was found as far as :mod:`maxpool_check.commands.trust` says.
"""

import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from maxpool_check import inert
from maxpool_check.commands import options, trust
from maxpool_check.commands.options import EXCLUDED_BY
from maxpool_check.commands.registry import COMMANDS, leaves
from maxpool_check.files import open_regular

PROGRAM, PREFIX = "maxpool-check", "MAXPOOL_CHECK_"
OWN_NAME, PROJECT_NAME = "maxpool-check.toml", "pyproject.toml"

SECTIONS = tuple(COMMANDS)
OF_ALL = ("paths", "targets", "spec", "variants", "known", "fail_on", "strict", "jobs")
"""The parameters that may be set for all commands, besides the options that every command takes."""

_OF_CASES = ("paths", "spec")
"""The parameters of all commands that are about cases, and not about models."""

_MOST_BYTES = 2**20
_META = "maxpool_check.configuration"
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


@dataclass(frozen=True)
class Configuration:
    """The table of a file by section, '' being the top, and parameter; without a file it is empty.

    ``is_found`` says that the user did not name the file, ``distrusted`` why what it would start is ignored. ``sha256`` is the
    digest of the whole file.
    """

    path: Path = Path()
    table: Mapping[tuple[str, str], Entry] = field(default_factory=dict)
    is_found: bool = False
    distrusted: str = ""
    sha256: str | None = None

    def of(self, section: str, parameters: Iterable[click.Parameter]) -> dict[str, Entry]:
        """The entries for the parameters of a command of a section, by name. Raises :class:`BadConfiguration`."""
        found, parameters = dict[str, Entry](), [*parameters]
        starts_targets = any(trust.names_targets(each.type) for each in parameters)
        for parameter in parameters:
            name = str(parameter.name)
            shared = self.table.get(("", name)) if section != "model" or name not in _OF_CASES else None
            entry = self.table.get((section, name), shared)
            if entry is None:
                continue
            try:
                value = _value(parameter, entry.value, self.path.absolute().parent)
            except ValueError as error:
                raise BadConfiguration(f"{entry.where} {error}") from error
            entry = replace(entry, value=value)
            entry = self._limited(section, name, parameter.type, entry) if self.is_found else entry
            # A command that makes no environments has nothing to say about them.
            if not entry.note or starts_targets or name not in ("find_links", "offline"):
                found[name] = entry
        return found

    def _limited(self, section: str, name: str, kind: click.ParamType[Any], entry: Entry) -> Entry:
        """An entry of a file that was found, without what the command does not take from it."""
        acting, rest = trust.acting_part(name, kind, entry.value)
        if not acting:
            return entry
        path = shown(self.path)
        what = text_of(acting) if trust.names_targets(kind) else f"{key_of(name)} {text_of(acting)}"
        why = self.distrusted or trust.refusal(section, name, kind, acting, self.path)
        if not why:
            return replace(entry, note=f"{what}, from {path}" if trust.starts(name, kind) else "")
        note = f"{path}: {what} is ignored, since {why}; name it on the command line, or use --config {path}"
        # Without a target, a test of the default one must not pass instead; what is explained is no test.
        is_error = name == "targets" and not rest and section != "explain"
        return Entry(rest or None, f"{entry.where}, without {what}", note if is_error else f"warning: {note}", is_error)


def configure(ctx: click.Context, path: Sequence[str], leaf: click.Command) -> None:
    """Give a command its defaults; ``ctx`` is the context of the program."""
    try:
        configuration = load(ctx.params["config"])
        entries = configuration.of(path[0], (*leaf.params, *options.SHARED))
    except BadConfiguration:
        # The documentation must be there to fix it.
        if path[0] == "docs":
            return
        raise
    if ctx.params["config"] != "none":
        for message in unknown_variables():
            click.echo(inert.line(f"warning: {message}"), err=True)
    nested: dict[str, Any] = {name: entry.value for name, entry in entries.items() if entry.value is not None}
    for name in reversed(path):
        nested = {name: nested}
    ctx.default_map = nested
    ctx.meta[_META] = configuration.sha256, entries
    ctx.meta[options.SETTLE] = partial(_settle, entries=entries)


def _settle(ctx: click.Context, entries: Mapping[str, Entry]) -> None:
    """Say what the user must know of the entries that are in effect, or would be."""
    for name, entry in entries.items():
        sources = [each.get_parameter_source(name) or ParameterSource.DEFAULT for each in (ctx, ctx.find_root())]
        is_excluded = any(map(options.is_given, EXCLUDED_BY.get(name, ())))
        if entry.note and min(sources) >= ParameterSource.DEFAULT_MAP and not is_excluded:
            if entry.is_error:
                raise BadConfiguration(entry.note)
            click.echo(inert.line(entry.note), err=True)


def unknown_variables() -> Iterator[str]:
    """The variables that begin as those of options, and are none, with what they may have meant."""
    words = {name for name, text in os.environ.items() if name.startswith(PREFIX) and text}
    known = {
        f"{PREFIX}{name.upper()}" for name in ("config", "requires_browser", *(each.name for each in options.SHARED))
    }
    if unknown := words - known:
        from maxpool_check.specifications.specification import nearest

        own = {
            "_".join((*path, str(each.name))).upper()
            for path, leaf in leaves()
            for each in (*leaf.params, *options.SHARED)
            if isinstance(each, click.Option)
        }
        known |= {f"{PREFIX}{name}" for name in own}
        for name in sorted(unknown - known):
            key = name.removeprefix(PREFIX).lower()
            if key in OF_ALL:
                instead = f"{PREFIX}RUN_{key.upper()} for 'run'" if key != "paths" else "the command line"
                yield f"{name} sets nothing any more; use {instead}, or '{key_of(key)}' of a configuration for all commands"
            else:
                yield f"{name} is no variable of maxpool-check{nearest(name, sorted(known))}"


def load(file: str | None, folder: Path | None = None) -> Configuration:
    """The configuration of a file, or of the nearest one from ``folder`` upwards. Raises :class:`BadConfiguration`."""
    found = [] if file == "none" else [(Path(file), _read(Path(file)))] if file else [*_nearest(folder or Path.cwd())]
    for path, (table, status, sha256) in found:
        if not isinstance(table, Mapping):
            raise BadConfiguration(f"{shown(path)} has no table [tool.{PROGRAM}]")
        distrusted = trust.distrusted(path, status) if not file else ""
        return Configuration(path, dict(_entries(path, table)), not file, distrusted, sha256)
    return Configuration()


def _entries(path: Path, table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Entry]]:
    for name, value in table.items():
        is_section = name in SECTIONS and isinstance(value, Mapping)
        section = name if is_section else ""
        for key, inner in value.items() if is_section else ((name, value),):
            where, parameter = f"{shown(path)}: {f'[{section}] ' if section else ''}{key}", key.replace("-", "_")
            if parameter not in parameters_of(section) or "_" in key:
                raise BadConfiguration(f"{where} {_unknown(section, key)}")
            yield (section, parameter), Entry(inner, where)


def _unknown(section: str, key: str) -> str:
    from maxpool_check.specifications.specification import nearest

    if not section and key in SECTIONS:
        return f"is the section of a command: [{key}]"
    if key == "accept":
        return "is no longer a key; name the file of accepted changes under 'known'"
    if not section and (having := [name for name in SECTIONS if key in map(key_of, parameters_of(name))]):
        return f"is not for all commands; it may be in the section of a command: {', '.join(f'[{name}]' for name in having)}"
    keys = sorted({*map(key_of, parameters_of(section)), *(() if section else SECTIONS)})
    return f"is an unknown key{nearest(key, keys)}; keys are {', '.join(keys)}"


@functools.cache
def parameters_of(section: str) -> dict[str, click.Parameter]:
    """The parameters that a section may set: the options of its commands, and the files that they take; '' is the top."""
    if not section:
        every = {**parameters_of("gate"), **parameters_of("run")}
        return {name: each for name, each in every.items() if name in OF_ALL or each in options.SHARED}
    own = [each for path, leaf in reversed([*leaves()]) if path[0] == section for each in leaf.params]
    found = [each for each in own if isinstance(each, click.Option) or each.name == "paths"]
    return {str(each.name): each for each in (*found, *options.SHARED)}


def placed(error: click.ClickException) -> click.ClickException:
    """An error with the place that the wrong value was set in, if that is not the command line: ``pyproject.toml: jobs``."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None or not error.param.name:
        return error
    source, name = error.ctx.get_parameter_source(error.param.name), str(error.param.name)
    if source is ParameterSource.ENVIRONMENT:
        return BadConfiguration(f"{error.ctx.auto_envvar_prefix}_{name.upper()}: {error.message}")
    if source is ParameterSource.DEFAULT_MAP:
        return BadConfiguration(f"{error.ctx.meta[_META][1][name].where}: {error.message}")
    return error


def command_line() -> tuple[tuple[str, ...], str | None]:
    """The words of the command line that is running, and the digest of the file of its configuration, None without one."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return (), None
    return (PROGRAM, *(ctx.find_root().obj or ())), ctx.meta.get(_META, (None,))[0]


def shown(path: Path) -> str:
    """A path as a message shows it: from the working folder, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def key_of(name: str) -> str:
    """The key of a parameter."""
    return name.replace("_", "-")


def is_many(parameter: click.Parameter) -> bool:
    """Whether a parameter takes a list."""
    return bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1


def text_of(value: Any) -> str:
    """A value in a message or a table."""
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
    if isinstance(value, Mapping) or not (is_many(parameter) or joined or len(texts) == 1):
        raise ValueError("must be a value or a list of values" if is_many(parameter) else "must be one value")
    return joined.join(texts) if joined else texts if is_many(parameter) else texts[0]


def _relocated(path: str, folder: Path) -> str:
    """A path that is relative to ``folder``, from the working folder; ``-``, ``none`` and names of the corpus stay."""
    if path in ("-", "none", "corpus") or path.startswith("corpus:") or folder == Path.cwd():
        return path
    return os.path.join(os.path.relpath(folder), path)  # noqa: PTH118 (keeps './')


_Read = tuple[Any, os.stat_result, str]


def _nearest(folder: Path) -> Iterator[tuple[Path, _Read]]:
    """The nearest configuration from a folder upwards."""
    for candidate in trust.searched(folder):
        names = [name for name in (OWN_NAME, PROJECT_NAME) if os.path.isfile(candidate / name)]  # noqa: PTH113 (raises nothing)
        found = [(candidate / name, read) for name in names if (read := _read(candidate / name))[0] is not None]
        if len(found) > 1:
            both = " and ".join(shown(file) for file, _ in found)
            raise BadConfiguration(f"{both} both configure; keep one of them")
        if found:
            yield found[0]
            return


def _read(path: Path) -> _Read:
    """The table of this tool, the whole file or a part of a pyproject.toml, None without one; the status of the file, its digest."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        with open_regular(path, _MOST_BYTES) as file:
            content, status = file.read(_MOST_BYTES), os.fstat(file.fileno())
        text, sha256 = content.decode(), hashlib.sha256(content).hexdigest()
        if path.name == PROJECT_NAME and PROGRAM not in text:
            # What has nothing to do with this tool need not be right.
            return None, status, sha256
        table = tomllib.loads(text)
    except OSError as error:
        raise BadConfiguration(f"{shown(path)}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadConfiguration(f"{shown(path)}: no TOML: {error}") from error
    return table if path.name != PROJECT_NAME else table.get("tool", {}).get(PROGRAM), status, sha256
