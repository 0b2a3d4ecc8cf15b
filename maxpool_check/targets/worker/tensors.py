"""Tensors as JSON: dtype, shape, and the bytes (row-major, little-endian) in base64.

bfloat16 is not a dtype of numpy: where ml_dtypes is not installed it travels as uint16, under its own name.
"""

from __future__ import annotations

import base64
import math
from functools import lru_cache
from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None  # type: ignore[assignment]


MOST_CELLS = 2**24
"""What is no tensor has no more cells than this."""


class BFloat16:
    """A tensor of bfloat16 by its bits, 16-bit integers: an adapter's answer, with ml_dtypes or without."""

    def __init__(self, bits: Any) -> None:
        self.bits = bits


def encoded(value: Any) -> dict[str, Any]:
    """The JSON of a tensor."""
    if isinstance(value, BFloat16):
        return {**encoded(value.bits), "dtype": "bfloat16"}
    array = np.asarray(value)
    name, little = _written(array.dtype)
    # What is no tensor shows its type and shape; its memory is nobody's business.
    data = None if little is None else base64.b64encode(array.astype(little, copy=False).tobytes()).decode()
    return {"dtype": name, "shape": list(array.shape), "data": data}


def decoded(tensor: dict[str, Any]) -> Any:
    """The tensor of a JSON; writable, since it is a kernel's to use."""
    name, shape = tensor["dtype"], tuple(tensor["shape"])
    if min(shape, default=0) < 0:
        raise ValueError(f"a tensor of the shape {shape}")
    if tensor["data"] is None:
        if math.prod(shape) > MOST_CELLS:
            raise ValueError(f"{math.prod(shape)} cells of no type")
        return np.broadcast_to(np.array(None, object), shape)
    little, native = _read(name)
    return np.frombuffer(base64.b64decode(tensor["data"], validate=True), little).reshape(shape).astype(native)


# Questions by the thousand have tensors of the same few dtypes.
@lru_cache(64)
def _written(dtype: Any) -> tuple[str, Any]:
    """The name of a dtype, and as which it is written; None for one that no tensor has."""
    is_tensor = not (dtype.hasobject or dtype.kind in "SUmM" or dtype.names)
    return dtype.name, dtype.newbyteorder("<") if is_tensor else None


@lru_cache(64)
def _read(name: str) -> tuple[Any, Any]:
    """As which dtype the tensors of a name are read, and which they have then."""
    if name == "bfloat16":
        dtype = np.dtype("uint16") if ml_dtypes is None else np.dtype(ml_dtypes.bfloat16)
    else:
        dtype = np.dtype(name).base
    return dtype.newbyteorder("<"), dtype.newbyteorder("=")
