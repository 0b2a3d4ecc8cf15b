"""Asks PyTorch for the shapes of outputs, by tensors of its meta device, which have no values."""

from __future__ import annotations

from typing import Any

import torch

from .messages import DTYPES, check_options, inferred, refusal
from .torch_adapter import _POOLS


class MetaFunction:
    """torch.nn.functional.max_pool1d to 3d of tensors on the meta device."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "torch-meta")
        self.description = {
            "wants": "torch",
            "decides": "shapes",
            "distribution": "torch",
            "version": torch.__version__,
            "provider": "",
            "providers": [],
            "session_options": {"device": "meta"},
            "dtypes": [name for name in DTYPES if hasattr(torch, name)],
            "spatial": list(_POOLS),
        }

    def run(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal."""
        described = request["inputs"]["X"]
        X = torch.empty(described["shape"], dtype=getattr(torch, described["dtype"]), device="meta")
        pool = _POOLS[X.ndim - 2]
        try:
            result = pool(X, return_indices="Indices" in request["outputs"], **request["attributes"])
        except Exception as error:
            return refusal(error)
        outputs = result if isinstance(result, tuple) else (result,)
        described_outputs = [(str(tensor.dtype).partition(".")[2], tensor.shape) for tensor in outputs]
        return inferred(dict(zip(request["outputs"], described_outputs)))


ADAPTER = MetaFunction
