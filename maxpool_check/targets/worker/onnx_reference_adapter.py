"""Runs the reference evaluator of the onnx package."""

from __future__ import annotations

from typing import Any

import onnx
from onnx.reference import ReferenceEvaluator

from .messages import NUMPY_DTYPES, check_options, refusal, returned, unable, unsupported


class OnnxReferenceModel:
    """The evaluator of one release of onnx; each request has its own evaluator."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "onnx's evaluator")
        self.description = {
            "wants": "model",
            "distribution": "onnx",
            "version": onnx.__version__,
            "dtypes": NUMPY_DTYPES,
            "spatial": [1, 2, 3, 4],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Evaluate one model; any exception of the evaluator is a refusal."""
        dtype = unsupported(request, NUMPY_DTYPES)
        if dtype is not None:
            return unable(f"onnx's evaluator does not support {dtype}")
        model = request["model"]
        try:
            outputs = ReferenceEvaluator(model).run(request["outputs"], inputs)
        except Exception as error:
            return refusal(error)
        return returned(request["outputs"], outputs, "CPU")


ADAPTER = OnnxReferenceModel
