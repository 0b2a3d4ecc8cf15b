"""The messages about a request, and tensors as JSON.

A tensor is its dtype, shape, and bytes (row-major, little-endian) in base64. bfloat16 is not a dtype of numpy: where ml_dtypes
is not installed it is read as uint16.
"""

from __future__ import annotations

import base64
import importlib.util
import math
from functools import lru_cache
from typing import Any, Iterable

import numpy as np

_HAS_BFLOAT16 = importlib.util.find_spec("ml_dtypes") is not None

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64")  # fmt: skip
"""All that runtimes pool, by name."""

NUMPY_DTYPES = tuple(name for name in DTYPES if _HAS_BFLOAT16 or name != "bfloat16")
"""The dtypes that numpy has in this environment."""

ORIGINAL = "original"
"""The setting in which a tool does not rewrite the model."""

MOST_CELLS = 2**24
"""The limit for arrays that are not tensors."""


def returned(names: Iterable[str], outputs: Iterable[Any], provider: str | None = None) -> dict[str, Any]:
    """The runtime returned outputs with these names; None is one that it did not return. ``provider`` ran the node."""
    present = {name: output for name, output in zip(names, outputs) if output is not None}
    return {"type": "result", "provider": provider, "outputs": present}


def inferred(outputs: dict[str, tuple[str | None, Iterable[int | None] | None]]) -> dict[str, Any]:
    """The runtime infers these dtypes and shapes of the outputs, and computes none; None is what it does not know."""
    described = {
        name: {"dtype": dtype, "shape": None if shape is None else list(shape)}
        for name, (dtype, shape) in outputs.items()
    }
    return {"type": "shapes", "outputs": described}


def refusal(error: Exception, message: str | None = None, status: str | None = None) -> dict[str, Any]:
    """The runtime refused the request with an exception; its message and class, unless others are passed."""
    message = str(error) if message is None else message
    return {"type": "refusal", "status": status or type(error).__name__, "message": message}


def unable(message: str) -> dict[str, Any]:
    """The adapter cannot express the request."""
    return {"type": "unable", "message": message}


class BFloat16:
    """A tensor of bfloat16 as 16-bit integers, an output of adapters that may have no ml_dtypes."""

    def __init__(self, bits: Any) -> None:
        self.bits = bits


def encode(value: Any, following: list[bytes] | None = None) -> dict[str, Any]:
    """The JSON of a tensor; its bytes are added to those ``following`` the line, if there is such a list."""
    tensor, content = described_tensor(value)
    if following is None or content is None:
        return {**tensor, "data": None if content is None else base64.b64encode(content).decode()}
    following.append(content)
    return {**tensor, "data": len(content)}


def described_tensor(value: Any) -> tuple[dict[str, Any], bytes | None]:
    """The dtype and the shape of a tensor, and its bytes; None if it is no tensor of numbers."""
    if isinstance(value, BFloat16):
        tensor, content = described_tensor(value.bits)
        return {**tensor, "dtype": "bfloat16"}, content
    array = np.asarray(value)
    dtype = array.dtype
    # Of an array that is not a tensor, only the type and shape are sent.
    is_tensor = not (dtype.hasobject or dtype.kind in "SUmM" or dtype.names)
    content = array.astype(dtype.newbyteorder("<"), copy=False).tobytes() if is_tensor else None
    return {"dtype": _name_of(dtype), "shape": list(array.shape)}, content


@lru_cache(64)  # numpy puts the name together each time
def _name_of(dtype: np.dtype) -> str:
    return dtype.name


def decode(tensor: dict[str, Any]) -> Any:
    """The tensor of a JSON object, with base64, bytes or hexadecimal digits; writable, since kernels may change it."""
    name, shape = tensor["dtype"], tuple(tensor["shape"])
    if min(shape, default=0) < 0:
        raise ValueError(f"a tensor of the shape {shape}")
    data = bytes.fromhex(tensor["hex"]) if "hex" in tensor else tensor["data"]
    if data is None:
        if math.prod(shape) > MOST_CELLS:
            raise ValueError(f"{math.prod(shape)} cells of no type")
        return np.broadcast_to(np.array(None, object), shape)
    if name == "bfloat16":
        # It is slow to import, and most tensors have another dtype.
        dtype = np.dtype(importlib.import_module("ml_dtypes").bfloat16 if _HAS_BFLOAT16 else "uint16")
    else:
        dtype = np.dtype(name).base
    content = base64.b64decode(data, validate=True) if isinstance(data, str) else data
    return np.frombuffer(content, dtype.newbyteorder("<")).reshape(shape).astype(dtype.newbyteorder("="))
