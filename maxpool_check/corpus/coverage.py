"""What some cases cover of the bins that their document allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, groupby

from maxpool_check.corpus.bins import Bins
from maxpool_check.corpus.space import Space, Together


@dataclass(frozen=True)
class FactorCoverage:
    """The combinations of bins of one factor, or of several. ``uncovered`` are those that no case has."""

    factors: tuple[str, ...]
    possible: int
    uncovered: tuple[Together, ...]

    @property
    def covered(self) -> int:
        """How many some case has."""
        return self.possible - len(self.uncovered)


def coverage(allowed: Space, executed: Iterable[Bins], strength: int) -> list[FactorCoverage]:
    """What the bins of some cases cover of the possible ones, ``strength`` factors at a time; for every such group of factors.

    What is impossible in the document is counted nowhere.
    """
    seen: set[Together] = set()
    for bins in executed:
        seen.update(combinations([(factor, bins[factor]) for factor in allowed.factors if factor in bins], strength))
    groups = []
    for factors, grouped in groupby(
        allowed.combinations(strength), lambda together: tuple(factor for factor, _ in together)
    ):
        possible = list(grouped)
        uncovered = tuple(together for together in possible if together not in seen)
        groups.append(FactorCoverage(factors, len(possible), uncovered))
    return groups
