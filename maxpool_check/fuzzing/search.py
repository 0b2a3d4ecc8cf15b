"""Asks drawn cases and keeps those that show something new, made small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from maxpool_check.corpus.case import Case
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence, shows
from maxpool_check.results.outcomes import Crashed, Failed, TimedOut
from maxpool_check.results.record import COMPARED
from maxpool_check.results.variants import ALL_VARIANTS, Variant
from maxpool_check.running.asker import DEATHS_IN_A_ROW
from maxpool_check.running.inquiry import Inquirer, Inquiry
from maxpool_check.running.runner import covers
from maxpool_check.running.shrinking import shrink, tries

Shown = tuple[Variant, frozenset[DivergenceKind]]
"""A variant, and exactly the kinds that it shows."""


class GivenUp(RuntimeError):
    """A target that died too often in a row, or could not be asked."""


@dataclass(frozen=True, eq=False)
class Finding:
    """Kinds that a target was not seen to show: the smallest case of them that was found."""

    target: str
    variant: Variant
    kinds: tuple[DivergenceKind, ...]
    case: Case

    @property
    def name(self) -> str:
        """What the case is called."""
        return f"{'+'.join(kind.value for kind in self.kinds)}-{self.variant.name}"

    @property
    def shown(self) -> Shown:
        """What makes it new, or not."""
        return self.variant, frozenset(self.kinds)


@dataclass
class Tally:
    """The cases that a target was asked, those of them that were compared, and that diverge."""

    asked: int = 0
    compared: int = 0
    diverged: int = 0

    def add(self, other: Tally) -> None:
        """Add those of another search."""
        self.asked += other.asked
        self.compared += other.compared
        self.diverged += other.diverged


@dataclass
class Search:
    """One target, and what is known of it."""

    inquirer: Inquirer
    explained: set[Shown]
    tally: Tally = field(default_factory=Tally)
    _deaths: int = field(default=0, init=False)

    @classmethod
    def of(cls, inquirer: Inquirer, known: Iterable[KnownDivergence]) -> Search:
        """A search that takes as known what an entry that covers the target has the same kinds for."""
        entries = [one for one in known if covers(one, inquirer.target.description) and not one.expired(date.today())]
        explained = {
            (variant, frozenset(kind for kind in entry.kinds if shows(variant, kind)))
            for entry in entries
            for variant in (ALL_VARIANTS if entry.variants is None else entry.variants)
        }
        return cls(inquirer, explained)

    def explain(self, cases: Sequence[Case]) -> None:
        """Ask cases that were found before: what they show is not new."""
        for case in cases:
            inquiry = self.inquirer.ask(case)
            self.explained |= {(one, frozenset(inquiry.judgements[one].kinds)) for one in inquiry.diverging}

    def take(self, case: Case) -> list[Finding]:
        """Ask a case; what it shows for the first time. Raises :class:`GivenUp`."""
        inquiry = self.inquirer.ask(case)
        self.tally.asked += 1
        self.tally.compared += any(one.verdict in COMPARED for one in inquiry.judgements.values())
        self.tally.diverged += bool(inquiry.diverging)
        self._survived(inquiry)
        found = []
        for variant in inquiry.diverging:
            kinds = inquiry.judgements[variant].kinds
            if (variant, frozenset(kinds)) not in self.explained:
                self.explained.add((variant, frozenset(kinds)))
                found.append(Finding(str(self.inquirer.target.name), variant, kinds, self._small(inquiry, variant)))
        return found

    def _small(self, inquiry: Inquiry, variant: Variant) -> Case:
        wanted = inquiry.shows(variant)
        return shrink(
            inquiry.case,
            lambda one: self.inquirer.ask(one).shows(variant) == wanted,
            tries(inquiry, variant),
        )

    def _survived(self, inquiry: Inquiry) -> None:
        for outcome in inquiry.outcomes.values():
            died = isinstance(outcome, (Crashed, TimedOut, Failed))
            self._deaths = self._deaths + 1 if died else 0
            if self._deaths >= DEATHS_IN_A_ROW:
                last = outcome.why if isinstance(outcome, Failed) else "it died or did not answer"
                raise GivenUp(f"{self.inquirer.target.name} was given up after {self._deaths} in a row: {last}")
