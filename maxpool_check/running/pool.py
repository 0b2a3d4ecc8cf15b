"""Pools of processes: on this machine, or the workers of a dask cluster.

A ``concurrent.futures.Executor`` sends them functions of modules, and data; results are in the order of the calls.
"""

import contextlib
import itertools
import os
import platform
import signal
import sys
import threading
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import maxpool_check

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_CALLS_AHEAD = 2
"""Calls submitted ahead for each process, so that none is idle."""

CONNECT_SECONDS = 10
"""The time limit of the connection to a scheduler."""

_STOP_SECONDS = 5
"""The time limit for stopped processes to return their results."""

_T = TypeVar("_T")


class PoolLost(RuntimeError):
    """The processes cannot be started, are gone, or have other targets than expected."""


class Pool:
    """The processes of a run, which ``run`` identifies.

    ``processes`` is the number of calls executed at once; ``lost`` are the exceptions that mean that the processes are
    gone; ``stop`` ends the resources of the run in every process, even while they are in use. ``is_local``: they are processes
    of this machine.
    """

    def __init__(
        self, run: str, executor: Executor, processes: int, lost: tuple[type[Exception], ...], stop: Callable[[], None],
        *, is_local: bool = False,
    ) -> None:  # fmt: skip
        self.run, self.is_local = run, is_local
        self._executor, self._processes, self._lost, self._stop = executor, processes, lost, stop
        self._under_way: deque[Future[Any]] = deque()

    def begin(self, function: Callable[..., _T], others: Callable[..., object], *arguments: object) -> _T:
        """The result of a function in one process; the others of this machine call ``others`` meanwhile, to prepare themselves.

        Raises :class:`PoolLost`, or the exception of the function.
        """
        with self._losing():
            self._submit(function, arguments)
            for _ in range(self._processes - 1 if self.is_local else 0):
                # Nobody waits for it.
                self._executor.submit(_call, maxpool_check.__version__, others, *arguments)
            return cast("_T", self._first())

    def results(self, function: Callable[..., _T], calls: Iterable[tuple[Any, ...]]) -> Iterator[_T]:
        """The results of a function for each tuple of arguments, in order; a few calls are submitted ahead.

        Raises :class:`PoolLost`, or the exception of a call.
        """
        remaining = iter(calls)
        with self._losing():
            while True:
                for call in itertools.islice(remaining, _CALLS_AHEAD * self._processes - len(self._under_way)):
                    self._submit(function, call)
                if not self._under_way:
                    return
                yield self._first()

    def _submit(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self._under_way.append(self._executor.submit(_call, maxpool_check.__version__, function, *arguments))

    def _first(self) -> Any:
        # Removed only when it is complete: after an interruption, stop() returns it.
        result = self._under_way[0].result()
        self._under_way.popleft()
        return result

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except self._lost as error:
            raise PoolLost(f"the worker processes are gone: {str(error) or type(error).__name__}") from error

    def stop(self) -> list[Any]:
        """Stop the processes; returns the results of the calls that complete in time."""
        self._stop()
        wait(self._under_way, _STOP_SECONDS)
        done = [future for future in self._under_way if future.done() and not future.cancelled()]
        return [future.result() for future in done if future.exception() is None]


def pool_of(jobs: int, scheduler: str | None, inherited: Sequence[Any] = ()) -> AbstractContextManager[Pool]:
    """A pool of ``jobs`` processes, or of the workers of the dask cluster at an address. Raises :class:`PoolLost`.

    ``inherited`` is what each process of this machine is started with: calls need not send it.
    """
    return _local_pool(jobs, inherited) if scheduler is None else _cluster_pool(scheduler)


_inherited: Sequence[Any] = ()


def inherited() -> Sequence[Any]:
    """What this process was started with."""
    return _inherited


@contextlib.contextmanager
def _local_pool(count: int, inherited: Sequence[Any]) -> Iterator[Pool]:
    # Most runs have one process, which need not import them.
    import multiprocessing
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

    # Forked processes have everything imported; macOS and Windows cannot fork safely. What Python spawns there may import
    # from the user's folder before anything of ours runs, unless PYTHONSAFEPATH is set (Python 3.11).
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    # All processes stop when this end is closed.
    stop, stopper = context.Pipe(duplex=False)
    with stop, stopper:
        executor = ProcessPoolExecutor(count, context, _prepare_process, (stop, stopper, inherited))
        try:
            yield Pool(uuid.uuid4().hex, executor, count, (BrokenExecutor,), stopper.close, is_local=True)
        finally:
            stopper.close()
            try:
                # The end of the program waits for the same, but may then write to a pipe that is being closed.
                executor.shutdown(wait=True, cancel_futures=True)
            except KeyboardInterrupt:
                # Who interrupts again does not wait, and the rest of the end must not be interrupted.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                for process in multiprocessing.active_children():
                    process.kill()
                raise


@contextlib.contextmanager
def _cluster_pool(scheduler: str) -> Iterator[Pool]:
    try:
        from distributed import CancelledError, Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError as error:
        raise PoolLost("--dask needs dask, which is not installed: pip install 'maxpool-check[dask]'") from error
    if not scheduler.rpartition(":")[2].isdigit():
        raise PoolLost(f"'{scheduler}' is not the address of a dask scheduler, such as tcp://HOST:8786")
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise PoolLost(f"the dask scheduler {scheduler} cannot be reached: {error}") from error
    run = uuid.uuid4().hex

    def stop() -> None:
        with contextlib.suppress(OSError, CommClosedError):
            client.run(end_resources, run, on_error="ignore")

    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise PoolLost(f"the dask scheduler {scheduler} has no workers; start one with: dask worker {scheduler}")
        # Each call is executed, even with the arguments of an earlier one.
        executor = client.get_executor(pure=False)
        try:
            with warnings.catch_warnings():
                # Users of this tool cannot follow this advice on dask.
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                yield Pool(run, executor, threads, (KilledWorker, CancelledError, CommClosedError), stop)
        finally:
            with contextlib.suppress(OSError, CommClosedError):
                executor.shutdown(wait=False)
            stop()


_resources: dict[tuple[str, int], Any] = {}
"""The resources of this process, by run and thread."""

_stopped = threading.Event()
"""Set when this process must stop."""


def resource(run: str, make: Callable[[], _T]) -> _T:
    """The resource of this thread for a run, made at the first call, which closes that of an earlier run.

    Its ``end()`` must work from any thread and while it is in use, ``close()`` when it is not in use.
    """
    key = run, thread = run, threading.get_ident()
    if key not in _resources:
        for other in [other for other in _resources if other[1] == thread]:
            _resources.pop(other).close()
        _resources[key] = make()
        if _stopped.is_set():
            _resources[key].end()
    resource: _T = _resources[key]
    return resource


def end_resources(run: str | None = None) -> None:
    """End the resources of a run in this process, or those of all runs."""
    for key, resource in list(_resources.items()):
        if run in (None, key[0]):
            resource.end()


def _call(version: str, function: Callable[..., _T], *arguments: object) -> _T:
    if version != maxpool_check.__version__:
        here = f"{platform.node()} has maxpool-check {maxpool_check.__version__}"
        raise PoolLost(f"{here}, the run was started by {version}; install the same version")
    return function(*arguments)


def _prepare_process(stop: "Connection", stopper: "Connection", inherited: Sequence[Any]) -> None:
    """Prepare a process of this machine: it ignores what a terminal sends, which its parent handles, and ends with its parent."""
    global _inherited
    _inherited = inherited
    # A copy of the parent's end: while it is open, no process would stop.
    stopper.close()
    # A terminal sends all three to every process that it started.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminate)
    threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()


def _end_with_parent(stop: "Connection") -> None:
    import multiprocessing
    from multiprocessing import connection

    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([stop, parent.sentinel])
    _stopped.set()
    end_resources()
    # What a process waits for may never come after an interruption, and its parent waits for it.
    connection.wait([parent.sentinel], 2 * _STOP_SECONDS)
    end_resources()
    os._exit(0)


def _terminate(*_: object) -> None:
    end_resources()
    os._exit(128 + signal.SIGTERM)
