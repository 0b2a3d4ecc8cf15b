"""What many releases of one runtime show, one after the other."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from maxpool_check.comparing.transitions import Group, Transition, groups, transitions
from maxpool_check.results.record import Record


@dataclass(frozen=True)
class Release:
    """One release, asked: ``record`` holds one target. ``skipped`` says why it could not be."""

    version: str
    record: Record | None
    skipped: str = ""

    @property
    def verdicts(self) -> Counter[str]:
        """The number of executions by verdict."""
        return Counter(one.verdict for one in self.record.executions) if self.record else Counter()

    @property
    def kinds(self) -> Counter[str]:
        """The number of cases that show each kind, however often they were asked; in the order of the record."""
        executions = self.record.executions if self.record else ()
        # A dict, for a set would be in another order in every process.
        return Counter(kind for kind, _ in dict.fromkeys((kind, one.case) for one in executions for kind in one.kinds))


@dataclass(frozen=True)
class Step:
    """What changed from one release to the next that could be asked."""

    old: Release
    new: Release
    transitions: Sequence[Transition]

    @property
    def groups(self) -> list[Group]:
        """The changes, the worst first."""
        return groups(self.transitions)


def steps(releases: Sequence[Release]) -> list[Step]:
    """The changes between neighbours among the releases that could be asked, in their order."""
    asked = [release for release in releases if release.record is not None]
    found = []
    for old, new in itertools.pairwise(asked):
        assert old.record is not None
        assert new.record is not None
        names = [record.header.targets[0].name for record in (old.record, new.record)]
        found.append(Step(old, new, transitions(old.record, new.record, names[0], names[1])))
    return found
