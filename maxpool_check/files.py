"""Opening the files that a user names: what is read is a regular file of a limited size, and is never overwritten."""

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import TextIO

STDOUT = Path("-")
"""The name of stdout among the files to write."""

RECORD_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.xz")
BUNDLE_SUFFIX = ".tar"
"""How the names of records end."""


def open_regular(path: Path, most_bytes: int | None = None) -> BufferedReader:
    """Open a regular file of at most ``most_bytes`` for reading.

    Raises ``OSError``, also for a larger file, and for a device, a pipe, a socket, a folder or a file of /proc.
    """
    # Opening a pipe would wait for its writer.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115
    try:
        status = os.fstat(file.fileno())
        # The files of /proc claim to be empty.
        if not stat.S_ISREG(status.st_mode) or (status.st_size == 0 and file.peek(1)):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if most_bytes is not None and status.st_size > most_bytes:
            message = f"the file has {status.st_size} bytes; the limit is {most_bytes}"
            raise OSError(errno.EFBIG, message, str(path))
    except OSError:
        file.close()
        raise
    return file


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file of at most ``most_bytes``. Raises ``OSError`` as :func:`open_regular` does."""
    with open_regular(path, most_bytes) as file:
        # As many as it had when it was opened: it may grow.
        return file.read(os.fstat(file.fileno()).st_size)


def not_found(path: Path, *, is_file: bool = False) -> str:
    """The message for a path that leads nowhere; unless ``is_file``, one without a suffix names a folder."""
    return f"{'File' if is_file or path.suffix else 'Directory'} '{path}' not found"


def is_utf_8(text: str) -> bool:
    """Whether a name or a text can be written to a file: Python reads bytes that are not UTF-8 as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def conflict(outputs: Sequence[Path], inputs: Iterable[Path]) -> str | None:
    """A message if one of the files to write is one that is read, or is named twice; else None."""
    taken = {_identity(path) for path in inputs}
    named: set[object] = set()
    for path in outputs:
        # A device may be written to by several, and a step summary is appended to.
        if path.exists() and (not path.is_file() or _is_step_summary(path)):
            continue
        identity = _identity(path)
        if identity in taken or (path.suffix in (".npy", ".pb") and path.exists()):
            return f"{path} is read, and must not be overwritten"
        if identity in named:
            return f"{path} is named twice; each output needs a file of its own"
        named.add(identity)
    return None


def _identity(path: Path) -> object:
    """What is equal for two names of one file."""
    if path == STDOUT:
        return path
    try:
        status = path.stat()
    except OSError:
        return path.resolve()
    return status.st_dev, status.st_ino


def _is_step_summary(path: Path) -> bool:
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(summary) and path.resolve() == Path(str(summary)).resolve()


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the name of a file to an error in writing it, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file to write a report to: ``-`` is stdout, and GitHub's step summary is appended to. Raises ``OSError``."""
    if path == STDOUT:
        yield sys.stdout
        return
    with named(path), path.open("a" if _is_step_summary(path) else "w", encoding="utf-8") as file:
        yield file


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their paths in a folder, with ``/``, which is made with theirs. Raises ``OSError``."""
    for name, content in files.items():
        path = folder / name
        with named(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def move_files(new: Path, folder: Path, earlier: Iterable[Path]) -> None:
    """Move what is in the folder ``new`` to another one; what is ``earlier`` there is removed first. Raises ``OSError``."""
    for path in earlier:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    folder.mkdir(exist_ok=True)
    for path in sorted(new.iterdir()):
        path.rename(folder / path.name)
