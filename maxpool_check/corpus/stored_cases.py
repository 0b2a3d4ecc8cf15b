"""The cases of a large corpus, in a temporary file, so that memory does not grow with their number."""

import hashlib
import pickle
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.files import named

MOST_IN_MEMORY = 10_000
"""So many cases, about 25 MB, are kept in memory."""

_TOGETHER = 100
"""So many of the others, which share much, are written and read together."""


class StoredCases(Collection[Case]):
    """Cases in order; if there are many, each iteration makes them again: other objects, with the same values.

    ``documents`` are the names of their documents.
    """

    def __init__(self) -> None:
        self.documents: set[str] = set()
        self._count = self._end = 0
        self._digest = hashlib.sha256()
        self._recent: list[Case] = []

    def append(self, case: Case) -> None:
        """Add a case behind the others. Raises ``OSError``."""
        self._recent.append(case)
        self._count += 1
        self.documents.add(case.spec)
        if self._count > MOST_IN_MEMORY and len(self._recent) >= _TOGETHER:
            self._store()

    def _store(self) -> None:
        _update(self._digest, self._recent)
        with named(Path(tempfile.gettempdir())):
            for begin in range(0, len(self._recent), _TOGETHER):
                pickler = pickle.Pickler(self._file, pickle.HIGHEST_PROTOCOL)
                # A tensor of a file stays there: the file is on this machine.
                pickler.dispatch_table = {Recipe: Recipe.reduced_here}
                pickler.dump(self._recent[begin : begin + _TOGETHER])
            self._file.flush()
            self._end, self._recent = self._file.tell(), []

    @cached_property
    def _file(self) -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, file.close)
        return file

    @property
    def all(self) -> Collection[Case]:
        """The cases: as a tuple if they are few."""
        return self if self._end else tuple(self._recent)

    @property
    def sha256(self) -> str:
        """The digest of all cases, as :func:`digest_of` gives it."""
        digest = self._digest.copy()
        _update(digest, self._recent)
        return digest.hexdigest()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Case]:
        offset = 0
        while offset < self._end:
            # Other iterations may have read meanwhile.
            self._file.seek(offset)
            cases: list[Case] = pickle.load(self._file)
            offset = self._file.tell()
            yield from cases
        yield from self._recent

    def __contains__(self, case: object) -> bool:
        return any(case == stored for stored in self)


def digest_of(cases: Iterable[Case]) -> str:
    """The SHA-256 of cases and their ids."""
    if isinstance(cases, StoredCases):
        return cases.sha256
    digest = hashlib.sha256()
    _update(digest, cases)
    return digest.hexdigest()


def _update(digest: "hashlib._Hash", cases: Iterable[Case]) -> None:
    for case in cases:
        digest.update(f"{case.id} {case.sha256}\n".encode())
