"""What known defects make of the executions on a target, and which of them no longer show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from maxpool_check.judging.defects import ExpectedDivergence, is_glob, wrong_cells
from maxpool_check.results.record import Execution, KnownStatus
from maxpool_check.results.variants import Variant, variant_named


@dataclass(frozen=True)
class Explanation:
    """What known defects make of an execution: ``expected`` if they explain all of it, of several what fits best.

    Otherwise ``parts`` explain some of its wrong cells, and ``kinds`` are those of what none of them explains.
    """

    expected: ExpectedDivergence | None = None
    parts: tuple[ExpectedDivergence, ...] = ()
    kinds: frozenset[str] = frozenset()


@dataclass
class Ledger:
    """The divergences that are expected of one target of a version, and what a run observed of them.

    ``architecture`` is that of its processor, empty if it is not known: an entry is stale only where it must show.
    """

    entries: Sequence[ExpectedDivergence]
    today: date
    version: str = ""
    architecture: str = ""
    # By the number of an entry and one of its patterns, the variants that were compared, and those that were as expected.
    _compared: dict[tuple[int, str], set[Variant]] = field(default_factory=dict)
    _observed: dict[tuple[int, str], set[Variant]] = field(default_factory=dict)
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
        """The entries about a case, with their numbers, in order."""
        # Most cases are those of no entry: to ask every entry takes a tenth of a run.
        numbers = sorted({*self._numbers.get(case, ()), *self._numbers.get("", ())})
        return [(number, self.entries[number]) for number in numbers if self.entries[number].binds(case)]

    def compared(self, case: str, variant: Variant) -> None:
        """Remember that an execution was compared with its document: only then can an entry be stale."""
        for number, entry in self._about(case):
            for pattern in entry.patterns(case):
                self._compared.setdefault((number, pattern), set()).add(variant)

    def known(self, execution: Execution) -> Explanation:
        """What explains an execution: entries that expect exactly its kinds, or several together; remembers all that do.

        Of several, one that says what the outputs are comes first, then the one with the most conditions, then that of the fewest cases.
        """
        case, variant, kinds = execution.case, variant_named(execution.variant), frozenset(execution.kinds)
        cells = wrong_cells(execution)
        whole, parts, left = [], [], cells
        for number, entry in self._about(case):
            shown = entry.shown(case, variant)
            shown = shown & kinds if entry.varies else shown
            if not shown or not shown <= kinds:
                continue
            unexplained = entry.leaves(execution, self.version)
            is_whole = shown == kinds and not unexplained
            if entry.expired(self.today):
                if is_whole:
                    self._expired.add(number)
            elif is_whole:
                whole.append((number, entry))
            elif unexplained < cells:
                parts.append((number, entry))
                left &= unexplained
        others = kinds - {kind for kind, _ in cells} - {kind.value for _, entry in parts for kind in entry.kinds}
        unexplained_kinds = frozenset(kind for kind, _ in left) | others
        for number, entry in whole or ([] if unexplained_kinds else parts):
            for pattern in entry.patterns(case):
                self._observed.setdefault((number, pattern), set()).add(variant)
        fitting = [entry for _, entry in whole or parts]
        fitting.sort(key=lambda entry: (not entry.predicts, -entry.narrowness, len(entry.cases)))
        is_known = bool(whole or (parts and not unexplained_kinds))
        return Explanation(fitting[0]) if is_known else Explanation(None, tuple(fitting), unexplained_kinds)

    def others(self, case: str, variant: Variant) -> list[ExpectedDivergence]:
        """The entries about an execution, whatever their kinds: those that expect another divergence."""
        return [
            entry
            for _, entry in self._about(case)
            if not entry.by_conditions
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
        order = (KnownStatus.EXPIRED, KnownStatus.STALE, KnownStatus.EXPECTED, KnownStatus.NOT_EXECUTED)
        audited = {}
        for defect, each in statuses.items():
            # What must be reviewed first.
            worst = min((status for status, _ in each), key=order.index)
            audited[defect] = worst, "; ".join(dict.fromkeys(why for status, why in each if status is worst and why))
        return audited

    def _status(self, number: int, entry: ExpectedDivergence, complete: Mapping[str, bool]) -> tuple[KnownStatus, str]:
        together = [entry.cases] if entry.by_conditions else [(pattern,) for pattern in entry.cases]
        finished = [patterns for patterns in together if all(complete[pattern] for pattern in patterns)]
        stale = ", ".join(text for patterns in finished for text in self._unobserved(number, entry, patterns))
        if number in self._expired or (entry.expired(self.today) and stale):
            return KnownStatus.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        if stale and entry.must_show(self.architecture):
            remedy = "remove it from the defect, or bound the versions for which it is expected"
            return KnownStatus.STALE, f"{stale} no longer diverges in these kinds; {remedy}"
        if any((number, pattern) in self._observed for pattern in entry.cases):
            return KnownStatus.EXPECTED, ""
        why = "none of its cases was compared"
        return KnownStatus.NOT_EXECUTED, f"{stale} need not diverge on this processor in every run" if stale else why

    def _unobserved(self, number: int, entry: ExpectedDivergence, patterns: Sequence[str]) -> list[str]:
        """The patterns, or the variants of them, that were compared and did not show the entry's kinds."""
        compared, observed = (
            set[Variant]().union(*(seen.get((number, pattern), ()) for pattern in patterns))
            for seen in (self._compared, self._observed)
        )
        named = "what meets its conditions" if entry.by_conditions else patterns[0]
        if entry.variants is None:
            return [named] if compared and not observed else []
        return [f"{named} ({variant.name})" for variant in sorted((entry.variants & compared) - observed)]
