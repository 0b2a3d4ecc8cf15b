"""Searches from many seeds, in the processes of a pool: each is a search of its own, and starts its targets for itself.

What a search finds depends on its seed and on what was known before any of them; what of it is new, on the order of the
seeds. Neither depends on how many processes there are, or on which is done first.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from maxpool_check.corpus.case import Case
from maxpool_check.fuzzing.generation import generate
from maxpool_check.fuzzing.search import Finding, GivenUp, Search, Shown, Tally
from maxpool_check.judging.known import KnownDivergence
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.elsewhere import check_same_targets
from maxpool_check.running.executors import kept
from maxpool_check.running.inquiry import Inquirer, Inquiry
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.target import Target


@dataclass(frozen=True)
class Plan:
    """What is searched from every seed: whom to ask, and what to draw. ``most`` cases, for so many ``seconds`` at most."""

    targets: tuple[TargetName, ...]
    timeout: float
    spec: str
    invalid: bool
    most: int
    seconds: float | None

    def drawn(self, seed: int) -> Iterator[Case]:
        """The cases of a seed. Their time begins with the first."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        for case in itertools.islice(generate(self.spec, seed, invalid=self.invalid), self.most):
            if deadline is not None and time.monotonic() >= deadline:
                return
            yield case

    def how(self, seed: int, number: int) -> str:
        """How the case of this number is drawn again, from 1."""
        return f"--spec {self.spec}{' --invalid' if self.invalid else ''} --seed {seed}, case {number}"


@dataclass(frozen=True)
class Prior:
    """A target before anything is drawn: what it says of itself, and what it is known to show."""

    description: TargetDescription
    explained: frozenset[Shown]


@dataclass(frozen=True)
class Searched:
    """What the search from one seed came to, by target and by case.

    A finding comes with the number of the case that was drawn. ``error`` is why a target ended it early, if one did;
    ``whole`` is false where it was stopped.
    """

    seed: int
    tallies: tuple[Tally, ...]
    found: tuple[tuple[int, Finding], ...]
    error: str | None
    whole: bool


class News:
    """What is new of searches that are taken in the order of their seeds."""

    def __init__(self, priors: Sequence[Prior]) -> None:
        self._explained = {prior.description.name: set(prior.explained) for prior in priors}

    def of(self, searched: Searched) -> Iterator[tuple[int, Finding]]:
        """Its findings that none before it has."""
        for number, finding in searched.found:
            explained = self._explained[finding.target]
            if finding.shown not in explained:
                explained.add(finding.shown)
                yield number, finding


def prepare(run: str, plan: Plan, known: Sequence[KnownDivergence], earlier: Sequence[Case]) -> list[Prior]:
    """What is known of every target. Raises ``CannotStart``."""
    return kept(run, lambda: _Searcher(plan)).priors(known, earlier)


def search(run: str, plan: Plan, priors: Sequence[Prior], seed: int) -> Searched:
    """Search from a seed. Raises ``Lost`` where the targets are not those that were prepared."""
    return kept(run, lambda: _Searcher(plan)).search(priors, seed)


class _Ended(Exception):
    """Nothing more is wanted."""


class _Inquirer(Inquirer):
    """Asks until all is over, which any thread may say."""

    def __init__(self, target: Target, over: threading.Event) -> None:
        super().__init__(target)
        self._over = over

    def ask(self, case: Case, wanted: Collection[Variant] = DEFAULT_VARIANTS) -> Inquiry:
        self._go_on()
        try:
            return super().ask(case, wanted)
        finally:
            # Whatever became of it, it may be the end's doing.
            self._go_on()

    def _go_on(self) -> None:
        if self._over.is_set():
            raise _Ended


class _Searcher:
    """Searches in one thread of a process. A target is not kept from one seed to the next: it may remember the one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._over = threading.Event()
        self._inquirers: list[_Inquirer] = []

    def priors(self, known: Sequence[KnownDivergence], earlier: Sequence[Case]) -> list[Prior]:
        with self._asking() as inquirers:
            searches = [Search.of(inquirer, known) for inquirer in inquirers]
            for one in searches:
                one.explain(earlier)
        return [Prior(one.inquirer.target.description, frozenset(one.explained)) for one in searches]

    def search(self, priors: Sequence[Prior], seed: int) -> Searched:
        searches: list[Search] = []
        found: list[tuple[int, Finding]] = []
        error, whole = None, True
        try:
            with self._asking() as inquirers:
                check_same_targets(
                    [one.target.description for one in inquirers], [prior.description for prior in priors]
                )
                searches += [
                    Search(inquirer, set(prior.explained)) for inquirer, prior in zip(inquirers, priors, strict=True)
                ]
                for number, case in enumerate(self._plan.drawn(seed), 1):
                    for one in searches:
                        # Without what has been worked out of a case: who takes it can do that.
                        found += [(number, replace(new, case=replace(new.case))) for new in one.take(case)]
        except (CannotStart, GivenUp) as gone:
            error = str(gone)
        except _Ended:
            whole = False
        return Searched(seed, tuple(one.tally for one in searches), tuple(found), error, whole)

    def end(self) -> None:
        self._over.set()
        for inquirer in list(self._inquirers):
            inquirer.end()

    def close(self) -> None:
        self.end()

    @contextlib.contextmanager
    def _asking(self) -> Iterator[list[_Inquirer]]:
        """The targets, started anew."""
        self._inquirers = []
        with contextlib.ExitStack() as stack:
            for name in self._plan.targets:
                inquirer = _Inquirer(Target(name, self._plan.timeout), self._over)
                self._inquirers.append(stack.enter_context(contextlib.closing(inquirer)))
            yield self._inquirers
