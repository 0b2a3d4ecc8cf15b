"""The kinds of divergence: a closed list of names, each decided from the data; ``kinds.yaml`` says what they mean."""

from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import yaml


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
    """The outputs of two variants differ: of a variation and its base, or with Indices and without; or cells of one output do."""


class DivergenceKind(str, Enum):
    """One way to be wrong; reports list kinds in this order. Every variation that has a subject has kinds named after it.

    Some name a mistake only as the cause of wrong outputs, which keep the kinds of their cells.
    """

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
    DILATION_OF_FIRST_AXIS = "dilation-of-first-axis"
    STRIDE_OF_FIRST_AXIS = "stride-of-first-axis"
    STRIDE_IGNORED = "stride-ignored"
    STRIDE_IS_KERNEL = "stride-is-kernel"
    KERNEL_ONE_SHORT = "kernel-one-short"
    WINDOWS_SHIFTED = "windows-shifted"
    PADS_IGNORED = "pads-ignored"
    AUTO_PAD_IGNORED = "auto-pad-ignored"
    SIGNED_UNSIGNED_EXCHANGED = "signed-unsigned-exchanged"
    COMPARED_AS_BITS = "compared-as-bits"
    ABSOLUTE_VALUES = "absolute-values"
    FIRST_BATCH_REPEATED = "first-batch-repeated"
    SCAN_STARTS_AT_ZERO = "scan-starts-at-zero"
    TRUNCATED_DIVISION = "truncated-division"
    PADS_BEGIN_ONE_MORE = "pads-begin-one-more"
    PADS_BEGIN_ONE_LESS = "pads-begin-one-less"
    PADS_END_ONE_MORE = "pads-end-one-more"
    PADS_END_ONE_LESS = "pads-end-one-less"
    PADS_ONE_MORE = "pads-one-more"
    PADS_ONE_LESS = "pads-one-less"
    PADS_END_AS_BEGIN = "pads-end-as-begin"
    OUTPUT_ONE_MORE = "output-one-more"
    OUTPUT_ONE_LESS = "output-one-less"
    KERNEL_ONE_MORE = "kernel-one-more"
    KERNEL_OF_AN_AXIS_ONE_SHORT = "kernel-of-an-axis-one-short"
    BORDER_LEFT_OUT = "border-left-out"
    READ_IN_OTHER_LAYOUT = "read-in-other-layout"
    SCAN_STARTS_TOO_HIGH = "scan-starts-too-high"
    TAIL_NOT_WRITTEN = "tail-not-written"

    PAD_FOLDED_INTO_PADS = "pad-folded-into-pads"
    TRANSPOSE_FOLDED_WRONGLY = "transpose-folded-wrongly"
    RELU_MOVED = "relu-moved"
    CAST_MOVED = "cast-moved"
    QUANTISATION_MOVED = "quantisation-moved"
    MAX_POOLS_MERGED = "max-pools-merged"
    NODE_DROPPED = "node-dropped"
    BLOCKED_LAYOUT = "blocked-layout"
    CONSTANT_FOLDED_WRONGLY = "constant-folded-wrongly"
    REWRITTEN_WRONGLY = "rewritten-wrongly"
    GRAPH_NOT_LOADABLE = "graph-not-loadable"
    GRAPH_OUTPUT = "graph-output"

    SHAPE = "shape"
    DTYPE = "dtype"
    MISSING_OUTPUT = "missing-output"
    ACCEPTS_INVALID = "accepts-invalid"
    REFUSES_VALID = "refuses-valid"
    CRASH = "crash"
    TIMEOUT = "timeout"

    Y_DEPENDS_ON_INDICES = "y-depends-on-indices"
    Y_DEPENDS_ON_OPTIMIZATION = "y-depends-on-optimization"
    INDICES_DEPEND_ON_OPTIMIZATION = "indices-depend-on-optimization"
    Y_DEPENDS_ON_OPSET = "y-depends-on-opset"
    INDICES_DEPEND_ON_OPSET = "indices-depend-on-opset"
    Y_DEPENDS_ON_THREADS = "y-depends-on-threads"
    INDICES_DEPEND_ON_THREADS = "indices-depend-on-threads"
    Y_DEPENDS_ON_OPERATOR = "y-depends-on-operator"
    Y_NAN_MIXED = "y-nan-mixed"
    UNSTABLE = "unstable"

    @property
    def output(self) -> str | None:
        """The output that it is about; None if it can be about both or neither."""
        return "Y" if self.value.startswith("y-") else "Indices" if self.value.startswith("indices-") else None


class KindDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of divergence for people: one sentence, and the clause it rests on.

    ``hypothesis`` is set if the kind is a mistake in the whole result, which the reference can compute: what the result then
    equals. ``open``: it tells neither the windows in which it occurs nor what comes out. ``one_sided``: of two choices, always
    the same is made. ``cause_only``: it is named as a cause alone, and no execution has it as a kind.
    """

    group: KindGroup
    sentence: str
    clause: str
    hypothesis: str | None = None
    open: bool = False
    one_sided: bool = False
    cause_only: bool = False


@cache
def read_table(name: str) -> dict[str, Any]:
    """A table beside this module, by the name of its file."""
    text = resources.files(__package__).joinpath(name).read_bytes()
    table: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return table


def _descriptions() -> dict[DivergenceKind, KindDescription]:
    """What the table says of each kind, in their order. Raises :class:`ValueError` for a name too many or too few."""
    entries = {
        kind: {"group": group, **entry}
        for group, kinds in read_table("kinds.yaml").items()
        for kind, entry in kinds.items()
    }
    descriptions = msgspec.convert(entries, dict[DivergenceKind, KindDescription])
    if missing := [kind.value for kind in DivergenceKind if kind not in descriptions]:
        raise ValueError(f"kinds.yaml lacks {', '.join(missing)}")
    return {kind: descriptions[kind] for kind in DivergenceKind}


DESCRIPTIONS = _descriptions()
"""Every kind with its description."""

_BY_VALUE = {kind.value: description for kind, description in DESCRIPTIONS.items()}


def hypothesis(kind: str) -> str:
    """What an output equals that has a mistake of this kind; the kind itself, if this version does not know it."""
    return (_BY_VALUE[kind].hypothesis or "") if kind in _BY_VALUE else kind


def sentence(kind: str) -> str:
    """What a kind means."""
    return _BY_VALUE[kind].sentence if kind in _BY_VALUE else "A kind that this version does not know."
