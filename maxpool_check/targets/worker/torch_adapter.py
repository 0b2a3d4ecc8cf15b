"""Runs PyTorch on the CPU."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import torch

from .tensors import BFloat16

_DTYPES = [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    *(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")),
]
_POOLS = {1: torch.nn.functional.max_pool1d, 2: torch.nn.functional.max_pool2d, 3: torch.nn.functional.max_pool3d}


class Torch:
    """torch.nn.functional.max_pool1d to 3d, with return_indices and without, which are different kernels."""

    wants = "torch"

    def __init__(self, options: dict[str, Any]) -> None:
        unknown = options.get("provider_options")
        if unknown:
            raise ValueError(f"unknown option {', '.join(sorted(unknown))}; torch has none")
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)

    def describe(self) -> dict[str, Any]:
        """The description of the target, for the record."""
        return {
            "wants": self.wants,
            "distribution": "torch",
            "version": torch.__version__,
            "provider": "CPU",
            "providers": ["CPU"],
            "session_options": {"num_threads": 1, "num_interop_threads": 1},
            "python": platform.python_version(),
            "numpy": np.__version__,
            "indices": "plane",
            "dtypes": [name for name in _DTYPES if hasattr(torch, name)],
            "spatial": list(_POOLS),
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal. Indices count the cells of each plane."""
        dtype, spatial = request["inputs"]["X"]["dtype"], inputs["X"].ndim - 2
        if spatial not in _POOLS:
            return {"type": "unable", "message": f"torch has no max_pool over {spatial} spatial axes"}
        if dtype not in _DTYPES or not hasattr(torch, dtype):
            return {"type": "unable", "message": f"this torch has no {dtype}"}
        X = _tensor(inputs["X"], dtype)
        try:
            result = _POOLS[spatial](X, return_indices="Indices" in request["outputs"], **request["attributes"])
        except Exception as error:
            return {"type": "refusal", "status": type(error).__name__, "message": str(error)}
        outputs = result if isinstance(result, tuple) else (result,)
        return {
            "type": "answer",
            "provider": None,
            "outputs": dict(zip(request["outputs"], (_array(tensor) for tensor in outputs))),
        }


def _tensor(array: Any, dtype: str) -> Any:
    if dtype == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return BFloat16(tensor.contiguous().view(torch.int16).numpy())
    return tensor.numpy()


ADAPTER = Torch
