"""Runs tinygrad: ONNX models by its OnnxRunner."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tinygrad import Tensor, dtypes, helpers

from .messages import DTYPES, BFloat16, check_options, refusal, returned, unable, unsupported

_DEVICES = ("CPU", "PYTHON")
"""The second one emulates a device in Python, and needs no compiler."""


class TinygradModel:
    """One release of tinygrad on one device; each request has its own runner."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "tinygrad", "device")
        device = (options.get("provider_options") or {}).get("device", "CPU")
        if device not in _DEVICES:
            raise ValueError(f"device must be one of {', '.join(_DEVICES)}, got {device}")
        # CACHELEVEL 0: kernels that other processes of this user have compiled are not used.
        settings = {"DEV": device, "NUM_CPU_THREADS": 1, "PARALLEL": 0, "CACHELEVEL": 0}
        for name, value in settings.items():
            getattr(helpers, name).value = value
        # Its import chooses a device, where none is set by now.
        from tinygrad.nn.onnx import OnnxRunner

        self.runner = OnnxRunner
        try:
            # Compiles and runs a first kernel.
            (Tensor([1]) + 1).tolist()
        except FileNotFoundError as error:
            raise ValueError(
                f"tinygrad compiles for the {device} with {error.filename}, which is not installed; "
                "install it (Debian: apt-get install clang), or use ?device=PYTHON"
            ) from error
        self.description = {
            "wants": "model",
            "distribution": "tinygrad",
            "version": version("tinygrad"),
            "provider": device,
            "providers": list(_DEVICES),
            "session_options": settings,
            "dtypes": list(DTYPES),
            "spatial": [1, 2, 3, 4],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; any exception of tinygrad is a refusal."""
        dtype = unsupported(request, DTYPES)
        if dtype is not None:
            return unable(f"tinygrad does not support {dtype}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(request["model"])
            try:
                tensors = {name: _tensor(inputs[name], given["dtype"]) for name, given in request["inputs"].items()}
                results = self.runner(path)(tensors)
                outputs = [results[name].realize() for name in request["outputs"]]
                arrays = [_array(tensor) for tensor in outputs]
            except Exception as error:
                return refusal(error)
        return returned(request["outputs"], arrays, "+".join(sorted({str(tensor.device) for tensor in outputs})))


def _tensor(array: Any, dtype: str) -> Any:
    """The tensor of an array; numpy has no bfloat16."""
    return Tensor(array).bitcast(dtypes.bfloat16) if dtype == "bfloat16" else Tensor(array)


def _array(tensor: Any) -> Any:
    """The array of a tensor in its own dtype."""
    if tensor.dtype == dtypes.bfloat16:
        return BFloat16(tensor.bitcast(dtypes.uint16).numpy())
    return tensor.numpy()


ADAPTER = TinygradModel
