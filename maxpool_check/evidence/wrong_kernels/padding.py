"""Explicit pads and what stands in for them."""

import numpy as np
from scan import changed, first_maximum, floating, has_pads, lowest, per_axis, scan


def interleaved(X, attributes):
    """Reads pads as begin, end, begin, end. Seen: root-project/root#22436."""
    pads = attributes["pads"]
    return scan(X, changed(attributes, pads=[*pads[::2], *pads[1::2]]) if isinstance(pads, list) else attributes)


def begin_and_end_exchanged(X, attributes):
    """Takes the pads at the end for those at the beginning, and the reverse.

    Plausible: low and high of another document.
    """
    pads = attributes["pads"]
    half = len(pads) // 2
    return scan(X, changed(attributes, pads=[*pads[half:], *pads[:half]]) if isinstance(pads, list) else attributes)


def axes_exchanged(X, attributes):
    """Takes the pads of the axes in reverse. Plausible: frameworks that pad left, right, top, bottom."""
    return scan(X, per_axis(attributes, "pads", lambda values: values[::-1]))


def ignored(X, attributes):
    """Does not pad. Plausible: an importer that does not read the attribute."""
    return scan(X, changed(attributes, pads=[0] * len(attributes["pads"])) if has_pads(attributes) else attributes)


def zero(X, attributes):
    """Lets the padding count as 0. Seen: QNN 2.7.0, the webnn backends of webmachinelearning/webnn#935."""
    return scan(X, attributes, pad=0)


def minus_128(X, attributes):
    """Lets the padding count as -128, in every type. Seen: flagos-ai/FlagGems#5938."""
    return scan(X, attributes, pad=-128 if X.dtype.name != "uint8" else 0)


def minus_128_in_uint8(X, attributes):
    """Lets the padding of uint8 count as 128, the bits of -128. Plausible: one kernel for both types of 8 bits."""
    return scan(X, attributes, pad=128 if X.dtype.name == "uint8" else None)


def minus_infinity_in_integers(X, attributes):
    """Lets the padding of integers count as what -inf is converted to, 0. Seen: tinygrad/tinygrad#7726."""
    return scan(X, attributes, pad=None if floating(X) else 0)


def lowest_finite(X, attributes):
    """Lets the padding count as the lowest finite value. Seen: apache/mxnet#6191, Tencent/ncnn#1152."""
    return scan(X, attributes, pad=lowest(X.dtype) if floating(X) else None)


def lowest_finite_in_int8(X, attributes):
    """Lets the padding of int8 count as -128, so that it is named as a maximum of -128.

    Plausible: a padded copy of X.
    """
    return scan(X, attributes, pad=-128 if X.dtype.name == "int8" else None)


def begin_for_the_end(X, attributes):
    """Takes the pads at the beginning for both sides. Plausible: frameworks with one padding."""
    pads = attributes["pads"]
    half = len(pads) // 2
    return scan(X, changed(attributes, pads=pads[:half] * 2) if isinstance(pads, list) else attributes)


def _padding_alone(X, attributes, value):
    """The right answer, but Y of a window without a cell of X is a value; ``value(X)``."""
    kept = {}

    def pick(values, inside):
        kept["empty"] = ~inside.any(-1)
        return first_maximum(values, inside)

    Y, Indices = scan(X, attributes, pick=pick)
    Y[..., kept["empty"].reshape(Y.shape[2:])] = value(X)
    return Y, Indices


def windows_of_padding_are_unwritten(X, attributes):
    """Leaves windows of padding alone as they were. Plausible: no cell, no store."""
    return _padding_alone(X, attributes, lambda X: np.array(77).astype(X.dtype))


def windows_of_padding_are_zero(X, attributes):
    """Gives 0 for windows of padding alone. Seen: TFLite, in webmachinelearning/webnn#935."""
    return _padding_alone(X, attributes, lambda X: np.array(0).astype(X.dtype))


def windows_of_padding_are_lowest(X, attributes):
    """Gives the lowest finite value for windows of padding alone. Seen: ONNX Runtime 1.31.1."""
    return _padding_alone(X, attributes, lambda X: np.array(float(lowest(X.dtype))).astype(X.dtype))
