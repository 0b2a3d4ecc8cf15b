"""What environments are made of, cached until a file that it depends on changes.

To look again takes as long as a run of some hundred cases.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from maxpool_check import file_cache
from maxpool_check.results.provenance import PythonEnvironment

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
    """What the cache has of an environment, if no file has changed since."""
    contents: WatchedEnvironment | None = file_cache.load_value(_path(key), WatchedEnvironment)
    return contents if contents is not None and contents.is_unchanged else None


def save(key: Sequence[str | None], contents: WatchedEnvironment) -> None:
    """Write what an environment is made of to the cache."""
    if contents.is_settled:
        file_cache.save_value(_path(key), contents)


def _path(key: Sequence[str | None]) -> Path:
    return file_cache.path_of("inspections", *key)


def _state(path: str) -> tuple[int, int, int, int] | None:
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        return None
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
