"""What a configuration that was only found may set: it may have come with a checkout or an archive that the user has not read.

What it would start, install, remove or write is taken by ``run`` alone, which says so, and by no command if others than the user
and root may have written the file.
"""

import os
import stat
from pathlib import Path
from typing import Any

import click

from maxpool_check.commands import options

_ROOTS = (".git", ".hg")
"""What the root of a repository has: no configuration is looked for above it."""

_ONLY_READ = ("paths", "path", "records", "known", "inputs")
"""The parameters whose files are read and never written."""

_ACTING = ("find_links", "dask", "key", "run", "clear")
"""The parameters besides targets that start, install or remove something, or say whom to trust."""


def searched(folder: Path) -> list[Path]:
    """The folders to look in: from this one up to the root of its repository or the user's home; outside of both, this one alone."""
    folders = [folder, *folder.parents]
    for place, each in enumerate(folders):
        if each == _home() or any(os.path.lexists(each / name) for name in _ROOTS):
            return folders[: place + 1]
    return folders[:1]


def _home() -> Path:
    return Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 (Path.home raises where there is none)


def distrusted(path: Path, status: os.stat_result) -> str:
    """Why others than the user and root may have written a file, of this ``status`` when it was read, or the link to it.

    Empty if they cannot have.
    """
    for facts in (path.lstat(), status) if hasattr(os, "geteuid") else ():
        if facts.st_uid not in (0, os.geteuid()):
            return "the file belongs to another user"
        if facts.st_mode & stat.S_IWOTH and not stat.S_ISLNK(facts.st_mode):
            return "others may write to the file"
    return ""


def names_targets(kind: click.ParamType[Any]) -> bool:
    """Whether the values of a parameter of this type are targets."""
    return isinstance(kind, options.Value) and kind.names_files


def acting_part(name: str, kind: click.ParamType[Any], value: Any) -> tuple[list[Any], list[Any]]:
    """The values of a parameter that start, install, remove or write something, and the others."""
    values = value if isinstance(value, list) else [value]
    if names_targets(kind):
        plain = [each for each in values if _is_plain(each)]
        return [each for each in values if each not in plain], plain
    writes = isinstance(kind, (click.Path, options.Report)) and name not in _ONLY_READ
    return (values, []) if writes or name in ("offline", *_ACTING) else ([], values)


def _is_plain(target: str) -> bool:
    from maxpool_check.targets.name import BadTarget, parse

    try:
        return parse(target).starts_releases_alone
    except BadTarget:
        # A record, or what every command refuses.
        return True


def starts(name: str, kind: click.ParamType[Any]) -> bool:
    """Whether what a parameter names is started, installed, removed or trusted, and not only written."""
    return names_targets(kind) or name in _ACTING


def refusal(section: str, name: str, kind: click.ParamType[Any], acting: list[Any], file: Path) -> str:
    """Why the command of a section does not take the ``acting`` values from a ``file`` that was found; empty if it does."""
    folder = file.absolute().parent
    if name == "cache":
        return "" if folder == _home() else "the cache belongs to the user, not to a project"
    if starts(name, kind):
        return "" if section == "run" else "only 'run' starts what a project names"
    paths = [] if name == "offline" else [each.partition("=")[2] or each for each in acting]
    is_outside = any(each != "-" and not Path(each).resolve().is_relative_to(folder.resolve()) for each in paths)
    return "the path is outside the folder of the file" if is_outside else ""
