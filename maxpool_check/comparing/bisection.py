"""The search for the release where something changes, with as few executions as possible."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from maxpool_check.results.record import Verdict

_T = TypeVar("_T")


@dataclass(frozen=True)
class Boundary(Generic[_T]):
    """Two neighbouring releases with different results, by their positions; releases without a result may lie between."""

    last: int
    first: int
    before: _T
    after: _T


@dataclass(frozen=True, eq=False)
class Observation:
    """The result of a release on a case. Two are equal if both or neither have ``kind``; without it, verdict and kinds."""

    verdict: Verdict
    kinds: tuple[str, ...]
    provider: str
    kind: str | None = None

    @property
    def relevant_kinds(self) -> tuple[str, ...]:
        """``kind`` alone where it occurs, otherwise all kinds."""
        return (self.kind,) if self.kind is not None and self.kind in self.kinds else self.kinds

    @property
    def _key(self) -> object:
        return (self.verdict, self.kinds) if self.kind is None else self.kind in self.kinds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observation) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return f"{self.verdict} ({', '.join(self.relevant_kinds)})" if self.kinds else str(self.verdict)


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

    def boundaries(self) -> list[Boundary[_T]]:
        """The positions where the result changes. Usually one; none if nothing changes.

        The neighbours of a boundary found by halving are tested too. If they, or the ends, show that there is more than
        one change, every position is tested.
        """
        low, high = self._first(range(self.size)), self._first(range(self.size - 1, -1, -1))
        if low is None or high is None:
            return []
        if self.results[low] != self.results[high]:
            boundary = self._halved(low, high)
            if self._is_only(boundary, low, high):
                return [boundary]
        self.linear = True
        return self._all()

    def _result(self, position: int) -> _T | None:
        if position not in self.results:
            self.results[position] = self.test(position)
        return self.results[position]

    def _first(self, positions: Sequence[int]) -> int | None:
        return next((position for position in positions if self._result(position) is not None), None)

    def _halved(self, low: int, high: int) -> Boundary[_T]:
        before, after = self.results[low], self.results[high]
        while True:
            middle = (low + high) // 2
            # From the middle outwards, the first that can be tested.
            position = self._first(sorted(range(low + 1, high), key=lambda place: abs(place - middle)))
            if position is None:
                break
            if self.results[position] == before:
                low = position
            else:
                high, after = position, self.results[position]
        assert before is not None
        assert after is not None
        return Boundary(low, high, before, after)

    def _is_only(self, boundary: Boundary[_T], low: int, high: int) -> bool:
        """Whether the neighbours on both sides agree with it, and the far end with the near one."""
        left = self._first(range(boundary.last - 1, low - 1, -1))
        right = self._first(range(boundary.first + 1, high + 1))
        same_left = left is None or self.results[left] == boundary.before
        same_right = right is None or self.results[right] == boundary.after
        return same_left and same_right and self.results[high] == boundary.after

    def _all(self) -> list[Boundary[_T]]:
        results = [(position, self._result(position)) for position in range(self.size)]
        tested = [(position, result) for position, result in results if result is not None]
        pairs = itertools.pairwise(tested)
        return [Boundary(last, first, old, new) for (last, old), (first, new) in pairs if old != new]
