"""Files in the user's cache that hold what was read and computed before, for the same files and the same tool.

They save time and decide nothing: what does not fit, is damaged, or may be somebody else's work is not used.
"""

import contextlib
import hashlib
import json
import os
import platform
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.cache_folder import cache_folder
from maxpool_check.files import read_regular

KINDS = ("cases", "defects", "clauses")
"""What is cached: a folder for each."""

MOST_BYTES = 2**30
"""What all files take at most; the oldest are dropped."""

MOST_OF_ONE = MOST_BYTES // 4

_MOST_FILES = 10_000

_PACKAGE = Path(__file__).parent

_USED_AGAIN = 3600.0
"""The time of a file says when it was used, up to so many seconds."""


def folder(kind: str) -> Path:
    """The folder of the files of a kind."""
    return Path(cache_folder(), kind)


def path_of(kind: str, *depends_on: Any) -> Path:
    """Where something is cached: by all that it depends on, as JSON, and by the tool."""
    return folder(kind) / hashlib.sha256(json.dumps([_tool(), *depends_on]).encode()).hexdigest()


@cache
def _tool() -> str:
    """What changes with the tool: its version, and the times and sizes of its files, since a checkout changes without one."""
    versions = (platform.python_version(), np.__version__, ml_dtypes.__version__)
    # Installed files may have no time of their own, but the version is in this one.
    first = (_PACKAGE / "__init__.py").read_bytes().hex()
    return hashlib.sha256(json.dumps([versions, first, sorted(_stamps(str(_PACKAGE)))]).encode()).hexdigest()


def _stamps(folder: str) -> Iterator[tuple[str, int, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in ("__pycache__", "corpus_data"):
                    yield from _stamps(entry.path)
                continue
            try:
                status = entry.stat()
            except OSError:
                # Such as the lock of an editor, a link that leads nowhere: nothing that the tool could read.
                continue
            # A copy may keep the time of the last change to the content, but not that of the change to the file.
            yield entry.path, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def load(path: Path) -> bytes | None:
    """The content of a file of the cache; None unless it, and its folder, can be written by the user alone."""
    try:
        if not all(_is_own(each) for each in (path.parent, path)):
            return None
        data = read_regular(path, MOST_OF_ONE)
        if time.time() - path.stat().st_mtime > _USED_AGAIN:
            with contextlib.suppress(OSError):
                os.utime(path)
    except OSError:
        return None
    return data


def sealed(content: bytes) -> bytes:
    """Content with its digest."""
    return hashlib.sha256(content).digest() + content


def unsealed(data: bytes | None) -> bytes | None:
    """Content that was sealed; None if it is damaged, or there is none."""
    return data[32:] if data is not None and data[:32] == hashlib.sha256(data[32:]).digest() else None


def _is_own(path: Path) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    status = path.lstat()
    return status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode) and not status.st_mode & 0o022


def save(path: Path, data: bytes) -> bool:
    """Write a file of the cache, at once or not at all; whether it was written. A cache that cannot be written is no error."""
    try:
        return len(data) <= MOST_OF_ONE and _write(path, data)
    except OSError:
        return False


def _write(path: Path, data: bytes) -> bool:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(path.parent):
        return False
    make_room()
    handle, partial = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return True


@cache
def make_room() -> None:
    """Drop the oldest files of too many, once in a process. Raises ``OSError``."""
    newest = sorted((file for kind in KINDS for file in files(kind)), key=lambda entry: entry[1].st_mtime, reverse=True)
    size = 0
    for number, (path, status) in enumerate(newest):
        size += status.st_size
        if size > MOST_BYTES or number >= _MOST_FILES:
            path.unlink(missing_ok=True)


def files(kind: str) -> list[tuple[Path, os.stat_result]]:
    """The files of a kind. Raises ``OSError``."""
    return [(path, path.lstat()) for path in _files(kind)]


def _files(kind: str) -> Iterable[Path]:
    return folder(kind).glob("*") if folder(kind).is_dir() else ()


def clear() -> None:
    """Remove all files. Raises ``OSError``."""
    for kind in KINDS:
        for path in _files(kind):
            path.unlink(missing_ok=True)
