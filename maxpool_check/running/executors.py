"""Processes that work for this one: of this machine, or those of a dask cluster.

They are handed functions of modules, and data, by a ``concurrent.futures.Executor``; what comes back comes in the order in
which it was asked for. What a process has started for that is ended with the work, and with this process.
"""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import threading
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import maxpool_check

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_AHEAD = 2
"""Calls under way for each process, so that none waits for the next."""

_REACHED_SECONDS = 10
"""How long a scheduler may take to answer."""

_STOPPED_SECONDS = 5
"""How long processes that were told to stop may take to hand back what they have."""

_T = TypeVar("_T")


class Lost(RuntimeError):
    """The processes that were to work cannot be had, are gone, or are not what they should be."""


class Pool:
    """The processes of one run."""

    def __init__(
        self, run: str, executor: Executor, processes: int, lost: tuple[type[Exception], ...], stop: Callable[[], None]
    ) -> None:
        """``processes`` says how many calls the executor works on at once; ``lost``, how it says that it is gone.

        ``stop`` has every process end what it keeps for the run, whatever that is doing.
        """
        self.run, self.processes, self.stop = run, processes, stop
        self._executor, self._lost = executor, lost

    def results(self, function: Callable[..., _T], calls: Iterable[tuple[Any, ...]]) -> Results[_T]:
        """What a function comes to for each tuple of arguments."""
        return Results(self, function, calls)

    def submitted(self, function: Callable[..., _T], *arguments: object) -> Future[_T]:
        """A call under way. Raises :class:`Lost`."""
        with self._needed():
            return self._executor.submit(_called, maxpool_check.__version__, function, *arguments)

    def result(self, future: Future[_T]) -> _T:
        """What a call came to. Raises :class:`Lost`, or what the call raised."""
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


class Results(Generic[_T]):
    """What calls come to, in their order; the next calls are made only when a bounded number before them is done."""

    def __init__(self, pool: Pool, function: Callable[..., _T], calls: Iterable[tuple[Any, ...]]) -> None:
        self._pool, self._function, self._calls = pool, function, iter(calls)
        self._under_way: deque[Future[_T]] = deque()

    def __iter__(self) -> Iterator[_T]:
        return self

    def __next__(self) -> _T:
        """Raises :class:`Lost`, or what the call raised."""
        while len(self._under_way) < _AHEAD * self._pool.processes and (call := next(self._calls, None)) is not None:
            self._under_way.append(self._pool.submitted(self._function, *call))
        if not self._under_way:
            raise StopIteration
        # An interruption leaves it where it is.
        result = self._pool.result(self._under_way[0])
        self._under_way.popleft()
        return result

    def stopped(self) -> list[_T]:
        """Have the processes stop; what those calls have come to that are done, or come back at once."""
        self._pool.stop()
        wait(self._under_way, _STOPPED_SECONDS)
        done = [one for one in self._under_way if one.done() and not one.cancelled() and one.exception() is None]
        return [future.result() for future in done]


def processes(jobs: int, scheduler: str | None) -> AbstractContextManager[Pool]:
    """So many processes of this machine, or the workers of a cluster, by its scheduler's address. Raises :class:`Lost`."""
    return _on_this_machine(jobs) if scheduler is None else _on_a_cluster(scheduler)


@contextlib.contextmanager
def _on_this_machine(count: int) -> Iterator[Pool]:
    # A run in one process has no use for them.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    others = active_children()
    context = get_context("spawn")
    # Closed at this end, it tells every process to stop, those too that are yet to come.
    wanted, stop = context.Pipe(duplex=False)
    with wanted, stop, ProcessPoolExecutor(count, context, _begin, (wanted,)) as executor:
        try:
            yield Pool(uuid.uuid4().hex, executor, count, (BrokenExecutor,), stop.close)
        finally:
            # Nothing is waited for: what they are doing is wanted no more.
            for process in active_children():
                if process not in others:
                    process.terminate()


@contextlib.contextmanager
def _on_a_cluster(scheduler: str) -> Iterator[Pool]:
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
    run = uuid.uuid4().hex

    def stop() -> None:
        with contextlib.suppress(OSError, CommClosedError):
            client.run(end, run, on_error="ignore")

    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise Lost(f"the dask scheduler {scheduler} has no workers; start one with: dask worker {scheduler}")
        # Advice on how to use dask, not on anything that whoever runs this could do.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        # Each call is a task of its own, whatever it is handed.
        executor = client.get_executor(pure=False)
        try:
            yield Pool(run, executor, threads, (KilledWorker, CancelledError, CommClosedError), stop)
        finally:
            with contextlib.suppress(OSError, CommClosedError):
                executor.shutdown(wait=False)
            stop()


class Kept(Protocol):
    """What a process has started for a run, and keeps from one call to the next."""

    def end(self) -> None:
        """Kill it, whatever it is doing; there is nothing more to be had of it. From any thread."""

    def close(self) -> None:
        """Let go of it, when nobody uses it any more."""


_K = TypeVar("_K", bound=Kept)
_kept: dict[tuple[str, int], Any] = {}
"""What this process keeps, by run and thread."""

_stopped = threading.Event()
"""Nothing more is wanted of this process."""


def kept(run: str, make: Callable[[], _K]) -> _K:
    """What this thread keeps for a run, made when it is first needed; what it kept for another is let go."""
    # Each thread has its own: what asks belongs to one thread.
    key = run, threading.get_ident()
    if key not in _kept:
        for other in [other for other in _kept if other[1] == key[1]]:
            _kept.pop(other).close()
        _kept[key] = make()
        if _stopped.is_set():
            _kept[key].end()
    found: _K = _kept[key]
    return found


def end(run: str) -> None:
    """End what this process keeps for a run."""
    for key, one in list(_kept.items()):
        if key[0] == run:
            one.end()


def _called(tool: str, function: Callable[..., _T], *arguments: object) -> _T:
    if tool != maxpool_check.__version__:
        here = f"{platform.node()} has maxpool-check {maxpool_check.__version__}"
        raise Lost(f"{here}, the run was started by {tool}; install the same")
    return function(*arguments)


def _begin(wanted: Connection) -> None:
    """Prepare a process of this machine: Ctrl-C is its parent's to handle, and with its parent it ends."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    assert parent is not None
    told, tell = os.pipe()

    def watch() -> None:
        try:
            # First it is to stop, then to leave; a parent that is gone wants both.
            for until in (wanted, parent.sentinel):
                connection.wait([until, told])
                _stopped.set()
                for one in list(_kept.values()):
                    one.end()
        finally:
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What ends here may be in the hands of the thread that the signal has interrupted: another one does it.
    signal.signal(signal.SIGTERM, lambda *_: os.write(tell, b"."))
