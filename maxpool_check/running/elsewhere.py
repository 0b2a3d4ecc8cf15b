"""The same asking in other processes, here or on other machines: chunks of cases given to an executor.

Each process that is given a chunk starts the targets for itself, once. The chunks come back in the order of the cases; a
bounded number of them is under way.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import uuid
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing import active_children, get_context
from types import FrameType

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.running.asker import Answer, Asker, Order
from maxpool_check.targets.description import Description

CHUNK = 25
"""Cases that are sent together: little is lost with them, and the way there costs little for each."""

_AHEAD = 2
"""Chunks under way for each process, so that none waits for the next."""

Answers = Mapping[str, Answer]


class Lost(RuntimeError):
    """The processes that were to ask are gone, or cannot be reached, or are not what they should be."""


@dataclass(frozen=True)
class Ticket:
    """A run, as other processes know it: what they ask, and what they must be to be asked for it."""

    order: Order
    tool: str = maxpool_check.__version__
    run: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class Found:
    """What a process found when it started the targets."""

    targets: tuple[Description, ...]
    errors: tuple[str, ...]


class Elsewhere:
    """Asks by an executor; as :class:`Asker`, in more than one process."""

    def __init__(self, order: Order, executor: Executor, processes: int) -> None:
        """``processes`` are how many chunks the executor works on at once. Raises :class:`Lost`."""
        self._ticket = Ticket(order)
        self._executor, self._processes = executor, processes
        found = _of(executor.submit(describe, self._ticket))
        self.descriptions, self.errors = found.targets, list(found.errors)

    def answers(
        self, cases: Iterable[Case], given_up: Callable[[], Collection[str]] = frozenset
    ) -> Iterator[Answers]:
        """By target, case by case in their order. A target that is given up by then is left out of later chunks."""
        waiting: deque[Future[list[Answers]]] = deque()
        try:
            for chunk in _chunks(cases):
                names = frozenset(given_up())
                waiting.append(self._executor.submit(ask, self._ticket, self.descriptions, chunk, names))
                if len(waiting) >= _AHEAD * self._processes:
                    yield from _of(waiting.popleft())
            while waiting:
                yield from _of(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()
