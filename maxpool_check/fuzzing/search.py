"""Runs drawn cases on one target and keeps those that show something new, made small."""

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
from maxpool_check.running.case_run import CaseRun, run_case
from maxpool_check.running.decisions import covers
from maxpool_check.running.executors import DEATHS_IN_A_ROW
from maxpool_check.running.shrinking import shrink, tries
from maxpool_check.targets.session import TargetSession

Signature = tuple[Variant, frozenset[DivergenceKind]]
"""A variant, and exactly the kinds that it shows."""


class GivenUp(RuntimeError):
    """A target that died or failed too often in a row."""


@dataclass(frozen=True, eq=False)
class Discovery:
    """Kinds that a target was not known to show, with a small case that shows them."""

    target: str
    variant: Variant
    kinds: tuple[DivergenceKind, ...]
    case: Case

    @property
    def name(self) -> str:
        """The name of the case."""
        return f"{'+'.join(kind.value for kind in self.kinds)}-{self.variant.name}"

    @property
    def signature(self) -> Signature:
        """The key that decides whether it is new."""
        return self.variant, frozenset(self.kinds)


@dataclass
class SearchCounts:
    """How many cases ran on a target, and how many of them were compared and diverged."""

    cases: int = 0
    compared: int = 0
    diverged: int = 0

    def add(self, other: SearchCounts) -> None:
        """Add the counts of another search."""
        self.cases += other.cases
        self.compared += other.compared
        self.diverged += other.diverged


@dataclass
class Search:
    """A search on one target; ``known`` are the signatures that are not new."""

    session: TargetSession
    known: set[Signature]
    counts: SearchCounts = field(default_factory=SearchCounts)
    _deaths: int = field(default=0, init=False)

    def add_known(self, cases: Iterable[Case]) -> None:
        """Run cases of earlier searches: what they show is not new."""
        for case in cases:
            case_run = run_case(self.session, case)
            self.known |= {(variant, frozenset(case_run.judgements[variant].kinds)) for variant in case_run.diverging}

    def run(self, case: Case) -> list[Discovery]:
        """Run a case; what it shows for the first time. Raises :class:`GivenUp`."""
        case_run = run_case(self.session, case)
        self.counts.cases += 1
        self.counts.compared += any(each.verdict in COMPARED for each in case_run.judgements.values())
        self.counts.diverged += bool(case_run.diverging)
        self._count_deaths(case_run)
        discoveries = []
        for variant in case_run.diverging:
            kinds = case_run.judgements[variant].kinds
            if (variant, frozenset(kinds)) not in self.known:
                self.known.add((variant, frozenset(kinds)))
                small = shrunk(self.session, case_run, variant)
                discoveries.append(Discovery(case_run.target, variant, kinds, small))
        return discoveries

    def _count_deaths(self, case_run: CaseRun) -> None:
        for variant_result in case_run.results.values():
            outcome = variant_result.outcome
            self._deaths = self._deaths + 1 if isinstance(outcome, (Crashed, TimedOut, Failed)) else 0
            if self._deaths >= DEATHS_IN_A_ROW:
                last = outcome.why if isinstance(outcome, Failed) else "it died or returned nothing in time"
                raise GivenUp(f"{case_run.target} was given up after {self._deaths} in a row: {last}")


def known_signatures(session: TargetSession, known: Sequence[KnownDivergence]) -> set[Signature]:
    """What the known divergences that cover a target expect of any case, by variant."""
    return {
        (variant, frozenset(kind for kind in entry.kinds if shows(variant, kind)))
        for entry in known
        if covers(entry, session.profile.description) and not entry.expired(date.today())
        for variant in (ALL_VARIANTS if entry.variants is None else entry.variants)
    }


def shrunk(session: TargetSession, case_run: CaseRun, variant: Variant) -> Case:
    """A smaller case that shows the same fault in a variant."""
    signature = case_run.signature(variant)

    def keeps(case: Case) -> bool:
        return run_case(session, case).signature(variant) == signature

    return shrink(case_run.case, keeps, tries(case_run, variant))
