"""The outcomes of a request to a target."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxpool_check.reference.dtypes import digest
from maxpool_check.results.details import InferredOutput


@dataclass(frozen=True, eq=False)
class Returned:
    """The outputs by name; ``provider`` is that which ran the node, if the runtime reports it."""

    outputs: Mapping[str, np.ndarray]
    provider: str | None = None

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """The SHA-256 of each output."""
        return {name: digest(value) for name, value in self.outputs.items()}


@dataclass(frozen=True)
class Inferred:
    """What a target that computes no values says of the outputs, by name."""

    outputs: Mapping[str, InferredOutput]


@dataclass(frozen=True)
class Accepted:
    """A target that only accepts or refuses graphs accepted it."""


@dataclass(frozen=True)
class RefusedByTarget:
    """The target refused the graph, with its own status (``NOT_IMPLEMENTED``, ``INVALID_GRAPH`` ...) and message."""

    status: str
    message: str


@dataclass(frozen=True)
class Crashed:
    """The process died: the name of the signal or the exit status, and the end of stderr."""

    how: str
    stderr: str


@dataclass(frozen=True)
class TimedOut:
    """The target exceeded the time limit, in seconds, and was killed."""

    seconds: float


@dataclass(frozen=True)
class NotExecuted:
    """The target accepts nothing that means the same as the case."""

    why: str


@dataclass(frozen=True)
class NotClaimed:
    """The target does not claim the document of the case, nor one that means the same here."""

    why: str


@dataclass(frozen=True)
class Failed:
    """The execution failed for a reason other than the target's MaxPool; ``final``: the target cannot go on.

    ``traceback`` is that of an exception in the tool itself.
    """

    why: str
    final: bool = False
    traceback: str = ""

    @classmethod
    def internal(cls, error: Exception) -> "Failed":
        """An exception while an outcome was converted or judged."""
        why = f"internal error: {type(error).__name__}: {error}; a defect of maxpool-check, -vv records the traceback"
        return cls(why, traceback="".join(traceback.format_exception(error)))


Outcome = Returned | Inferred | Accepted | RefusedByTarget | Crashed | TimedOut | NotExecuted | NotClaimed | Failed
