"""The outcome of a request to a target: a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Returned:
    """Outputs, by name. ``provider`` is the one that executed the node, if the runtime reports it."""

    outputs: Mapping[str, np.ndarray]
    provider: str | None = None


@dataclass(frozen=True)
class RefusedByTarget:
    """An error message, with the runtime's own status (``NOT_IMPLEMENTED``, ``INVALID_GRAPH`` ...)."""

    status: str
    message: str


@dataclass(frozen=True)
class Crashed:
    """The target's process died: the signal's name or the exit status, and the end of its stderr."""

    how: str
    stderr: str


@dataclass(frozen=True)
class TimedOut:
    """The target returned nothing in this time, in seconds, and was killed."""

    seconds: float


@dataclass(frozen=True)
class NotExecuted:
    """The target cannot execute the case: nothing it accepts means the same."""

    why: str


@dataclass(frozen=True)
class Failed:
    """The execution failed in a way that says nothing about the target's MaxPool.

    ``final``: the target can execute nothing more.
    """

    why: str
    final: bool = False


Outcome = Returned | RefusedByTarget | Crashed | TimedOut | NotExecuted | Failed
