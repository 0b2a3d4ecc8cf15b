"""What is said of each kind, and the groups of kinds."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

MIXED = "mixed"
"""The interpretation of an open point if no single interpretation agrees with all cells of an output."""


class KindGroup(str, Enum):
    """What a kind of divergence is about; the value is a heading."""

    Y_CELLS = "Cells of Y"
    INDEX_CELLS = "Cells of Indices"
    ALL_INDICES = "All Indices"
    ALL_OUTPUTS = "All outputs"
    GRAPH = "Graphs of several nodes"
    """Mistakes of what rewrites a graph before it runs."""
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


class Rewrite(NamedTuple):
    """A kind that is about a graph of several nodes, with its description."""

    group: KindGroup
    output: str | None
    value: str
    sentence: str
    clause: str
    hypothesis: str | None = None


_MEANING = "A graph means what its nodes compute, one after the other"
_REFUSAL = "A runtime that executes a graph executes it at every level of optimization"


def _rewrite(value: str, sentence: str, hypothesis: str | None = None, clause: str = _MEANING) -> Rewrite:
    return Rewrite(KindGroup.GRAPH, None, value, sentence, clause, hypothesis)


REWRITES = (
    _rewrite(
        "pad-folded-into-pads",
        "A Pad before MaxPool became pads of MaxPool: the cells that Pad adds take part in the maximum, padding does not.",
        "the graph with a Pad folded into the pads of MaxPool",
    ),
    _rewrite(
        "transpose-folded-wrongly",
        "A Transpose beside MaxPool was removed, or moved across it, without the attributes or the other Transpose.",
        "the graph with a Transpose removed or exchanged with MaxPool",
    ),
    _rewrite(
        "relu-moved",
        "A function of each value, such as Relu, Neg or Abs, was moved from one side of MaxPool to the other.",
        "the graph with a function of each value on the other side of MaxPool",
    ),
    _rewrite(
        "cast-moved",
        "A Cast was moved across MaxPool, which compares other values there: before they are rounded, or after.",
        "the graph with a Cast on the other side of MaxPool",
    ),
    _rewrite(
        "quantisation-moved",
        "A QuantizeLinear or DequantizeLinear was moved across MaxPool: other values are equal there, or in reverse order.",
        "the graph with QuantizeLinear or DequantizeLinear on the other side of MaxPool",
    ),
    _rewrite(
        "max-pools-merged",
        "Two MaxPools in a row became one with another window.",
        "the graph with one MaxPool of a larger window in place of two",
    ),
    _rewrite(
        "node-dropped",
        "A node beside MaxPool, or a Cast and the one back, was removed though it changes the outputs.",
        "the graph without that node",
    ),
    _rewrite(
        "blocked-layout",
        "The channels of Y are in blocks, as in the layout of the kernel, and not in order.",
        "MaxPool in a layout of blocks of channels that is not undone",
    ),
    _rewrite("constant-folded-wrongly", "A graph of constants is right without optimization, and wrong with it."),
    _rewrite(
        "rewritten-wrongly",
        "The outputs of a graph are right without optimization, and wrong with it; no known mistake explains them.",
    ),
    _rewrite("graph-not-loadable", "A graph is refused that is executed without optimization.", clause=_REFUSAL),
    _rewrite("graph-output", "An output of the graph is wrong in cells that are not MaxPool's."),
)
"""The kinds that are about graphs of several nodes."""
