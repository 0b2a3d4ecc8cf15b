"""The executor that runs cases on targets in this process, in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from maxpool_check.corpus.case import Case
from maxpool_check.judging.oracle import Oracle
from maxpool_check.results.record import DEATHS, Execution, TargetDescription, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.case_run import StartedCase, executions, finish_case, oracle_of, start_case
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

DEATHS_IN_A_ROW = 20
"""A target is given up after so many crashes, time-outs and failures in a row."""

CASES_AHEAD = 3
"""The number of cases that are submitted ahead of the one being judged, so that no worker is idle."""


@dataclass(frozen=True)
class ExecutionConfig:
    """The targets and variants of a run. ``seconds`` limits one execution, ``memory`` a worker, in bytes."""

    targets: tuple[TargetName, ...]
    seconds: float = 10.0
    memory: int | None = None
    variants: Collection[Variant] = DEFAULT_VARIANTS


@dataclass(frozen=True)
class TargetResult:
    """The executions of a case on a target (none if it was given up); ``lost`` is why the target cannot go on, if so."""

    executions: tuple[Execution, ...] = ()
    lost: str | None = None


CaseResults = Mapping[str, TargetResult]
"""The results of a case by the name of the target."""


@dataclass
class FailureBudget:
    """Gives up a target after too many deaths; ``given_up`` is the reason."""

    given_up: str | None = None
    _deaths: int = field(default=0, init=False)

    def count(self, execution: Execution, lost: str | None) -> None:
        """Count an execution, in the order of the cases; ``lost`` is why the target cannot go on, if so."""
        if self.given_up is not None:
            return
        self._deaths = self._deaths + 1 if execution.verdict in DEATHS else 0
        if lost is not None and execution.verdict is Verdict.ERROR:
            self.given_up = lost
        elif self._deaths == DEATHS_IN_A_ROW:
            is_error = execution.verdict is Verdict.ERROR
            self.given_up = execution.message if is_error else f"{DEATHS_IN_A_ROW} deaths in a row"


class LocalExecutor:
    """Runs cases in this process, with one worker for each target."""

    def __init__(self, config: ExecutionConfig) -> None:
        """Start all targets concurrently; ``descriptions`` and ``errors`` wait until they are ready."""
        self._config = config
        self._sessions: list[TargetSession] = []
        self._closed = False
        self._starting: list[Future[TargetSession]] = []
        for name in config.targets:
            future: Future[TargetSession] = Future()
            self._starting.append(future)
            # Not in a pool, whose threads must end before the program: a runtime may hang during its import.
            threading.Thread(target=self._start, args=(name, future), daemon=True).start()

    @property
    def sessions(self) -> list[TargetSession]:
        """The targets that started, in order; waits for them."""
        return [future.result() for future in self._starting if future.exception() is None]

    @property
    def descriptions(self) -> list[TargetDescription]:
        """The targets that started, in order; waits for them."""
        return [session.profile.description for session in self.sessions]

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
        sessions = {session.profile.description.name: session for session in self.sessions}
        budgets = {name: FailureBudget() for name in sessions}
        ahead: deque[tuple[Case, dict[str, StartedCase]]] = deque()
        for case in cases:
            executed = [name for name in sessions if name not in given_up and budgets[name].given_up is None]
            started = {name: start_case(sessions[name], case, self._config.variants) for name in executed}
            ahead.append((case, started))
            if len(ahead) > CASES_AHEAD:
                yield self._finished(*ahead.popleft(), sessions, budgets)
        while ahead:
            yield self._finished(*ahead.popleft(), sessions, budgets)

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
                future.result().close()

    def _start(self, name: TargetName, future: Future[TargetSession]) -> None:
        try:
            session = TargetSession(Target(name, self._config.seconds, self._config.memory))
            self._sessions.append(session)
            if self._closed:
                session.end()
            try:
                _ = session.profile
            except BaseException:
                session.close()
                raise
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(session)

    def _finished(
        self,
        case: Case,
        started: Mapping[str, StartedCase],
        sessions: Mapping[str, TargetSession],
        budgets: Mapping[str, FailureBudget],
    ) -> CaseResults:
        # Computed once for all targets, and while their workers are busy.
        oracle = oracle_of(case)
        if isinstance(oracle, Oracle):
            _ = oracle.pooled
        results = dict.fromkeys(sessions, TargetResult())
        for name, started_case in started.items():
            if budgets[name].given_up is not None:
                continue
            run = finish_case(sessions[name], case, started_case, oracle)
            results[name] = TargetResult(tuple(executions(run)), run.lost)
            for execution in results[name].executions:
                budgets[name].count(execution, run.lost)
            if budgets[name].given_up is not None:
                sessions[name].close()
        return results
