"""What is particular about a case, in bins, which decide the clauses of cases that name none.

A factor is one thing that can vary; its bins are the ways that runtimes have other code, or other bugs, for. The bins
of a case are computed from the tensor that enters MaxPool and from the geometry that its document makes of its attributes.
A factor that none of the bins describes (six spatial axes, an empty batch, pads as large as the kernel) is left out.
"""

import math
from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import NAMES, highest, is_float, lowest
from maxpool_check.reference.geometry import AutoPad, Geometry, effective_kernel
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.pooling import Activation, Function, Pooling
from maxpool_check.specifications.roles import Role, RoundingType, meaning_of

Bins = dict[str, str]
"""The bin of each factor, by name."""


_VALUES = (
    "distinct",  # in every plane
    "ties",  # some are equal
    "constant",
    "fraction",  # some are no integers
    "wide",  # some need all bits of an integer of 16 or more
    "negative",  # all are below zero
    "extremes",  # both the lowest and the highest finite value occur
    "lowest",  # all are the lowest finite value
    "neg-inf",  # some are -inf
    "all-neg-inf",
    "inf",
    "zeros",  # both -0 and +0 occur
    "subnormal",
    "nan",  # some are NaN, in no plane all
    "nan-planes",  # all of some plane are NaN
)

BINS: Mapping[str, tuple[str, ...]] = {
    "rank": ("1d", "2d", "3d", "4d", "5d"),
    "batch": ("1", "many"),
    # 16: a multiple of it.
    "channels": ("1", "many", "16"),
    # Of one cell; of the same size on every axis; of different sizes; as large as X.
    "kernel": ("1", "even", "uneven", "whole"),
    # 1 on every axis; below the kernel on some axis, nowhere above; equal to the kernel; above it on some axis;
    # different over the axes.
    "stride": ("1", "overlap", "tile", "gap", "uneven"),
    "dilation": ("1", "even", "uneven"),
    # None; the same everywhere; the same at both ends of an axis, different over the axes; at one end only; different
    # at both ends; above half of the kernel on some axis, below the kernel on all; negative: cells of X are left out.
    "pads": ("0", "same", "axes", "begin", "end", "uneven", "large", "crop-begin", "crop-end", "crop"),
    "auto_pad": ("explicit", "same-upper", "same-lower", "valid"),
    # Nothing to round; with a remainder; the last window is dropped, since it would start behind X.
    "rounding": (
        "floor",
        "floor-rest",
        *(up + rest for up in ("ceil", "ceil-torch") for rest in ("", "-rest", "-drop")),
    ),
    "storage_order": ("row", "column"),
    "index_type": ("int64", "int32"),
    # Indices count the cells of the whole tensor, of each image, or of each plane.
    "index_axis": ("whole", "image", "plane"),
    "activation": ("none", *(function.value.lower() for function in Function)),
    "dtype": NAMES,
    "values": _VALUES,
}
"""The bins of every factor. Where several apply, the functions below decide which wins."""


def bins(case: Case) -> Bins:
    """The bins of a case; none if its document excludes it."""
    if not isinstance(case.resolved, Pooling):
        return {}
    pooling, document = case.resolved, case.specification
    core, numbering = pooling.layout.to_core(case.entering), pooling.numbering
    batch, channels = core.shape[:2]
    auto_pad = meaning_of(document, case.attributes, Role.AUTO_PAD)
    rounding = meaning_of(document, case.attributes, Role.ROUNDING)
    names = {
        "batch": "1" if batch == 1 else "many" if batch else "",
        "channels": "1" if channels == 1 else "many" if channels % 16 else "16" if channels else "",
        **geometric(pooling.geometry, auto_pad, rounding),
        "storage_order": "column" if numbering.storage_order is StorageOrder.COLUMN_MAJOR else "row",
        "index_type": numbering.dtype,
        "index_axis": ("whole", "image", "plane")[numbering.axis] if numbering.axis < 3 else "",
        "activation": pooling.activation.function.value.lower()
        if isinstance(pooling.activation, Activation)
        else "none",
        "dtype": core.dtype.name,
        "values": values(core) if core.size else "",
    }
    return {factor: names[factor] for factor, allowed in BINS.items() if names.get(factor) in allowed}


def geometric(axes: Geometry, auto_pad: AutoPad, rounding: RoundingType) -> Bins:
    """The bins of the spatial axes alone, and of how the document came to them."""
    kernel = _evenness({axis.kernel for axis in axes})
    if kernel != "1" and all(axis.kernel == axis.size for axis in axes):
        kernel = "whole"
    stride = _evenness({axis.stride for axis in axes})
    if stride == "even":
        gap, tile = (any(axis.stride > axis.kernel for axis in axes), all(axis.stride == axis.kernel for axis in axes))
        stride = "gap" if gap else "tile" if tile else "overlap"
    return {
        "rank": f"{len(axes)}d",
        "kernel": kernel,
        "stride": stride,
        "dilation": _evenness({axis.dilation for axis in axes}),
        "pads": _pads(axes),
        "auto_pad": auto_pad.value,
        "rounding": rounding.value + _rest(axes, auto_pad, rounding),
    }


def _evenness(sizes: set[int]) -> str:
    """``1`` if all sizes are 1, ``even`` if they are equal, else ``uneven``."""
    return "uneven" if len(sizes) > 1 else "1" if sizes == {1} else "even"


def _pads(axes: Geometry) -> str:
    begins, ends = [axis.begin for axis in axes], [axis.end for axis in axes]
    if min(begins + ends) < 0:
        return "crop" if min(begins) < 0 and min(ends) < 0 else "crop-begin" if min(begins) < 0 else "crop-end"
    if not any(begins + ends):
        return "0"
    if any(max(axis.begin, axis.end) >= axis.kernel for axis in axes):
        return ""
    if any(max(axis.begin, axis.end) > axis.kernel // 2 for axis in axes):
        return "large"
    if not any(ends) or not any(begins):
        return "end" if any(ends) else "begin"
    if begins != ends:
        return "uneven"
    return "same" if len(set(begins)) == 1 else "axes"


def _rest(axes: Geometry, auto_pad: AutoPad, rounding: RoundingType) -> str:
    """What rounding has to do. SAME_* has a size of its own."""
    if auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER):
        return ""
    spans = [axis.size + axis.begin + axis.end - effective_kernel(axis.kernel, axis.dilation) for axis in axes]
    rest = [(axis, span // axis.stride + 1) for axis, span in zip(axes, spans, strict=True) if span % axis.stride]
    is_dropped = any(axis.output == whole and axis.start(whole) >= axis.size for axis, whole in rest)
    if is_dropped and rounding is not RoundingType.FLOOR:
        return "-drop"
    return "-rest" if rest else ""


_WIDE = ("int16", "uint16", "int32", "uint32", "int64", "uint64")


def values(X: np.ndarray) -> str:
    """The bin of the values of X, N x C x D1 x ... x Dn; the first that applies, special values before the others."""
    planes = X.reshape(X.shape[0] * X.shape[1], -1)
    with np.errstate(invalid="ignore"):  # of signalling NaN
        numbers = planes.astype(np.float64) if is_float(X.dtype) else planes
    return next((name for name, applies in _APPLIES.items() if applies(numbers, X.dtype)), "ties")


_APPLIES: Mapping[str, Callable[[np.ndarray, np.dtype], bool | np.bool_]] = {
    "nan-planes": lambda planes, _: np.isnan(planes).all(axis=1).any(),
    "nan": lambda planes, _: np.isnan(planes).any(),
    "all-neg-inf": lambda planes, _: (planes == -math.inf).all(),
    "neg-inf": lambda planes, _: (planes == -math.inf).any(),
    "inf": lambda planes, _: (planes == math.inf).any(),
    "lowest": lambda planes, dtype: (planes == lowest(dtype)).all(),
    "extremes": lambda planes, dtype: (planes == lowest(dtype)).any() and (planes == highest(dtype)).any(),
    "zeros": lambda planes, _: len(np.unique(np.signbit(planes[planes == 0]))) == 2,
    "subnormal": lambda planes, dtype: (
        is_float(dtype) and ((planes != 0) & (np.abs(planes) < float(ml_dtypes.finfo(dtype).tiny))).any()
    ),
    "constant": lambda planes, _: (planes == planes[0, 0]).all(),
    "negative": lambda planes, _: (planes < 0).all(),
    "fraction": lambda planes, _: (planes != np.floor(planes)).any(),
    "wide": lambda planes, dtype: dtype.name in _WIDE and (planes > int(highest(dtype)) // 2).any(),
    "distinct": lambda planes, _: all(len(np.unique(plane)) == plane.size for plane in planes),
}
"""Whether a bin applies to the planes of X, a row each, in float64 if X is of floats."""
