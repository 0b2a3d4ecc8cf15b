"""ONNX Runtime's com.ms.internal.nhwc MaxPool-11, in its own attributes and layout: channels last, and an activation."""

import numpy as np
import onnx_maxpool
from documents import fitted, known

SPECS = ("ort-nhwc-11",)

_PARAMETERS = {"Relu": 0, "Clip": 2, "LeakyRelu": 1}
_OWN = ("activation", "activation_params")


def _to_core(X):
    return np.moveaxis(X, -1, 1) if X.ndim > 2 else X


def _from_core(X):
    return np.ascontiguousarray(np.moveaxis(X, 1, -1))


def _activation(attributes):
    name, parameters = attributes.get("activation", ""), attributes.get("activation_params", [])
    if not isinstance(name, str) or not isinstance(parameters, list):
        raise ValueError("the activation is text, and its parameters are a list")
    if any(type(value) not in (int, float) for value in parameters):
        raise ValueError("parameters are numbers")
    if name == "Relu" and parameters == [0, float("inf")]:
        parameters = []
    if (name and name not in _PARAMETERS) or len(parameters) != _PARAMETERS.get(name, 0):
        raise ValueError(f"no such activation: {name} {parameters}")
    return name, [float(np.float32(value)) for value in parameters]


def _activated(Y, name, parameters):
    values, zero = Y.astype(np.float64), Y.dtype.type(0)
    if name == "Relu":
        return np.where(values < 0, zero, Y)
    if name == "Clip":
        low, high = (np.array(bound).astype(Y.dtype) for bound in parameters)
        return np.where(values > float(high), high, np.where(values < float(low), low, Y))
    if name == "LeakyRelu":
        return np.where(values < 0, (values * parameters[0]).astype(Y.dtype), Y)
    return Y


def _of_onnx(X, attributes):
    own = {name: value for name, value in attributes.items() if name not in _OWN}
    return onnx_maxpool.correct(np.ascontiguousarray(_to_core(X)), own, "onnx-11")


def correct(X, attributes, spec):
    """Pools with the channels last, numbers the cells as if they were first, and applies the activation to the maxima."""
    name, parameters = _activation(attributes)
    with np.errstate(all="ignore"):
        Y, Indices = _of_onnx(X, attributes)
        return _from_core(_activated(Y, name, parameters)), _from_core(Indices)


def channels_first(X, attributes, spec):
    """Takes X for one with the channels first. Seen: the examples of its page."""
    _activation(attributes)
    return onnx_maxpool.correct(X, {name: value for name, value in attributes.items() if name not in _OWN}, "onnx-11")


def output_is_channels_first(X, attributes, spec):
    """Gives the outputs with the channels first. Plausible: a transposition that is missing at the end."""
    Y, Indices = correct(X, attributes, spec)
    return np.moveaxis(Y, -1, 1), np.moveaxis(Indices, -1, 1)


def indices_of_the_plane(X, attributes, spec):
    """Counts in each plane. Seen: PyTorch."""
    Y, Indices = correct(X, attributes, spec)
    return Y, Indices % max(1, int(np.prod(X.shape[1:-1])))


def indices_from_one(X, attributes, spec):
    """Counts from 1. Plausible: a language whose arrays start there."""
    Y, Indices = correct(X, attributes, spec)
    return Y, Indices + 1


def indices_are_int32(X, attributes, spec):
    """Gives Indices as int32. Plausible: the index type of most libraries."""
    Y, Indices = correct(X, attributes, spec)
    return Y, Indices.astype(np.int32)


def activation_is_ignored(X, attributes, spec):
    """Applies no activation. Plausible: a kernel of the unfused operator."""
    correct(X, attributes, spec)
    return correct(X, {name: value for name, value in attributes.items() if name not in _OWN}, spec)


def activation_before_the_maximum(X, attributes, spec):
    """Applies the activation to X, and takes the maximum of that. Plausible: the nodes in the wrong order."""
    name, parameters = _activation(attributes)
    with np.errstate(all="ignore"):
        X = _activated(X, name, parameters)
    Y, Indices = _of_onnx(X, attributes)
    return _from_core(Y), _from_core(Indices)


def activation_of_the_indices(X, attributes, spec):
    """Names cell 0 where the activation changes the maximum. Plausible: a mask of what passes."""
    Y, Indices = correct(X, attributes, spec)
    plain, _ = correct(X, {name: value for name, value in attributes.items() if name not in _OWN}, spec)
    return Y, np.where((Y == plain) | (plain != plain), Indices, 0)


def _with_parameters(X, attributes, spec, change):
    name, parameters = _activation(attributes)
    changed = change(name, parameters)
    return correct(X, {**attributes, "activation": name, "activation_params": changed} if name else attributes, spec)


def relu_is_clip_to_6(X, attributes, spec):
    """Clips at 6 for Relu, too. Plausible: Relu6 of mobile networks."""
    if attributes.get("activation") != "Relu":
        return correct(X, attributes, spec)
    return correct(X, {**attributes, "activation": "Clip", "activation_params": [0.0, 6.0]}, spec)


def clip_has_no_upper_bound(X, attributes, spec):
    """Clips at the lower bound only. Plausible: the second parameter is not read."""
    return _with_parameters(X, attributes, spec, lambda name, p: [p[0], float("inf")] if name == "Clip" else p)


def clip_has_no_lower_bound(X, attributes, spec):
    """Clips at the upper bound only. Plausible: bounds that are read from the second on."""
    return _with_parameters(X, attributes, spec, lambda name, p: [float("-inf"), p[1]] if name == "Clip" else p)


def slope_is_one_hundredth(X, attributes, spec):
    """Takes 0.01 for the slope of LeakyRelu. Plausible: the default of ONNX's LeakyRelu."""
    return _with_parameters(X, attributes, spec, lambda name, p: [0.01] if name == "LeakyRelu" else p)


def parameters_in_float16(X, attributes, spec):
    """Rounds the parameters to half precision. Plausible: a runtime of half precision."""
    return _with_parameters(X, attributes, spec, lambda _, parameters: [float(np.float16(p)) for p in parameters])


def any_number_of_parameters(X, attributes, spec):
    """Cuts parameters that are too many, and fills those that are missing with 0. Plausible: a struct of two floats."""
    count = _PARAMETERS.get(str(attributes.get("activation")), 0)
    if attributes.get("activation"):
        attributes = {"activation_params": [], **attributes}
    return correct(X, fitted(attributes, "activation_params", count, 0.0), spec)


def parameters_without_an_activation(X, attributes, spec):
    """Passes over parameters where there is no activation. Plausible: they are read behind the name."""
    if not attributes.get("activation"):
        attributes = {name: value for name, value in attributes.items() if name != "activation_params"}
    return correct(X, attributes, spec)


def passes_over_unknown_attributes(X, attributes, spec):
    """Passes over attributes that the document does not have. Plausible: an importer that asks for names that it knows."""
    return correct(X, known(attributes, (*onnx_maxpool._ATTRIBUTES, *_OWN)), spec)


def passes_over_values_of_another_type(X, attributes, spec):
    """Passes over an activation, its parameters and a kernel of another type. Plausible: get_attribute(name, default) of C++."""
    if not isinstance(attributes.get("activation", ""), str):
        attributes = {name: value for name, value in attributes.items() if name not in _OWN}
    parameters = attributes.get("activation_params", [])
    if not isinstance(parameters, list) or any(type(value) not in (int, float) for value in parameters):
        attributes = {name: value for name, value in attributes.items() if name not in _OWN}
    own = {name: value for name, value in attributes.items() if name in _OWN}
    rest = onnx_maxpool.well_typed(attributes, onnx_maxpool._ATTRIBUTES)
    return correct(X, {"kernel_shape": [1] * (X.ndim - 2), **rest, **own}, spec)


def _around(kernel, X, attributes):
    """A wrong kernel of ONNX-11 for the MaxPool, with the activation and the layout of the document."""
    name, parameters = _activation(attributes)
    own = {key: value for key, value in attributes.items() if key not in _OWN}
    Y, Indices = kernel(np.ascontiguousarray(_to_core(X)), own, "onnx-11")
    return _from_core(_activated(Y, name, parameters)), _from_core(Indices)


def strides_are_the_kernel_by_default(X, attributes, spec):
    """Takes the kernel for strides that are missing. Seen: the default of PyTorch."""
    return _around(onnx_maxpool.strides_are_the_kernel_by_default, X, attributes)


def needs_all_attributes(X, attributes, spec):
    """Refuses a graph that leaves an attribute of ONNX out. Plausible: an importer without defaults."""
    return _around(onnx_maxpool.needs_all_attributes, X, attributes)


def rounds_up_by_default(X, attributes, spec):
    """Rounds the output size up where ceil_mode is missing. Seen: Caffe, which rounds up always."""
    return _around(onnx_maxpool.rounds_up_by_default, X, attributes)


def columns_by_default(X, attributes, spec):
    """Counts down the columns where storage_order is missing. Plausible: a library of Fortran or MATLAB."""
    return _around(onnx_maxpool.columns_by_default, X, attributes)


def large_pads_are_refused(X, attributes, spec):
    """Refuses a pad that is as large as the kernel. Seen: ONNX Runtime, PyTorch."""
    return _around(onnx_maxpool.large_pads_are_refused, X, attributes)


def copies_without_spatial_axes(X, attributes, spec):
    """Copies X where it has no spatial axis. Plausible: a window over no axes holds one cell."""
    if X.ndim > 2:
        return correct(X, attributes, spec)
    return X, np.arange(X.size).reshape(X.shape)


def takes_other_types(X, attributes, spec):
    """Pools types that version 11 does not have. Seen: an example of the page has uint8."""
    if X.dtype.name in ("float16", "float32", "float64"):
        return correct(X, attributes, spec)
    Y, Indices = correct(X.astype(np.float64), attributes, spec)
    return Y.astype(X.dtype), Indices
