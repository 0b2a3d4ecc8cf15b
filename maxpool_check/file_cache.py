"""Files in the user's cache: what was read and computed before, of the same files and by the same tool.

They save time and decide nothing: what does not fit, is damaged, or may be somebody else's work is not used.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from maxpool_check.cache_folder import cache_folder
from maxpool_check.files import read_regular

KINDS = ("inspections", "completion")
"""What is cached: a folder for each. Shell completion reads and writes its own."""

MOST_BYTES = 2**30
"""What all files take at most; the oldest are dropped."""

MOST_OF_ONE = MOST_BYTES // 4

_MOST_FILES = 10_000

_PACKAGE = Path(__file__).parent

_INSTALLED = re.compile(
    r"(jsonschema[-_]rs|ml[-_]dtypes|msgspec|numpy|onnx|packaging|pyyaml)-[^-]+.*-info", re.IGNORECASE
)
"""The folders that installers leave of the packages that read files and compute; their names have the versions."""

_USED_AGAIN = 3600.0
"""The time of a file says when it was used, up to so many seconds."""

_VARIABLE = "MAXPOOL_CHECK_NO_CACHE"

_disabled = 0
"""How many times :func:`disabled` is active."""


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Read and write no file of the cache meanwhile, in any thread."""
    global _disabled
    _disabled += 1
    try:
        yield
    finally:
        _disabled -= 1


def is_disabled() -> bool:
    """Whether no file of the cache is read or written."""
    return _disabled > 0 or os.environ.get(_VARIABLE, "").lower() not in ("", "0", "false", "f", "no", "n", "off")


def folder(kind: str) -> Path:
    """The folder of the files of a kind."""
    return Path(cache_folder(), kind)


def path_of(kind: str, *depends_on: Any) -> Path:
    """Where something is cached: by all that it depends on, as JSON, and by the tool."""
    return folder(kind) / hashlib.sha256(json.dumps([_tool(), *depends_on]).encode()).hexdigest()


@cache
def _tool() -> str:
    """What changes with the tool: its version, and the times and sizes of its files, since a checkout changes without one."""
    # Installed files may have no time of their own, but the version is in this one.
    first = (_PACKAGE / "__init__.py").read_bytes().hex()
    state = [sys.version, sorted(_packages()), first, sorted(_stamps(str(_PACKAGE)))]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def _packages() -> Iterator[str]:
    for place in filter(None, sys.path):
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            yield from (f"{place}/{each.name}" for each in entries if _INSTALLED.fullmatch(each.name))


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
    if is_disabled():
        return None
    try:
        if _not_own(path.parent) or _not_own(path):
            return None
        data = read_regular(path, MOST_OF_ONE)
        if time.time() - path.stat().st_mtime > _USED_AGAIN:
            with contextlib.suppress(OSError):
                os.utime(path)
    except OSError:
        return None
    return data


def load_value(path: Path, kind: Any, dec_hook: Callable[[type, Any], Any] | None = None) -> Any:
    """A value that :func:`save_value` has written; None if there is none of this type, or it is damaged."""
    data = load(path)
    if data is None or data[:32] != hashlib.sha256(data[32:]).digest():
        return None
    try:
        return msgspec.json.decode(data[32:], type=kind, dec_hook=dec_hook)
    except (msgspec.MsgspecError, ValueError):
        return None


def save(path: Path, data: bytes) -> bool:
    """Write a file of the cache, at once or not at all; whether it was written. A cache that cannot be written is no error."""
    try:
        return not is_disabled() and len(data) <= MOST_OF_ONE and _write(path, data)
    except OSError:
        return False


def save_value(path: Path, value: Any) -> None:
    """Write a value as JSON, with its digest; what is not of JSON as text."""
    content = msgspec.json.encode(value, enc_hook=str)
    save(path, hashlib.sha256(content).digest() + content)


def _write(path: Path, data: bytes) -> bool:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _not_own(path.parent):
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


def _not_own(path: Path) -> str:
    """Why a file or folder may be somebody else's work; empty if it is the user's own. Raises ``OSError``."""
    if not hasattr(os, "geteuid"):
        return ""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"{path} is a link"
    if status.st_uid != os.geteuid():
        return f"{path} belongs to another user"
    return f"others can write to {path}" if status.st_mode & 0o022 else ""


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
    try:
        paths = [Path(entry) for entry in os.scandir(folder(kind)) if not entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    found = []
    for path in paths:
        # Another process may remove it meanwhile.
        with contextlib.suppress(FileNotFoundError):
            found.append((path, path.lstat()))
    return found


def clear() -> None:
    """Remove all that is cached. Raises ``OSError``."""
    for kind in KINDS:
        if folder(kind).is_symlink():
            folder(kind).unlink()
        elif folder(kind).exists():
            shutil.rmtree(folder(kind))


def problem() -> str:
    """Why no cached file is used, or none is written, as a sentence; empty if they are."""
    if is_disabled():
        return f"No cached file is used: {_VARIABLE} is set."
    existing = [folder(kind) for kind in KINDS if folder(kind).exists()]
    writable = next(each for each in (*existing, *folder("cases").parents) if each.exists())
    try:
        tempfile.TemporaryFile(dir=writable).close()
        reason = next(filter(None, map(_not_own, existing)), "")
        return f"No file of this folder is used: {reason}." if reason else ""
    except OSError as error:
        return f"No file is written to the cache: {writable} cannot be written ({error.strerror})."
