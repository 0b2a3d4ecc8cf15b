"""Whether an upgrade can be let through: SAFE, REVIEW or BLOCK."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from maxpool_check.comparing.transitions import Change, Transition

BLOCKING = (Change.REGRESSED, Change.NEWLY_REFUSED, Change.CRASH_NEW)
"""What blocks unless it is said otherwise."""

UNSEEN = frozenset({Change.SAME, Change.NOT_COMPARED})


class Decision(str, Enum):
    """What a gate comes to."""

    SAFE = "SAFE"
    """Nothing that can be observed has changed."""
    REVIEW = "REVIEW"
    """Something has changed that a person should look at: also a defect that is gone, for production may rely on it."""
    BLOCK = "BLOCK"
    """Something has changed for the worse."""


@dataclass(frozen=True)
class Outcome:
    """The decision, and the one line that says why. ``compared`` is the number of executions it rests on."""

    decision: Decision
    compared: int
    words: str

    def __str__(self) -> str:
        return f"{self.decision.value} {self.words}"


def decide(found: Sequence[Transition], blocking: Collection[Change] = BLOCKING) -> Outcome:
    """Decide on all transitions between two targets."""
    compared = [one for one in found if one.change is not Change.NOT_COMPARED]
    seen = [one.change for one in compared if one.change not in UNSEEN]
    of = f"of {len(compared)} executions"
    if not seen:
        return Outcome(Decision.SAFE, len(compared), f"no observable change in {len(compared)} executions")
    blocks = any(change in blocking for change in seen)
    # What blocks comes first in the line.
    order = sorted(set(seen), key=lambda change: (change not in blocking, list(Change).index(change)))
    words = ", ".join(f"{seen.count(change)} {change.value}" for change in order)
    return Outcome(Decision.BLOCK if blocks else Decision.REVIEW, len(compared), f"{words} {of}")
