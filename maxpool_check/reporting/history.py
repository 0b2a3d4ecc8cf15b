"""What many releases of one runtime show: which defects and kinds by release, and what changed with each."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from maxpool_check.comparing.gate import ChangeSummary, summarize
from maxpool_check.comparing.transitions import transitions
from maxpool_check.judging.defects import Severity
from maxpool_check.results.record import Execution, ExitCode, KnownEntry, Record, Verdict


@dataclass
class Occurrence:
    """What a release shows of a known defect, or of kinds that no known defect explains.

    ``smallest`` is the execution to look at; ``sizes`` has the size of each case that shows it.
    """

    smallest: Execution
    sizes: dict[str, int] = field(default_factory=dict)

    def add(self, execution: Execution) -> None:
        """Count an execution that shows it."""
        if (execution.size, execution.case) < (self.smallest.size, self.smallest.case):
            self.smallest = execution
        self.sizes[execution.case] = min(execution.size, self.sizes.get(execution.case, execution.size))

    @property
    def cases(self) -> list[str]:
        """The cases that show it, the smallest first."""
        return sorted(self.sizes, key=lambda case: (self.sizes[case], case))


@dataclass(frozen=True)
class Release:
    """One release; ``record`` holds one target and is None for a release that was skipped for a reason."""

    version: str
    record: Record | None
    skipped: str = ""

    @property
    def verdicts(self) -> Counter[Verdict]:
        """The number of executions by verdict."""
        return self._numbers[0]

    @property
    def kinds(self) -> Counter[str]:
        """The number of cases that show each kind in any variant, in the order of the record."""
        return self._numbers[1]

    @property
    def defects(self) -> Counter[str]:
        """The number of cases that show each known defect in any variant."""
        numbers = {name: len(each.sizes) for name, each in self.occurrences.items() if each.smallest.known == name}
        return Counter(numbers)

    @property
    def occurrences(self) -> Mapping[str, Occurrence]:
        """What it shows of each known defect, by its id, and of what no known defect explains, by its kinds."""
        return self._numbers[2]

    @cached_property
    def _numbers(self) -> tuple[Counter[Verdict], Counter[str], dict[str, Occurrence]]:
        verdicts: Counter[Verdict] = Counter()
        pairs: dict[tuple[str, str], None] = {}
        occurrences: dict[str, Occurrence] = {}
        for execution in self.record.executions if self.record else ():
            verdicts[execution.verdict] += 1
            pairs |= dict.fromkeys((kind, execution.case) for kind in execution.kinds)
            if name := execution.known or ", ".join(execution.kinds):
                occurrences.setdefault(name, Occurrence(execution)).add(execution)
        return verdicts, Counter(kind for kind, _ in pairs), occurrences


class Step(NamedTuple):
    """What changed from a release to the next one that was executed."""

    old: str
    new: str
    changes: ChangeSummary


@dataclass(frozen=True)
class HistoryReport:
    """The releases of a target, in ascending order, and how to show them."""

    target: str
    releases: Sequence[Release]
    width: int = 100
    interrupted: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """``INCOMPLETE`` if a release was skipped, ``INTERRUPTED`` if the user did that."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.INCOMPLETE if self.skipped else ExitCode.AS_EXPECTED

    @property
    def executed(self) -> list[Release]:
        """The releases that were not skipped."""
        return [release for release in self.releases if release.record is not None]

    @property
    def skipped(self) -> list[Release]:
        """The releases that were skipped."""
        return [release for release in self.releases if release.record is None]

    @property
    def distribution(self) -> str:
        """The distribution that was tested; empty if every release was skipped."""
        records = (release.record for release in self.executed)
        return next((record.header.targets[0].distribution for record in records if record is not None), "")

    @property
    def errors(self) -> list[str]:
        """Why it is incomplete."""
        return [f"{release.version} was skipped: {release.skipped}" for release in self.skipped]

    @cached_property
    def steps(self) -> list[Step]:
        """The changes from each release that was not skipped to the next."""
        records = [(release.version, release.record) for release in self.releases if release.record is not None]
        return [
            Step(
                old,
                new,
                summarize(
                    transitions(
                        before, after, (before.header.targets[0].name, after.header.targets[0].name)
                    ).transitions
                ),
            )
            for (old, before), (new, after) in itertools.pairwise(records)
        ]

    @cached_property
    def defects(self) -> dict[str, KnownEntry]:
        """The known defects that some release shows, the worst first."""
        footers = [release.record.footer for release in self.executed if release.record is not None]
        entries = {entry.id: entry for footer in footers if footer is not None for entry in footer.known}
        shown = {name for release in self.executed for name in release.defects}
        ranks = {name: Severity(entry.severity).rank if entry.severity else 0 for name, entry in entries.items()}
        return {name: entries[name] for name in sorted(shown & entries.keys(), key=lambda name: (ranks[name], name))}

    @property
    def causes(self) -> list[str]:
        """The known defects that some release shows, the worst first, then the kinds that no known defect explains."""
        names = {name for release in self.executed for name in release.occurrences}
        return [*self.defects, *sorted(names - self.defects.keys())]

    def title(self, cause: str) -> str:
        """Severity and title of a known defect; empty for kinds."""
        entry = self.defects.get(cause)
        return f"{entry.severity}: {entry.title}" if entry is not None and entry.title else ""

    def since(self, cause: str, release: Release) -> str:
        """The oldest release from which on all, up to one that shows a defect or kinds, show them."""
        executed = self.executed
        older = executed[: executed.index(release) + 1]
        return [each.version for each in itertools.takewhile(lambda each: cause in each.occurrences, older[::-1])][-1]

    def before(self, release: Release) -> Release | None:
        """The release that was executed before another one."""
        executed = self.executed
        position = executed.index(release)
        return executed[position - 1] if position else None

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """The known defects, the worst first, the kinds, then the verdicts, each with its numbers by release."""
        defects = [release.defects for release in self.executed]
        kinds = [release.kinds for release in self.executed]
        verdicts = [release.verdicts for release in self.executed]
        rows = [(name, [counter[name] for counter in defects]) for name in self.defects]
        rows += [(kind, [counter[kind] for counter in kinds]) for kind in sorted(set().union(*kinds))]
        rows += [(verdict.value, [counter[verdict] for counter in verdicts]) for verdict in Verdict]
        return [(label, numbers) for label, numbers in rows if any(numbers)]
