"""What exactly can be wrong with an answer: a closed list, each kind decided from the data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(str, Enum):
    """One way to be wrong."""

    Y_LOWEST_FOR_NEG_INF = "y-lowest-for-neg-inf"
    Y_NAN = "y-nan"
    Y_SIGNED_ZERO = "y-signed-zero"
    Y_WRONG = "y-wrong"
    Y_DEPENDS_ON_INDICES = "y-depends-on-indices"
    INDICES_SENTINEL = "indices-sentinel"
    INDICES_OUT_OF_RANGE = "indices-out-of-range"
    INDICES_OUTSIDE_WINDOW = "indices-outside-window"
    INDICES_NOT_MAXIMUM = "indices-not-maximum"
    INDICES_TIE = "indices-tie"
    SHAPE = "shape"
    DTYPE = "dtype"
    MISSING_OUTPUT = "missing-output"
    ACCEPTS_INVALID = "accepts-invalid"
    REFUSES_VALID = "refuses-valid"
    CRASH = "crash"
    TIMEOUT = "timeout"


@dataclass(frozen=True)
class Description:
    """A kind for people: one sentence, and the clause it rests on."""

    sentence: str
    clause: str


DESCRIPTIONS: dict[Kind, Description] = {
    Kind.Y_LOWEST_FOR_NEG_INF: Description(
        "Y is the lowest finite value of the dtype where every cell of the window is -inf, or counts as it.",
        "Y is the maximum of the window's cells; padding and seeds of the scan are not among them",
    ),
    Kind.Y_NAN: Description(
        "Y is NaN where a number is due, or a number where NaN is, or a NaN in the window makes another of its cells come "
        "out than the maximum.",
        "SONNX: any NaN in X is considered as -inf; ONNX does not say",
    ),
    Kind.Y_SIGNED_ZERO: Description(
        "Y is a zero of the other sign than the cell that was chosen.",
        "Y is copied from X, not computed",
    ),
    Kind.Y_WRONG: Description(
        "Y is not the maximum of the window.",
        "Y is the maximum of the window's cells",
    ),
    Kind.Y_DEPENDS_ON_INDICES: Description(
        "Y has other bits when Indices are asked for than when they are not, though either value may be defended.",
        "An output does not depend on which other outputs are wanted",
    ),
    Kind.INDICES_SENTINEL: Description(
        "The index names no cell: it is negative, or, where nothing in the window exceeds the lowest finite value, the "
        "number that the coordinates (-1, ..., -1) of the plane would have, which is in range after the first plane.",
        "Indices are positions of cells of X in the window",
    ),
    Kind.INDICES_OUT_OF_RANGE: Description(
        "The index is not smaller than the number of cells of X.",
        "Indices are in [0, N x C x D1 x ... x Dn)",
    ),
    Kind.INDICES_OUTSIDE_WINDOW: Description(
        "The index names a cell of X that is not in the window.",
        "Indices are positions of cells of X in the window",
    ),
    Kind.INDICES_NOT_MAXIMUM: Description(
        "The index names a cell of the window that does not hold its maximum.",
        "Indices are the positions Y was taken from",
    ),
    Kind.INDICES_TIE: Description(
        "The index names another of several equal maxima than the first.",
        "SONNX: the first maximum in row-major order; ONNX does not say",
    ),
    Kind.SHAPE: Description(
        "An output has another shape than the document gives it.",
        "The output shape follows from the input shape and the attributes",
    ),
    Kind.DTYPE: Description(
        "An output has another dtype: Y that of X, Indices int64.",
        "Y has the type of X, Indices are int64",
    ),
    Kind.MISSING_OUTPUT: Description(
        "An output that was asked for did not come.",
        "The operator has the outputs Y and, where asked for, Indices",
    ),
    Kind.ACCEPTS_INVALID: Description(
        "A graph that the document excludes was run.",
        "The document's constraints on attributes, types and shapes",
    ),
    Kind.REFUSES_VALID: Description(
        "A graph that the document allows was refused.",
        "The document's constraints on attributes, types and shapes",
    ),
    Kind.CRASH: Description(
        "The process of the runtime died.",
        "An answer or a refusal is expected of every graph",
    ),
    Kind.TIMEOUT: Description(
        "The runtime did not answer in time.",
        "An answer or a refusal is expected of every graph",
    ),
}
