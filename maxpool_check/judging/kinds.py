"""The kinds of divergence: a closed list, each decided from the data."""

from enum import Enum
from functools import partial

from maxpool_check.judging.kind_groups import REWRITES, KindDescription, KindGroup
from maxpool_check.results.variants import VARIATIONS

_MAXIMUM = "Y is the maximum of the cells of X in the window; padding and initial values of a scan do not count"
_COPIED = "Y is copied from X, not computed"
_NAN = "SONNX: a NaN in X counts as -inf; ONNX does not say"
_IN_WINDOW = "Indices are positions of cells of X in the window"
_TAKEN_FROM = "Indices are the positions that Y was taken from"
_TIE = "SONNX: the first maximum in row-major order; ONNX does not say"
_NUMBER = "Indices are (n * C + c) * D1 * ... * Dn + offset in the unpadded tensor; storage_order defines the offset"
_PADS = "pads are [x1_begin, x2_begin, ..., x1_end, x2_end, ...]"
_SAME = "SAME_*: the output size is ceil(n / s), the padding is (o - 1) * s + K - n, K = (k - 1) * d + 1"
_SIZE = "The output size is floor((n + b + e - K) / s) + 1, rounded up with ceil_mode"
_AXES = "Each spatial axis has its own kernel, stride, dilation and pads"
_CONSTRAINTS = "The document's constraints on attributes, types and shapes"
_RESULT = "Every graph gives outputs or an error message"
_FUNCTION = "MaxPool is a function of its input and its attributes"
_INCONSISTENT = "none where the document allows both outputs: the verdict is then inconsistent, not diverges"


_DESCRIBED: dict[str, KindDescription] = {}


def _kind(
    group: KindGroup, output: str | None, value: str, sentence: str, clause: str, hypothesis: str | None = None
) -> str:
    """The value of a kind, whose description is kept for ``DESCRIPTIONS``."""
    _DESCRIBED[value] = KindDescription(group, output, sentence, clause, hypothesis)
    return value


_y = partial(_kind, KindGroup.Y_CELLS, "Y")
_index = partial(_kind, KindGroup.INDEX_CELLS, "Indices")
_execution = partial(_kind, KindGroup.EXECUTION, None)
_dependence = partial(_kind, KindGroup.DEPENDENCE)


def _rounded(dtype: str) -> str:
    sentence = f"Y is the maximum rounded to {dtype}, or the largest value of {dtype}."
    return _y(f"y-rounded-to-{dtype}", sentence, _COPIED, f"a MaxPool of X rounded to {dtype}")


def _geometry(value: str, sentence: str, clause: str, mistake: str) -> str:
    return _kind(KindGroup.ALL_OUTPUTS, None, value, sentence, clause, f"a MaxPool {mistake}")


def _exchanged(value: str, attribute: str, clause: str) -> str:
    sentence = f"Axes have the {attribute} of other axes."
    return _geometry(value, sentence, clause, f"with the {attribute} of other axes")


def _first_axis(value: str, attribute: str) -> str:
    mistake = f"with the {attribute} of the first axis on all axes"
    return _geometry(value, f"All axes have the {attribute} of the first axis.", _AXES, mistake)


def _numbering(value: str, mistake: str) -> str:
    return _kind(KindGroup.ALL_INDICES, "Indices", value, f"Indices {mistake}.", _NUMBER, f"Indices that {mistake}")


class DivergenceKind(str, Enum):
    """One way to be wrong."""

    _ignore_ = "variation rewrite"

    Y_LOWEST_FOR_NEG_INF = _y(
        "y-lowest-for-neg-inf", "Y is the lowest finite value of the dtype instead of -inf.", _MAXIMUM
    )
    Y_ALL_NAN_TO_LOWEST = _y(
        "y-all-nan-to-lowest", "Y is the lowest finite value of the dtype in a window of NaN.", _NAN
    )
    Y_NAN_DROPPED = _y("y-nan-dropped", "Y is a number where NaN is expected.", _NAN)
    Y_NAN_INTRODUCED = _y("y-nan-introduced", "Y is NaN where a number is expected.", _NAN)
    Y_NAN_ORDER_DEPENDENT = _y(
        "y-nan-order-dependent",
        "The result depends on the position of the NaN within the window.",
        _NAN,
        "a scan that loses its maximum at a NaN",
    )
    Y_SIGNED_ZERO = _y("y-signed-zero", "Y is a zero whose sign differs from that of the chosen cell.", _COPIED)
    Y_PAD_VALUE_LEAK = _y(
        "y-pad-value-leak",
        "Y is the value of the padding, which is greater than the maximum.",
        _MAXIMUM,
        "a MaxPool whose padding has a value",
    )
    Y_ROUNDED_TO_FLOAT32 = _rounded("float32")
    Y_ROUNDED_TO_FLOAT16 = _rounded("float16")
    Y_ROUNDED_TO_BFLOAT16 = _rounded("bfloat16")
    Y_FLUSHED_SUBNORMAL = _y(
        "y-flushed-subnormal", "Y is zero instead of subnormal.", _COPIED, "a MaxPool of X with subnormals set to zero"
    )
    Y_SATURATED_INFINITY = _y(
        "y-saturated-infinity",
        "Y is the largest finite value of the dtype instead of infinity.",
        _COPIED,
        "a MaxPool of X with infinities made finite",
    )
    Y_IN_WINDOW_NOT_MAXIMUM = _y(
        "y-in-window-not-maximum", "Y is the value of a cell of the window, but not the maximum.", _MAXIMUM
    )
    Y_FROM_OUTSIDE_WINDOW = _y(
        "y-from-outside-window", "Y is the value of a cell of X that is not in the window.", _MAXIMUM
    )
    Y_NOT_IN_INPUT = _y("y-not-in-input", "Y is not the value of any cell of X.", _COPIED)

    INDICES_SENTINEL = _index(
        "indices-sentinel",
        "Index is negative or the start value of the scan (base - W - 1), not a position in the window.",
        _IN_WINDOW,
    )
    INDICES_PLANE_ORIGIN = _index(
        "indices-plane-origin",
        "Index refers to the first cell of the plane, as if the scan had found nothing.",
        _IN_WINDOW,
    )
    INDICES_OUT_OF_RANGE = _index(
        "indices-out-of-range",
        "Index is not less than the number of cells of X.",
        "Indices are in [0, N x C x D1 x ... x Dn)",
    )
    INDICES_OUTSIDE_WINDOW = _index(
        "indices-outside-window", "Index refers to a cell of X that is not in the window.", _IN_WINDOW
    )
    INDICES_AT_PADDING = _index(
        "indices-at-padding", "Index is the number that a tap in the padding would have.", _IN_WINDOW
    )
    INDICES_AT_NAN = _index(
        "indices-at-nan", "Index refers to a NaN of the window, but the maximum is a number.", _TAKEN_FROM
    )
    INDICES_IN_WINDOW_NOT_MAXIMUM = _index(
        "indices-in-window-not-maximum", "Index refers to a cell of the window that is not its maximum.", _TAKEN_FROM
    )
    INDICES_TIE_LAST = _index("indices-tie-last", "Index refers to the last of several equal maxima.", _TIE)
    INDICES_TIE_COLUMN_FIRST = _index(
        "indices-tie-column-first", "Index refers to the first of several equal maxima in column-major order.", _TIE
    )
    INDICES_TIE_OTHER = _index(
        "indices-tie-other",
        "Index refers to one of several equal maxima: not the first or last in row-major order, nor the first by columns.",
        _TIE,
    )
    INDICES_DISAGREES_WITH_Y = _index(
        "indices-disagrees-with-y",
        "Index refers to a maximum under an interpretation of NaN that is not that of Y.",
        _TAKEN_FROM,
    )

    INDICES_PLANE_RELATIVE = _numbering("indices-plane-relative", "restart at 0 in each plane")
    INDICES_STORAGE_ORDER = _numbering("indices-storage-order", "use the other storage_order")
    INDICES_AXES_SWAPPED = _numbering(
        "indices-axes-swapped", "are computed with the sizes or the coordinates of other axes"
    )
    INDICES_NHWC_FLAT = _numbering("indices-nhwc-flat", "are positions in the channels-last tensor")
    INDICES_IN_PADDED_TENSOR = _numbering("indices-in-padded-tensor", "are positions in the padded tensor")
    INDICES_MODULO_AXIS = _numbering("indices-modulo-axis", "restart at 0 from another axis on than they should")

    PADS_BEGIN_END_EXCHANGED = _geometry(
        "pads-begin-end-exchanged", "The begin and end pads are exchanged.", _PADS, "with begin and end pads exchanged"
    )
    PADS_INTERLEAVED = _geometry(
        "pads-interleaved",
        "The pads are interpreted as [x1_begin, x1_end, x2_begin, x2_end, ...].",
        _PADS,
        "with pads interpreted as [x1_begin, x1_end, x2_begin, x2_end, ...]",
    )
    PADS_AXES_EXCHANGED = _exchanged("pads-axes-exchanged", "pads", _PADS)
    SAME_UPPER_LOWER_EXCHANGED = _geometry(
        "same-upper-lower-exchanged",
        "SAME_UPPER and SAME_LOWER are exchanged.",
        _SAME,
        "with SAME_UPPER and SAME_LOWER exchanged",
    )
    SAME_IGNORES_DILATION = _geometry(
        "same-ignores-dilation",
        "auto_pad=SAME_* ignores dilations when computing the padding.",
        _SAME,
        "whose SAME_* padding ignores dilations",
    )
    SAME_UNCLAMPED = _geometry(
        "same-unclamped", "auto_pad=SAME_* crops X instead of not padding it.", _SAME, "with negative SAME_* padding"
    )
    CEIL_FLOOR_EXCHANGED = _geometry(
        "ceil-floor-exchanged", "The output size is rounded in the wrong direction.", _SIZE, "with the other ceil_mode"
    )
    CEIL_CLIP_EXCHANGED = _geometry(
        "ceil-clip-exchanged",
        "With ceil_mode, a last window that starts in the end padding is wrongly kept or dropped.",
        "ONNX-22, OpenVINO ceil_torch: such a window is dropped; ONNX before 22, OpenVINO ceil: it is kept",
        "with the other treatment of a last window in the end padding",
    )
    DILATION_IGNORED = _geometry("dilation-ignored", "The dilations are ignored.", _AXES, "with dilation 1")
    DILATION_AXES_EXCHANGED = _exchanged("dilation-axes-exchanged", "dilations", _AXES)
    DILATION_PHASE_LOST = _geometry(
        "dilation-phase-lost",
        "The taps of a window that begins in the padding are counted from the border of X, not from the window's start.",
        _AXES,
        "whose dilated taps are counted from the border of X",
    )
    STRIDES_AXES_EXCHANGED = _exchanged("strides-axes-exchanged", "strides", _AXES)
    KERNEL_AXES_EXCHANGED = _exchanged("kernel-axes-exchanged", "kernel sizes", _AXES)
    DILATION_OF_FIRST_AXIS = _first_axis("dilation-of-first-axis", "dilation")
    STRIDE_OF_FIRST_AXIS = _first_axis("stride-of-first-axis", "stride")
    STRIDE_IGNORED = _geometry("stride-ignored", "The strides are ignored.", _AXES, "with stride 1")
    STRIDE_IS_KERNEL = _geometry(
        "stride-is-kernel", "The kernel sizes are used as strides.", _AXES, "with the kernel sizes as strides"
    )
    KERNEL_ONE_SHORT = _geometry(
        "kernel-one-short",
        "Each window lacks its last tap on every axis.",
        _AXES,
        "with kernel sizes that are one less",
    )
    WINDOWS_SHIFTED = _geometry(
        "windows-shifted",
        "Each window is shifted by one cell on every axis.",
        _AXES,
        "with windows that are shifted by one cell on every axis",
    )
    PADS_IGNORED = _geometry("pads-ignored", "The pads are ignored.", _PADS, "without pads")
    AUTO_PAD_IGNORED = _geometry("auto-pad-ignored", "auto_pad=SAME_* is ignored.", _SAME, "without padding")
    SIGNED_UNSIGNED_EXCHANGED = _geometry(
        "signed-unsigned-exchanged",
        "Signed integers are compared as unsigned ones, or the reverse.",
        _MAXIMUM,
        "that compares signed integers as unsigned ones, or the reverse",
    )
    COMPARED_AS_BITS = _geometry(
        "compared-as-bits",
        "Floats are compared as the integers of their bits, so that negative ones are in reverse order.",
        _MAXIMUM,
        "that compares the bits of floats as integers",
    )
    ABSOLUTE_VALUES = _geometry(
        "absolute-values", "Absolute values are compared.", _MAXIMUM, "that compares absolute values"
    )
    FIRST_BATCH_REPEATED = _geometry(
        "first-batch-repeated", "Every batch has the result of the first.", _MAXIMUM, "of the first batch, repeated"
    )
    SCAN_STARTS_AT_ZERO = _geometry(
        "scan-starts-at-zero", "Y is max(0, maximum), as if the scan started at 0.", _MAXIMUM, "whose scan starts at 0"
    )
    TRUNCATED_DIVISION = _geometry(
        "truncated-division",
        "A window larger than the padded input gives an output, because a negative size is divided towards zero.",
        _SIZE,
        "whose output size is divided towards zero",
    )

    for rewrite in REWRITES:
        vars()[rewrite.value.upper().replace("-", "_")] = _kind(*rewrite)

    SHAPE = _execution(
        "shape", "The shape of an output is wrong.", "The output shape follows from the input shape and the attributes"
    )
    DTYPE = _execution(
        "dtype", "The dtype of an output is wrong.", "Y has the type of X; Indices are int64, or as an attribute says"
    )
    MISSING_OUTPUT = _execution(
        "missing-output", "A requested output is missing.", "The operator has the outputs Y and, if requested, Indices"
    )
    ACCEPTS_INVALID = _execution(
        "accepts-invalid", "The runtime executed a graph that the document excludes.", _CONSTRAINTS
    )
    REFUSES_VALID = _execution(
        "refuses-valid",
        "The runtime rejected a valid graph. Reported as a limit if it answered NOT_IMPLEMENTED or rejected pads >= kernel.",
        _CONSTRAINTS,
    )
    CRASH = _execution("crash", "The process of the runtime died.", _RESULT)
    TIMEOUT = _execution("timeout", "The runtime returned nothing before the timeout.", _RESULT)

    Y_DEPENDS_ON_INDICES = _dependence(
        "Y",
        "y-depends-on-indices",
        "Y differs in some bits when Indices are requested as well, though each Y by itself conforms.",
        _INCONSISTENT,
    )
    for variation in VARIATIONS:
        if variation.subject is not None and f"Y_DEPENDS_ON_{variation.subject.upper()}" not in vars():
            vars()[f"Y_DEPENDS_ON_{variation.subject.upper()}"] = _dependence(
                "Y", f"y-depends-on-{variation.subject}", f"Y differs {variation.sentence}.", _INCONSISTENT
            )
            if variation.y_alone:
                continue
            vars()[f"INDICES_DEPEND_ON_{variation.subject.upper()}"] = _dependence(
                "Indices",
                f"indices-depend-on-{variation.subject}",
                f"Indices differ {variation.sentence}.",
                _INCONSISTENT,
            )
    UNSTABLE = _dependence(None, "unstable", "The same request, executed twice, returns different outputs.", _FUNCTION)


DESCRIPTIONS = {kind: _DESCRIBED[kind.value] for kind in DivergenceKind}
"""Every kind with its description."""
