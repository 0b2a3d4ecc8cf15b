"""Known divergences: what has been seen, reviewed and given a reason; executed, never excused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from fnmatch import fnmatchcase

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kinds import Kind

DEFAULT_PROVIDER = "CPUExecutionProvider"


class Status(str, Enum):
    """How an entry fared in a run."""

    EXPECTED = "expected"
    """It was seen, exactly as written."""
    REPAIRED = "repaired"
    """It no longer occurs and must be removed."""
    EXPIRED = "expired"
    """Its date has passed; it excuses nothing any more."""
    NOT_ASKED = "not-asked"
    """It is about another target, or not all of its cases were run."""


@dataclass(frozen=True)
class When:
    """Which targets an entry is about: a distribution, its versions, a provider (None: the CPU's)."""

    distribution: str
    versions: SpecifierSet
    provider: str | None

    @classmethod
    def parse(cls, text: str) -> When:
        """``onnxruntime < 1.29``, ``onnxruntime >=1.21,<1.29 @Provider``; ``ValueError`` for anything else."""
        requirement, _, provider = text.partition("@")
        try:
            parsed = Requirement(requirement.strip())
        except InvalidRequirement as error:
            raise ValueError(
                f"expected a distribution and versions, as 'onnxruntime < 1.29', found '{text}'"
            ) from error
        if parsed.extras or parsed.marker or parsed.url or not (provider.strip() or "x").isalnum():
            raise ValueError(f"expected a distribution, versions and at most one provider, found '{text}'")
        return cls(parsed.name, parsed.specifier, provider.strip() or None)

    def covers(self, distribution: str, version: str, provider: str) -> bool:
        """Whether a target is meant."""
        if distribution != self.distribution or provider != (self.provider or DEFAULT_PROVIDER):
            return False
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return not self.versions


@dataclass(frozen=True)
class KnownDivergence:
    """One reviewed entry: these cases, on these targets, diverge in exactly these kinds."""

    id: str
    when: When
    cases: tuple[str, ...]
    kinds: frozenset[Kind]
    reason: str
    issue: str | None = None
    expires: date | None = None

    def expired(self, today: date) -> bool:
        """Whether its date has passed."""
        return self.expires is not None and today > self.expires

    def binds(self, case: str) -> bool:
        """Whether it is about a case, by its full id."""
        return any(fnmatchcase(case, pattern) for pattern in self.cases)


@dataclass
class Ledger:
    """The entries that are about one target, and what a run saw of them."""

    entries: Sequence[KnownDivergence]
    today: date
    _seen: dict[str, set[str]] = field(default_factory=dict)
    _needed: set[str] = field(default_factory=set)

    def known(self, case: str, kinds: Iterable[Kind]) -> KnownDivergence | None:
        """The entry that expects exactly these kinds of a case, those of all its questions; remembers that it was seen."""
        found = frozenset(kinds)
        for entry in self.entries:
            if entry.kinds == found and entry.binds(case):
                if entry.expired(self.today):
                    self._needed.add(entry.id)
                    continue
                self._seen.setdefault(entry.id, set()).update(p for p in entry.cases if fnmatchcase(case, p))
                return entry
        return None

    def others(self, case: str) -> list[KnownDivergence]:
        """The entries about this case, whatever their kinds: it was known to diverge otherwise."""
        return [entry for entry in self.entries if entry.binds(case)]

    def audit(self, asked: Mapping[str, bool]) -> dict[str, tuple[Status, str]]:
        """How each entry fared, with a word on why. ``asked`` tells for each pattern whether all its cases were run."""
        return {entry.id: self._status(entry, asked) for entry in self.entries}

    def _status(self, entry: KnownDivergence, asked: Mapping[str, bool]) -> tuple[Status, str]:
        seen = self._seen.get(entry.id, set())
        if entry.id in self._needed or (entry.expired(self.today) and any(asked[p] for p in entry.cases)):
            return Status.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        stale = [pattern for pattern in entry.cases if asked[pattern] and pattern not in seen]
        if stale:
            return Status.REPAIRED, f"{', '.join(stale)} no longer diverges so; remove it from the entry"
        return (Status.EXPECTED, "") if seen else (Status.NOT_ASKED, "none of its cases was run")
