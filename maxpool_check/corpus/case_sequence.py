"""Sequences of cases: in memory, or for very many of them in compiled files, of which at most 200 cases are in memory."""

import atexit
import contextlib
import errno
import itertools
import shutil
import tempfile
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import overload

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.compiled import CompiledFile, Damaged, Identity, encoded

MOST_IN_MEMORY = 5_000
"""So many cases may be in memory; of more, only those in use are."""

_CHUNK = 25
_MOST_CHUNKS = 8


def are_many(count: int) -> bool:
    """Whether there are too many cases to be in memory."""
    return count > MOST_IN_MEMORY


def joined(files: Sequence[Sequence[Case]]) -> Sequence[Case]:
    """The cases of some files: in memory, unless there are many."""
    if are_many(sum(map(len, files))):
        return StoredCases(files)
    return tuple(itertools.chain.from_iterable(file[:] for file in files))


def stored(cases: Sequence[Case]) -> Sequence[Case]:
    """The cases of a file, no longer in memory, unless they cannot be stored."""
    if not isinstance(cases, CompiledFile):
        data = encoded(cases, {}) if cases else None
        if data is None:
            return cases
        path = _folder() / f"{next(_NUMBERS)}"
        path.write_bytes(data)
        cases = CompiledFile(path, data, cases[0].origin.path)
    cases.unload()
    return cases


_NUMBERS = itertools.count()


@cache
def _folder() -> Path:
    """A folder for this process."""
    folder = tempfile.mkdtemp(prefix="maxpool-check-cases-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class StoredCases(Sequence[Case]):
    """The cases of some files, read when they are used; of all of them, or those of some ``numbers``, in order."""

    def __init__(self, files: Sequence[Sequence[Case]], numbers: Sequence[int] | None = None) -> None:
        self._files = files
        self._starts = list(itertools.accumulate(map(len, files), initial=0))
        self._numbers = range(self._starts[-1]) if numbers is None else numbers
        self._chunks: OrderedDict[tuple[int, int], Sequence[Case]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, number: int) -> Case: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Case]: ...
    def __getitem__(self, number: int | slice) -> Case | Sequence[Case]:
        if isinstance(number, slice):
            return StoredCases(self._files, self._numbers[number])
        at = self._numbers[number]
        file = bisect_right(self._starts, at) - 1
        chunk, position = divmod(at - self._starts[file], _CHUNK)
        return self._chunk(file, chunk)[position]

    def __iter__(self) -> Iterator[Case]:
        return (self[number] for number in range(len(self)))

    def where(self, selected: Callable[[Case], bool]) -> "StoredCases":
        """The cases that are selected."""
        numbers = (at for at, case in zip(self._numbers, self, strict=True) if selected(case))
        return StoredCases(self._files, array("Q", numbers))

    def identities(self) -> Iterator[Identity]:
        """What identifies the cases, in order."""
        every = itertools.chain.from_iterable(map(_identities, self._files))
        if isinstance(self._numbers, range) and len(self) == self._starts[-1]:
            yield from every
            return
        remaining = enumerate(every)
        for number in self._numbers:
            yield next(identity for at, identity in remaining if at == number)

    @property
    def unchecked(self) -> Iterator[Case]:
        """Those that may contradict the reference."""
        for file in self._files:
            if not isinstance(file, CompiledFile) or not file.is_checked:
                yield from file

    def _chunk(self, file: int, chunk: int) -> Sequence[Case]:
        key = file, chunk
        if key not in self._chunks:
            if len(self._chunks) == _MOST_CHUNKS:
                self._chunks.popitem(last=False)
            begin = chunk * _CHUNK
            with _still_there():
                self._chunks[key] = self._files[file][begin : begin + _CHUNK]
        self._chunks.move_to_end(key)
        return self._chunks[key]


def identities(cases: Iterable[Case]) -> Iterator[Identity]:
    """What identifies cases; without reading them, if they are stored."""
    return cases.identities() if isinstance(cases, StoredCases) else _identities(cases)


def ids(cases: Iterable[Case]) -> Iterator[str]:
    """The ids of cases; without reading them, if they are stored."""
    return (each.id for each in (cases.identities() if isinstance(cases, StoredCases) else cases))


def where(cases: Sequence[Case], selected: Callable[[Case], bool]) -> Sequence[Case]:
    """The cases that are selected, in order."""
    return cases.where(selected) if isinstance(cases, StoredCases) else tuple(filter(selected, cases))


def unchecked(cases: Sequence[Case]) -> Iterable[Case]:
    """The cases that may contradict the reference."""
    return cases.unchecked if isinstance(cases, StoredCases) else cases


def _identities(cases: Iterable[Case]) -> Iterator[Identity]:
    if isinstance(cases, CompiledFile):
        with _still_there():
            yield from cases.identities()
    else:
        yield from (Identity(case.id, case.spec, case.sha256, case.is_cached) for case in cases)


@contextlib.contextmanager
def _still_there() -> Iterator[None]:
    """Raise ``OSError`` where stored cases are gone, or damaged."""
    try:
        yield
    except Damaged as error:
        message = "the stored cases were removed or changed while they were in use; run the command again"
        raise OSError(errno.ESTALE, message, str(error)) from error
