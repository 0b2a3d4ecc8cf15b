"""The cases of a large corpus, in a temporary file, so that memory does not grow with their number."""

import pickle
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.files import named

MOST_IN_MEMORY = 4_000
"""So many cases, with what is computed of them, are kept in memory."""

_TOGETHER = 100
"""So many of the others, which share much, are written and read together."""


def stored(cases: Iterable[Case]) -> Collection[Case]:
    """The cases in order: a tuple, or where there are many, a :class:`StoredCases`. Raises ``OSError``."""
    left = iter(cases)
    first = tuple(islice(left, MOST_IN_MEMORY))
    another = next(left, None)
    return first if another is None else StoredCases(first, chain([another], left))


class StoredCases(Collection[Case]):
    """Cases in order; each iteration makes those behind the first ones again: other objects, with the same values."""

    def __init__(self, first: Collection[Case], others: Iterator[Case]) -> None:
        self._first, self._count, self._ends = first, len(first), [0]
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        while together := [*islice(others, _TOGETHER)]:
            with named(Path(tempfile.gettempdir())):
                pickler = pickle.Pickler(self._file, pickle.HIGHEST_PROTOCOL)
                # A tensor of a file stays there: the file is on this machine.
                pickler.dispatch_table = {Recipe: Recipe.reduced_here}
                pickler.dump(together)
                self._file.flush()
            self._count += len(together)
            self._ends.append(self._file.tell())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Case]:
        yield from self._first
        for begin in self._ends[:-1]:
            # Other iterations may have read meanwhile.
            self._file.seek(begin)
            yield from pickle.load(self._file)

    def __contains__(self, case: object) -> bool:
        return any(case == each for each in self)
