"""What a target did when it was asked: a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Returned:
    """It gave outputs, by name. ``provider`` is the one that ran the node, where the runtime says."""

    outputs: Mapping[str, np.ndarray]
    provider: str | None = None


@dataclass(frozen=True)
class RefusedByTarget:
    """It refused the graph, with its own status class (``NOT_IMPLEMENTED``, ``INVALID_GRAPH`` ...) and words."""

    status: str
    message: str


@dataclass(frozen=True)
class Crashed:
    """Its process died: the signal's name, or the exit status, and the last it wrote to stderr."""

    how: str
    stderr: str


@dataclass(frozen=True)
class TimedOut:
    """It did not answer within the time, in seconds, and was killed."""

    seconds: float


@dataclass(frozen=True)
class NotExecuted:
    """It could not be asked: nothing it speaks says the same as the case."""

    why: str


@dataclass(frozen=True)
class Failed:
    """The asking went wrong in a way that says nothing about the target's MaxPool.

    ``final``: nothing more can be asked of the target.
    """

    why: str
    final: bool = False


Outcome = Returned | RefusedByTarget | Crashed | TimedOut | NotExecuted | Failed
