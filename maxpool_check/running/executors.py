"""The executors that run cases on targets, in order: in this process, or in the processes of a pool."""

import contextlib
import platform
import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.record import DEATHS, Execution, TargetDescription, Verdict
from maxpool_check.results.target_names import OUTPUTS
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.case_run import (
    StartedCase,
    executions,
    finish_case,
    oracle_to_compare,
    outputs_that_differ,
    start_case,
)
from maxpool_check.running.outputs import OutputsSession, session_of
from maxpool_check.running.pool import Pool, PoolLost, inherited, resource
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.environments import WheelSource, wheel_source
from maxpool_check.targets.inspection import Inspection
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.plans import VariantPlan
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.requests import plan
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from maxpool_check.targets.transcript import Transcript

DEATHS_IN_A_ROW = 20
"""A target is given up after so many crashes, time-outs and failures in a row."""

CASES_AHEAD = 3
"""The number of cases that are submitted ahead of the one being judged, so that no worker is idle."""


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

# In the form of a record, which takes a quarter of the time of pickling.
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(list[dict[str, TargetResult]])


class Executor(Protocol):
    """Gives the results of cases on targets, in order."""

    @property
    def descriptions(self) -> Sequence[TargetDescription]:
        """The targets, in order."""

    @property
    def errors(self) -> Sequence[str]:
        """What is missing, and why."""

    def results(self, cases: Sequence[Case], given_up: Collection[str]) -> Iterator[CaseResults]:
        """The results of each case, but not on targets that are ``given_up``."""

    def close(self) -> None:
        """End what it has started."""


@dataclass
class FailureBudget:
    """Gives up a target after too many deaths; ``given_up`` is the reason."""

    given_up: str | None = None
    _deaths: int = field(default=0, init=False)

    def count(self, execution: Execution, lost: str | None) -> None:
        """Count an execution, in the order of the cases; ``lost`` is why the target cannot go on, if so. Files are not given up."""
        if self.given_up is not None or execution.target.startswith(OUTPUTS):
            return
        # An error of the tool itself says nothing about the target.
        self._deaths = self._deaths + 1 if execution.verdict in DEATHS and not execution.traceback else 0
        if lost is not None and execution.verdict is Verdict.ERROR:
            self.given_up = lost
        elif self._deaths == DEATHS_IN_A_ROW:
            is_error = execution.verdict is Verdict.ERROR
            self.given_up = execution.message if is_error else f"{DEATHS_IN_A_ROW} deaths in a row"


class LocalExecutor:
    """Runs cases in this process, with one worker for each target."""

    def __init__(self, config: ExecutionConfig, *, inspects: bool = True) -> None:
        """Start all targets concurrently; ``descriptions`` and ``errors`` wait until they are ready.

        ``inspects``: the descriptions say what the targets are made of.
        """
        self._config, self._inspects = config, inspects
        self._sessions: list[TargetSession] = []
        self._closed = False
        self._starting: list[Future[tuple[TargetSession, TargetDescription]]] = []
        for name in config.targets:
            future: Future[tuple[TargetSession, TargetDescription]] = Future()
            self._starting.append(future)
            # Not in a pool, whose threads must end before the program: a runtime may hang during its import.
            threading.Thread(target=self._start, args=(name, future), daemon=True).start()

    @property
    def sessions(self) -> list[TargetSession]:
        """The targets that started, in order; waits for them."""
        return [future.result()[0] for future in self._starting if future.exception() is None]

    @property
    def descriptions(self) -> list[TargetDescription]:
        """The targets that started, in order; waits for them."""
        return [future.result()[1] for future in self._starting if future.exception() is None]

    @property
    def errors(self) -> list[str]:
        """Why the other targets did not start."""
        errors = [error for future in self._starting if (error := future.exception()) is not None]
        for error in errors:
            if not isinstance(error, CannotStart):
                raise error
        return [str(error) for error in errors]

    def results(self, cases: Iterable[Case], given_up: Collection[str]) -> Iterator[CaseResults]:
        """The results of each case, in order; a few cases are submitted ahead."""
        targets = {session.profile.description.name: (session, FailureBudget()) for session in self.sessions}
        profiles = {name: session.profile.unversioned for name, (session, _) in targets.items()}
        first = {name: next(each for each in targets if profiles[each] == profiles[name]) for name in targets}
        ahead: deque[tuple[Case, GraphOracle | Refused, dict[str, StartedCase]]] = deque()
        for case in cases:
            # Computed once for all targets, and while their workers are busy.
            oracle = case.oracle()
            started, plans = dict[str, StartedCase](), dict[tuple[str, bool], list[VariantPlan]]()
            for name, (session, budget) in targets.items():
                if name in given_up or budget.given_up is not None:
                    continue
                if isinstance(session, OutputsSession):
                    started[name] = start_case(session, session.plans(case, self._config.variants))
                    continue
                compared = oracle_to_compare(session, case, oracle)
                if (alike := (first[name], compared is None)) not in plans:
                    plans[alike] = plan(case, self._config.variants, session.profile, compared)
                started[name] = start_case(session, plans[alike])
            ahead.append((case, oracle, started))
            if len(ahead) > CASES_AHEAD:
                yield _finished(*ahead.popleft(), targets)
        while ahead:
            yield _finished(*ahead.popleft(), targets)

    def end(self) -> None:
        """Kill all workers; nothing more is executed. From any thread."""
        self._closed = True
        for session in list(self._sessions):
            session.end()

    def close(self) -> None:
        """End all targets. From the thread that runs the cases."""
        self.end()
        for future in self._starting:
            if future.done() and future.exception() is None:
                future.result()[0].close()

    def _start(self, name: TargetName, future: Future[tuple[TargetSession, TargetDescription]]) -> None:
        try:
            config = self._config
            target = Target(name, config.seconds, config.memory, config.transcript, config.source)
            session = session_of(target)
            self._sessions.append(session)
            if self._closed:
                session.end()
            with contextlib.ExitStack() as stack:
                inspection = stack.enter_context(contextlib.closing(Inspection(target))) if self._inspects else None
                try:
                    description = session.profile.description
                except BaseException:
                    session.close()
                    raise
                if inspection is not None:
                    description = inspection.added_to(description)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result((session, description))


def _finished(
    case: Case,
    oracle: GraphOracle | Refused,
    started: Mapping[str, StartedCase],
    targets: Mapping[str, tuple[TargetSession, FailureBudget]],
) -> CaseResults:
    results = dict.fromkeys(targets, TargetResult())
    for name, started_case in started.items():
        session, budget = targets[name]
        if budget.given_up is not None:
            continue
        run = finish_case(session, case, started_case, oracle)
        results[name] = TargetResult(tuple(executions(run)), run.lost, outputs_that_differ(run))
        for execution in results[name].executions:
            budget.count(execution, run.lost)
        if budget.given_up is not None:
            session.close()
    return results


class RemoteExecutor:
    """Runs cases in the processes of a pool; each process starts the targets once. A pool may repeat a lost chunk."""

    def __init__(self, config: ExecutionConfig, pool: Pool) -> None:
        """Start the targets in all processes, in one of them to describe them. Raises :class:`PoolLost`."""
        self._config, self._pool = config, pool
        self.descriptions, self.errors = pool.begin(describe, start, pool.run, config)

    def results(self, cases: Sequence[Case], given_up: Collection[str]) -> Iterator[CaseResults]:
        """The results of each case, in order. A chunk omits the targets that are ``given_up`` when it is sent.

        ``cases`` are those that the processes of this machine were started with. Raises :class:`PoolLost`.
        """
        expected = [_uninspected(description) for description in self.descriptions]
        chunks = (range(len(cases))[begin : begin + CHUNK] for begin in range(0, len(cases), CHUNK))
        sent = chunks if self._pool.is_local else ([cases[number] for number in chunk] for chunk in chunks)
        calls = ((self._pool.run, self._config, expected, chunk, frozenset(given_up)) for chunk in sent)
        for encoded in self._pool.results(run_chunk, calls):
            yield from _DECODER.decode(encoded)

    def close(self) -> None:
        """The pool ends what it has started."""


def describe(run: str, config: ExecutionConfig) -> tuple[list[TargetDescription], list[str]]:
    """The descriptions of the targets in this process, and the errors of those that cannot be started."""
    executor = resource(run, lambda: LocalExecutor(config))
    return executor.descriptions, executor.errors


def start(run: str, config: ExecutionConfig) -> None:
    """Start the targets in this process, and wait until they are ready, so that other processes take the next calls."""
    _ = resource(run, lambda: LocalExecutor(config, inspects=False)).sessions


def run_chunk(
    run: str,
    config: ExecutionConfig,
    expected: Sequence[TargetDescription],
    chunk: Sequence[Case] | range,
    given_up: Collection[str],
) -> bytes:
    """The results of a chunk, as JSON. Raises :class:`PoolLost` if the targets are not as expected.

    A range has the numbers of cases that this process was started with.
    """
    executor = resource(run, lambda: LocalExecutor(config, inspects=False))
    if len(executor.descriptions) != len(expected):
        raise PoolLost(f"{platform.node()} cannot start the same targets: {'; '.join(executor.errors)}")
    check_same_targets(executor.descriptions, expected)
    cases = [inherited()[number] for number in chunk] if isinstance(chunk, range) else chunk
    return _ENCODER.encode(list(executor.results(cases, given_up)))


def check_same_targets(actual: Sequence[TargetDescription], expected: Sequence[TargetDescription]) -> None:
    """Refuse targets that differ from those of the process where the run began. Raises :class:`PoolLost`.

    What they are made of is known of the latter alone.
    """
    for description, other in zip(map(_uninspected, actual), map(_uninspected, expected), strict=True):
        if description != other:
            raise PoolLost(f"{platform.node()} has other targets: {description}, not {other}")


def _uninspected(description: TargetDescription) -> TargetDescription:
    return msgspec.structs.replace(description, environments=(), program={})
