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
from maxpool_check.question import Question

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
    """One reviewed entry: these cases, on these targets, diverge in exactly these kinds.

    ``questions`` names the ways of asking that it is about, each of which must show it; None: any of them may.
    """

    id: str
    when: When
    cases: tuple[str, ...]
    kinds: frozenset[Kind]
    reason: str
    issue: str | None = None
    expires: date | None = None
    questions: frozenset[Question] | None = None

    def expired(self, today: date) -> bool:
        """Whether its date has passed."""
        return self.expires is not None and today > self.expires

    def binds(self, case: str) -> bool:
        """Whether it is about a case, by its full id."""
        return any(fnmatchcase(case, pattern) for pattern in self.cases)

    def expects(self, case: str, question: Question, kinds: Iterable[Kind]) -> bool:
        """Whether these are exactly its kinds, as far as the question can show them."""
        asked = self.questions is None or question in self.questions
        return asked and self.binds(case) and frozenset(kinds) == {kind for kind in self.kinds if shows(question, kind)}


def shows(question: Question, kind: Kind) -> bool:
    """Whether a kind can come of a question at all: Y alone has no Indices, and only it is held to the other Y."""
    if question is Question.Y_ONLY:
        return not kind.value.startswith("indices-")
    return kind is not Kind.Y_DEPENDS_ON_INDICES


@dataclass
class Ledger:
    """The entries that are about one target, and what a run saw of them."""

    entries: Sequence[KnownDivergence]
    today: date
    _seen: set[tuple[str, str, Question]] = field(default_factory=set)
    _needed: set[str] = field(default_factory=set)

    def known(self, case: str, question: Question, kinds: Iterable[Kind]) -> KnownDivergence | None:
        """The entry that expects exactly these kinds of an execution; remembers that it was seen."""
        found = frozenset(kinds)
        for entry in self.entries:
            if not entry.expects(case, question, found):
                continue
            if entry.expired(self.today):
                self._needed.add(entry.id)
                continue
            self._seen.update((entry.id, pattern, question) for pattern in entry.cases if fnmatchcase(case, pattern))
            return entry
        return None

    def others(self, case: str) -> list[KnownDivergence]:
        """The entries about this case, whatever their kinds: it was known to diverge otherwise."""
        return [entry for entry in self.entries if entry.binds(case)]

    def audit(self, asked: Mapping[str, bool]) -> dict[str, tuple[Status, str]]:
        """How each entry fared, with a word on why. ``asked`` tells for each pattern whether all its cases were run."""
        return {entry.id: self._status(entry, asked) for entry in self.entries}

    def _status(self, entry: KnownDivergence, asked: Mapping[str, bool]) -> tuple[Status, str]:
        if entry.id in self._needed or (entry.expired(self.today) and any(asked[p] for p in entry.cases)):
            return Status.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        stale = [words for pattern in entry.cases if asked[pattern] for words in self._unseen(entry, pattern)]
        if stale:
            return Status.REPAIRED, f"{', '.join(stale)} no longer diverges so; remove it from the entry"
        seen = any(name == entry.id for name, _, _ in self._seen)
        return (Status.EXPECTED, "") if seen else (Status.NOT_ASKED, "none of its cases was run")

    def _unseen(self, entry: KnownDivergence, pattern: str) -> list[str]:
        seen = {question for name, one, question in self._seen if (name, one) == (entry.id, pattern)}
        if entry.questions is None:
            return [] if seen else [pattern]
        return [f"{pattern} ({question.value})" for question in sorted(entry.questions - seen)]
