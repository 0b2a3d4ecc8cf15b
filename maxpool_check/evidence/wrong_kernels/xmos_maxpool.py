"""XMOS' maxpool2d, in its own attributes: one int8 image with its channels last, windows by their start and number."""

import numpy as np
from documents import Whole, at_least, known, maxpool, read
from scan import PooledAxis

SPECS = ("xmos-maxpool2d",)

_SIZES = ("X_h", "X_w", "X_c")
_ATTRIBUTES = {
    **dict.fromkeys(_SIZES, Whole(default=-1)),
    **dict.fromkeys(("Y_h", "Y_w", "K_h", "K_w", "W_vert", "W_hori"), Whole(1)),
    **dict.fromkeys(("W_r0", "W_c0"), Whole(0)),
}
_AXES = (("K_h", "W_vert", "W_r0", "Y_h"), ("K_w", "W_hori", "W_c0", "Y_w"))


def _read(X, attributes):
    if any(name in attributes and attributes[name] is None for name in _ATTRIBUTES):
        raise ValueError("an attribute without a value")
    values = read(attributes, _ATTRIBUTES, 2)
    if any(name in attributes and values[name] != size for name, size in zip(_SIZES, X.shape, strict=True)):
        raise ValueError("X has another shape")
    return values


def _check_image(X):
    if X.dtype != np.int8 or X.ndim != 3 or X.shape[2] % 4:
        raise ValueError(f"X of {X.dtype.name} with the shape {X.shape}")


def _check_windows(X, values):
    for size, (kernel, stride, start, count) in zip(X.shape, _AXES, strict=False):
        if values[start] + values[stride] * (values[count] - 1) + values[kernel] > size:
            raise ValueError("a window ends behind the image")


def _pooled(X, values, **steps):
    """The windows where they are; a tap outside of X does not count."""
    axes = [
        PooledAxis(size, values[kernel], values[stride], 1, -values[start], 0, values[count])
        for size, (kernel, stride, start, count) in zip(X.shape, _AXES, strict=False)
    ]
    core = np.ascontiguousarray(np.moveaxis(X, -1, 0))[None]
    ones = [1, 1]
    Y, _ = maxpool(
        core, ones, ones, ones, [0] * 4, axes=lambda _: axes, size=lambda *_: 1, **steps,
    )  # fmt: skip
    return np.ascontiguousarray(np.moveaxis(Y[0], 0, -1))


def correct(X, attributes, spec):
    """Reads its attributes, and refuses images and windows that the constraints exclude."""
    _check_image(X)
    values = _read(X, attributes)
    _check_windows(X, values)
    return _pooled(X, values)


def _changed(X, attributes, spec, change):
    """As other numbers say, where those that are given are allowed."""
    correct(X, attributes, spec)
    return _pooled(X, {**attributes, **change(attributes)})


def any_number_of_channels(X, attributes, spec):
    """Pools any number of channels. Plausible: a kernel in plain C, without the vectors of four words."""
    if X.ndim != 3 or X.shape[2] % 4 == 0:
        return correct(X, attributes, spec)
    filled = np.pad(X, ((0, 0), (0, 0), (0, -X.shape[2] % 4)))
    if attributes.get("X_c") == X.shape[2]:
        attributes = {**attributes, "X_c": filled.shape[2]}
    return correct(filled, attributes, spec)[:, :, : X.shape[2]]


def windows_below_the_image(X, attributes, spec):
    """Takes windows that end below the image, as if it were padded. Plausible: a bound that is not checked."""
    _check_image(X)
    values = _read(X, attributes)
    _check_windows(X, {**values, "Y_h": 1, "K_h": 1, "W_r0": 0})
    return _pooled(X, values)


def windows_right_of_the_image(X, attributes, spec):
    """Takes windows that end on the right of the image, as if it were padded. Plausible: a bound that is not checked."""
    _check_image(X)
    values = _read(X, attributes)
    _check_windows(X, {**values, "Y_w": 1, "K_w": 1, "W_c0": 0})
    return _pooled(X, values)


def bound_is_strict(X, attributes, spec):
    """Refuses a window that ends with the last row or column. Seen: the constraint as it is printed."""
    correct(X, attributes, spec)
    for size, (kernel, stride, start, count) in zip(X.shape, _AXES, strict=False):
        if attributes[start] + attributes[stride] * (attributes[count] - 1) + attributes[kernel] >= size:
            raise ValueError("a window ends with the image")
    return correct(X, attributes, spec)


def first_row_is_0(X, attributes, spec):
    """Starts from row 0. Plausible: the start is not read."""
    return _changed(X, attributes, spec, lambda values: {"W_r0": 0})


def first_column_is_0(X, attributes, spec):
    """Starts from column 0. Plausible: the start is not read."""
    return _changed(X, attributes, spec, lambda values: {"W_c0": 0})


def starts_exchanged(X, attributes, spec):
    """Takes the first row for the first column, and the reverse. Plausible: x and y."""
    return _changed(X, attributes, spec, lambda values: {"W_r0": values["W_c0"], "W_c0": values["W_r0"]})


def kernel_exchanged(X, attributes, spec):
    """Takes the height of the window for its width, and the reverse. Plausible: x and y."""
    return _changed(X, attributes, spec, lambda values: {"K_h": values["K_w"], "K_w": values["K_h"]})


def strides_exchanged(X, attributes, spec):
    """Takes the vertical stride for the horizontal one, and the reverse. Plausible: x and y."""
    return _changed(X, attributes, spec, lambda values: {"W_vert": values["W_hori"], "W_hori": values["W_vert"]})


def windows_side_by_side(X, attributes, spec):
    """Lets windows start one window apart, whatever the strides. Plausible: code for windows that tile."""
    return _changed(X, attributes, spec, lambda values: {"W_vert": values["K_h"], "W_hori": values["K_w"]})


def as_many_windows_as_fit(X, attributes, spec):
    """Gives as many windows as fit, not as many as are asked for. Plausible: the size is worked out from the rest."""
    correct(X, attributes, spec)
    sizes = [
        (size - attributes[start] - attributes[kernel]) // attributes[stride] + 1
        for size, (kernel, stride, start, _) in zip(X.shape, _AXES, strict=False)
    ]
    return correct(X, {**attributes, "Y_h": sizes[0], "Y_w": sizes[1]}, spec)


def output_size_exchanged(X, attributes, spec):
    """Takes the height of Y for its width, and the reverse. Plausible: x and y."""
    return _changed(X, attributes, spec, lambda values: {"Y_h": values["Y_w"], "Y_w": values["Y_h"]})


def first_channel_for_all(X, attributes, spec):
    """Gives the first channel for all. Plausible: a pointer that is not moved."""
    Y = correct(X, attributes, spec)
    return np.ascontiguousarray(np.broadcast_to(Y[:, :, :1], Y.shape))


def channels_behind_4(X, attributes, spec):
    """Leaves channels behind the first 4 at -128. Plausible: a word of 4 bytes, without a loop."""
    Y = correct(X, attributes, spec)
    Y[:, :, 4:] = -128
    return Y


def channels_first(X, attributes, spec):
    """Gives Y with the channels first. Plausible: the layout of ONNX."""
    return np.ascontiguousarray(np.moveaxis(correct(X, attributes, spec), -1, 0))


def bytes_without_a_sign(X, attributes, spec):
    """Compares bytes without their sign. Plausible: an instruction for uint8."""
    correct(X, attributes, spec)
    return (_pooled((X.view(np.uint8) ^ 128).view(np.int8), attributes).view(np.uint8) ^ 128).view(np.int8)


def starts_from_0(X, attributes, spec):
    """Gives 0 where all cells are negative. Plausible: an accumulator that starts from 0."""
    return np.maximum(correct(X, attributes, spec), np.int8(0))


def minus_128_is_minus_127(X, attributes, spec):
    """Gives -127 for -128. Plausible: symmetric quantisation."""
    return np.maximum(correct(X, attributes, spec), np.int8(-127))


def takes_batches(X, attributes, spec):
    """Takes a batch of one image. Seen: TFLite's operator, which is compiled to it."""
    return correct(X[0], attributes, spec)[None] if X.ndim == 4 else correct(X, attributes, spec)


def takes_other_types(X, attributes, spec):
    """Pools other types as their lowest bytes. Plausible: a pointer to void."""
    if X.dtype == np.int8:
        return correct(X, attributes, spec)
    with np.errstate(all="ignore"):
        return correct(X.astype(np.int64).astype(np.int8), attributes, spec).astype(X.dtype)


def sizes_of_x_are_ignored(X, attributes, spec):
    """Passes over sizes of the image that are not those of X. Plausible: they are read from X alone."""
    return correct(X, {name: value for name, value in attributes.items() if name not in _SIZES}, spec)


def sizes_of_y_by_default(X, attributes, spec):
    """Takes one window where the size of Y is missing. Plausible: a struct of ones."""
    return correct(X, {"Y_h": 1, "Y_w": 1, **attributes}, spec)


def kernel_of_2_by_default(X, attributes, spec):
    """Takes windows of 2 x 2 where their size is missing. Plausible: the most frequent one."""
    return correct(X, {"K_h": 2, "K_w": 2, **attributes}, spec)


def starts_are_0_by_default(X, attributes, spec):
    """Starts from 0 where the start is missing. Plausible: a struct of zeros."""
    return correct(X, {"W_r0": 0, "W_c0": 0, **attributes}, spec)


def strides_are_1_by_default(X, attributes, spec):
    """Takes strides of 1 where they are missing. Plausible: the default of ONNX."""
    return correct(X, {"W_vert": 1, "W_hori": 1, **attributes}, spec)


def negative_starts_are_0(X, attributes, spec):
    """Takes a negative start for 0. Plausible: max(0, start)."""
    return correct(X, at_least(at_least(attributes, "W_r0", 0), "W_c0", 0), spec)


def _below_1_is_1(X, attributes, spec, *names):
    for name in names:
        attributes = at_least(attributes, name, 1)
    return correct(X, attributes, spec)


def window_0_is_1(X, attributes, spec):
    """Takes a size of the window below 1 for 1. Plausible: max(1, size)."""
    return _below_1_is_1(X, attributes, spec, "K_h", "K_w")


def stride_0_is_1(X, attributes, spec):
    """Takes a stride below 1 for 1. Plausible: max(1, stride)."""
    return _below_1_is_1(X, attributes, spec, "W_vert", "W_hori")


def output_0_is_1(X, attributes, spec):
    """Takes a size of Y below 1 for 1. Plausible: max(1, size)."""
    return _below_1_is_1(X, attributes, spec, "Y_h", "Y_w")


def passes_over_unknown_attributes(X, attributes, spec):
    """Passes over attributes that the document does not have. Plausible: a struct that has no place for them."""
    return correct(X, known(attributes, _ATTRIBUTES), spec)


def takes_numbers_of_another_type(X, attributes, spec):
    """Takes the whole number in a list, a fraction or text. Plausible: int(value) of Python."""

    def whole(value):
        value = value[0] if isinstance(value, list) and value else value
        return int(value) if isinstance(value, (int, float, str)) else value

    return correct(X, {name: whole(value) for name, value in attributes.items()}, spec)
