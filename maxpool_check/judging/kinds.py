"""What exactly can be wrong with an answer: a closed list, each kind decided from the data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from maxpool_check.results.variants import VARIATIONS

MIXED = "mixed"
"""What an answer shows of an open point where no one interpretation is that of all its cells."""


class DivergenceKind(str, Enum):
    """One way to be wrong."""

    _ignore_ = "variation"

    Y_LOWEST_FOR_NEG_INF = "y-lowest-for-neg-inf"
    Y_ALL_NAN_TO_LOWEST = "y-all-nan-to-lowest"
    Y_NAN_DROPPED = "y-nan-dropped"
    Y_NAN_INTRODUCED = "y-nan-introduced"
    Y_NAN_ORDER_DEPENDENT = "y-nan-order-dependent"
    Y_SIGNED_ZERO = "y-signed-zero"
    Y_PAD_VALUE_LEAK = "y-pad-value-leak"
    Y_ROUNDED_TO_FLOAT32 = "y-rounded-to-float32"
    Y_ROUNDED_TO_FLOAT16 = "y-rounded-to-float16"
    Y_ROUNDED_TO_BFLOAT16 = "y-rounded-to-bfloat16"
    Y_FLUSHED_SUBNORMAL = "y-flushed-subnormal"
    Y_SATURATED_INFINITY = "y-saturated-infinity"
    Y_IN_WINDOW_NOT_MAXIMUM = "y-in-window-not-maximum"
    Y_FROM_OUTSIDE_WINDOW = "y-from-outside-window"
    Y_NOT_IN_INPUT = "y-not-in-input"

    INDICES_SENTINEL = "indices-sentinel"
    INDICES_PLANE_ORIGIN = "indices-plane-origin"
    INDICES_OUT_OF_RANGE = "indices-out-of-range"
    INDICES_OUTSIDE_WINDOW = "indices-outside-window"
    INDICES_AT_PADDING = "indices-at-padding"
    INDICES_AT_NAN = "indices-at-nan"
    INDICES_IN_WINDOW_NOT_MAXIMUM = "indices-in-window-not-maximum"
    INDICES_TIE_LAST = "indices-tie-last"
    INDICES_TIE_COLUMN_FIRST = "indices-tie-column-first"
    INDICES_TIE_OTHER = "indices-tie-other"
    INDICES_DISAGREES_WITH_Y = "indices-disagrees-with-y"

    INDICES_PLANE_RELATIVE = "indices-plane-relative"
    INDICES_STORAGE_ORDER = "indices-storage-order"
    INDICES_AXES_SWAPPED = "indices-axes-swapped"
    INDICES_NHWC_FLAT = "indices-nhwc-flat"
    INDICES_IN_PADDED_TENSOR = "indices-in-padded-tensor"
    INDICES_MODULO_AXIS = "indices-modulo-axis"

    PADS_BEGIN_END_EXCHANGED = "pads-begin-end-exchanged"
    PADS_INTERLEAVED = "pads-interleaved"
    PADS_AXES_EXCHANGED = "pads-axes-exchanged"
    SAME_UPPER_LOWER_EXCHANGED = "same-upper-lower-exchanged"
    SAME_IGNORES_DILATION = "same-ignores-dilation"
    SAME_UNCLAMPED = "same-unclamped"
    CEIL_FLOOR_EXCHANGED = "ceil-floor-exchanged"
    CEIL_CLIP_EXCHANGED = "ceil-clip-exchanged"
    DILATION_IGNORED = "dilation-ignored"
    DILATION_AXES_EXCHANGED = "dilation-axes-exchanged"
    DILATION_PHASE_LOST = "dilation-phase-lost"
    STRIDES_AXES_EXCHANGED = "strides-axes-exchanged"
    KERNEL_AXES_EXCHANGED = "kernel-axes-exchanged"
    TRUNCATED_DIVISION = "truncated-division"

    SHAPE = "shape"
    DTYPE = "dtype"
    MISSING_OUTPUT = "missing-output"
    ACCEPTS_INVALID = "accepts-invalid"
    REFUSES_VALID = "refuses-valid"
    CRASH = "crash"
    TIMEOUT = "timeout"

    Y_DEPENDS_ON_INDICES = "y-depends-on-indices"
    for variation in VARIATIONS:
        if variation.subject is not None:
            vars()[f"Y_DEPENDS_ON_{variation.subject.upper()}"] = f"y-depends-on-{variation.subject}"
            vars()[f"INDICES_DEPEND_ON_{variation.subject.upper()}"] = f"indices-depend-on-{variation.subject}"
    UNSTABLE = "unstable"


@dataclass(frozen=True)
class KindDescription:
    """A kind for people: one sentence, and the clause it rests on.

    ``hypothesis`` is there where the kind is a mistake in the whole answer, found by computing with it: what the answer
    then equals.
    """

    sentence: str
    clause: str
    hypothesis: str | None = None


_MAXIMUM = "Y is the maximum of the window's cells; padding and seeds of the scan are not among them"
_COPIED = "Y is copied from X, not computed"
_NAN = "SONNX: any NaN in X is considered as -inf; ONNX does not say"
_IN_WINDOW = "Indices are positions of cells of X in the window"
_TAKEN_FROM = "Indices are the positions Y was taken from"
_TIE = "SONNX: the first maximum in row-major order; ONNX does not say"
_NUMBER = "Indices are (n * C + c) * D1 * ... * Dn + offset in the unpadded tensor; storage_order says how offset runs"
_PADS = "pads are [x1_begin, x2_begin, ..., x1_end, x2_end, ...]"
_SAME = "SAME_*: the output size is ceil(n / s), the padding max(0, (o - 1) * s + K - n), K = (k - 1) * d + 1"
_SIZE = "The output size is floor((n + b + e - K) / s) + 1, rounded up with ceil_mode"
_ATTRIBUTES = "Each spatial axis has its own kernel, stride, dilation and pads"
_CONSTRAINTS = "The document's constraints on attributes, types and shapes"
_ANSWER = "An answer or a refusal is expected of every graph"
_FUNCTION = "MaxPool is a function of its input and its attributes"

DESCRIPTIONS: dict[DivergenceKind, KindDescription] = {
    DivergenceKind.Y_LOWEST_FOR_NEG_INF: KindDescription(
        "Y is the lowest finite value of the dtype where every cell of the window is -inf, or counts as it.", _MAXIMUM
    ),
    DivergenceKind.Y_ALL_NAN_TO_LOWEST: KindDescription(
        "Y is the lowest finite value of the dtype where every cell of the window is NaN.", _NAN
    ),
    DivergenceKind.Y_NAN_DROPPED: KindDescription("Y is a number where NaN is due.", _NAN),
    DivergenceKind.Y_NAN_INTRODUCED: KindDescription("Y is NaN where a number is due.", _NAN),
    DivergenceKind.Y_NAN_ORDER_DEPENDENT: KindDescription(
        "What comes out beside a NaN depends on where the NaN is in the window: another of its numbers than the maximum, as "
        "when a scan forgets at a NaN what it had found, or different ones in windows of the same values.",
        _NAN,
        "a scan that forgets at a NaN what it had found",
    ),
    DivergenceKind.Y_SIGNED_ZERO: KindDescription(
        "Y is a zero of the other sign than the cell that was chosen.", _COPIED
    ),
    DivergenceKind.Y_PAD_VALUE_LEAK: KindDescription(
        "Y is a constant greater than the window's maximum, where the window reaches into the padding: the padding "
        "was given a value, and it won.",
        _MAXIMUM,
        "a MaxPool whose padding has a value",
    ),
    DivergenceKind.Y_ROUNDED_TO_FLOAT32: KindDescription(
        "Y is the maximum rounded to float32, or to the largest value of it.",
        _COPIED,
        "a MaxPool of X rounded to float32",
    ),
    DivergenceKind.Y_ROUNDED_TO_FLOAT16: KindDescription(
        "Y is the maximum rounded to float16, or to the largest value of it.",
        _COPIED,
        "a MaxPool of X rounded to float16",
    ),
    DivergenceKind.Y_ROUNDED_TO_BFLOAT16: KindDescription(
        "Y is the maximum rounded to bfloat16, or to the largest value of it.",
        _COPIED,
        "a MaxPool of X rounded to bfloat16",
    ),
    DivergenceKind.Y_FLUSHED_SUBNORMAL: KindDescription(
        "Y is zero where the maximum is subnormal.", _COPIED, "a MaxPool of X with its subnormal values made zero"
    ),
    DivergenceKind.Y_SATURATED_INFINITY: KindDescription(
        "Y is the largest finite value of the dtype where the maximum is infinite.",
        _COPIED,
        "a MaxPool of X with its infinities made finite",
    ),
    DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM: KindDescription(
        "Y is the value of a cell of the window that is not its maximum.", _MAXIMUM
    ),
    DivergenceKind.Y_FROM_OUTSIDE_WINDOW: KindDescription(
        "Y is the value of a cell of X, but of none in the window.", _MAXIMUM
    ),
    DivergenceKind.Y_NOT_IN_INPUT: KindDescription("Y is the value of no cell of X.", _COPIED),
    DivergenceKind.INDICES_SENTINEL: KindDescription(
        "The index names no cell: it is negative, or, where nothing in the window exceeds the lowest finite value, the "
        "number that the coordinates (-1, ..., -1) of the plane would have, which is in range after the first plane.",
        _IN_WINDOW,
    ),
    DivergenceKind.INDICES_PLANE_ORIGIN: KindDescription(
        "The index is that of the first cell of the plane, which is not in the window, or where the scan found nothing.",
        _IN_WINDOW,
    ),
    DivergenceKind.INDICES_OUT_OF_RANGE: KindDescription(
        "The index is not smaller than the number of cells of X.", "Indices are in [0, N x C x D1 x ... x Dn)"
    ),
    DivergenceKind.INDICES_OUTSIDE_WINDOW: KindDescription(
        "The index names a cell of X that is not in the window.", _IN_WINDOW
    ),
    DivergenceKind.INDICES_AT_PADDING: KindDescription(
        "The index is the number that a tap of the window in the padding would have.", _IN_WINDOW
    ),
    DivergenceKind.INDICES_AT_NAN: KindDescription(
        "The index names a NaN of the window, where a number is its maximum.", _TAKEN_FROM
    ),
    DivergenceKind.INDICES_IN_WINDOW_NOT_MAXIMUM: KindDescription(
        "The index names a cell of the window that does not hold its maximum.", _TAKEN_FROM
    ),
    DivergenceKind.INDICES_TIE_LAST: KindDescription("The index names the last of several equal maxima.", _TIE),
    DivergenceKind.INDICES_TIE_COLUMN_FIRST: KindDescription(
        "The index names the first of several equal maxima in column-major order.", _TIE
    ),
    DivergenceKind.INDICES_TIE_OTHER: KindDescription(
        "The index names another of several equal maxima than the first, and neither the last nor the first by columns.",
        _TIE,
    ),
    DivergenceKind.INDICES_DISAGREES_WITH_Y: KindDescription(
        "The index names a cell that could be the maximum, but not for the Y that came with it.", _TAKEN_FROM
    ),
    DivergenceKind.INDICES_PLANE_RELATIVE: KindDescription(
        "The indices count the cells of each plane from 0.",
        _NUMBER,
        "Indices that count the cells of each plane from 0",
    ),
    DivergenceKind.INDICES_STORAGE_ORDER: KindDescription(
        "The indices count in the other storage_order.", _NUMBER, "Indices that count in the other storage_order"
    ),
    DivergenceKind.INDICES_AXES_SWAPPED: KindDescription(
        "The indices are computed with the sizes or the coordinates of other axes.",
        _NUMBER,
        "Indices computed with the sizes or the coordinates of other axes",
    ),
    DivergenceKind.INDICES_NHWC_FLAT: KindDescription(
        "The indices are positions in the tensor with its channels last.",
        _NUMBER,
        "Indices that count in the tensor with its channels last",
    ),
    DivergenceKind.INDICES_IN_PADDED_TENSOR: KindDescription(
        "The indices are positions in the padded tensor.", _NUMBER, "Indices that count in the padded tensor"
    ),
    DivergenceKind.INDICES_MODULO_AXIS: KindDescription(
        "The indices count anew from another axis than they should.",
        _NUMBER,
        "Indices that count anew from another axis",
    ),
    DivergenceKind.PADS_BEGIN_END_EXCHANGED: KindDescription(
        "The pads at the beginning and at the end of each axis are exchanged.",
        _PADS,
        "a MaxPool with the pads at the beginning and the end exchanged",
    ),
    DivergenceKind.PADS_INTERLEAVED: KindDescription(
        "The pads are read as [x1_begin, x1_end, x2_begin, x2_end, ...].",
        _PADS,
        "a MaxPool with the pads read as [x1_begin, x1_end, x2_begin, x2_end, ...]",
    ),
    DivergenceKind.PADS_AXES_EXCHANGED: KindDescription(
        "The pads are those of another axis.", _PADS, "a MaxPool with the pads of another axis"
    ),
    DivergenceKind.SAME_UPPER_LOWER_EXCHANGED: KindDescription(
        "SAME_UPPER and SAME_LOWER are exchanged: the odd cell of the padding is on the other side.",
        _SAME,
        "the other of SAME_UPPER and SAME_LOWER",
    ),
    DivergenceKind.SAME_IGNORES_DILATION: KindDescription(
        "The padding of SAME_* is computed with k instead of K, the dilated kernel.",
        _SAME,
        "a SAME computed with k instead of K",
    ),
    DivergenceKind.SAME_UNCLAMPED: KindDescription(
        "SAME_* crops X where its padding would be negative, instead of not padding.",
        _SAME,
        "a SAME whose padding may be negative",
    ),
    DivergenceKind.CEIL_FLOOR_EXCHANGED: KindDescription(
        "The output size is rounded up instead of down, or down instead of up.",
        _SIZE,
        "a MaxPool with the other ceil_mode",
    ),
    DivergenceKind.CEIL_CLIP_EXCHANGED: KindDescription(
        "With ceil_mode, a last window that starts in the end padding is kept where it must be dropped, or dropped where it "
        "must be kept.",
        "ONNX-22, OpenVINO ceil_torch: such a window is dropped; ONNX before 22, OpenVINO ceil: it is kept",
        "a MaxPool with the other treatment of a last window in the end padding",
    ),
    DivergenceKind.DILATION_IGNORED: KindDescription(
        "The taps of the window follow each other without gaps.", _ATTRIBUTES, "a MaxPool with dilation 1"
    ),
    DivergenceKind.DILATION_AXES_EXCHANGED: KindDescription(
        "The dilations are those of other axes.", _ATTRIBUTES, "a MaxPool with the dilations of other axes"
    ),
    DivergenceKind.DILATION_PHASE_LOST: KindDescription(
        "Where the window begins in the padding, its taps are counted from the border of X instead of from its start.",
        _ATTRIBUTES,
        "a MaxPool whose dilated taps are counted from the border of X",
    ),
    DivergenceKind.STRIDES_AXES_EXCHANGED: KindDescription(
        "The strides are those of other axes.", _ATTRIBUTES, "a MaxPool with the strides of other axes"
    ),
    DivergenceKind.KERNEL_AXES_EXCHANGED: KindDescription(
        "The kernel sizes are those of other axes.", _ATTRIBUTES, "a MaxPool with the kernel sizes of other axes"
    ),
    DivergenceKind.TRUNCATED_DIVISION: KindDescription(
        "A window larger than the padded input gives an output: its negative size was divided towards zero.",
        _SIZE,
        "a MaxPool whose output size is divided towards zero",
    ),
    DivergenceKind.SHAPE: KindDescription(
        "An output has another shape than the document gives it.",
        "The output shape follows from the input shape and the attributes",
    ),
    DivergenceKind.DTYPE: KindDescription(
        "An output has another dtype: Y that of X, Indices int64.", "Y has the type of X, Indices are int64"
    ),
    DivergenceKind.MISSING_OUTPUT: KindDescription(
        "An output that was asked for did not come.", "The operator has the outputs Y and, where asked for, Indices"
    ),
    DivergenceKind.ACCEPTS_INVALID: KindDescription("A graph that the document excludes was run.", _CONSTRAINTS),
    DivergenceKind.REFUSES_VALID: KindDescription(
        "A graph that the document allows was refused; a limit, where the runtime says that it does not implement it or the "
        "padding is not smaller than the kernel.",
        _CONSTRAINTS,
    ),
    DivergenceKind.CRASH: KindDescription("The process of the runtime died.", _ANSWER),
    DivergenceKind.TIMEOUT: KindDescription("The runtime did not answer in time.", _ANSWER),
    DivergenceKind.Y_DEPENDS_ON_INDICES: KindDescription(
        "Y has other bits when Indices are asked for than when they are not, though either value may be defended.",
        "An output does not depend on which other outputs are wanted",
    ),
    **{
        kind: KindDescription(sentence, _FUNCTION)
        for variation in VARIATIONS
        if variation.subject is not None
        for kind, sentence in (
            (DivergenceKind(f"y-depends-on-{variation.subject}"), f"Y differs {variation.sentence}."),
            (DivergenceKind(f"indices-depend-on-{variation.subject}"), f"Indices differ {variation.sentence}."),
        )
    },
    DivergenceKind.UNSTABLE: KindDescription("The same request, executed twice, returns different outputs.", _FUNCTION),
}
