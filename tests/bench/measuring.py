"""Time as ratios: the one and the other in turn, on the same machine, in the same minutes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

TIMED = Path(__file__).parent / "timed.py"

Timed = Callable[[], float]
"""Does something once, and returns the seconds it took."""


@dataclass(frozen=True)
class Figure:
    """What was measured, once for each repetition."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)


def ratio(one: Timed, other: Timed, repetitions: int, *, warm: bool = True) -> Figure:
    """The one's time in units of the other's. Each pair is timed back to back, so that what else runs slows both.

    ``warm``: once before, which is not counted, where there are several.
    """
    if warm and repetitions > 1:
        one(), other()
    return Figure(tuple(one() / other() for _ in range(repetitions)))


def each(one: Timed, repetitions: int) -> Figure:
    """The seconds of each repetition, after one that is not counted."""
    if repetitions > 1:
        one()
    return Figure(tuple(one() for _ in range(repetitions)))


def calls(function: Callable[[], object], count: int = 1, clock: Callable[[], float] = time.perf_counter) -> Timed:
    """The median time of a call among so many in a row, by a clock."""

    def timed() -> float:
        seconds = []
        for _ in range(count):
            start = clock()
            function()
            seconds.append(clock() - start)
        return statistics.median(seconds)

    return timed


@dataclass(frozen=True)
class Finished:
    """A process that has ended: how long it took, from start to exit, the processor time of all its processes, and the
    memory of the largest of them.
    """

    seconds: float
    processor: float
    megabytes: float
    stdout: str


def process(
    command: Sequence[object], allowed: Sequence[int] = (0,), variables: Mapping[str, str] | None = None
) -> Finished:
    """Run a command, with its start and its end in the time; ``variables`` of the environment are set besides."""
    told, tell = os.pipe()
    with os.fdopen(told) as figures:
        done = subprocess.run(
            [sys.executable, "-S", TIMED, str(tell), *map(str, command)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env={**_environment(), **(variables or {})}, pass_fds=[tell],
            check=True,
        )  # fmt: skip
        os.close(tell)
        code, seconds, processor, memory = json.load(figures)
    if code not in allowed:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {code}:\n{done.stdout[-2000:]}")
    return Finished(seconds, processor, _megabytes(memory), done.stdout)


def python(*words: object) -> tuple[object, ...]:
    """A command of this interpreter."""
    return (sys.executable, *words)


def _environment() -> Mapping[str, str]:
    # As installed: what is imported again and again is compiled once.
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _megabytes(memory: int) -> float:
    # Linux counts it in KiB, macOS in bytes.
    return memory * (1 if sys.platform == "darwin" else 2**10) / 1e6
