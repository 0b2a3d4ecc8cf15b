"""The runners that execute cases on targets, in order: in this process, or in the processes of a pool."""

import platform
from collections import Counter, deque
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, islice, product
from typing import TypeVar

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.target_selector import OUTPUTS
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.record import DEATHS, Execution, TargetDescription, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.case_run import CaseRun, JudgedRun, case_not_run, finish_case, judge_case, start_case
from maxpool_check.running.outputs import session_of
from maxpool_check.running.pool import Pool, PoolLost
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.environments import WheelSource, wheel_source
from maxpool_check.targets.inspection import inspect
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.starting import StartingTarget
from maxpool_check.targets.target import Target
from maxpool_check.targets.transcript import Transcript

_Run = TypeVar("_Run", bound=CaseRun)

_StartedCase = tuple[Case, GraphOracle | Refused, dict[str, list[Job]]]
"""A case, what judges it, and its submitted jobs by the name of the target."""

DEATHS_IN_A_ROW = 20
"""A target is given up after so many crashes, time-outs and failures in a row."""

CASES_AHEAD, CELLS_AHEAD = 50, 2**20
"""So many cases are submitted ahead of the one being judged, so that no worker is idle; fewer if their X have more cells."""

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


class FailureBudget:
    """Gives up targets after too many deaths in a row."""

    def __init__(self, variants: Collection[Variant]) -> None:
        """``variants`` are those of the run."""
        self.given_up: dict[str, str] = {}
        """Why targets were given up, by name."""
        self._variants, self._deaths = variants, Counter[str]()

    def counted(self, runs: Iterable[_Run]) -> Iterator[_Run | JudgedRun]:
        """The runs of cases in order; of a target that was given up before, errors instead."""
        for run in runs:
            if (why := self.given_up.get(run.target)) is not None:
                yield case_not_run(run.case, run.target, run.case.variants(self._variants), why)
                continue
            for execution in run.executions:
                self._count(execution, run.lost)
            yield run

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


class LocalRunner:
    """Runs cases in this process, with one worker for each target."""

    def __init__(
        self, config: ExecutionConfig, *, inspects: bool = True, starting: Sequence[StartingTarget] = ()
    ) -> None:
        """Start all targets concurrently, unless they are ``starting``; ``descriptions`` and ``errors`` wait until they are ready.

        ``inspects``: the descriptions say what the targets are made of.
        """
        self._variants = config.variants
        self.given_up: Mapping[str, str] = {}
        """Why targets were given up, by name."""
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

    def runs(self, cases: Iterable[Case]) -> Iterator[JudgedRun]:
        """The runs of each case on the targets that started, in order; a few cases are submitted ahead."""
        budget = FailureBudget(self._variants)
        self.given_up = budget.given_up
        return budget.counted(self.executed(cases, budget.given_up))

    def executed(self, cases: Iterable[Case], given_up: Container[str]) -> Iterator[JudgedRun]:
        """As :meth:`runs`, but without counting deaths; a target that is ``given_up`` meanwhile executes nothing more."""
        ahead: deque[_StartedCase] = deque()
        cells = 0
        for case in cases:
            # The oracle is computed once for all targets, and while their workers are busy.
            jobs = {
                name: start_case(session, case, self._variants)
                for name, session in self._by_name.items()
                if name not in given_up
            }
            ahead.append((case, case.oracle(), jobs))
            cells += case.X.size
            # Of large cases, one is ahead beside the one that is awaited.
            while len(ahead) > (CASES_AHEAD if cells <= CELLS_AHEAD else 1):
                cells -= ahead[0][0].X.size
                yield from self._finished(ahead.popleft(), given_up)
        while ahead:
            yield from self._finished(ahead.popleft(), given_up)

    @cached_property
    def _by_name(self) -> dict[str, TargetSession]:
        return {session.profile.description.name: session for session in self.sessions}

    def _finished(self, started: _StartedCase, given_up: Container[str]) -> Iterator[JudgedRun]:
        """The runs of a case that was started; of a target that was given up, without executions."""
        case, oracle, jobs = started
        for name, session in self._by_name.items():
            if name in given_up:
                session.close()
                yield judge_case(case, name, oracle, ())
            else:
                yield finish_case(session, case, jobs[name])

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


class RemoteRunner:
    """Runs cases in the processes of a pool; each process starts the targets once. A pool may repeat a lost chunk."""

    def __init__(self, config: ExecutionConfig, pool: Pool) -> None:
        """Have the targets described by a process of a ``pool`` of local runners. Raises :class:`PoolLost`."""
        self._config, self._pool = config, pool
        self.given_up: Mapping[str, str] = {}
        """Why targets were given up, by name."""
        ((self.descriptions, self.errors),) = pool.results(describe, [()])

    def runs(self, cases: Collection[Case]) -> Iterator[CaseRun]:
        """The runs of each case on the targets that started, in order. Raises :class:`PoolLost`."""
        budget = FailureBudget(self._config.variants)
        self.given_up = budget.given_up
        return budget.counted(self._executed(cases, budget.given_up))

    def _executed(self, cases: Collection[Case], given_up: Mapping[str, str]) -> Iterator[CaseRun]:
        """As :meth:`runs`, but deaths are not counted. A chunk omits the targets that are given up when it is sent."""
        left = iter(cases)
        chunks = iter(lambda: tuple(islice(left, CHUNK)), ())
        calls = ((self.descriptions, chunk, frozenset(given_up)) for chunk in chunks)
        found = chain.from_iterable(self._pool.results(run_chunk, calls))
        names = [description.name for description in self.descriptions]
        for (case, name), fields in zip(product(cases, names), found, strict=True):
            yield CaseRun(case, name, *fields)

    def close(self) -> None:
        """The pool ends what it has started."""


Runner = LocalRunner | RemoteRunner
"""Gives the runs of cases on targets, in order."""


def describe(runner: LocalRunner) -> tuple[list[TargetDescription], list[str]]:
    """The descriptions of the targets in this process, and the errors of those that cannot be started."""
    pairs = zip(runner.sessions, runner.descriptions, strict=True)
    return [inspect(session.target, description) for session, description in pairs], runner.errors


def run_chunk(
    runner: LocalRunner, expected: Sequence[TargetDescription], cases: Sequence[Case], given_up: Container[str]
) -> list[tuple[tuple[Execution, ...], Mapping[str, StoredOutput | None], str | None]]:
    """The executions, outputs and losses of the runs of a chunk. Raises :class:`PoolLost` if the targets are not as expected."""
    if len(runner.descriptions) != len(expected):
        raise PoolLost(f"{platform.node()} cannot start the same targets: {'; '.join(runner.errors)}")
    check_same_targets(runner.descriptions, expected)
    return [(run.executions, run.outputs, run.lost) for run in runner.executed(cases, given_up)]


def check_same_targets(actual: Sequence[TargetDescription], expected: Sequence[TargetDescription]) -> None:
    """Refuse targets that differ from those of the process where the run began. Raises :class:`PoolLost`.

    What they are made of is known of the latter alone.
    """
    for pair in zip(actual, expected, strict=True):
        description, other = (msgspec.structs.replace(each, environments=(), program={}) for each in pair)
        if description != other:
            raise PoolLost(f"{platform.node()} has other targets: {description}, not {other}")
