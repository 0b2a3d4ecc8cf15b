"""OpenVINO's MaxPool-1, MaxPool-8 and MaxPool-14, in their own attributes."""

from math import prod

import numpy as np
from documents import Choice, Lists, Whole, as_type, check_input, kept_ceil_size, maxpool, read
from scan import floating, lowest, output_size, same_pads

SPECS = ("openvino-1", "openvino-8", "openvino-14")

_VERSION_1 = {
    "kernel": Lists(1),
    "strides": Lists(1),
    "pads_begin": Lists(0),
    "pads_end": Lists(0),
    "rounding_type": Choice(("floor", "ceil")),
    "auto_pad": Choice(("explicit", "same_upper", "same_lower", "valid")),
}
_VERSION_8 = {
    **_VERSION_1,
    "dilations": Lists(1, 1),
    "index_element_type": Choice(("i64", "i32")),
    "axis": Whole(default=0),
}
VERSION_14 = {**_VERSION_8, "rounding_type": Choice(("floor", "ceil", "ceil_torch"))}
TABLES = {"openvino-1": _VERSION_1, "openvino-8": _VERSION_8, "openvino-14": VERSION_14}
AUTO_PADS = {"explicit": "NOTSET", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER", "valid": "VALID"}
TYPES = [
    *("float16", "bfloat16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]


def read_attributes(attributes, table, rank):
    """All attributes of a table; examples leave the pads out where auto_pad ignores them."""
    if attributes.get("auto_pad", "explicit") != "explicit":
        attributes = {"pads_begin": [0] * rank, "pads_end": [0] * rank, **attributes}
    return read(attributes, table, rank)


def _numbered(Indices, X, values):
    """Indices that begin at 0 again at each step of the axes before ``axis``, in their type."""
    axis = values["axis"]
    if not -X.ndim <= axis < X.ndim:
        raise ValueError(f"no such axis: {axis}")
    block = prod(X.shape[axis % X.ndim :])
    dtype = np.dtype("int32" if values["index_element_type"] == "i32" else "int64")
    if block - 1 > np.iinfo(dtype).max:
        raise ValueError("the type is too small for the largest index")
    return (Indices % max(block, 1)).astype(dtype)


def pooled(X, values, **steps):
    """The outputs by attributes that were read."""
    rounding = values["rounding_type"]
    size = output_size if rounding == "ceil_torch" else kept_ceil_size
    Y, Indices = maxpool(
        X, values["kernel"], values["strides"], values.get("dilations", [1] * (X.ndim - 2)),
        [*values["pads_begin"], *values["pads_end"]], AUTO_PADS[values["auto_pad"]], rounding != "floor",
        **{"size": size, **steps},
    )  # fmt: skip
    return (Y, _numbered(Indices, X, values)) if "axis" in values else Y


def values_of(X, attributes, version):
    """All attributes of the version. ``ValueError`` for what it excludes."""
    check_input(X, TYPES, (1, 2, 3))
    return read_attributes(attributes, TABLES[version], X.ndim - 2)


def correct(X, attributes, spec):
    """Reads what its version has, takes defaults for the rest, and refuses what is excluded."""
    return pooled(X, values_of(X, attributes, spec))


def _changed(X, attributes, spec, **values):
    """As another value of attributes says, where they are allowed as they are."""
    read_values = values_of(X, attributes, spec)
    return pooled(X, {**read_values, **{name: value for name, value in values.items() if name in read_values}})


def needs_all_attributes(X, attributes, spec):
    """Refuses a graph that leaves an attribute out. Plausible: an importer without defaults."""
    if set(TABLES[spec]) - set(attributes):
        raise ValueError("an attribute is missing")
    return correct(X, attributes, spec)


def rounds_up_by_default(X, attributes, spec):
    """Rounds the output size up where rounding_type is missing. Seen: Caffe, which rounds up always."""
    return correct(X, {"rounding_type": "ceil", **attributes}, spec)


def pads_by_default(X, attributes, spec):
    """Pads like same_upper where auto_pad is missing. Plausible: frameworks whose padding is "same" by default."""
    return correct(X, {"auto_pad": "same_upper", **attributes}, spec)


def explicit_is_valid(X, attributes, spec):
    """Passes over the pads. Plausible: an importer that does not read them."""
    if attributes.get("auto_pad", "explicit") != "explicit":
        return correct(X, attributes, spec)
    return _changed(X, attributes, spec, auto_pad="valid")


def valid_is_explicit(X, attributes, spec):
    """Pads by the pads where auto_pad is valid. Plausible: a comparison with the two kinds of same only."""
    if attributes.get("auto_pad") != "valid":
        return correct(X, attributes, spec)
    return _changed(X, attributes, spec, auto_pad="explicit")


def same_is_explicit(X, attributes, spec):
    """Pads by the pads where auto_pad is same_upper or same_lower. Plausible: auto_pad is not read."""
    if not str(attributes.get("auto_pad")).startswith("same"):
        return correct(X, attributes, spec)
    return _changed(X, attributes, spec, auto_pad="explicit")


def upper_and_lower_exchanged(X, attributes, spec):
    """Takes same_upper for same_lower, and the reverse. Plausible: upper taken for the first row."""
    names = {"same_upper": "same_lower", "same_lower": "same_upper"}
    auto_pad = values_of(X, attributes, spec)["auto_pad"]
    return _changed(X, attributes, spec, auto_pad=names.get(auto_pad, auto_pad))


def begin_and_end_exchanged(X, attributes, spec):
    """Takes pads_begin for pads_end, and the reverse. Plausible: low and high of another document."""
    values = values_of(X, attributes, spec)
    return _changed(X, attributes, spec, pads_begin=values["pads_end"], pads_end=values["pads_begin"])


def pads_with_0(X, attributes, spec):
    """Lets the padding count as 0. Seen: QNN 2.7.0."""
    return pooled(X, values_of(X, attributes, spec), pad=0)


def pads_with_the_lowest_number(X, attributes, spec):
    """Lets the padding of floats count as the lowest finite number. Seen: OpenVINO's reference implementation."""
    return pooled(X, values_of(X, attributes, spec), pad=lowest(X.dtype) if floating(X) else None)


def rounds_down_always(X, attributes, spec):
    """Rounds the output size down always. Plausible: rounding_type is not read."""
    return _changed(X, attributes, spec, rounding_type="floor")


def ceil_is_ceil_torch(X, attributes, spec):
    """Drops a last window in the padding at the end for ceil, too. Plausible: PyTorch's formula for both."""
    return pooled(X, values_of(X, attributes, spec), size=output_size)


def ceil_torch_is_ceil(X, attributes, spec):
    """Keeps a last window in the padding at the end for ceil_torch, too. Plausible: an older runtime that knows two roundings."""
    return pooled(X, values_of(X, attributes, spec), size=kept_ceil_size)


def dilations_are_ignored(X, attributes, spec):
    """Takes every dilation for 1. Plausible: the kernel of version 1."""
    return _changed(X, attributes, spec, dilations=[1] * (X.ndim - 2))


def strides_are_1(X, attributes, spec):
    """Takes every stride for 1. Plausible: strides are not read."""
    return _changed(X, attributes, spec, strides=[1] * (X.ndim - 2))


def axis_is_ignored(X, attributes, spec):
    """Counts from axis 0, whatever axis says. Plausible: the numbering of ONNX."""
    return _changed(X, attributes, spec, axis=0)


def axis_is_2_by_default(X, attributes, spec):
    """Counts in each plane where axis is missing. Seen: PyTorch counts in each plane."""
    return correct(X, {"axis": 2, **attributes} if spec != "openvino-1" else attributes, spec)


def negative_axes_count_from_0(X, attributes, spec):
    """Takes a negative axis for 0. Plausible: max(0, axis)."""
    values = values_of(X, attributes, spec)
    return _changed(X, attributes, spec, axis=max(0, values.get("axis", 0)))


def indices_are_int64(X, attributes, spec):
    """Gives Indices as int64 for i32, too. Plausible: the type of ONNX."""
    return _changed(X, attributes, spec, index_element_type="i64")


def indices_are_int32(X, attributes, spec):
    """Gives Indices as int32 for i64, too. Plausible: the type of the implementation."""
    return _changed(X, attributes, spec, index_element_type="i32")


def indices_are_int32_by_default(X, attributes, spec):
    """Gives Indices as int32 where index_element_type is missing. Plausible: the type of the implementation."""
    return correct(X, {"index_element_type": "i32", **attributes} if spec != "openvino-1" else attributes, spec)


def in_float32(X, attributes, spec):
    """Computes every type in float32. Seen: OpenVINO's plugin for processors."""
    outputs = as_type(correct, X, attributes, spec, "float32")
    return outputs if len(outputs) > 1 else outputs[0]


def needs_floats(X, attributes, spec):
    """Refuses integers. Seen: runtimes that have MaxPool for floats only."""
    if not floating(X):
        raise ValueError(f"X of {X.dtype.name}")
    return correct(X, attributes, spec)


def rounds_up_always(X, attributes, spec):
    """Rounds the output size up always. Seen: Caffe."""
    return _changed(X, attributes, spec, rounding_type="ceil")


def outputs_are_float32(X, attributes, spec):
    """Gives Y in float32, whatever the type of X. Plausible: one type for all results."""
    outputs = correct(X, attributes, spec)
    return (outputs[0].astype(np.float32), outputs[1]) if isinstance(outputs, tuple) else outputs.astype(np.float32)


def same_keeps_the_size(X, attributes, spec):
    """Pads same_upper and same_lower until the output has the size of the input. Seen: the formulas of the documents."""

    def same(n, k, s, d, upper):
        total = (n - 1) * s + (k - 1) * d + 1 - n
        small, large = total // 2, total - total // 2
        return (small, large, n) if upper else (large, small, n)

    return pooled(X, values_of(X, attributes, spec), same=same)


def same_ignores_dilations(X, attributes, spec):
    """Pads same_upper and same_lower by the kernel, not the dilated one. Seen: ONNX Runtime 1.23.2."""
    return pooled(
        X,
        values_of(X, attributes, spec),
        same=lambda n, k, s, d, upper: (*same_pads(n, k, s, 1, upper)[:2], -(-n // s)),
    )


def same_rounds_by_rounding_type(X, attributes, spec):
    """Rounds the size of same_upper and same_lower down under floor. Plausible: one formula for all."""
    rounds_up = values_of(X, attributes, spec)["rounding_type"] != "floor"

    def same(n, k, s, d, upper):
        begin, end, output = same_pads(n, k, s, d, upper)
        return begin, end, output if rounds_up else max(1, n // s)

    return pooled(X, values_of(X, attributes, spec), same=same)
