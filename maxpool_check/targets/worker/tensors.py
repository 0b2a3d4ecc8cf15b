"""Tensors as JSON: dtype, shape, and the bytes (row-major, little-endian) in base64.

bfloat16 is not a dtype of numpy: where ml_dtypes is not installed it is read as uint16.
"""

from __future__ import annotations

import base64
import math
from functools import lru_cache
from typing import Any

import numpy as np

from .messages import DTYPES

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None  # type: ignore[assignment]

NUMPY_DTYPES = tuple(name for name in DTYPES if ml_dtypes is not None or name != "bfloat16")
"""The dtypes that numpy has in this environment."""

MOST_CELLS = 2**24
"""The limit for arrays that are not tensors."""


class BFloat16:
    """A tensor of bfloat16 as 16-bit integers, an output of adapters that may have no ml_dtypes."""

    def __init__(self, bits: Any) -> None:
        self.bits = bits


def encode(value: Any) -> dict[str, Any]:
    """The JSON of a tensor."""
    if isinstance(value, BFloat16):
        return {**encode(value.bits), "dtype": "bfloat16"}
    array = np.asarray(value)
    name, little = _dtype_to_write(array.dtype)
    # Of an array that is not a tensor, only the type and shape are sent.
    data = None if little is None else base64.b64encode(array.astype(little, copy=False).tobytes()).decode()
    return {"dtype": name, "shape": list(array.shape), "data": data}


def decode(tensor: dict[str, Any]) -> Any:
    """The tensor of a JSON object; writable, since kernels may change it."""
    name, shape = tensor["dtype"], tuple(tensor["shape"])
    if min(shape, default=0) < 0:
        raise ValueError(f"a tensor of the shape {shape}")
    if tensor["data"] is None:
        if math.prod(shape) > MOST_CELLS:
            raise ValueError(f"{math.prod(shape)} cells of no type")
        return np.broadcast_to(np.array(None, object), shape)
    little, native = _dtype_to_read(name)
    return np.frombuffer(base64.b64decode(tensor["data"], validate=True), little).reshape(shape).astype(native)


# Thousands of requests have tensors of the same few dtypes.
@lru_cache(64)
def _dtype_to_write(dtype: Any) -> tuple[str, Any]:
    """The name of a dtype, and the dtype to write it as; None if it is not one of tensors."""
    is_tensor = not (dtype.hasobject or dtype.kind in "SUmM" or dtype.names)
    return dtype.name, dtype.newbyteorder("<") if is_tensor else None


@lru_cache(64)
def _dtype_to_read(name: str) -> tuple[Any, Any]:
    """The dtype to read tensors of a dtype name as, and the dtype to convert them to."""
    if name == "bfloat16":
        dtype = np.dtype("uint16") if ml_dtypes is None else np.dtype(ml_dtypes.bfloat16)
    else:
        dtype = np.dtype(name).base
    return dtype.newbyteorder("<"), dtype.newbyteorder("=")
