"""Runs PyTorch on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .messages import DTYPES, BFloat16, check_options, refusal, returned

_POOLS = {1: torch.nn.functional.max_pool1d, 2: torch.nn.functional.max_pool2d, 3: torch.nn.functional.max_pool3d}


class TorchFunction:
    """torch.nn.functional.max_pool1d to 3d, with return_indices and without, which are different kernels."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "torch")
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        self.description = {
            "wants": "torch",
            "distribution": "torch",
            "version": torch.__version__,
            "session_options": {"num_threads": 1, "num_interop_threads": 1},
            "indices": "plane",
            "dtypes": [name for name in DTYPES if hasattr(torch, name)],
            "spatial": list(_POOLS),
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal. Indices count the cells of each plane."""
        X = _tensor(inputs["X"], request["inputs"]["X"]["dtype"])
        pool = _POOLS[X.ndim - 2]
        try:
            result = pool(X, return_indices="Indices" in request["outputs"], **request["attributes"])
        except Exception as error:
            return refusal(error)
        outputs = result if isinstance(result, tuple) else (result,)
        return returned(request["outputs"], map(_array, outputs))


def _tensor(array: Any, dtype: str) -> Any:
    if dtype == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return BFloat16(tensor.contiguous().view(torch.int16).numpy())
    return tensor.numpy()


ADAPTER = TorchFunction
