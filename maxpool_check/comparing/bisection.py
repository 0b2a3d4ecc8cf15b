"""The release where something changes, in as few variants as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Boundary(Generic[_T]):
    """Two releases next to each other, as far as they can be asked, that answer differently; by their places."""

    last: int
    first: int
    before: _T
    after: _T


@dataclass
class Bisection(Generic[_T]):
    """A search over releases in ascending order.

    ``ask`` gives what the release at a place shows, or None where it cannot be asked: such a place is passed over. Every
    place is asked once.
    """

    size: int
    ask: Callable[[int], _T | None]
    shown: dict[int, _T | None] = field(default_factory=dict)
    linear: bool = False
    """Whether all of them had to be asked."""

    def boundaries(self) -> list[Boundary[_T]]:
        """The places where the answer changes. Usually one; none if nothing changes.

        The neighbours of a boundary found by halving are asked too. If they, or the ends, say that there is more than one
        change, every place is asked.
        """
        ends = self._first(range(self.size)), self._first(range(self.size - 1, -1, -1))
        if ends[0] is None or ends[1] is None:
            return []
        low, high = ends[0], ends[1]
        if self.shown[low] != self.shown[high]:
            found = self._halved(low, high)
            if self._confirmed(found, low, high):
                return [found]
        self.linear = True
        return list(self._every())

    def _show(self, place: int) -> _T | None:
        if place not in self.shown:
            self.shown[place] = self.ask(place)
        return self.shown[place]

    def _first(self, places: Sequence[int]) -> int | None:
        return next((place for place in places if self._show(place) is not None), None)

    def _halved(self, low: int, high: int) -> Boundary[_T]:
        before, after = self.shown[low], self.shown[high]
        while True:
            middle = (low + high) // 2
            # From the middle outwards, the first that can be asked.
            inner = sorted(range(low + 1, high), key=lambda place: abs(place - middle))
            place = self._first(inner)
            if place is None:
                break
            if self.shown[place] == before:
                low = place
            else:
                high, after = place, self.shown[place]
        assert before is not None
        assert after is not None
        return Boundary(low, high, before, after)

    def _confirmed(self, found: Boundary[_T], low: int, high: int) -> bool:
        """Whether the neighbours on both sides agree, and the far end with the near one."""
        left = self._first(range(found.last - 1, low - 1, -1))
        right = self._first(range(found.first + 1, high + 1))
        same_left = left is None or self.shown[left] == found.before
        same_right = right is None or self.shown[right] == found.after
        return same_left and same_right and self.shown[high] == found.after

    def _every(self) -> Iterator[Boundary[_T]]:
        last = None
        for place in range(self.size):
            shown = self._show(place)
            if shown is None:
                continue
            before = None if last is None else self.shown[last]
            if last is not None and before is not None and before != shown:
                yield Boundary(last, place, before, shown)
            last = place
