"""Known divergences: what has been seen, reviewed and given a reason; executed, never excused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import KnownStatus
from maxpool_check.results.variants import Variant

if TYPE_CHECKING:
    from maxpool_check.judging.target_selector import TargetSelector


@dataclass(frozen=True)
class KnownDivergence:
    """One reviewed entry: these cases, on these targets, diverge in exactly these kinds.

    ``variants`` names the ways of asking that it is about, each of which must show it; None: any of them may.
    """

    id: str
    when: TargetSelector
    cases: tuple[str, ...]
    kinds: frozenset[DivergenceKind]
    reason: str
    issue: str | None = None
    expires: date | None = None
    variants: frozenset[Variant] | None = None

    def expired(self, today: date) -> bool:
        """Whether its date has passed."""
        return self.expires is not None and today > self.expires

    def binds(self, case: str) -> bool:
        """Whether it is about a case, by its full id."""
        return bool(self.binding(case))

    def binding(self, case: str) -> list[str]:
        """The patterns of its that name a case."""
        exact = [case] if case in self._exact else []
        return exact + [pattern for pattern in self._globs if pattern != case and fnmatchcase(case, pattern)]

    @cached_property
    def _exact(self) -> frozenset[str]:
        return frozenset(self.cases)

    @cached_property
    def _globs(self) -> tuple[str, ...]:
        return tuple(pattern for pattern in self.cases if is_glob(pattern))

    def expects(self, case: str, variant: Variant, kinds: Iterable[DivergenceKind]) -> bool:
        """Whether these are exactly its kinds, as far as the variant can show them."""
        # What it says of a variant it says of its variations.
        asked = self.variants is None or bool({variant, variant.base} & self.variants)
        return asked and self.binds(case) and frozenset(kinds) == {kind for kind in self.kinds if shows(variant, kind)}


def is_glob(pattern: str) -> bool:
    """Whether a pattern can name other cases than the one with this id."""
    return bool(set("*?[") & set(pattern))


_OF_VARIATIONS = ("y-depends-on-", "indices-depend-on-", "unstable")


def shows(variant: Variant, kind: DivergenceKind) -> bool:
    """Whether a kind can come of a variant at all.

    Y alone has no Indices, only it is held to the other Y, and only a variation to the variant that it varies.
    """
    if kind is DivergenceKind.Y_DEPENDS_ON_INDICES:
        return variant.variation is None and "Indices" not in variant.outputs
    if kind.value.startswith(_OF_VARIATIONS):
        return variant.variation is not None and ("Indices" in variant.outputs or not kind.value.startswith("indices"))
    return "Indices" in variant.outputs or not kind.value.startswith("indices-")


@dataclass
class Ledger:
    """The entries that are about one target, and what a run saw of them."""

    entries: Sequence[KnownDivergence]
    today: date
    _asked: dict[str, set[Variant]] = field(default_factory=dict)
    _seen: set[tuple[str, str, Variant]] = field(default_factory=set)
    _needed: set[str] = field(default_factory=set)

    def compared(self, case: str, variant: Variant) -> None:
        """Remember that an execution was held to its document: only then can an entry be said not to occur."""
        if self.entries:
            self._asked.setdefault(case, set()).add(variant)

    def known(self, case: str, variant: Variant, kinds: Iterable[DivergenceKind]) -> KnownDivergence | None:
        """The first entry that expects exactly these kinds of an execution; remembers all that do."""
        found = frozenset(kinds)
        expecting = [entry for entry in self.entries if entry.expects(case, variant, found)]
        valid = [entry for entry in expecting if not entry.expired(self.today)]
        self._needed.update(entry.id for entry in expecting if entry.expired(self.today))
        self._seen.update((entry.id, pattern, variant) for entry in valid for pattern in entry.binding(case))
        return valid[0] if valid else None

    def others(self, case: str, variant: Variant) -> list[KnownDivergence]:
        """The entries about an execution, whatever their kinds: it was known to diverge otherwise."""
        return [
            entry
            for entry in self.entries
            if entry.binds(case)
            and (entry.variants is None or variant in entry.variants)
            and not entry.expired(self.today)
        ]

    def audit(self, whole: Mapping[str, bool]) -> list[tuple[KnownDivergence, KnownStatus, str]]:
        """How each entry fared, with a word on why. ``whole`` tells for each pattern whether all its cases were run."""
        return [(entry, *self._status(entry, whole)) for entry in self.entries]

    def _status(self, entry: KnownDivergence, whole: Mapping[str, bool]) -> tuple[KnownStatus, str]:
        stale = [words for pattern in entry.cases if whole[pattern] for words in self._unseen(entry, pattern)]
        if entry.id in self._needed or (entry.expired(self.today) and stale):
            return KnownStatus.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        if stale:
            return KnownStatus.STALE, f"{', '.join(stale)} no longer diverges so; remove it from the entry"
        seen = any(name == entry.id for name, _, _ in self._seen)
        return (KnownStatus.EXPECTED, "") if seen else (KnownStatus.NOT_EXECUTED, "none of its cases was compared")

    def _unseen(self, entry: KnownDivergence, pattern: str) -> list[str]:
        """The pattern, or the variants of it, that were compared and did not show the entry's kinds."""
        named = [case for case in self._asked if fnmatchcase(case, pattern)] if is_glob(pattern) else [pattern]
        asked = {variant for case in named for variant in self._asked.get(case, ())}
        seen = {variant for name, one, variant in self._seen if (name, one) == (entry.id, pattern)}
        if entry.variants is None:
            return [pattern] if asked and not seen else []
        return [f"{pattern} ({variant.name})" for variant in sorted((entry.variants & asked) - seen)]
