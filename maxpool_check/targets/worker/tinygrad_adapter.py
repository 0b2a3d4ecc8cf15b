"""Runs tinygrad: ONNX models by its OnnxRunner."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from tinygrad import Tensor, dtypes, helpers

from .adapter import Adapter, model_file
from .messages import DTYPES, BFloat16, returned

_DEVICES = ("CPU", "PYTHON")
"""The second one emulates a device in Python, and needs no compiler."""


class Runtime(Adapter):
    """One release of tinygrad on one device; each request has its own runner."""

    title = distribution = "tinygrad"
    version = metadata.version("tinygrad")
    providers = _DEVICES
    dtypes, spatial = DTYPES, (1, 2, 3, 4)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, device=("CPU", *_DEVICES))
        self.provider = device = self.chosen["device"]
        # CACHELEVEL 0: kernels that other processes of this user have compiled are not used.
        self.session_options = {"DEV": device, "NUM_CPU_THREADS": 1, "PARALLEL": 0, "CACHELEVEL": 0}
        for name, value in self.session_options.items():
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

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model."""
        with model_file(request["model"]) as path:
            tensors = {name: _tensor(inputs[name], given["dtype"]) for name, given in request["inputs"].items()}
            results = self.runner(path)(tensors)
            outputs = [results[name].realize() for name in request["outputs"]]
            arrays = [_array(tensor) for tensor in outputs]
        return returned(request["outputs"], arrays, "+".join(sorted({str(tensor.device) for tensor in outputs})))


def _tensor(array: Any, dtype: str) -> Any:
    """The tensor of an array; numpy has no bfloat16."""
    return Tensor(array).bitcast(dtypes.bfloat16) if dtype == "bfloat16" else Tensor(array)


def _array(tensor: Any) -> Any:
    """The array of a tensor in its own dtype."""
    if tensor.dtype == dtypes.bfloat16:
        return BFloat16(tensor.bitcast(dtypes.uint16).numpy())
    return tensor.numpy()
