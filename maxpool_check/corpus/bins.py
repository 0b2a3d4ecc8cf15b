"""What is particular about a case, in bins: the data that generating and counting coverage share.

A factor is one thing that can vary; its bins are the ways that runtimes have other code, or other bugs, for. The bins
of a case are computed from the tensor that enters MaxPool and from the geometry that its document makes of its attributes.
A factor that none of the bins describes (six spatial axes, an empty batch, pads as large as the kernel) is left out.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import FLOATS, NAMES, highest, is_float, lowest
from maxpool_check.reference.geometry import AutoPad, Geometry, effective_kernel
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.pooling import Activation, Function, Pooling
from maxpool_check.specifications.roles import Role, RoundingType, meaning_of

Bins = dict[str, str]
"""The bin of each factor, by name."""


@dataclass(frozen=True)
class Factor:
    """The bins of one factor. Ids and titles omit the bin ``usual``; ``prefix`` precedes the others in an id."""

    bins: tuple[str, ...]
    prefix: str = ""
    usual: str = ""


OUTPUTS = "outputs"

_VALUE_BINS = (
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

FACTORS: Mapping[str, Factor] = {
    "rank": Factor(("1d", "2d", "3d", "4d", "5d")),
    "batch": Factor(("1", "many"), "n-", "1"),
    # 16: a multiple of it.
    "channels": Factor(("1", "many", "16"), "c-", "1"),
    # Of one cell; of the same size on every axis; of different sizes; as large as X.
    "kernel": Factor(("1", "even", "uneven", "whole"), "k-"),
    # 1 on every axis; below the kernel on some axis, nowhere above; equal to the kernel; above it on some axis;
    # different over the axes.
    "stride": Factor(("1", "overlap", "tile", "gap", "uneven"), "s-"),
    "dilation": Factor(("1", "even", "uneven"), "d-", "1"),
    # None; the same everywhere; the same at both ends of an axis, different over the axes; at one end only; different
    # at both ends; above half of the kernel on some axis, below the kernel on all; negative: cells of X are left out.
    "pads": Factor(
        ("0", "same", "axes", "begin", "end", "uneven", "large", "crop-begin", "crop-end", "crop"), "p-", "0"
    ),
    "auto_pad": Factor(("explicit", "same-upper", "same-lower", "valid"), usual="explicit"),
    # Nothing to round; with a remainder; the last window is dropped, since it would start behind X.
    "rounding": Factor(
        ("floor", "floor-rest", "ceil", "ceil-rest", "ceil-drop", "ceil-torch", "ceil-torch-rest", "ceil-torch-drop")
    ),
    "storage_order": Factor(("row", "column"), usual="row"),
    "index_type": Factor(("int64", "int32"), "i-", "int64"),
    # Indices count the cells of the whole tensor, of each image, or of each plane.
    "index_axis": Factor(("whole", "image", "plane"), "i-", "whole"),
    "activation": Factor(("none", *(function.value.lower() for function in Function)), "a-", "none"),
    "dtype": Factor(NAMES),
    "values": Factor(_VALUE_BINS),
    OUTPUTS: Factor(("y-and-indices", "y-alone")),
}
"""Every factor, in the order of ids and reports. Where several bins apply, the functions below decide which wins."""


def bins(case: Case) -> Bins:
    """The bins of a case, all but that of ``outputs``; none if its document excludes it."""
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
    return {name: names[name] for name, factor in FACTORS.items() if names.get(name) in factor.bins}


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
_FLOATS_ONLY = frozenset({"nan-planes", "nan", "all-neg-inf", "neg-inf", "inf", "zeros", "subnormal", "fraction"})


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


def has(dtype: str, name: str) -> bool:
    """Whether a tensor of the dtype can be in this bin of ``values``."""
    if name == "wide":
        return dtype in _WIDE
    if name == "negative":
        return not dtype.startswith("uint")
    return name not in _FLOATS_ONLY or dtype in FLOATS
