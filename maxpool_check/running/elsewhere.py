"""The same asking in other processes, here or on other machines: chunks of cases given to an executor.

Each process that is given a chunk starts the targets for itself, once. The chunks come back in the order of the cases, and
a bounded number of them is under way. A chunk whose process died is given to another where the executor does that; what
the first had found of it is nowhere yet.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from maxpool_check.corpus.case import Case
from maxpool_check.results.record import TargetDescription
from maxpool_check.running.asker import Answer, Asker, Order
from maxpool_check.running.executors import Lost, Pool, kept, processes

CHUNK = 25
"""Cases that are sent together."""


class Elsewhere:
    """Asks as an :class:`Asker` does, in the processes of a pool."""

    def __init__(self, order: Order, pool: Pool) -> None:
        """Raises :class:`Lost`."""
        self._order, self._pool = order, pool
        self.descriptions, self.errors = next(pool.results(describe, [(pool.run, order)]))

    def answers(self, cases: Iterable[Case], given_up: Callable[[], Collection[str]]) -> Iterator[Mapping[str, Answer]]:
        """By target, case by case in their order. What is ``given_up`` when a chunk is sent is not asked in it.

        Raises :class:`Lost`.
        """
        # Without what has been worked out of a case: that is the other process's to do.
        left = (replace(case) for case in cases)
        chunks = iter(lambda: list(islice(left, CHUNK)), [])
        calls = ((self._pool.run, self._order, self.descriptions, chunk, frozenset(given_up())) for chunk in chunks)
        for answers in self._pool.results(ask, calls):
            yield from answers


@contextlib.contextmanager
def elsewhere(order: Order, jobs: int, scheduler: str | None) -> Iterator[Elsewhere]:
    """So many processes of this machine, or the workers of a cluster, by its scheduler's address. Raises :class:`Lost`."""
    with processes(jobs, scheduler) as pool:
        yield Elsewhere(order, pool)


def describe(run: str, order: Order) -> tuple[list[TargetDescription], list[str]]:
    """What the targets say of themselves where this is called, and which cannot be started."""
    asker = kept(run, lambda: Asker(order))
    return asker.descriptions, asker.errors


def ask(
    run: str, order: Order, expected: Sequence[TargetDescription], cases: Sequence[Case], given_up: Collection[str]
) -> list[Mapping[str, Answer]]:
    """The answers to a chunk. Raises :class:`Lost` where the targets are not those that were described."""
    asker = kept(run, lambda: Asker(order))
    if len(asker.descriptions) != len(expected):
        raise Lost(f"on {platform.node()} not the same targets can be started: {'; '.join(asker.errors)}")
    check_same_targets(asker.descriptions, expected)
    return list(asker.answers(cases, lambda: given_up))


def check_same_targets(described: Sequence[TargetDescription], expected: Sequence[TargetDescription]) -> None:
    """Refuse targets that are not those that were described where the run began. Raises :class:`Lost`."""
    for found, wanted in zip(described, expected, strict=True):
        if found != wanted:
            raise Lost(f"on {platform.node()} the targets are others: {found}, not {wanted}")
