"""Types."""

import ml_dtypes
import numpy as np
from scan import scan


def _through(X, attributes, dtype):
    with np.errstate(all="ignore"):
        Y, Indices = scan(X.astype(dtype), attributes)
        return Y.astype(X.dtype), Indices


def float64_in_float32(X, attributes):
    """Computes float64 in float32. Seen: OpenVINO 2026.4.1."""
    return _through(X, attributes, np.float32) if X.dtype.name == "float64" else scan(X, attributes)


def float32_in_float16(X, attributes):
    """Computes float32 in float16. Seen: the half precision of GPUs."""
    return _through(X, attributes, np.float16) if X.dtype.name == "float32" else scan(X, attributes)


def float32_in_bfloat16(X, attributes):
    """Computes float32 in bfloat16. Seen: OpenVINO on processors with bfloat16, by default."""
    return _through(X, attributes, ml_dtypes.bfloat16) if X.dtype.name == "float32" else scan(X, attributes)


def bfloat16_in_float16(X, attributes):
    """Computes bfloat16 in float16. Plausible: one unit for both."""
    return _through(X, attributes, np.float16) if X.dtype.name == "bfloat16" else scan(X, attributes)


def uint8_as_int8(X, attributes):
    """Compares uint8 as int8. Plausible: a signed vector instruction."""
    return _through(X.view(np.int8), attributes, np.int8) if X.dtype.name == "uint8" else scan(X, attributes)


def int8_as_uint8(X, attributes):
    """Compares int8 as uint8. Plausible: an unsigned vector instruction (pmaxub)."""
    if X.dtype.name != "int8":
        return scan(X, attributes)
    Y, Indices = scan(X.view(np.uint8), attributes)
    return Y.view(np.int8), Indices


def floats_as_integers(X, attributes):
    """Compares float32 as int32: negative numbers in reverse. Plausible: a comparison of bits."""
    if X.dtype.name != "float32":
        return scan(X, attributes)

    def pick(values, inside):
        bits = np.where(inside & (values == values), values.view(np.int32).astype(np.int64), -(2**40))
        return (inside & (bits == bits.max(-1, keepdims=True))).argmax(-1)

    return scan(X, attributes, pick=pick)


def bfloat16_as_integers(X, attributes):
    """Compares bfloat16 as int16: negative numbers in reverse. Plausible: a type the machine does not have."""
    if X.dtype.name != "bfloat16":
        return scan(X, attributes)

    def pick(values, inside):
        numbers = values.astype(np.float32)
        bits = np.where(inside & (numbers == numbers), values.view(np.int16).astype(np.int64), -(2**40))
        return (inside & (bits == bits.max(-1, keepdims=True))).argmax(-1)

    return scan(X, attributes, pick=pick)


def subnormals_are_flushed(X, attributes):
    """Takes subnormal numbers for 0. Plausible: flush-to-zero mode."""
    if X.dtype.name not in ("float32", "float64"):
        return scan(X, attributes)
    return scan(np.where(np.abs(X) < np.finfo(X.dtype).tiny, np.copysign(X.dtype.type(0), X), X), attributes)


def subnormals_of_float16_are_flushed(X, attributes):
    """Takes subnormal numbers of float16 for 0. Plausible: units that have none."""
    if X.dtype.name != "float16":
        return scan(X, attributes)
    return scan(np.where(np.abs(X) < np.finfo(X.dtype).tiny, np.copysign(X.dtype.type(0), X), X), attributes)


def subnormals_are_flushed_in_y(X, attributes):
    """Gives 0 for a subnormal maximum, chosen rightly. Plausible: flush-to-zero mode in the last instruction."""
    Y, Indices = scan(X, attributes)
    if X.dtype.name == "float32":
        Y = np.where(np.abs(Y) < np.finfo(Y.dtype).tiny, np.copysign(Y.dtype.type(0), Y), Y)
    return Y, Indices


def no_minus_zero(X, attributes):
    """Gives +0 for -0. Plausible: x + 0, or max(x, 0) behind it."""
    Y, Indices = scan(X, attributes)
    return np.where(Y == 0, np.zeros((), Y.dtype), Y), Indices


def one_bit_off(X, attributes):
    """Gives the next float below in every seventh cell of Y. Plausible: a rounding mode."""
    Y, Indices = scan(X, attributes)
    if X.dtype.name == "float64":
        flat = Y.reshape(-1)
        flat[::7] = np.nextafter(flat[::7], -np.inf)
    return Y, Indices
