"""Runs tract."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

import tract

from .messages import DTYPES, check_options, refusal, returned, unable, unsupported

_DTYPES = [name for name in DTYPES if name != "bfloat16"]


class TractModel:
    """One release of tract; each request has its own model, optimized by default."""

    def __init__(self, options: dict[str, Any]) -> None:
        if not hasattr(tract.Onnx, "load"):
            raise ValueError(f"tract {tract.version()} converts every tensor to float32; use 0.23 or later")
        check_options(options, "tract")
        self.description = {
            "wants": "model",
            "distribution": "tract",
            "version": tract.version(),
            "dtypes": _DTYPES,
            "spatial": [1, 2, 3, 4],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; errors of tract are refusals. A panic of tract ends the process."""
        dtype = unsupported(request, _DTYPES)
        if dtype is not None:
            return unable(f"tract does not support {dtype}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(base64.b64decode(request["model"]))
            try:
                runnable = tract.onnx().load(path).into_model().into_runnable()
                outputs = [tensor.to_numpy() for tensor in runnable.run(list(inputs.values()))]
            except tract.TractError as error:
                # The backtrace is that of this process.
                return refusal(error, str(error).partition("Stack backtrace:")[0].rstrip())
        return returned(request["outputs"], outputs, "CPU")


ADAPTER = TractModel
