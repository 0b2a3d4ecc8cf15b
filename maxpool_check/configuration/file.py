"""Finds the file of a configuration, reads it, and says where in it something is wrong."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maxpool_check.configuration.keys import KEYS, SECTIONS, Key, keys_in
from maxpool_check.configuration.values import Value
from maxpool_check.files import read_regular

OWN_NAME, PROJECT_NAME = "maxpool-check.toml", "pyproject.toml"

TABLE = "maxpool-check"
"""The table of ``tool`` in pyproject.toml."""

_MOST_BYTES = 2**20


class BadConfiguration(ValueError):
    """A configuration that cannot be used; the message says where and why."""


@dataclass(frozen=True)
class Entry:
    """The value of a key in a file, and where it stands there."""

    value: Value
    where: str


@dataclass(frozen=True)
class ConfigurationFile:
    """What a file says: its entries by section, '' being the top, and key."""

    path: Path
    entries: Mapping[tuple[str, str], Entry] = field(default_factory=dict)


def find(folder: Path) -> ConfigurationFile | None:
    """The nearest configuration from a folder upwards. Raises :class:`BadConfiguration`."""
    for candidate in (folder, *folder.parents):
        own, project = candidate / OWN_NAME, candidate / PROJECT_NAME
        # A project may have nothing to do with this tool: its file is parsed only if it names it.
        table = _table(project) if project.is_file() and TABLE.encode() in _bytes(project) else None
        if own.is_file():
            if table is not None:
                message = (
                    f"{shown(own)} and the table tool.{TABLE} of {shown(project)} both configure; keep one of them"
                )
                raise BadConfiguration(message)
            return read(own)
        if table is not None:
            return _read(project, table, f"tool.{TABLE}")
    return None


def read(path: Path) -> ConfigurationFile:
    """The configuration of a file, of which a pyproject.toml holds one in a table. Raises :class:`BadConfiguration`."""
    if path.name != PROJECT_NAME:
        return _read(path, _toml(path), "")
    table = _table(path)
    if table is None:
        raise BadConfiguration(f"{shown(path)} has no table [tool.{TABLE}]")
    return _read(path, table, f"tool.{TABLE}")


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise BadConfiguration(f"{shown(path)}: {error.strerror}") from error


def _toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    content = _bytes(path)
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise BadConfiguration(f"{shown(path)}: not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        line = re.match(r"line (\d+), column (\d+)", place)
        where = f"{shown(path)}:{line[1]}:{line[2]}: no TOML: {message}" if line else f"{shown(path)}: no TOML: {error}"
        raise BadConfiguration(where) from error
    except (ValueError, RecursionError) as error:
        raise BadConfiguration(f"{shown(path)}: no TOML: {error}") from error


def _table(path: Path) -> dict[str, Any] | None:
    """The table of this tool in a pyproject.toml."""
    tool = _toml(path).get("tool", {})
    table = tool.get(TABLE) if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise BadConfiguration(f"{shown(path)}: tool.{TABLE} must be a table")
    return table


def _read(path: Path, table: Mapping[str, Any], prefix: str) -> ConfigurationFile:
    text = _bytes(path).decode()
    entries: dict[tuple[str, str], Entry] = {}
    for name, value in table.items():
        if name in SECTIONS and isinstance(value, Mapping):
            for key, inner in value.items():
                entries[name, key] = _entry(path, text, prefix, name, key, inner)
        else:
            entries["", name] = _entry(path, text, prefix, "", name, value)
    return ConfigurationFile(path, entries)


def _entry(path: Path, text: str, prefix: str, section: str, name: str, value: object) -> Entry:
    """The entry of a key. Raises :class:`BadConfiguration`."""
    line = line_of(text, [part for part in (*prefix.split("."), section) if part], name)
    where = f"{shown(path)}{f':{line}' if line else ''}: {f'[{section}] ' if section else ''}{name}"
    key = keys_in(section).get(name)
    if key is None:
        raise BadConfiguration(f"{where} {_unknown(section, name)}")
    try:
        return Entry(key.value.from_toml(value, path.absolute().parent), where)
    except ValueError as error:
        raise BadConfiguration(f"{where} {error}") from error


def shown(path: Path) -> str:
    """A path as a message shows it: from the working folder, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _unknown(section: str, name: str) -> str:
    """Why a key is unknown where it stands."""
    from maxpool_check.specifications.specification import nearest

    if not section and name in SECTIONS:
        return f"is the section of a command: [{name}]"
    elsewhere: Key | None = next((key for key in KEYS if key.name == name), None)
    # The option --target sets the key 'targets', where there is one.
    if elsewhere is not None and f"{name}s" not in keys_in(section):
        places = [*(["the top"] if elsewhere.shared else []), *(f"[{each}]" for each in elsewhere.sections)]
        return f"does not belong {'into' if section else 'to'} {f'[{section}]' if section else 'the top'}, but into {', '.join(places)}"
    names = [*keys_in(section), *(() if section else SECTIONS)]
    return f"is an unknown key{nearest(name, names)}; keys are {', '.join(names)}"


def line_of(text: str, tables: list[str], key: str) -> int | None:
    """The line that sets a key or begins its table; None where it is written in another way than usual."""
    part = r"""["']?{}["']?"""
    header = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?")
    begins = re.compile(rf"\s*{part.format(re.escape(key))}\s*[=.]")
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := header.fullmatch(line):
            table = [name.strip().strip("\"'") for name in match[1].split(".")]
            if table[: len(tables) + 1] == [*tables, key]:
                return number
        elif table == tables and begins.match(line):
            return number
    return None
