"""The search for the release where something changes, with as few executions as possible."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from maxpool_check.results.record import FAULTS, Execution

_T = TypeVar("_T")


@dataclass(frozen=True)
class Observation:
    """What one release shows on a case; two are equal if they have the same ``key``.

    ``execution`` is what its record says, ``kind`` the kind that alone is looked for.
    """

    key: object
    execution: Execution = field(compare=False)
    kind: str | None = field(compare=False, default=None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind that is looked for if the release shows it, otherwise all kinds."""
        return (self.kind,) if self.kind is not None and self.kind in self.execution.kinds else self.execution.kinds

    @property
    def is_fault(self) -> bool:
        """Whether the release shows what is looked for: the kind, or without one a fault."""
        return self.execution.verdict in FAULTS if self.kind is None else self.kind in self.execution.kinds

    def __str__(self) -> str:
        return f"{self.execution.verdict} ({', '.join(self.kinds)})" if self.kinds else str(self.execution.verdict)


class Boundary(NamedTuple):
    """Two neighbouring releases with different results, by their positions; releases without a result may lie between."""

    last: int
    first: int


@dataclass
class Bisection(Generic[_T]):
    """A search over releases in ascending order.

    ``test`` gives the result of the release at a position, None to skip it; it is called once for a position.
    """

    size: int
    test: Callable[[int], _T | None]
    results: dict[int, _T | None] = field(default_factory=dict)
    linear: bool = False
    """Whether every position had to be tested."""

    @property
    def tested(self) -> dict[int, _T]:
        """The results by position, in ascending order, without the positions that were skipped."""
        return {position: result for position, result in sorted(self.results.items()) if result is not None}

    def boundaries(self) -> list[Boundary]:
        """The positions where the result changes. Usually one; none if nothing changes.

        The neighbours of a boundary found by halving are tested too. If they, or the ends, show that there is more than
        one change, every position is tested.
        """
        low, high = self._first(range(self.size)), self._first(range(self.size - 1, -1, -1))
        if low is None or high is None:
            return []
        if self.results[low] != self.results[high]:
            last, first = self._halved(low, high)
            left = self._first(range(last - 1, low - 1, -1))
            right = self._first(range(first + 1, high + 1))
            same_left = left is None or self.results[left] == self.results[last]
            same_right = right is None or self.results[right] == self.results[first]
            if same_left and same_right and self.results[high] == self.results[first]:
                return [Boundary(last, first)]
        self.linear = True
        for position in range(self.size):
            self._first([position])
        pairs = itertools.pairwise(self.tested.items())
        return [Boundary(last, first) for (last, before), (first, after) in pairs if before != after]

    def _first(self, positions: Iterable[int]) -> int | None:
        for position in positions:
            if position not in self.results:
                self.results[position] = self.test(position)
            if self.results[position] is not None:
                return position
        return None

    def _halved(self, low: int, high: int) -> Boundary:
        before = self.results[low]
        while True:
            middle = (low + high) // 2
            # From the middle outwards, the first that can be tested.
            position = self._first(sorted(range(low + 1, high), key=lambda place: abs(place - middle)))
            if position is None:
                return Boundary(low, high)
            if self.results[position] == before:
                low = position
            else:
                high = position
