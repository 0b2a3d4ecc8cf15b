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
    """The decision, and the one line that says why. ``compared`` is the number of executions that both sides were asked."""

    decision: Decision
    compared: int
    words: str

    def __str__(self) -> str:
        return f"{self.decision.value} {self.words}"


def decide(found: Sequence[Transition], blocking: Collection[Change] = BLOCKING) -> Outcome:
    """Decide on all transitions between two targets."""
    held = [one.change for one in found if one.change is not Change.NOT_COMPARED]
    seen = [change for change in held if change not in UNSEEN]
    # What one side was not asked is no comparison.
    compared = sum(change not in (Change.MISSING, Change.ADDED) for change in held)
    of = f"of {len(held)} executions"
    if not seen:
        return Outcome(Decision.SAFE, compared, f"no observable change in {compared} executions")
    blocks = any(change in blocking for change in seen)
    # What blocks comes first in the line.
    order = sorted(set(seen), key=lambda change: (change not in blocking, list(Change).index(change)))
    words = ", ".join(f"{seen.count(change)} {change.value}" for change in order)
    return Outcome(Decision.BLOCK if blocks else Decision.REVIEW, compared, f"{words} {of}")
