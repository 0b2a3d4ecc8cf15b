"""Runs PyTorch, on the CPU or, with ?device=cuda, on another device; or on its meta device, which computes shapes alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .adapter import Adapter
from .messages import DTYPES, BFloat16, inferred, returned

_POOLS = {1: torch.nn.functional.max_pool1d, 2: torch.nn.functional.max_pool2d, 3: torch.nn.functional.max_pool3d}


class Runtime(Adapter):
    """torch.nn.functional.max_pool1d to 3d, with return_indices and without, which are different kernels."""

    title = distribution = wants = "torch"
    version = torch.__version__
    indices, dtypes, spatial = "plane", tuple(name for name in DTYPES if hasattr(torch, name)), tuple(_POOLS)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, device=("cpu",))
        self.device = self.chosen["device"]
        self.provider = device_kind(self.device)
        self.providers = [self.provider]
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        self.session_options = {"num_threads": 1, "num_interop_threads": 1}
        # What results on a device other than the CPU also depend on.
        if self.provider != "CPU":
            self.session_options["device"] = self.device
        if self.provider == "CUDA":
            self.session_options["name"] = torch.cuda.get_device_name(self.device)

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function. Indices count the cells of each plane."""
        outputs = _pooled(tensor(inputs["X"], request["inputs"]["X"]["dtype"]).to(self.device), request)
        devices = sorted({output.device.type.upper() for output in outputs})
        return returned(request["outputs"], map(array, outputs), "+".join(devices))


class MetaFunction(Adapter):
    """The same functions of a tensor on the meta device, which has no values."""

    title, distribution, wants = "torch-meta", "torch", "torch"
    version = torch.__version__
    decides, provider, providers, session_options = "shapes", "", (), {"device": "meta"}
    dtypes, spatial = Runtime.dtypes, Runtime.spatial

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function."""
        X = request["inputs"]["X"]
        outputs = _pooled(torch.empty(X["shape"], dtype=getattr(torch, X["dtype"]), device="meta"), request)
        described = [(str(output.dtype).partition(".")[2], output.shape) for output in outputs]
        return inferred(dict(zip(request["outputs"], described)))


def _pooled(X: Any, request: dict[str, Any]) -> tuple[Any, ...]:
    result = _POOLS[X.ndim - 2](X, return_indices="Indices" in request["outputs"], **request["attributes"])
    return result if isinstance(result, tuple) else (result,)


def device_kind(device: str) -> str:
    """The kind of a device, as CPU or CUDA. Raises ``ValueError`` if PyTorch cannot make a tensor there."""
    try:
        return str(torch.ones(1, device=device).device.type).upper()
    except Exception as error:
        # The lines behind the first are advice for debugging.
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        advice = "it needs a PyTorch that is built for it: ?python=PATH names an interpreter that has one"
        raise ValueError(f"PyTorch {torch.__version__} has no device {device} here ({message}); {advice}") from error


def tensor(array: Any, dtype: str) -> Any:
    """The tensor on the CPU of an array of numpy, which may have bfloat16 as integers."""
    if dtype == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array(tensor: Any) -> Any:
    """The array of numpy of a tensor on any device."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return BFloat16(tensor.contiguous().view(torch.int16).cpu().numpy())
    return tensor.cpu().numpy()
