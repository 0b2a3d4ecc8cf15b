"""Runs tract."""

from __future__ import annotations

import base64
import platform
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tract

_PROVIDER = "CPU"
_DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Tract:
    """One release of tract; each request has its own model, optimized by default."""

    wants = "model"

    def __init__(self, options: dict[str, Any]) -> None:
        if not hasattr(tract.Onnx, "load"):
            raise ValueError(f"tract {tract.version()} converts every tensor to float32; use 0.23 or later")
        if options.get("provider_options"):
            raise ValueError(f"unknown option {', '.join(options['provider_options'])}; tract has none")
        if options.get("provider") not in (None, _PROVIDER):
            raise ValueError(f"tract runs on {_PROVIDER} only, not on {options['provider']}")

    def describe(self) -> dict[str, Any]:
        """The description of the target, for the record."""
        return {
            "wants": self.wants,
            "distribution": "tract",
            "version": tract.version(),
            "provider": _PROVIDER,
            "providers": [_PROVIDER],
            "session_options": {},
            "python": platform.python_version(),
            "numpy": np.__version__,
            "indices": "whole",
            "dtypes": list(_DTYPES),
            "spatial": [1, 2, 3, 4],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; errors of tract are refusals. A panic of tract ends the process."""
        if request["inputs"]["X"]["dtype"] not in _DTYPES:
            return {"type": "unable", "message": f"tract does not support {request['inputs']['X']['dtype']}"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(base64.b64decode(request["model"]))
            try:
                runnable = tract.onnx().load(path).into_model().into_runnable()
                outputs = [tensor.to_numpy() for tensor in runnable.run([inputs["X"]])]
            except tract.TractError as error:
                # The backtrace is that of this process.
                message = str(error).partition("Stack backtrace:")[0].rstrip()
                return {"type": "refusal", "status": type(error).__name__, "message": message}
        return {"type": "answer", "provider": _PROVIDER, "outputs": dict(zip(request["outputs"], outputs))}


ADAPTER = Tract
