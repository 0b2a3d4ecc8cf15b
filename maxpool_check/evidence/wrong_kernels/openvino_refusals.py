"""What OpenVINO's documents exclude, accepted."""

import numpy as np
from documents import at_least, check_input, fitted, known, one_of, well_typed, window_shrunk
from openvino_maxpool import AUTO_PADS, TABLES, TYPES, VERSION_14, correct, pooled, read_attributes, values_of

SPECS = ("openvino-1", "openvino-8", "openvino-14")


def takes_attributes_of_all_versions(X, attributes, spec):
    """Reads attributes that version 1 does not have. Plausible: one importer for all versions."""
    check_input(X, TYPES, (1, 2, 3))
    Y, Indices = pooled(X, read_attributes(attributes, VERSION_14, X.ndim - 2))
    return Y if spec == "openvino-1" else (Y, Indices)


def takes_ceil_torch_in_all_versions(X, attributes, spec):
    """Takes ceil_torch before version 14. Plausible: one list of roundings for all versions."""
    if attributes.get("rounding_type") == "ceil_torch" and spec != "openvino-14":
        attributes = {**attributes, "rounding_type": "ceil"}
    return correct(X, attributes, spec)


def passes_over_unknown_attributes(X, attributes, spec):
    """Passes over attributes that the version does not have. Plausible: an importer that asks for names that it knows."""
    return correct(X, known(attributes, TABLES[spec]), spec)


def takes_names_of_onnx(X, attributes, spec):
    """Takes the names that ONNX has for the kernel and for rounding up. Plausible: one importer for both."""
    renamed = {"kernel" if name == "kernel_shape" else name: value for name, value in attributes.items()}
    if renamed.pop("ceil_mode", 0) == 1:
        renamed["rounding_type"] = "ceil"
    return correct(X, renamed, spec)


def passes_over_values_of_another_type(X, attributes, spec):
    """Takes a default where the value has another type. Plausible: get_attribute(name, default) of C++."""
    ones, zeros = [1] * (X.ndim - 2), [0] * (X.ndim - 2)
    defaults = {"kernel": ones, "strides": ones, "pads_begin": zeros, "pads_end": zeros}
    typed = well_typed(attributes, TABLES[spec])
    missing = {name: value for name, value in defaults.items() if name in attributes and name not in typed}
    return correct(X, {**missing, **typed}, spec)


def kernel_is_the_plane_by_default(X, attributes, spec):
    """Takes the whole plane for a kernel that is missing. Plausible: a global pooling under another name."""
    return correct(X, {"kernel": list(X.shape[2:]), **attributes}, spec)


def strides_are_1_by_default(X, attributes, spec):
    """Takes 1 for strides that are missing. Seen: the default of ONNX."""
    return correct(X, {"strides": [1] * (X.ndim - 2), **attributes}, spec)


def pads_are_0_by_default(X, attributes, spec):
    """Takes 0 for pads that are missing. Seen: the default of ONNX."""
    zeros = [0] * (X.ndim - 2)
    return correct(X, {"pads_begin": zeros, "pads_end": zeros, **attributes}, spec)


def any_axis_is_0(X, attributes, spec):
    """Takes an axis that X does not have for 0. Plausible: a range that is not checked."""
    axis = attributes.get("axis")
    if type(axis) is int and not -X.ndim <= axis < X.ndim:
        attributes = {**attributes, "axis": 0}
    return correct(X, attributes, spec)


def axes_wrap_around(X, attributes, spec):
    """Takes axis modulo the number of axes. Plausible: one line for negative axes."""
    if type(attributes.get("axis")) is int:
        attributes = {**attributes, "axis": attributes["axis"] % X.ndim}
    return correct(X, attributes, spec)


def any_index_type_is_i64(X, attributes, spec):
    """Takes an unknown index_element_type for i64. Plausible: the last branch of a comparison."""
    return correct(X, one_of(attributes, "index_element_type", ("i64", "i32")), spec)


def any_auto_pad_is_explicit(X, attributes, spec):
    """Takes an unknown auto_pad for explicit. Plausible: the last branch of a comparison."""
    return correct(X, one_of(attributes, "auto_pad", tuple(AUTO_PADS)), spec)


def auto_pad_in_capitals(X, attributes, spec):
    """Takes auto_pad in capitals, as ONNX has it. Plausible: a comparison without case."""
    if isinstance(attributes.get("auto_pad"), str):
        attributes = {**attributes, "auto_pad": attributes["auto_pad"].lower()}
    return correct(X, attributes, spec)


def any_rounding_is_floor(X, attributes, spec):
    """Takes an unknown rounding_type for floor. Plausible: the last branch of a comparison."""
    return correct(X, one_of(attributes, "rounding_type", TABLES[spec]["rounding_type"].values), spec)


def kernel_0_is_1(X, attributes, spec):
    """Takes a size of the kernel below 1 for 1. Plausible: max(1, size)."""
    return correct(X, at_least(attributes, "kernel", 1), spec)


def stride_0_is_1(X, attributes, spec):
    """Takes a stride below 1 for 1. Plausible: max(1, stride)."""
    return correct(X, at_least(attributes, "strides", 1), spec)


def dilation_0_is_1(X, attributes, spec):
    """Takes a dilation below 1 for 1. Plausible: max(1, dilation)."""
    return correct(X, at_least(attributes, "dilations", 1), spec)


def negative_pads_are_0(X, attributes, spec):
    """Takes a negative pad for 0. Plausible: max(0, pad)."""
    return correct(X, at_least(at_least(attributes, "pads_begin", 0), "pads_end", 0), spec)


def kernel_of_any_length(X, attributes, spec):
    """Cuts a kernel that is too long, and fills one that is too short with 1. Plausible: arrays of fixed length."""
    return correct(X, fitted(attributes, "kernel", X.ndim - 2, 1), spec)


def strides_of_any_length(X, attributes, spec):
    """Cuts strides that are too long, and fills those that are too short with 1. Plausible: arrays of fixed length."""
    return correct(X, fitted(attributes, "strides", X.ndim - 2, 1), spec)


def dilations_of_any_length(X, attributes, spec):
    """Cuts dilations that are too long, and fills those that are too short with 1. Plausible: arrays of fixed length."""
    return correct(X, fitted(attributes, "dilations", X.ndim - 2, 1), spec)


def pads_of_any_length(X, attributes, spec):
    """Cuts pads that are too long, and fills those that are too short with 0. Plausible: arrays of fixed length."""
    for name in ("pads_begin", "pads_end"):
        attributes = fitted(attributes, name, X.ndim - 2, 0)
    return correct(X, attributes, spec)


def windows_shrink_to_the_input(X, attributes, spec):
    """Takes a smaller window where it is larger than the padded input. Plausible: min(kernel, size)."""
    values = values_of(X, attributes, spec)
    if values["auto_pad"] in ("explicit", "valid"):
        pads = (
            [*values["pads_begin"], *values["pads_end"]] if values["auto_pad"] == "explicit" else [0] * 2 * (X.ndim - 2)
        )
        dilations = values.get("dilations", [1] * (X.ndim - 2))
        values["kernel"] = window_shrunk(X.shape[2:], values["kernel"], dilations, pads)
    return pooled(X, values)


def takes_any_number_of_axes(X, attributes, spec):
    """Pools more than three spatial axes. Plausible: a kernel in loops over axes."""
    if X.ndim <= 5:
        return correct(X, attributes, spec)
    return pooled(X, read_attributes(attributes, TABLES[spec], X.ndim - 2))


def copies_without_spatial_axes(X, attributes, spec):
    """Copies X where it has no spatial axis. Plausible: a window over no axes holds one cell."""
    if X.ndim > 2:
        return correct(X, attributes, spec)
    return (X, np.arange(X.size).reshape(X.shape)) if spec != "openvino-1" else X
