"""Pools of processes: of this machine, or the workers of a dask cluster.

Each process has one resource, such as the started targets of a run. A ``concurrent.futures.Executor`` sends it
functions of modules, which get that resource, and data; results are in the order of the calls.
"""

import contextlib
import itertools
import multiprocessing
import os
import platform
import signal
import sys
import threading
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol, TypeVar

import maxpool_check

_CALLS_AHEAD = 2
"""Calls submitted ahead for each process, so that none is idle."""

CONNECT_SECONDS = 10
"""The time limit of the connection to a scheduler."""

_STOP_SECONDS = 5
"""The time limit for stopped processes to return their results."""

_RESOURCE = "maxpool_check_resource"
"""The attribute of a process, or of a dask worker, that holds what it has for calls."""

_T = TypeVar("_T")


class PoolLost(RuntimeError):
    """The processes cannot be started, are gone, or have other targets than expected."""


class Resource(Protocol):
    """What a process has for the calls of a pool."""

    def end(self) -> None:
        """End what it has started; nothing else is started. Also while it is in use, and from any thread."""

    def close(self) -> None:
        """End it when it is not in use."""


class Pool:
    """The processes of a run.

    ``submit`` executes a call, ``processes`` is the number of calls executed at once. ``lost`` are the exceptions that
    mean that the processes are gone; ``end`` ends the resource of every process, even while it is in use.
    """

    def __init__(
        self, submit: Callable[..., "Future[Any]"], processes: int, lost: tuple[type[Exception], ...],
        end: Callable[[], None],
    ) -> None:  # fmt: skip
        self._submit, self._processes, self._lost, self._end = submit, processes, lost, end
        self._under_way: deque[Future[Any]] = deque()

    def results(self, function: Callable[..., _T], calls: Iterable[tuple[Any, ...]]) -> Iterator[_T]:
        """The results of a function for each tuple of arguments, in order; a few calls are submitted ahead.

        Raises :class:`PoolLost`, or the exception of a call.
        """
        remaining = iter(calls)
        try:
            while True:
                for call in itertools.islice(remaining, _CALLS_AHEAD * self._processes - len(self._under_way)):
                    self._under_way.append(self._submit(function, *call))
                if not self._under_way:
                    return
                # Removed only when it is complete: after an interruption, stop() returns it.
                result = self._under_way[0].result()
                self._under_way.popleft()
                yield result
        except self._lost as error:
            raise PoolLost(f"the worker processes are gone: {str(error) or type(error).__name__}") from error

    def stop(self) -> list[Any]:
        """End the resources; the results of the calls that complete in time."""
        self._end()
        wait(self._under_way, _STOP_SECONDS)
        done = [future for future in self._under_way if future.done() and not future.cancelled()]
        return [future.result() for future in done if future.exception() is None]


def pool_of(make: Callable[[], Resource], jobs: int, scheduler: str | None = None) -> AbstractContextManager[Pool]:
    """A pool of ``jobs`` processes, or of the workers of a dask cluster; ``make`` makes the resource of each.

    Raises :class:`PoolLost`.
    """
    return _local_pool(make, jobs) if scheduler is None else _cluster_pool(make, scheduler)


@contextlib.contextmanager
def _local_pool(make: Callable[[], Resource], count: int) -> Iterator[Pool]:
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    # Forked processes have everything imported; macOS and Windows cannot fork safely. What Python spawns there may import
    # from the user's folder before anything of ours runs, unless PYTHONSAFEPATH is set (Python 3.11).
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    others = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(count, context, _prepare_process, (make,))

    def send(number: signal.Signals) -> None:
        for process in set(multiprocessing.active_children()) - others:
            with contextlib.suppress(OSError):
                os.kill(process.pid or 0, number)

    def shut_down() -> None:
        # The guards of the workers that they have started end these.
        send(signal.SIGKILL)
        # Python takes a thread for ended when waiting for its end was interrupted.
        ignored = _ignore_interrupts()
        executor.shutdown(wait=True, cancel_futures=True)
        for each in () if interrupted else ignored:
            signal.signal(each, signal.default_int_handler)

    interrupted = False
    try:
        submit: Callable[..., Future[Any]] = executor.submit
        yield Pool(partial(submit, _call), count, (BrokenProcessPool,), partial(send, signal.SIGUSR1))
    except KeyboardInterrupt:
        # The rest of the end must not be interrupted either.
        interrupted = True
        raise
    finally:
        try:
            shut_down()
        except KeyboardInterrupt:
            interrupted = True
            shut_down()
            raise


def _ignore_interrupts() -> list[signal.Signals]:
    """Ignore the signals that interrupt a command, and return them; only the main thread is interrupted, and can do it."""
    interrupts = [each for each in signal.Signals if signal.getsignal(each) is signal.default_int_handler]
    if threading.current_thread() is not threading.main_thread():
        return []
    for each in interrupts:
        signal.signal(each, signal.SIG_IGN)
    return interrupts


def _prepare_process(make: Callable[[], Resource]) -> None:
    """Prepare a process of this machine: it ignores what a terminal sends, and ends with its parent."""
    # A terminal sends all three to every process that it started; the parent handles them.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    resource = vars(multiprocessing.current_process())[_RESOURCE] = make()
    signal.signal(signal.SIGUSR1, lambda *_: resource.end())


def _end_with_parent() -> None:
    """Kill this process when its parent is gone, which nothing else notices while a call waits for a worker."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _call(function: Callable[..., Any], *arguments: object) -> Any:
    """Execute a call in a process of this machine."""
    return function(vars(multiprocessing.current_process())[_RESOURCE], *arguments)


@contextlib.contextmanager
def _cluster_pool(make: Callable[[], Resource], scheduler: str) -> Iterator[Pool]:
    try:
        from distributed import CancelledError, Client, KilledWorker
        from distributed import TimeoutError as NoWorkerInTime
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

    def end() -> None:
        with contextlib.suppress(OSError, CommClosedError):
            client.run(_end_on_cluster, run, on_error="ignore")

    with client:
        try:
            # Workers that were started just before register in a second or two.
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except NoWorkerInTime as error:
            message = f"the dask scheduler {scheduler} has no workers; start one with: dask worker {scheduler}"
            raise PoolLost(message) from error
        threads = sum(client.nthreads().values())
        # Each call is executed, even with the arguments of an earlier one.
        executor = client.get_executor(pure=False)
        submit = partial(executor.submit, _call_on_cluster, maxpool_check.__version__, run, make)
        try:
            with warnings.catch_warnings():
                # Users of this tool cannot follow this advice on dask.
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                yield Pool(submit, threads, (KilledWorker, CancelledError, CommClosedError), end)
        finally:
            with contextlib.suppress(OSError, CommClosedError):
                executor.shutdown(wait=False)
            end()


def _call_on_cluster(
    version: str, run: str, make: Callable[[], Resource], function: Callable[..., Any], *arguments: object
) -> Any:
    """Execute a call in a thread of a dask worker; the first of a run closes what the thread has for an earlier run."""
    from distributed import get_worker

    if version != maxpool_check.__version__:
        here = f"{platform.node()} has maxpool-check {maxpool_check.__version__}"
        raise PoolLost(f"{here}, the run was started by {version}; install the same version")
    resources = vars(get_worker()).setdefault(_RESOURCE, {})
    key = run, thread = run, threading.get_ident()
    if key not in resources:
        for other in [other for other in resources if other[1] == thread]:
            resources.pop(other).close()
        resources[key] = make()
    return function(resources[key], *arguments)


def _end_on_cluster(run: str, dask_worker: Any) -> None:
    """End what a dask worker has for a run."""
    for (its_run, _), resource in list(vars(dask_worker).get(_RESOURCE, {}).items()):
        if its_run == run:
            resource.end()
