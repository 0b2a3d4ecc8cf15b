"""The element types of MaxPool, by their names in case files."""

import hashlib
from functools import cache

import ml_dtypes
import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NAMES = FLOATS + INTEGERS

NUMPY: dict[str, np.dtype] = {name: np.dtype(name) for name in NAMES}
_FLOATS = frozenset(NUMPY[name] for name in FLOATS)


@cache
def name_of(dtype: np.dtype) -> str:
    """The name of a numpy dtype (``numpy.dtype('bfloat16')`` included)."""
    return dtype.name


@cache
def is_float(dtype: np.dtype) -> bool:
    """Whether the type has infinities, NaN and a sign of zero."""
    return dtype in _FLOATS


def bits(values: np.ndarray) -> np.ndarray:
    """The bits of each value as an unsigned integer."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def identical(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two tensors have the same dtype, shape and bits."""
    return a is b or (a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two tensors of the same dtype and shape have the same bits, or both NaN."""
    if not is_float(a.dtype):
        return a == b
    equal: np.ndarray = (bits(a) == bits(b)).reshape(a.shape)
    return equal | (np.isnan(a) & np.isnan(b))


def digest(tensor: np.ndarray) -> str:
    """The SHA-256 of a tensor: of its dtype, its shape and its bits in row-major order; of texts, dtype and shape alone."""
    data = b"" if tensor.dtype.hasobject else tensor.tobytes()
    return hashlib.sha256(f"{name_of(tensor.dtype)}{tensor.shape}".encode() + data).hexdigest()


def lowest(dtype: np.dtype) -> np.generic:
    """The smallest finite value of the type: ``-DBL_MAX`` for float64, -128 for int8."""
    return dtype.type((ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)).min)


def highest(dtype: np.dtype) -> np.generic:
    """The largest finite value of the type."""
    return dtype.type((ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)).max)


def is_subnormal(values: np.ndarray) -> np.ndarray:
    """Which cells of a floating type are nearer to 0 than its smallest normal number, and not 0."""
    # Comparing NaN is an invalid operation of some types.
    with np.errstate(invalid="ignore"):
        return (values != 0) & (np.abs(values) < ml_dtypes.finfo(values.dtype).smallest_normal)


def rounded(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """float64 values as a float type, each rounded once, to nearest even; values too large become infinite."""
    with np.errstate(over="ignore"):
        if name_of(dtype) != "bfloat16":
            return values.astype(dtype)
        # float64 -> float32 -> bfloat16 would round twice. Rounding the first step to odd keeps what the second needs.
        single = values.astype(np.float32)
        pattern = single.view(np.uint32)
        inexact = (single.astype(np.float64) != values) & ~np.isnan(values)
        pattern[inexact & (np.abs(single.astype(np.float64)) > np.abs(values))] -= 1
        pattern[inexact] |= 1
        return single.astype(dtype)
