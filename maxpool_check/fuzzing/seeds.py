"""Searches from many seeds. Each is separate, with targets started for it.

The discoveries of a search depend on its seed and on what was known before all searches; which of them are new depends on
the order of the seeds. Neither depends on the number of processes, or on which seed is done first.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from maxpool_check.corpus.case import Case
from maxpool_check.fuzzing.generation import generate
from maxpool_check.fuzzing.search import Discovery, GivenUp, Search, SearchCounts, Signature, known_signatures
from maxpool_check.judging.known import KnownDivergence
from maxpool_check.results.record import TargetDescription
from maxpool_check.running.pool import resource
from maxpool_check.running.remote import check_same_targets
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target


@dataclass(frozen=True)
class FuzzPlan:
    """What every seed searches: the targets, and at most ``cases`` of a document, for at most ``seconds``."""

    targets: tuple[TargetName, ...]
    timeout: float
    spec: str
    invalid: bool
    cases: int
    seconds: float | None

    def draw(self, seed: int) -> Iterator[Case]:
        """The cases of a seed. The time begins with the first."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        for case in itertools.islice(generate(self.spec, seed, invalid=self.invalid), self.cases):
            if deadline is not None and time.monotonic() >= deadline:
                return
            yield case

    def origin(self, seed: int, number: int) -> str:
        """The options that draw the case of this number again, counted from 1."""
        return f"--spec {self.spec}{' --invalid' if self.invalid else ''} --seed {seed}, case {number}"


@dataclass(frozen=True)
class Baseline:
    """A target before the search: its description, and the divergences that it is known to show."""

    description: TargetDescription
    known: frozenset[Signature]


@dataclass
class SeedResult:
    """The result of the search from a seed: counts by target, and discoveries with the number of the drawn case.

    ``error`` is why a target ended it early, if one did; ``complete`` is false if the search was stopped.
    """

    seed: int
    counts: list[SearchCounts] = field(default_factory=list)
    discoveries: list[tuple[int, Discovery]] = field(default_factory=list)
    error: str | None = None
    complete: bool = False


class Searcher:
    """Searches in one thread. Targets are started for each seed, since they may keep state."""

    def __init__(self, plan: FuzzPlan) -> None:
        self._plan = plan
        self._ended = threading.Event()
        self._sessions: list[TargetSession] = []

    def baselines(self, known: Sequence[KnownDivergence], earlier: Sequence[Case]) -> list[Baseline]:
        """The baselines of all targets; ``earlier`` cases are run for them. Raises ``CannotStart``."""
        with self._started() as sessions:
            searches = [Search(session, known_signatures(session, known)) for session in sessions]
            for search in searches:
                search.add_known(earlier)
        return [Baseline(search.session.profile.description, frozenset(search.known)) for search in searches]

    def search(
        self,
        baselines: Sequence[Baseline],
        result: SeedResult,
        report: Callable[[int, Sequence[Discovery]], None] = lambda *_: None,
    ) -> None:
        """Search from a seed and fill in the result; ``report`` gets the number and the discoveries of each drawn case.

        Raises ``PoolLost`` where the targets are not those of the baselines.
        """
        try:
            with self._started() as sessions:
                descriptions = [session.profile.description for session in sessions]
                check_same_targets(descriptions, [baseline.description for baseline in baselines])
                pairs = zip(sessions, baselines, strict=True)
                searches = [Search(session, set(baseline.known)) for session, baseline in pairs]
                result.counts += [search.counts for search in searches]
                for number, case in enumerate(self._plan.draw(result.seed), 1):
                    discoveries = [discovery for search in searches for discovery in search.run(case)]
                    result.discoveries += [(number, discovery) for discovery in discoveries]
                    report(number, discoveries)
                result.complete = True
        except (CannotStart, GivenUp) as error:
            if not self._ended.is_set():
                result.error, result.complete = str(error), True

    def end(self) -> None:
        """End the search that is under way. From any thread."""
        self._ended.set()
        for session in list(self._sessions):
            session.end()

    close = end

    @contextlib.contextmanager
    def _started(self) -> Iterator[list[TargetSession]]:
        """The targets, started. Raises ``CannotStart``."""
        self._sessions = []
        with contextlib.ExitStack() as stack:
            for name in self._plan.targets:
                session = stack.enter_context(TargetSession(Target(name, self._plan.timeout)))
                self._sessions.append(session)
                if self._ended.is_set():
                    session.end()
                _ = session.profile
            yield self._sessions


def remote_baselines(
    run: str, plan: FuzzPlan, known: Sequence[KnownDivergence], earlier: Sequence[Case]
) -> list[Baseline]:
    """The baselines of all targets, in a process of a pool. Raises ``CannotStart``."""
    return resource(run, lambda: Searcher(plan)).baselines(known, earlier)


def remote_search(run: str, plan: FuzzPlan, baselines: Sequence[Baseline], seed: int) -> SeedResult:
    """The result of a seed, in a process of a pool. Raises ``PoolLost``."""
    result = SeedResult(seed)
    resource(run, lambda: Searcher(plan)).search(baselines, result)
    return result
