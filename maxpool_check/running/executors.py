"""The executors that run cases on targets, in order: in this process, or in the processes of a pool."""

import contextlib
import platform
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.target_selector import OUTPUTS
from maxpool_check.results.outputs import MOST_BYTES_IN_ALL, StoredOutput
from maxpool_check.results.record import DEATHS, Execution, TargetDescription, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.case_run import (
    StartedCase,
    executions,
    finish_case,
    not_run,
    outputs_that_differ,
    start_case,
)
from maxpool_check.running.outputs import session_of
from maxpool_check.running.pool import Pool, PoolLost
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.environments import WheelSource, wheel_source
from maxpool_check.targets.inspection import Inspection
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.starting import StartingTarget
from maxpool_check.targets.target import Target
from maxpool_check.targets.transcript import Transcript

DEATHS_IN_A_ROW = 20
"""A target is given up after so many crashes, time-outs and failures in a row."""

CASES_AHEAD, CELLS_AHEAD = 50, 2**20
"""So many cases are submitted ahead of the one being judged, so that no worker is idle; fewer if their X have more cells."""

MOST_HELD = 10_000
"""The results of so many cases are held until all files are read, with as many outputs as a record may have: a record is made of
valid files alone."""

CHUNK = 25
"""The number of cases that are sent to another process together."""


@dataclass(frozen=True)
class ExecutionConfig:
    """The targets and variants of a run. ``seconds`` limits one execution, ``memory`` a worker, in bytes.

    ``transcript`` gets the conversations with workers, of this process alone.
    ``source`` is that of this process, for the processes of a cluster, too.
    """

    targets: tuple[TargetName, ...]
    seconds: float = 10.0
    memory: int | None = None
    variants: Collection[Variant] = DEFAULT_VARIANTS
    transcript: Transcript | None = None
    source: WheelSource = field(default_factory=wheel_source)


@dataclass(frozen=True)
class TargetResult:
    """The executions of a case on a target (none if it was given up); ``lost`` is why the target cannot go on, if so.

    ``outputs`` are those that differ from the reference's, by digest; None for one that is too large to be recorded.
    """

    executions: tuple[Execution, ...] = ()
    lost: str | None = None
    outputs: Mapping[str, StoredOutput | None] = field(default_factory=dict)


CaseResults = Mapping[str, TargetResult]
"""The results of a case by the name of the target."""


class FailureBudget:
    """Gives up targets after too many deaths in a row; ``given_up`` are the reasons, by the name of the target."""

    def __init__(self, variants: Collection[Variant], given_up: Mapping[str, str] | None = None) -> None:
        """``variants`` are those of the run, ``given_up`` the targets that are given up already."""
        self.given_up = dict(given_up or {})
        self._variants, self._deaths = variants, Counter[str]()

    def counted(self, case: Case, results: CaseResults) -> CaseResults:
        """The results of the next case of the run; errors on targets that were given up before it."""
        counted = {}
        for name, result in results.items():
            if (why := self.given_up.get(name)) is not None:
                result = TargetResult(tuple(executions(not_run(case, name, case.variants(self._variants), why))))
            else:
                for execution in result.executions:
                    self._count(execution, result.lost)
            counted[name] = result
        return counted

    def _count(self, execution: Execution, lost: str | None) -> None:
        """Count an execution; ``lost`` is why the target cannot go on, if so. Files are not given up."""
        name = execution.target
        if name in self.given_up or name.startswith(OUTPUTS):
            return
        # An error of the tool itself says nothing about the target.
        self._deaths[name] = self._deaths[name] + 1 if execution.verdict in DEATHS and not execution.traceback else 0
        is_error = execution.verdict is Verdict.ERROR
        if lost is not None and is_error:
            self.given_up[name] = lost
        elif self._deaths[name] == DEATHS_IN_A_ROW:
            self.given_up[name] = execution.message if is_error else f"{DEATHS_IN_A_ROW} deaths in a row"


class _CaseQueue:
    """Cases that targets execute in order; ``ahead`` are those that were submitted and not finished."""

    def __init__(
        self,
        sessions: Iterable[TargetSession],
        variants: Collection[Variant],
        given_up: Mapping[str, str] | None = None,
    ) -> None:
        self.budget = FailureBudget(variants, given_up)
        self.ahead: deque[tuple[Case, GraphOracle | Refused, dict[str, StartedCase]]] = deque()
        self._cells = 0
        self._sessions = {session.profile.description.name: session for session in sessions}
        self._variants = variants

    def submit(self, case: Case) -> None:
        """Have a case executed on the targets that are not given up."""
        # Computed once for all targets, and while their workers are busy.
        oracle = case.oracle()
        started = {
            name: start_case(session, case, self._variants)
            for name, session in self._sessions.items()
            if name not in self.budget.given_up
        }
        self.ahead.append((case, oracle, started))
        self._cells += case.X.size

    @property
    def is_full(self) -> bool:
        """Whether enough cases are ahead: of large ones, one beside that which is awaited."""
        return len(self.ahead) > (CASES_AHEAD if self._cells <= CELLS_AHEAD else 1)

    @property
    def is_first_done(self) -> bool:
        """Whether the outcomes of the first case ahead have arrived."""
        if not self.ahead:
            return False
        numbers = {
            name: [*chain.from_iterable(each for _, each in started)] for name, started in self.ahead[0][2].items()
        }
        # They come in order.
        return all(not each or self._sessions[name].has_arrived(each[-1]) for name, each in numbers.items())

    def finish(self) -> tuple[Case, CaseResults]:
        """The first case ahead and its results; waits for them."""
        case, oracle, started = self.ahead.popleft()
        self._cells -= case.X.size
        results = dict.fromkeys(self._sessions, TargetResult())
        for name in started.keys() - self.budget.given_up.keys():
            run = finish_case(self._sessions[name], case, started[name], oracle)
            results[name] = TargetResult(tuple(executions(run)), run.lost, outputs_that_differ(run))
        counted = self.budget.counted(case, results)
        for name in self._sessions.keys() & self.budget.given_up.keys():
            self._sessions[name].close()
        return case, counted


class LocalExecutor:
    """Runs cases in this process, with one worker for each target."""

    def __init__(
        self, config: ExecutionConfig, *, inspects: bool = True, starting: Sequence[StartingTarget] = ()
    ) -> None:
        """Start all targets concurrently, unless they are ``starting``; ``descriptions`` and ``errors`` wait until they are ready.

        ``inspects``: the descriptions say what the targets are made of.
        """
        self._config = config
        self.given_up: Mapping[str, str] = {}
        """Why targets were given up, by name."""
        self._read: deque[Case] = deque()
        self._held: deque[CaseResults] = deque()
        self._held_bytes = 0
        self._queue: _CaseQueue | None = None
        self._starting = starting or [
            StartingTarget(partial(_session, name, config), inspects=inspects) for name in config.targets
        ]

    @property
    def sessions(self) -> list[TargetSession]:
        """The targets that started, in order; waits for them."""
        return [target.session for target in self._starting if target.error is None]

    @property
    def descriptions(self) -> list[TargetDescription]:
        """The targets that started, in order; waits for them."""
        return [target.description for target in self._starting if target.error is None]

    @property
    def errors(self) -> list[str]:
        """Why the other targets did not start."""
        errors = [error for target in self._starting if (error := target.error) is not None]
        for error in errors:
            if not isinstance(error, CannotStart):
                raise error
        return [str(error) for error in errors]

    def begin(self, case: Case) -> None:
        """Execute a case while others are still read. All cases of the run come in order; :meth:`results` gives their results.

        It does not wait for a target, except for a second look at a case whose outcomes have arrived.
        """
        if len(self._held) == MOST_HELD or self._held_bytes > MOST_BYTES_IN_ALL:
            return
        self._read.append(case)
        if not all(target.is_ready for target in self._starting):
            return
        queue = self._queue = self._queue or _CaseQueue(self.sessions, self._config.variants)
        while self._read and not queue.is_full:
            queue.submit(self._read.popleft())
        while queue.is_first_done and len(self._held) < MOST_HELD:
            _, results = queue.finish()
            outputs = chain.from_iterable(each.outputs.values() for each in results.values())
            self._held_bytes += sum(len(output.data) for output in outputs if output is not None)
            self._held.append(results)

    def results(
        self, cases: Iterable[Case], given_up: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Case, CaseResults]]:
        """Each case with its results, in order; a few cases are submitted ahead. Targets may be ``given_up`` before.

        The first of the cases are those that were begun.
        """
        queue = self._queue or _CaseQueue(self.sessions, self._config.variants, given_up)
        self._queue, self.given_up = None, queue.budget.given_up
        left = iter(cases)
        while self._held:
            yield next(left), self._held.popleft()
        for case in islice(left, len(queue.ahead), None):
            queue.submit(case)
            if queue.is_full:
                yield queue.finish()
        while queue.ahead:
            yield queue.finish()

    def end(self) -> None:
        """Kill all workers; nothing more is executed. From any thread."""
        for target in self._starting:
            target.end()

    def close(self) -> None:
        """End all targets. From the thread that runs the cases."""
        self.end()
        for target in self._starting:
            target.close()


def _session(name: TargetName, config: ExecutionConfig) -> TargetSession:
    """The session of a target, whose environment may be made now. Raises :class:`CannotStart`."""
    return session_of(Target(name, config.seconds, config.memory, config.transcript, config.source))


class RemoteExecutor:
    """Runs cases in the processes of a pool; each process starts the targets once. A pool may repeat a lost chunk."""

    def __init__(self, config: ExecutionConfig, pool: Pool) -> None:
        """Have the targets described by a process of a ``pool`` of local executors. Raises :class:`PoolLost`."""
        self._config, self._pool = config, pool
        self.given_up: Mapping[str, str] = {}
        """Why targets were given up, by name."""
        ((self.descriptions, self.errors),) = pool.results(describe, [()])

    def results(self, cases: Collection[Case]) -> Iterator[tuple[Case, CaseResults]]:
        """Each case with its results, in order. A chunk omits the targets that are given up when it is sent.

        Raises :class:`PoolLost`.
        """
        budget = FailureBudget(self._config.variants)
        self.given_up = budget.given_up
        left = iter(cases)
        chunks = iter(lambda: tuple(islice(left, CHUNK)), ())
        calls = ((self.descriptions, chunk, dict(budget.given_up)) for chunk in chunks)
        results = chain.from_iterable(self._pool.results(run_chunk, calls))
        yield from ((case, budget.counted(case, found)) for case, found in zip(cases, results, strict=True))

    def close(self) -> None:
        """The pool ends what it has started."""


Executor = LocalExecutor | RemoteExecutor
"""Gives the results of cases on targets, in order."""


def describe(executor: LocalExecutor) -> tuple[list[TargetDescription], list[str]]:
    """The descriptions of the targets in this process, and the errors of those that cannot be started."""
    descriptions = []
    for session, description in zip(executor.sessions, executor.descriptions, strict=True):
        with contextlib.closing(Inspection(session.target)) as inspection:
            descriptions.append(inspection.added_to(description))
    return descriptions, executor.errors


def run_chunk(
    executor: LocalExecutor, expected: Sequence[TargetDescription], cases: Sequence[Case], given_up: Mapping[str, str]
) -> list[CaseResults]:
    """The results of a chunk. Raises :class:`PoolLost` if the targets are not as expected."""
    if len(executor.descriptions) != len(expected):
        raise PoolLost(f"{platform.node()} cannot start the same targets: {'; '.join(executor.errors)}")
    check_same_targets(executor.descriptions, expected)
    return [results for _, results in executor.results(cases, given_up)]


def check_same_targets(actual: Sequence[TargetDescription], expected: Sequence[TargetDescription]) -> None:
    """Refuse targets that differ from those of the process where the run began. Raises :class:`PoolLost`.

    What they are made of is known of the latter alone.
    """
    for pair in zip(actual, expected, strict=True):
        description, other = (msgspec.structs.replace(each, environments=(), program={}) for each in pair)
        if description != other:
            raise PoolLost(f"{platform.node()} has other targets: {description}, not {other}")
