"""Asks ONNX Runtime's symbolic shape inference, a Python program of its package, which computes no outputs."""

from __future__ import annotations

import logging
from typing import Any

import onnxruntime
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

from .messages import check_options, inferred, refusal
from .onnx_types import of_value, without_output_types


class SymbolicInference:
    """onnxruntime.tools.symbolic_shape_infer of one release, with its defaults."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "ONNX Runtime's symbolic shape inference")
        logging.disable(logging.CRITICAL)
        self.description = {
            "wants": "model",
            "decides": "shapes",
            "distribution": "onnxruntime",
            "version": onnxruntime.__version__,
            "provider": "",
            "providers": [],
        }

    def run(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Infer the outputs of one model; any exception is a refusal."""
        model = without_output_types(request["model"])
        try:
            result = SymbolicShapeInference.infer_shapes(model)
        except Exception as error:
            return refusal(error)
        if result is None:
            # It logs so, and returns nothing.
            return {"type": "refusal", "status": "NOT_IMPLEMENTED", "message": "only operator sets from 7 on"}
        graph = result.graph
        values = {value.name: of_value(value) for value in (*graph.value_info, *graph.output)}
        return inferred({name: values.get(name, (None, None)) for name in request["outputs"]})


ADAPTER = SymbolicInference
