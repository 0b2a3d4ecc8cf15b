"""Lists of many cases on a page, by file."""

from collections import Counter, defaultdict

MOST_NAMES = 5000
"""So many cases of a kind at most are listed by name; more are counted by file."""


class Names:
    """Cases by file: their names as long as they are few, otherwise their numbers alone."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers: Counter[str] = Counter()
        self._names: dict[str, list[str]] = defaultdict(list)

    def add(self, case: str) -> None:
        """Add a case."""
        file, _, name = case.rpartition(":")
        self.count += 1
        self._numbers[file] += 1
        if self.count <= MOST_NAMES:
            self._names[file].append(name)
        else:
            self._names.clear()

    @property
    def files(self) -> list[tuple[str, int, list[str]]]:
        """Each file with the number and the names of its cases; no names if there are too many."""
        return [(file, number, self._names.get(file, [])) for file, number in sorted(self._numbers.items())]
