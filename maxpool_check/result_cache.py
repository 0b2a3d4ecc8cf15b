"""Results of computations in the user's cache, by all that they depend on besides the tool itself."""

import hashlib
from functools import cached_property
from pathlib import Path

import msgspec

from maxpool_check import file_cache

MOST = 20_000
"""So many results are in the cache, of which the oldest are dropped, and so many are added by a run."""


class ResultCache:
    """Results, as JSON of those who compute them. They are read at the first use; :meth:`save` writes those that were added."""

    def __init__(self, *, reads: bool = True) -> None:
        """``reads``: not only those that are added here are used."""
        self._reads = reads
        self._new: dict[str, msgspec.Raw] = {}

    def get(self, key: str) -> msgspec.Raw | None:
        """The result of this key; None if it is not in the cache."""
        return self._new.get(key) or self._earlier.get(key)

    def add(self, key: str, result: bytes) -> None:
        """Add a result, unless there are very many."""
        if len(self._new) < MOST:
            self._new[key] = msgspec.Raw(result)

    def save(self) -> None:
        """Write what was added."""
        if self._new:
            # Another process may have written since.
            results = [*(_read() | self._new).items()][-MOST:]
            file_cache.save_value(_path(), dict(results))
            self._new.clear()

    @cached_property
    def _earlier(self) -> dict[str, msgspec.Raw]:
        return _read() if self._reads else {}


def key_of(*depends_on: str) -> str:
    """The key of what depends on these texts."""
    return hashlib.sha256("\0".join(depends_on).encode()).hexdigest()


def _path() -> Path:
    return file_cache.path_of("results")


def _read() -> dict[str, msgspec.Raw]:
    return file_cache.load_value(_path(), dict[str, msgspec.Raw]) or {}
