"""The executor that runs chunks of cases in other processes, here or on other machines."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from maxpool_check.corpus.case import Case
from maxpool_check.results.record import TargetDescription
from maxpool_check.running.executors import CaseResults, ExecutionConfig, LocalExecutor
from maxpool_check.running.pool import Pool, PoolLost, resource

CHUNK = 25
"""The number of cases that are sent together."""


class RemoteExecutor:
    """Runs cases in the processes of a pool; each process starts the targets once. A pool may repeat a lost chunk."""

    def __init__(self, config: ExecutionConfig, pool: Pool) -> None:
        """Start the targets in one process, to describe them. Raises :class:`PoolLost`."""
        self._config, self._pool = config, pool
        self.descriptions, self.errors = next(pool.results(describe, [(pool.run, config)]))

    def results(self, cases: Iterable[Case], given_up: Collection[str]) -> Iterator[CaseResults]:
        """The results of each case, in order. A chunk omits the targets that are ``given_up`` when it is sent.

        Raises :class:`PoolLost`.
        """
        remaining = iter(cases)
        chunks = iter(lambda: list(islice(remaining, CHUNK)), [])
        calls = ((self._pool.run, self._config, self.descriptions, chunk, frozenset(given_up)) for chunk in chunks)
        for results in self._pool.results(run_chunk, calls):
            yield from results


def describe(run: str, config: ExecutionConfig) -> tuple[list[TargetDescription], list[str]]:
    """The descriptions of the targets in this process, and the errors of those that cannot be started."""
    executor = resource(run, lambda: LocalExecutor(config))
    return executor.descriptions, executor.errors


def run_chunk(
    run: str,
    config: ExecutionConfig,
    expected: Sequence[TargetDescription],
    cases: Sequence[Case],
    given_up: Collection[str],
) -> list[CaseResults]:
    """The results of a chunk. Raises :class:`PoolLost` if the targets are not as expected."""
    executor = resource(run, lambda: LocalExecutor(config))
    if len(executor.descriptions) != len(expected):
        raise PoolLost(f"{platform.node()} cannot start the same targets: {'; '.join(executor.errors)}")
    check_same_targets(executor.descriptions, expected)
    return list(executor.results(cases, given_up))


def check_same_targets(actual: Sequence[TargetDescription], expected: Sequence[TargetDescription]) -> None:
    """Refuse targets that differ from those of the process where the run began. Raises :class:`PoolLost`."""
    for description, other in zip(actual, expected, strict=True):
        if description != other:
            raise PoolLost(f"{platform.node()} has other targets: {description}, not {other}")
