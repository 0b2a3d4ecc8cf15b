"""Runs the reference evaluator of the onnx package."""

from __future__ import annotations

import base64
import platform
from importlib.util import find_spec
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

_PROVIDER = "CPU"
_BFLOAT16 = ("bfloat16",) if find_spec("ml_dtypes") else ()
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_DTYPES = (*_BFLOAT16, "float16", "float32", "float64", *_INTEGERS)


class OnnxReference:
    """The evaluator of one release of onnx; each request has its own evaluator."""

    wants = "model"

    def __init__(self, options: dict[str, Any]) -> None:
        if options.get("provider_options"):
            raise ValueError(f"unknown option {', '.join(options['provider_options'])}; onnx's evaluator has none")
        if options.get("provider") not in (None, _PROVIDER):
            raise ValueError(f"onnx's evaluator runs on {_PROVIDER} only, not on {options['provider']}")

    def describe(self) -> dict[str, Any]:
        """The description of the target, for the record."""
        return {
            "wants": self.wants,
            "distribution": "onnx",
            "version": onnx.__version__,
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
        """Evaluate one model; any exception of the evaluator is a refusal."""
        if request["inputs"]["X"]["dtype"] not in _DTYPES:
            return {"type": "unable", "message": f"onnx's evaluator does not support {request['inputs']['X']['dtype']}"}
        model = base64.b64decode(request["model"])
        try:
            outputs = ReferenceEvaluator(model).run(request["outputs"], inputs)
        except Exception as error:
            return {"type": "refusal", "status": type(error).__name__, "message": str(error)}
        return {"type": "answer", "provider": _PROVIDER, "outputs": dict(zip(request["outputs"], outputs))}


ADAPTER = OnnxReference
