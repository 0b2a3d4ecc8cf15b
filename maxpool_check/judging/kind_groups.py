"""What is said of each kind, and the groups of kinds."""

from dataclasses import dataclass
from enum import Enum

MIXED = "mixed"
"""The interpretation of an open point if no single interpretation agrees with all cells of an output."""


class KindGroup(str, Enum):
    """What a kind of divergence is about; the value is a heading."""

    Y_CELLS = "Cells of Y"
    INDEX_CELLS = "Cells of Indices"
    ALL_INDICES = "All Indices"
    ALL_OUTPUTS = "All outputs"
    EXECUTION = "Shapes, refusals and crashes"
    DEPENDENCE = "Results that are not always the same"
    """The outputs of two variants differ: of a variation and its base, or with Indices and without."""


@dataclass(frozen=True)
class KindDescription:
    """A kind of divergence for people: one sentence, and the clause it rests on.

    ``output`` is the output that the kind is about, None if it can be about both or neither. ``hypothesis`` is set if the
    kind is a mistake in the whole result, which the reference can compute: what the result then equals.
    """

    group: KindGroup
    output: str | None
    sentence: str
    clause: str
    hypothesis: str | None
