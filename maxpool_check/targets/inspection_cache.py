"""What environments are made of, kept in the user's cache until a file that it depends on changes.

To look again takes as long as a run of some hundred cases.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from maxpool_check.cache_folder import cache_folder
from maxpool_check.results.provenance import PythonEnvironment

_MOST_KEPT = 200
"""How many environments are kept: the files of others are removed, the oldest first."""

_LARGEST = 2**24

_SETTLED_NANOSECONDS = 2 * 10**9
"""How old the last change must be: one more, in the same tick of the clock of the file system, would not be seen."""


class WatchedEnvironment(PythonEnvironment, frozen=True, kw_only=True):
    """The contents of an environment, and the state of the files that they depend on."""

    watched: dict[str, tuple[int, int, int, int]]

    @property
    def environment(self) -> PythonEnvironment:
        """The contents alone."""
        return PythonEnvironment(**{name: getattr(self, name) for name in PythonEnvironment.__struct_fields__})

    @property
    def is_unchanged(self) -> bool:
        """Whether every file is as it was."""
        return all(_state(path) == state for path, state in self.watched.items())

    @property
    def is_settled(self) -> bool:
        """Whether a further change would be seen."""
        changed = max((max(state[1:3]) for state in self.watched.values()), default=0)
        return time.time_ns() - changed > _SETTLED_NANOSECONDS


def load(key: Sequence[str | None]) -> WatchedEnvironment | None:
    """What was kept of an environment and still holds."""
    try:
        path = _path(key)
        folder = path.parent.stat()
        if os.name == "posix" and (folder.st_uid != os.getuid() or folder.st_mode & 0o022):
            # Others could write what a record then says.
            return None
        if path.stat().st_size > _LARGEST:
            return None
        contents = msgspec.json.decode(path.read_bytes(), type=WatchedEnvironment)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return contents if contents.is_unchanged else None


def save(key: Sequence[str | None], contents: WatchedEnvironment) -> None:
    """Keep what an environment is made of; a cache that cannot be written is left as it is."""
    if not contents.is_settled:
        return
    with contextlib.suppress(OSError, ValueError):
        path = _path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            try:
                file.write(msgspec.json.encode(contents))
                file.close()
                Path(file.name).replace(path)
            except OSError:
                Path(file.name).unlink()
                raise
        kept = sorted(path.parent.iterdir(), key=lambda each: each.stat().st_mtime_ns, reverse=True)
        for each in kept[_MOST_KEPT:]:
            each.unlink(missing_ok=True)


def clear() -> None:
    """Remove all that is kept."""
    shutil.rmtree(Path(cache_folder(), "inspections"), ignore_errors=True)


def _path(key: Sequence[str | None]) -> Path:
    """The file of an environment."""
    digest = hashlib.sha256(msgspec.json.encode(key)).hexdigest()
    return Path(cache_folder(), "inspections", f"{digest}.json")


def _state(path: str) -> tuple[int, int, int, int] | None:
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        return None
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
