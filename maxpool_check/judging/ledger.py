"""What a run observed of the defects of one target."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property

from maxpool_check.judging.defects import ExpectedDivergence, is_glob
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import KnownStatus
from maxpool_check.results.variants import Variant


@dataclass
class Ledger:
    """The divergences that are expected of one target, and what a run observed of them."""

    entries: Sequence[ExpectedDivergence]
    today: date
    _compared: dict[str, set[Variant]] = field(default_factory=dict)
    _observed: set[tuple[int, str, Variant]] = field(default_factory=set)
    _expired: set[int] = field(default_factory=set)

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of the entries that name a case, by the case; under an empty text those that have a glob."""
        numbers: dict[str, list[int]] = {}
        for number, entry in enumerate(self.entries):
            for name in {"" if is_glob(pattern) else pattern for pattern in entry.cases}:
                numbers.setdefault(name, []).append(number)
        return numbers

    def _about(self, case: str) -> list[tuple[int, ExpectedDivergence]]:
        """The entries that may be about a case, with their numbers, in order."""
        numbers = {*self._numbers.get(case, ()), *self._numbers.get("", ())}
        return [(number, self.entries[number]) for number in sorted(numbers)]

    def compared(self, case: str, variant: Variant) -> None:
        """Remember that an execution was compared with its document: only then can an entry be stale."""
        # Of very many cases, most are those of no entry.
        if any(entry.binds(case) for _, entry in self._about(case)):
            self._compared.setdefault(case, set()).add(variant)

    def known(self, case: str, variant: Variant, kinds: Iterable[DivergenceKind]) -> ExpectedDivergence | None:
        """The first entry that expects exactly these kinds of an execution; remembers all that do."""
        kinds, first = frozenset(kinds), None
        for number, entry in self._about(case):
            if not entry.expects(case, variant, kinds):
                continue
            if entry.expired(self.today):
                self._expired.add(number)
                continue
            self._observed.update((number, pattern, variant) for pattern in entry.patterns(case))
            first = first or entry
        return first

    def others(self, case: str, variant: Variant) -> list[ExpectedDivergence]:
        """The entries about an execution, whatever their kinds: those that expect another divergence."""
        return [
            entry
            for _, entry in self._about(case)
            if not entry.by_conditions
            and entry.binds(case)
            and (entry.variants is None or variant in entry.variants)
            and not entry.expired(self.today)
        ]

    def audit(
        self, is_complete: Callable[[ExpectedDivergence], Mapping[str, bool]]
    ) -> dict[str, tuple[KnownStatus, str]]:
        """The status of each defect, and why; ``is_complete`` says for each pattern of an entry whether its cases ran."""
        statuses: dict[str, list[tuple[KnownStatus, str]]] = {}
        for number, entry in enumerate(self.entries):
            statuses.setdefault(entry.defect, []).append(self._status(number, entry, is_complete(entry)))
        return {defect: _worst(each) for defect, each in statuses.items()}

    def _status(self, number: int, entry: ExpectedDivergence, complete: Mapping[str, bool]) -> tuple[KnownStatus, str]:
        together = [entry.cases] if entry.by_conditions else [(pattern,) for pattern in entry.cases]
        stale = [
            text
            for patterns in together
            if all(complete[pattern] for pattern in patterns)
            for text in self._unobserved(number, entry, patterns)
        ]
        if number in self._expired or (entry.expired(self.today) and stale):
            return KnownStatus.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        if stale:
            return (
                KnownStatus.STALE,
                f"{', '.join(stale)} no longer diverges in these kinds; remove it from the defect, or bound the versions for which it is expected",
            )
        if any(observed == number for observed, _, _ in self._observed):
            return KnownStatus.EXPECTED, ""
        return KnownStatus.NOT_EXECUTED, "none of its cases was compared"

    def _unobserved(self, number: int, entry: ExpectedDivergence, patterns: Sequence[str]) -> list[str]:
        """The patterns, or the variants of them, that were compared and did not show the entry's kinds."""
        compared: set[Variant] = set()
        for pattern in patterns:
            matching = (
                [each for each in self._compared if fnmatchcase(each, pattern)] if is_glob(pattern) else [pattern]
            )
            compared.update(*(self._compared.get(case, ()) for case in matching))
        observed = {variant for other, pattern, variant in self._observed if other == number and pattern in patterns}
        named = "what meets its conditions" if entry.by_conditions else patterns[0]
        if entry.variants is None:
            return [named] if compared and not observed else []
        return [f"{named} ({variant.name})" for variant in sorted((entry.variants & compared) - observed)]


def _worst(statuses: Sequence[tuple[KnownStatus, str]]) -> tuple[KnownStatus, str]:
    """The status of a defect from those of its entries: what must be reviewed first."""
    order = (KnownStatus.EXPIRED, KnownStatus.STALE, KnownStatus.EXPECTED, KnownStatus.NOT_EXECUTED)
    worst = min((status for status, _ in statuses), key=order.index)
    return worst, "; ".join(dict.fromkeys(why for status, why in statuses if status is worst and why))
