"""What is particular about a case, in bins: the data that generating and counting coverage share.

A factor is one thing that can vary; its bins are the ways that runtimes have other code, or other bugs, for. The bins of
a case are computed from what the case is: its X, and the geometry that its document makes of its attributes. A factor that
none of the bins describes (four spatial axes, a batch of none, pads as large as the kernel) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.value_bins import values
from maxpool_check.reference import dtypes
from maxpool_check.reference.activation import Function
from maxpool_check.reference.geometry import AutoPad, Axis, Geometry, effective_kernel
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.inverse import meaning_of
from maxpool_check.specifications.roles import Role, RoundingType

Bins = dict[str, str]
"""The bin of each factor, by name."""


@dataclass(frozen=True)
class Factor:
    """One thing that can vary.

    ``bins`` gives each bin with its meaning. ``usual`` is the bin that ids and titles do not mention; ``prefix`` is what
    stands before the others in an id.
    """

    name: str
    bins: Mapping[str, str]
    prefix: str = ""
    usual: str = ""


_ROUNDINGS = {
    RoundingType.FLOOR: "rounded down",
    RoundingType.CEIL: "rounded up",
    RoundingType.CEIL_TORCH: "rounded up as PyTorch does",
}
_REST = {
    "": "where there is nothing to round",
    "-rest": "where there is a remainder",
    "-drop": "and the last window is dropped, for it would start behind X",
}

OUTPUTS = "outputs"

FACTORS: Mapping[str, Factor] = {
    factor.name: factor
    for factor in (
        Factor("rank", {"1d": "one spatial axis", "2d": "two spatial axes", "3d": "three spatial axes"}),
        Factor("batch", {"1": "one image", "many": "several"}, "n-", "1"),
        Factor("channels", {"1": "one channel", "many": "several", "16": "a multiple of 16"}, "c-", "1"),
        Factor(
            "kernel",
            {
                "1": "of one cell",
                "even": "of the same size on every axis",
                "uneven": "of different sizes",
                "whole": "as large as X",
            },
            "k-",
        ),
        Factor(
            "stride",
            {
                "1": "1 on every axis",
                "overlap": "less than the kernel on some axis, nowhere more",
                "tile": "the kernel's size on every axis",
                "gap": "more than the kernel on some axis",
                "uneven": "different over the axes",
            },
            "s-",
        ),
        Factor(
            "dilation",
            {"1": "1 on every axis", "even": "the same on every axis, above 1", "uneven": "different over the axes"},
            "d-",
            "1",
        ),
        Factor(
            "pads",
            {
                "0": "none",
                "same": "the same everywhere",
                "axes": "the same at both ends of an axis, different over the axes",
                "begin": "at the beginning only",
                "end": "at the end only",
                "uneven": "at both ends, not the same",
                "large": "above half of the kernel on some axis, below the kernel on all",
                "crop-begin": "negative at the beginning: cells are left out",
                "crop-end": "negative at the end",
                "crop": "negative at the beginning and at the end",
            },
            "p-",
            "0",
        ),
        Factor(
            "auto_pad",
            {"explicit": "by the pads", "same-upper": "SAME_UPPER", "same-lower": "SAME_LOWER", "valid": "VALID"},
            usual="explicit",
        ),
        Factor(
            "rounding",
            {
                rounding.value + rest: f"{how}, {where}"
                for rounding, how in _ROUNDINGS.items()
                for rest, where in _REST.items()
                if (rounding, rest) != (RoundingType.FLOOR, "-drop")
            },
        ),
        Factor("storage_order", {"row": "Indices count row-major", "column": "column-major"}, usual="row"),
        Factor("index_type", {"int64": "Indices of 64 bits", "int32": "of 32 bits"}, "i-", "int64"),
        Factor(
            "index_axis",
            {"whole": "Indices count the whole tensor", "image": "each image anew", "plane": "each plane anew"},
            "i-",
            "whole",
        ),
        Factor(
            "activation",
            {
                "none": "nothing is fused",
                **{function.value.lower(): f"{function.value} is fused" for function in Function},
            },
            "a-",
            "none",
        ),
        Factor("dtype", {name: name for name in dtypes.NAMES}),
        Factor(
            "values",
            {
                "distinct": "no two cells of a plane are equal",
                "ties": "some are equal",
                "constant": "all cells are equal",
                "fraction": "some are no integers",
                "wide": "some need all bits of an integer of 16 or more",
                "negative": "all are below zero",
                "extremes": "both the lowest and the highest finite value are there",
                "lowest": "all are the lowest finite value",
                "neg-inf": "some are -inf",
                "all-neg-inf": "all are -inf",
                "inf": "some are +inf",
                "zeros": "both -0 and +0 are there",
                "subnormal": "some are subnormal",
                "nan": "some are NaN, in no plane all",
                "nan-planes": "all of some plane are NaN",
            },
        ),
        Factor(OUTPUTS, {"y-and-indices": "both are requested", "y-alone": "Indices are not requested"}),
    )
}
"""Every factor, in the order of ids and reports. Where several bins of one apply, the functions below say which wins."""


def bins(case: Case) -> Bins:
    """The bins of a case, all but that of ``outputs``; none if its document excludes it."""
    if not isinstance(case.resolved, Pooling):
        return {}
    pooling, document = case.resolved, case.specification
    core = pooling.layout.to_core(case.X)
    auto_pad = meaning_of(document, case.attributes, Role.AUTO_PAD)
    rounding = meaning_of(document, case.attributes, Role.ROUNDING)
    names = {
        "batch": _batch(core.shape[0]),
        "channels": _channels(core.shape[1]),
        **geometric(pooling.geometry, auto_pad, rounding),
        "storage_order": "column" if pooling.numbering.storage_order is StorageOrder.COLUMN_MAJOR else "row",
        "index_type": pooling.numbering.dtype,
        "index_axis": ("whole", "image", "plane")[pooling.numbering.axis] if pooling.numbering.axis < 3 else "",
        "activation": pooling.activation.function.value.lower() if pooling.activation else "none",
        "dtype": case.X.dtype.name,
        "values": values(core) if core.size else "",
    }
    return {name: names[name] for name, factor in FACTORS.items() if names.get(name) in factor.bins}


def outputs_bin(variant: Variant) -> str:
    """The bin of ``outputs`` of a test variant."""
    return "y-and-indices" if "Indices" in variant.outputs else "y-alone"


def geometric(axes: Geometry, auto_pad: AutoPad, rounding: RoundingType) -> Bins:
    """The bins of the spatial axes alone, and of how the document came to them."""
    return {
        "rank": f"{len(axes)}d",
        "kernel": _kernel(axes),
        "stride": _stride(axes),
        "dilation": _dilation(axes),
        "pads": _pads(axes),
        "auto_pad": auto_pad.value,
        "rounding": rounding.value + _rest(axes, auto_pad, rounding),
    }


def _batch(size: int) -> str:
    return "" if size < 1 else "1" if size == 1 else "many"


def _channels(size: int) -> str:
    if size % 16 == 0:
        return "16" if size else ""
    return "1" if size == 1 else "many"


def _kernel(axes: Geometry) -> str:
    kernels = {axis.kernel for axis in axes}
    if kernels == {1}:
        return "1"
    if all(axis.kernel == axis.size for axis in axes):
        return "whole"
    return "even" if len(kernels) == 1 else "uneven"


def _stride(axes: Geometry) -> str:
    strides = {axis.stride for axis in axes}
    if strides == {1}:
        return "1"
    if len(strides) > 1:
        return "uneven"
    if any(axis.stride > axis.kernel for axis in axes):
        return "gap"
    return "tile" if all(axis.stride == axis.kernel for axis in axes) else "overlap"


def _dilation(axes: Geometry) -> str:
    dilations = {axis.dilation for axis in axes}
    if dilations == {1}:
        return "1"
    return "even" if len(dilations) == 1 else "uneven"


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
    rest = [axis for axis in axes if _span(axis) % axis.stride]
    if rounding is not RoundingType.FLOOR and any(_dropped(axis) for axis in rest):
        return "-drop"
    return "-rest" if rest else ""


def _span(axis: Axis) -> int:
    return axis.size + axis.begin + axis.end - effective_kernel(axis.kernel, axis.dilation)


def _dropped(axis: Axis) -> bool:
    return axis.output == _span(axis) // axis.stride + 1 and axis.start(axis.output) >= axis.size
