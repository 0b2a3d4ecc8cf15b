"""The same asking in other processes, here or on other machines: chunks of cases given to an executor.

Each process that is given a chunk starts the targets for itself, once. The chunks come back in the order of the cases, and
a bounded number of them is under way. A chunk whose process died is given to another where the executor does that; what
the first had found of it is nowhere yet.
"""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import threading
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.running.asker import Answer, Asker, Order
from maxpool_check.targets.description import Description

CHUNK = 25
"""Cases that are sent together."""

_AHEAD = 2
"""Chunks under way for each process, so that none waits for the next."""

_REACHED_SECONDS = 10
"""How long a scheduler may take to answer."""

_T = TypeVar("_T")


class Lost(RuntimeError):
    """The processes that were to ask cannot be had, are gone, or are not what they should be."""


@dataclass(frozen=True)
class Ticket:
    """One run, as the processes know it that ask for it."""

    order: Order
    tool: str = maxpool_check.__version__
    run: str = field(default_factory=lambda: uuid.uuid4().hex)


class Elsewhere:
    """Asks as an :class:`Asker` does, in the processes of an executor."""

    def __init__(self, ticket: Ticket, executor: Executor, processes: int, lost: tuple[type[Exception], ...]) -> None:
        """``processes`` says how many chunks the executor works on at once; ``lost``, how it says that it is gone.

        Raises :class:`Lost`.
        """
        self._ticket, self._executor, self._processes, self._lost = ticket, executor, processes, lost
        self.descriptions, self.errors = self._result(self._submitted(describe, ticket))

    def answers(self, cases: Iterable[Case], given_up: Callable[[], Collection[str]]) -> Iterator[Mapping[str, Answer]]:
        """By target, case by case in their order. What is ``given_up`` when a chunk is sent is not asked in it.

        Raises :class:`Lost`.
        """
        waiting: deque[Future[list[Mapping[str, Answer]]]] = deque()
        left = iter(cases)
        try:
            # Without what has been worked out of a case: that is the other process's to do.
            while chunk := [replace(case) for case in islice(left, CHUNK)]:
                names = frozenset(given_up())
                waiting.append(self._submitted(ask, self._ticket, self.descriptions, chunk, names))
                if len(waiting) >= _AHEAD * self._processes:
                    yield from self._result(waiting.popleft())
            while waiting:
                yield from self._result(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()

    def _submitted(self, function: Callable[..., _T], *arguments: object) -> Future[_T]:
        with self._needed():
            return self._executor.submit(function, *arguments)

    def _result(self, future: Future[_T]) -> _T:
        with self._needed():
            return future.result()

    @contextlib.contextmanager
    def _needed(self) -> Iterator[None]:
        """The processes are: where they turn out to be gone, nothing more can come."""
        try:
            yield
        except self._lost as error:
            why = str(error) or type(error).__name__
            raise Lost(f"the processes that ask are gone: {why}") from error


@contextlib.contextmanager
def on_this_machine(order: Order, processes: int) -> Iterator[Elsewhere]:
    """So many processes of this machine. Raises :class:`Lost`."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    others = active_children()
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin) as executor:
        try:
            yield Elsewhere(Ticket(order), executor, processes, (BrokenExecutor,))
        finally:
            # Nothing is waited for: what they are doing is wanted no more.
            for process in active_children():
                if process not in others:
                    process.terminate()


@contextlib.contextmanager
def on_a_cluster(order: Order, scheduler: str) -> Iterator[Elsewhere]:
    """The workers of a dask cluster, by the address of its scheduler. Raises :class:`Lost`."""
    try:
        from distributed import CancelledError, Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError as error:
        raise Lost("--dask needs dask, which is not installed: pip install 'maxpool-check[dask]'") from error
    if not scheduler.rpartition(":")[2].isdigit():
        raise Lost(f"'{scheduler}' is not the address of a dask scheduler, as tcp://HOST:8786")
    try:
        client = Client(scheduler, timeout=_REACHED_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise Lost(f"the dask scheduler {scheduler} cannot be reached: {error}") from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise Lost(f"the dask scheduler {scheduler} has no workers; start one with: dask worker {scheduler}")
        ticket = Ticket(order)
        # Each chunk is a task of its own, whatever is in it.
        executor = client.get_executor(pure=False)
        try:
            yield Elsewhere(ticket, executor, threads, (KilledWorker, CancelledError, CommClosedError))
        finally:
            with contextlib.suppress(OSError, CommClosedError):
                client.run(forget, ticket.run, on_error="ignore")


_askers: dict[tuple[str, int], Asker] = {}
"""Those of this process, by run and thread."""


def describe(ticket: Ticket) -> tuple[list[Description], list[str]]:
    """What the targets say of themselves where this is called, and which cannot be started."""
    asker = _asker(ticket)
    return asker.descriptions, asker.errors


def ask(
    ticket: Ticket, expected: Sequence[Description], cases: Sequence[Case], given_up: Collection[str]
) -> list[Mapping[str, Answer]]:
    """The answers to a chunk. Raises :class:`Lost` where the targets are not those that were described."""
    asker = _asker(ticket)
    for found, wanted in zip(asker.descriptions, expected, strict=False):
        if found != wanted:
            raise Lost(f"on {platform.node()} the targets are others: {found}, not {wanted}")
    if len(asker.descriptions) != len(expected):
        raise Lost(f"on {platform.node()} not the same targets can be started: {'; '.join(asker.errors)}")
    return list(asker.answers(cases, lambda: given_up))


def forget(run: str) -> None:
    """End what this process started for a run."""
    for key, asker in list(_askers.items()):
        if key[0] == run:
            asker.end()


def _asker(ticket: Ticket) -> Asker:
    if ticket.tool != maxpool_check.__version__:
        here = f"{platform.node()} has maxpool-check {maxpool_check.__version__}"
        raise Lost(f"{here}, the run was started by {ticket.tool}; install the same")
    # Each thread has its own: a worker answers one question at a time.
    key = ticket.run, threading.get_ident()
    if key not in _askers:
        for other in [other for other in _askers if other[1] == key[1]]:
            _askers.pop(other).close()
        _askers[key] = Asker(ticket.order)
    return _askers[key]


def _begin() -> None:
    """Prepare a process of this machine: Ctrl-C is its parent's to handle, and with its parent it ends."""
    from multiprocessing import parent_process

    def end(*_: object) -> None:
        for asker in list(_askers.values()):
            asker.end()
        os._exit(0)

    def with_its_parent() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        end()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=with_its_parent, daemon=True).start()
