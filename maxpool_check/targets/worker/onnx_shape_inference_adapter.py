"""Asks the shape inference of the onnx package, which computes nothing."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.shape_inference

from .messages import inferred, refusal
from .onnx_types import check_switches, of_value, without_output_types


class OnnxShapeInference:
    """onnx.shape_inference.infer_shapes of one release; ``strict`` has it raise its errors, and check types."""

    def __init__(self, options: dict[str, Any]) -> None:
        switches = check_switches(options, "onnx's shape inference", strict="1", data_prop="0")
        self.options = {
            "check_type": switches["strict"],
            "strict_mode": switches["strict"],
            "data_prop": switches["data_prop"],
        }
        self.description = {
            "wants": "model",
            "decides": "shapes",
            "distribution": "onnx",
            "version": onnx.__version__,
            "provider": "",
            "providers": [],
            "session_options": self.options,
        }

    def run(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Infer the outputs of one model; any exception is a refusal."""
        model = without_output_types(request["model"])
        try:
            graph = onnx.shape_inference.infer_shapes(model, **self.options).graph
        except Exception as error:
            return refusal(error)
        # Outputs without a type stay so; what is inferred of them stands beside them.
        values = {value.name: of_value(value) for value in (*graph.output, *graph.value_info) if value.HasField("type")}
        return inferred({name: values.get(name, (None, None)) for name in request["outputs"]})


ADAPTER = OnnxShapeInference
