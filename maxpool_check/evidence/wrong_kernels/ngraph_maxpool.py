"""nGraph MaxPool, in its own attributes."""

import numpy as np
from documents import Lists, as_type, at_least, fitted, known, maxpool, read, well_typed, window_shrunk

SPECS = ("ngraph-0",)

_ATTRIBUTES = {
    "window_shape": Lists(1),
    "window_movement_strides": Lists(1, 1),
    "padding_below": Lists(0, 0),
    "padding_above": Lists(0, 0),
}


def _check_input(X):
    if X.ndim < 3 or 0 in X.shape[1:]:
        raise ValueError(f"arg of the shape {X.shape}")


def _pooled(X, values, **steps):
    ones = [1] * (X.ndim - 2)
    pads = [*values["padding_below"], *values["padding_above"]]
    return maxpool(X, values["window_shape"], values["window_movement_strides"], ones, pads, **steps)[0]


def correct(X, attributes, spec):
    """Reads its attributes, takes defaults for the rest, rounds down, and refuses what is excluded."""
    _check_input(X)
    return _pooled(X, read(attributes, _ATTRIBUTES, X.ndim - 2))


def strides_are_the_window_by_default(X, attributes, spec):
    """Takes the window for strides that are missing. Seen: the default of PyTorch."""
    return correct(X, {"window_movement_strides": attributes.get("window_shape"), **attributes}, spec)


def needs_strides(X, attributes, spec):
    """Refuses a graph without strides. Seen: OpenVINO, which requires them."""
    if "window_movement_strides" not in attributes:
        raise ValueError("window_movement_strides is missing")
    return correct(X, attributes, spec)


def needs_padding(X, attributes, spec):
    """Refuses a graph without both kinds of padding. Seen: OpenVINO, which requires them."""
    if {"padding_below", "padding_above"} - set(attributes):
        raise ValueError("padding is missing")
    return correct(X, attributes, spec)


def padding_below_only(X, attributes, spec):
    """Takes the padding below for both sides. Plausible: frameworks with one padding."""
    return correct(X, {**attributes, "padding_above": attributes.get("padding_below", [0] * (X.ndim - 2))}, spec)


def below_and_above_exchanged(X, attributes, spec):
    """Takes the padding below for that above, and the reverse. Plausible: "above" taken for the first row."""
    names = {"padding_below": "padding_above", "padding_above": "padding_below"}
    return correct(X, {names.get(name, name): value for name, value in attributes.items()}, spec)


def ignores_the_padding(X, attributes, spec):
    """Does not pad. Plausible: an importer that does not read the attributes."""
    correct(X, attributes, spec)
    return correct(X, known(attributes, ("window_shape", "window_movement_strides")), spec)


def pads_with_0(X, attributes, spec):
    """Lets the padding count as 0. Seen: QNN 2.7.0."""
    _check_input(X)
    return _pooled(X, read(attributes, _ATTRIBUTES, X.ndim - 2), pad=0)


def rounds_up(X, attributes, spec):
    """Rounds the output size up. Seen: Caffe."""
    _check_input(X)
    values = read(attributes, _ATTRIBUTES, X.ndim - 2)
    pads = [*values["padding_below"], *values["padding_above"]]
    ones = [1] * (X.ndim - 2)
    return maxpool(X, values["window_shape"], values["window_movement_strides"], ones, pads, ceil=True)[0]


def windows_side_by_side(X, attributes, spec):
    """Lets windows start one window apart, whatever the strides. Plausible: code for windows that tile."""
    correct(X, attributes, spec)
    return correct(X, {**attributes, "window_movement_strides": attributes["window_shape"]}, spec)


def axes_exchanged(X, attributes, spec):
    """Takes the axes of the window in reverse. Plausible: width and height."""
    window = attributes.get("window_shape")
    return correct(X, {**attributes, "window_shape": window[::-1]} if isinstance(window, list) else attributes, spec)


def strides_exchanged(X, attributes, spec):
    """Takes the axes of the strides in reverse. Plausible: width and height."""
    strides = attributes.get("window_movement_strides")
    if isinstance(strides, list):
        attributes = {**attributes, "window_movement_strides": strides[::-1]}
    return correct(X, attributes, spec)


def first_channel_for_all(X, attributes, spec):
    """Gives the first channel for all. Plausible: a pointer that is not moved."""
    Y = correct(X, attributes, spec)
    return np.broadcast_to(Y[:, :1], Y.shape)


def first_batch_for_all(X, attributes, spec):
    """Gives the first batch for all. Plausible: a pointer that is not moved."""
    Y = correct(X, attributes, spec)
    return np.broadcast_to(Y[:1], Y.shape) if len(Y) else Y


def in_float32(X, attributes, spec):
    """Computes in float32. Plausible: a runtime of floats only."""
    (Y,) = as_type(correct, X, attributes, spec, "float32")
    return Y


def needs_floats(X, attributes, spec):
    """Refuses integers. Seen: runtimes that have MaxPool for floats only."""
    if X.dtype.kind in "iu":
        raise ValueError(f"arg of {X.dtype.name}")
    return correct(X, attributes, spec)


def takes_empty_planes(X, attributes, spec):
    """Gives an output without channels for X without channels. Plausible: loops that run no time."""
    if X.ndim >= 3 and X.shape[1] == 0 and 0 not in X.shape[2:]:
        return _pooled(X, read(attributes, _ATTRIBUTES, X.ndim - 2))
    if X.ndim >= 3 and 0 in X.shape[2:]:
        return np.zeros(X.shape, X.dtype)
    return correct(X, attributes, spec)


def pools_without_channels(X, attributes, spec):
    """Takes arg without a batch or a channel for one of each. Seen: frameworks that accept C x H x W, as PyTorch."""
    if X.ndim >= 3:
        return correct(X, attributes, spec)
    X = X.reshape(*[1] * (3 - X.ndim), *X.shape)
    return correct(X, {"window_shape": [1]}, spec)


def window_0_is_1(X, attributes, spec):
    """Takes a size of the window below 1 for 1. Plausible: max(1, size)."""
    return correct(X, at_least(attributes, "window_shape", 1), spec)


def stride_0_is_1(X, attributes, spec):
    """Takes a stride below 1 for 1. Plausible: max(1, stride)."""
    return correct(X, at_least(attributes, "window_movement_strides", 1), spec)


def negative_padding_is_0(X, attributes, spec):
    """Takes negative padding for 0. Plausible: max(0, padding)."""
    return correct(X, at_least(at_least(attributes, "padding_below", 0), "padding_above", 0), spec)


def window_of_any_length(X, attributes, spec):
    """Cuts a window_shape that is too long, and fills one that is too short with 1. Plausible: arrays of fixed length."""
    return correct(X, fitted(attributes, "window_shape", X.ndim - 2, 1), spec)


def strides_of_any_length(X, attributes, spec):
    """Cuts strides that are too long, and fills those that are too short with 1. Plausible: arrays of fixed length."""
    return correct(X, fitted(attributes, "window_movement_strides", X.ndim - 2, 1), spec)


def padding_of_any_length(X, attributes, spec):
    """Cuts padding that is too long, and fills what is too short with 0. Plausible: arrays of fixed length."""
    for name in ("padding_below", "padding_above"):
        attributes = fitted(attributes, name, X.ndim - 2, 0)
    return correct(X, attributes, spec)


def windows_shrink_to_the_input(X, attributes, spec):
    """Takes a smaller window where it is larger than the padded input. Plausible: min(window, size)."""
    _check_input(X)
    values = read(attributes, _ATTRIBUTES, X.ndim - 2)
    pads = [*values["padding_below"], *values["padding_above"]]
    return _pooled(
        X, {**values, "window_shape": window_shrunk(X.shape[2:], values["window_shape"], [1] * (X.ndim - 2), pads)}
    )


def passes_over_unknown_attributes(X, attributes, spec):
    """Passes over attributes that the document does not have. Plausible: an importer that asks for names that it knows."""
    return correct(X, known(attributes, _ATTRIBUTES), spec)


def passes_over_values_of_another_type(X, attributes, spec):
    """Takes the default where a value has another type, 1 for the window if it is missing. Plausible: get_attribute(name, default)."""
    return correct(X, {"window_shape": [1] * (X.ndim - 2), **well_typed(attributes, _ATTRIBUTES)}, spec)


def output_is_float32(X, attributes, spec):
    """Gives the output in float32, whatever the type of arg. Plausible: one type for all results."""
    return correct(X, attributes, spec).astype(np.float32)
