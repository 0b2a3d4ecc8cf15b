"""Compiled cases in the user's cache: kept when a case file was read, and used until something changes that they depend on.

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
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

from maxpool_check.cache_folder import cache_folder
from maxpool_check.corpus.case import Case, contradictions
from maxpool_check.corpus.compiled import CompiledFile, Damaged, encoded
from maxpool_check.corpus.tensors import digest_of_npy, excess_together
from maxpool_check.files import read_regular
from maxpool_check.judging.conforming import ConformingOutputs, conforming_outputs
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.variants import ALL_VARIANTS

MOST_BYTES = 2**30
"""What all compiled cases in the cache take at most; the oldest are dropped."""

_MOST_FILES = 10_000

_MOST_OF_ONE = MOST_BYTES // 4

_MOST_CELLS = 2**20
"""Larger cases are judged by the reference, every time."""

_PACKAGE = Path(__file__).parents[1]

_USED_AGAIN = 3600.0
"""The time of a file says when it was used, up to so many seconds."""


def folder() -> Path:
    """The folder of compiled cases."""
    return Path(cache_folder(), "cases")


def load(content: bytes, file: Path, root: Path, most_cells: int, held: int, origin: str) -> CompiledFile | None:
    """The cases of a file with this content as they were read before; None if they are not in the cache.

    ``held`` cells are held already; ``origin`` is how messages name the file.
    """
    path = _path(content, file, root, most_cells)
    data = _own(path)
    if data is None:
        return None
    try:
        compiled = CompiledFile(path, data, origin)
        if any(digest_of_npy(name, file.parent, root) != digest for name, digest in compiled.tensors.items()):
            return None
        if excess_together(held + compiled.cells, most_cells) is not None:
            # The file is read again, for the message.
            return None
        compiled.hold()
    except Damaged:
        return None
    return compiled


def keep(
    cases: tuple[Case, ...], tensors: dict[str, str], content: bytes, file: Path, root: Path, most_cells: int
) -> Sequence[Case]:
    """Check the cases of a file against the reference, compute what conforms, and keep them, unless one contradicts it."""
    if not cases or any(contradictions(case) for case in cases):
        return cases
    for case in cases:
        case.with_results(case.sha256, _conforming(case))
    data = encoded(cases, tensors)
    if data is None or len(data) > _MOST_OF_ONE:
        return cases
    path = _path(content, file, root, most_cells)
    # A cache that cannot be written is no error.
    with contextlib.suppress(OSError):
        if _write(path, data):
            compiled = CompiledFile(path, data, cases[0].origin.path)
            compiled.hold(cases)
            return compiled
    return cases


def _conforming(case: Case) -> list[ConformingOutputs]:
    # What goes wrong here does so again, and as an error of each execution, in the judge.
    with contextlib.suppress(Exception):
        oracle = case.oracle()
        if isinstance(oracle, Oracle) and isinstance(case.resolved, Pooling) and case.X.size <= _MOST_CELLS:
            names = {variant.outputs for variant in case.variants(ALL_VARIANTS)}
            return conforming_outputs(oracle, sorted(names))
    return []


def _path(content: bytes, file: Path, root: Path, most_cells: int) -> Path:
    """Where the cases of a file are kept: by everything that they depend on, but its files of tensors."""
    within = os.path.relpath(file.absolute(), root.absolute())
    depends_on = [_tool(), within, most_cells, hashlib.sha256(content).hexdigest()]
    return folder() / hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()


@cache
def _tool() -> str:
    """What changes with the tool: its version, and the times and sizes of its files, since a checkout changes without one."""
    versions = (platform.python_version(), np.__version__, ml_dtypes.__version__)
    # Installed files may have no time of their own, but the version is in this one.
    first = (_PACKAGE / "__init__.py").read_bytes().hex()
    return hashlib.sha256(json.dumps([versions, first, sorted(_stamps(str(_PACKAGE)))]).encode()).hexdigest()


def _stamps(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in ("__pycache__", "corpus_data"):
                    yield from _stamps(entry.path)
            else:
                status = entry.stat()
                yield entry.path, status.st_mtime_ns, status.st_size


def _own(path: Path) -> bytes | None:
    """The content of a file of the cache; None unless it, and its folder, can be written by the user alone."""
    try:
        if not all(_is_own(each) for each in (path.parent, path)):
            return None
        data = read_regular(path, _MOST_OF_ONE)
        if time.time() - path.stat().st_mtime > _USED_AGAIN:
            with contextlib.suppress(OSError):
                os.utime(path)
    except OSError:
        return None
    return data


def _is_own(path: Path) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    status = path.lstat()
    return status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode) and not status.st_mode & 0o022


def _write(path: Path, data: bytes) -> bool:
    """Write a file of the cache, at once or not at all; whether it may be used. Raises ``OSError``."""
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
    files = sorted(kept(), key=lambda entry: entry[1].st_mtime, reverse=True)
    size = 0
    for number, (path, status) in enumerate(files):
        size += status.st_size
        if size > MOST_BYTES or number >= _MOST_FILES:
            path.unlink(missing_ok=True)


def kept() -> list[tuple[Path, os.stat_result]]:
    """The files of the cache. Raises ``OSError``."""
    return [(path, path.lstat()) for path in _files()]


def _files() -> Iterable[Path]:
    return folder().glob("*") if folder().is_dir() else ()


def clear() -> None:
    """Remove the files of the cache. Raises ``OSError``."""
    for path in _files():
        path.unlink(missing_ok=True)
