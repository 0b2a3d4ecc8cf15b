"""What known defects make of the executions on a target, and which of them no longer show."""

from collections.abc import Callable, Collection, Sequence
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

    ``architecture`` is that of its processor, empty if it is not known: an entry is stale only where it must show. An entry by
    conditions either has its cases, or :meth:`meets` says before the executions of a case that it meets them.
    """

    entries: Sequence[ExpectedDivergence]
    today: date
    version: str = ""
    architecture: str = ""
    count: Callable[[ExpectedDivergence], int] = lambda entry: len(entry.cases)
    """The number of cases of an entry."""
    # By the number of an entry and one of its patterns, the variants that were compared, and those that were as expected. Of an
    # entry by conditions, there is one for all its cases, of which there may be very many.
    _compared: dict[tuple[int, str], set[Variant]] = field(default_factory=dict)
    _observed: dict[tuple[int, str], set[Variant]] = field(default_factory=dict)
    _expired: set[int] = field(default_factory=set)
    _met: tuple[str, frozenset[int]] = "", frozenset()

    def meets(self, case: str, entries: Collection[ExpectedDivergence]) -> None:
        """A case meets the conditions of these entries."""
        numbers = (self._by_identity.get(id(each)) for each in entries)
        self._met = case, frozenset(number for number in numbers if number is not None)

    @cached_property
    def _by_identity(self) -> dict[int, int]:
        return {id(entry): number for number, entry in enumerate(self.entries)}

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
        met = self._met[1] if self._met[0] == case else frozenset()
        numbers = sorted({*self._numbers.get(case, ()), *self._numbers.get("", ()), *met})
        return [
            (number, self.entries[number]) for number in numbers if number in met or self.entries[number].binds(case)
        ]

    def compared(self, case: str, variant: Variant) -> None:
        """Remember that an execution was compared with its document: only then can an entry be stale."""
        for number, entry in self._about(case):
            for pattern in _patterns(entry, case):
                self._compared.setdefault((number, pattern), set()).add(variant)

    def known(self, execution: Execution) -> Explanation:
        """What explains an execution: entries that expect exactly its kinds, or several together; remembers all that do.

        Of several, one that says what the outputs are comes first, then the one with the most conditions, then that of the fewest cases.
        """
        case, variant, kinds = execution.case, variant_named(execution.variant), frozenset(execution.kinds)
        cells = wrong_cells(execution)
        whole, parts, left = [], [], cells
        for number, entry in self._about(case):
            shown = entry.shown(variant)
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
            for pattern in _patterns(entry, case):
                self._observed.setdefault((number, pattern), set()).add(variant)
        fitting = [entry for _, entry in whole or parts]
        if len({*map(_rank, fitting)}) < len(fitting):
            fitting.sort(key=self.count)
        fitting.sort(key=_rank)
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

    def audit(self, is_complete: Callable[[ExpectedDivergence, str], bool]) -> dict[str, tuple[KnownStatus, str]]:
        """The status of each defect, and why.

        ``is_complete`` says whether all cases of an entry ran that a pattern matches, or, where it is empty, that meet its conditions.
        """
        statuses: dict[str, list[tuple[KnownStatus, str]]] = {}
        for number, entry in enumerate(self.entries):
            statuses.setdefault(entry.defect, []).append(self._status(number, entry, is_complete))
        order = (KnownStatus.EXPIRED, KnownStatus.STALE, KnownStatus.EXPECTED, KnownStatus.NOT_EXECUTED)
        audited = {}
        for defect, each in statuses.items():
            # What must be reviewed first.
            worst = min((status for status, _ in each), key=order.index)
            audited[defect] = worst, "; ".join(dict.fromkeys(why for status, why in each if status is worst and why))
        return audited

    def _status(
        self, number: int, entry: ExpectedDivergence, is_complete: Callable[[ExpectedDivergence, str], bool]
    ) -> tuple[KnownStatus, str]:
        patterns = [""] if entry.by_conditions else entry.cases
        unobserved = {pattern: self._unobserved(number, entry, pattern) for pattern in patterns}
        # It may take long to find out.
        stale = ", ".join(
            text for pattern, texts in unobserved.items() if texts and is_complete(entry, pattern) for text in texts
        )
        if number in self._expired or (entry.expired(self.today) and stale):
            return KnownStatus.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        if stale and entry.must_show(self.architecture):
            remedy = "remove it from the defect, or bound the versions for which it is expected"
            return KnownStatus.STALE, f"{stale} no longer diverges in these kinds; {remedy}"
        if any((number, pattern) in self._observed for pattern in patterns):
            return KnownStatus.EXPECTED, ""
        why = "none of its cases was compared"
        return KnownStatus.NOT_EXECUTED, f"{stale} need not diverge on this processor in every run" if stale else why

    def _unobserved(self, number: int, entry: ExpectedDivergence, pattern: str) -> list[str]:
        """The pattern, or the variants of it, that were compared and did not show the entry's kinds."""
        compared, observed = (seen.get((number, pattern), set()) for seen in (self._compared, self._observed))
        named = pattern or "what meets its conditions"
        if entry.variants is None:
            return [named] if compared and not observed else []
        return [f"{named} ({variant.name})" for variant in sorted((entry.variants & compared) - observed)]


def _rank(entry: ExpectedDivergence) -> tuple[bool, int]:
    return not entry.predicts, -entry.narrowness


def _patterns(entry: ExpectedDivergence, case: str) -> list[str]:
    """Those of an entry's patterns that match one of its cases; an empty one for conditions."""
    return [""] if entry.by_conditions else entry.patterns(case)
