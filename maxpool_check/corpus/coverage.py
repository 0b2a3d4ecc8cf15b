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


def coverage(allowed: Space, found: Iterable[Bins], strength: int) -> list[FactorCoverage]:
    """What the bins of some cases cover of the possible ones, ``strength`` factors at a time; every group of factors.

    What is impossible in the document is counted nowhere.
    """
    seen: set[Together] = set()
    for own in found:
        seen.update(combinations([(factor, own[factor]) for factor in allowed.factors if factor in own], strength))
    groups = []
    for factors, grouped in groupby(allowed.combinations(strength), lambda one: tuple(factor for factor, _ in one)):
        possible = list(grouped)
        groups.append(FactorCoverage(factors, len(possible), tuple(one for one in possible if one not in seen)))
    return groups
