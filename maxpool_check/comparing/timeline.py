"""What many releases of one runtime show, one after the other."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from maxpool_check.comparing.transitions import Transition, TransitionGroup, groups, transitions
from maxpool_check.results.record import Record, Verdict


@dataclass(frozen=True)
class Release:
    """One release; ``record`` holds one target and is None for a release that was skipped for a reason."""

    version: str
    record: Record | None
    skipped: str = ""

    @property
    def verdicts(self) -> Counter[Verdict]:
        """The number of executions by verdict."""
        return Counter(execution.verdict for execution in self.record.executions) if self.record else Counter()

    @property
    def kinds(self) -> Counter[str]:
        """The number of cases that show each kind in any variant, in the order of the record."""
        executions = self.record.executions if self.record else ()
        pairs = dict.fromkeys((kind, execution.case) for execution in executions for kind in execution.kinds)
        return Counter(kind for kind, _ in pairs)


@dataclass(frozen=True)
class Step:
    """What changed from one release to the next that was not skipped."""

    old: Release
    new: Release
    transitions: Sequence[Transition]

    @property
    def groups(self) -> list[TransitionGroup]:
        """The changes, the worst first."""
        return groups(self.transitions)


def steps(releases: Sequence[Release]) -> list[Step]:
    """The changes between neighbours among the releases that were not skipped, in their order."""
    pairs = itertools.pairwise((release, release.record) for release in releases if release.record is not None)
    return [
        Step(old, new, transitions(before, after, before.header.targets[0].name, after.header.targets[0].name))
        for (old, before), (new, after) in pairs
    ]
