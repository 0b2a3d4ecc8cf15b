"""Runs PyTorch, on the CPU or, with ?device=cuda, on another device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .messages import DTYPES, BFloat16, check_options, refusal, returned

_POOLS = {1: torch.nn.functional.max_pool1d, 2: torch.nn.functional.max_pool2d, 3: torch.nn.functional.max_pool3d}


class TorchFunction:
    """torch.nn.functional.max_pool1d to 3d, with return_indices and without, which are different kernels."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "torch", "device")
        self.device = (options.get("provider_options") or {}).get("device", "cpu")
        kind = _device_kind(self.device)
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        self.description = {
            "wants": "torch",
            "distribution": "torch",
            "version": torch.__version__,
            "provider": kind,
            "providers": [kind],
            "session_options": {"num_threads": 1, "num_interop_threads": 1, **_device_options(self.device)},
            "indices": "plane",
            "dtypes": [name for name in DTYPES if hasattr(torch, name)],
            "spatial": list(_POOLS),
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal. Indices count the cells of each plane."""
        X = _tensor(inputs["X"], request["inputs"]["X"]["dtype"])
        pool = _POOLS[X.ndim - 2]
        try:
            X = X.to(self.device)
            result = pool(X, return_indices="Indices" in request["outputs"], **request["attributes"])
        except Exception as error:
            return refusal(error)
        outputs = result if isinstance(result, tuple) else (result,)
        devices = sorted({output.device.type.upper() for output in outputs})
        return returned(request["outputs"], map(_array, outputs), "+".join(devices))


def _device_kind(device: str) -> str:
    """The kind of a device, as CPU or CUDA. Raises ``ValueError`` if PyTorch cannot make a tensor there."""
    try:
        return str(torch.ones(1, device=device).device.type).upper()
    except Exception as error:
        # The lines behind the first are advice for debugging.
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        advice = "it needs a PyTorch that is built for it: ?python=PATH names an interpreter that has one"
        raise ValueError(f"PyTorch {torch.__version__} has no device {device} here ({message}); {advice}") from error


def _device_options(device: str) -> dict[str, str]:
    """What results on a device other than the CPU also depend on."""
    if torch.device(device).type == "cpu":
        return {}
    is_cuda = torch.device(device).type == "cuda"
    return {"device": device, **({"name": torch.cuda.get_device_name(device)} if is_cuda else {})}


def _tensor(array: Any, dtype: str) -> Any:
    if dtype == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return BFloat16(tensor.contiguous().view(torch.int16).cpu().numpy())
    return tensor.cpu().numpy()


ADAPTER = TorchFunction
