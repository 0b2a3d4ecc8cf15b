"""The output size, rounded up or down."""

import numpy as np
from scan import changed, output_size, scan


def floors_always(X, attributes):
    """Rounds down whatever ceil_mode says. Plausible: an importer that does not read the attribute."""
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, d, b, e, False))


def ceils_always(X, attributes):
    """Rounds up whatever ceil_mode says. Plausible: the default of another framework."""
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, d, b, e, True))


def _unclipped(n, k, s, d, b, e, ceil):
    output_size(n, k, s, d, b, e, ceil)
    room = n + b + e - ((k - 1) * d + 1)
    return -(-room // s) + 1 if ceil else room // s + 1


def never_drops_the_last_window(X, attributes):
    """Rounding up, keeps a last window that starts in the end padding.

    Seen: ONNX Runtime 1.15 to 1.20, tracel-ai/burn#5791.
    """
    return scan(X, attributes, size=_unclipped)


def drops_the_last_window_by_equality_only(X, attributes):
    """Rounding up, drops a last window that starts behind the first cell of the end padding only.

    Plausible: > for >=.
    """

    def size(n, k, s, d, b, e, ceil):
        o = _unclipped(n, k, s, d, b, e, ceil)
        return o - 1 if ceil and (o - 1) * s > n + b else o

    return scan(X, attributes, size=size)


def drops_without_the_begin_pad(X, attributes):
    """Rounding up, holds the start of the last window to n instead of n + begin.

    Plausible: a check that forgets a term.
    """

    def size(n, k, s, d, b, e, ceil):
        o = _unclipped(n, k, s, d, b, e, ceil)
        return o - 1 if ceil and (o - 1) * s >= n else o

    return scan(X, attributes, size=size)


def drops_also_rounding_down(X, attributes):
    """Drops a last window that starts in the end padding without ceil_mode too.

    Plausible: a check outside of the if.
    """

    def size(n, k, s, d, b, e, ceil):
        o = _unclipped(n, k, s, d, b, e, ceil)
        return o - 1 if o > 1 and (o - 1) * s >= n + b else o

    return scan(X, attributes, size=size)


def truncates_a_negative_room(X, attributes):
    """Divides a negative room as C does, and answers where no window fits. Seen: ONNX Runtime 1.23.2 and 1.31.1."""

    def size(n, k, s, d, b, e, ceil):
        room = n + b + e - ((k - 1) * d + 1)
        return int(room / s) + 1 if room < 0 else output_size(n, k, s, d, b, e, ceil)

    return scan(X, attributes, size=size)


def answers_without_a_window(X, attributes):
    """Gives an empty output where no window fits. Seen: microsoft/onnxruntime#1224."""

    def size(n, k, s, d, b, e, ceil):
        room = n + b + e - ((k - 1) * d + 1)
        return 0 if room < 0 else output_size(n, k, s, d, b, e, ceil)

    return scan(X, attributes, size=size)


def divides_by_the_stride_and_one(X, attributes):
    """Divides by strides + 1. Seen: the formula that SONNX prints."""
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s + 1, d, b, e, ceil))


def size_without_dilation(X, attributes):
    """Works out the output size with the kernel instead of the effective one.

    Plausible: dilations added to an old operator.
    """
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, 1, b, e, ceil))


def size_with_the_begin_pad_twice(X, attributes):
    """Takes the begin pad for the end's. Seen: onnx ReferenceEvaluator with asymmetric pads."""
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, d, b, b, ceil))


def size_in_float32(X, attributes):
    """Divides in float32. Seen: onnx shape inference before onnx/onnx#5741."""

    def size(n, k, s, d, b, e, ceil):
        room = np.float32(n + b + e - ((k - 1) * d + 1))
        quotient = room / np.float32(s)
        o = int(np.ceil(quotient) if ceil else np.floor(quotient)) + 1
        output_size(n, k, s, d, b, e, ceil)
        return o - 1 if ceil and (o - 1) * s >= n + b else o

    return scan(X, attributes, size=size)


def _cut(values, bits):
    half = 2 ** (bits - 1)
    return [(value + half) % (2 * half) - half for value in values]


def strides_in_32_bits(X, attributes):
    """Cuts strides to 32 bits. Seen: the attributes of oneDNN and of CUDA kernels, as in pytorch/pytorch#189664."""
    if isinstance(attributes["strides"], list) and all(type(value) is int for value in attributes["strides"]):
        attributes = changed(attributes, strides=_cut(attributes["strides"], 32))
    return scan(X, attributes)
