"""Asks OpenVINO for the shapes of outputs: a model of no sizes is reshaped to those of a case, and not compiled."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import openvino

try:
    from openvino.op import Parameter
    from openvino.utils.node_factory import NodeFactory
except ImportError:
    # Their place up to 2024.
    from openvino.runtime.op import Parameter
    from openvino.runtime.utils.node_factory import NodeFactory

from .messages import DTYPES, check_options, inferred, refusal, unable, unsupported

_NAMES = {
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}
_OPSETS = ("1", "8", "14")
_GRAPHS = 26
"""The newest operator set of ONNX graphs that are read."""


class ReshapedModel:
    """One operator set of one OpenVINO; graphs of several nodes come as ONNX models."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "OpenVINO's reshape", "opset")
        self.opset = (options.get("provider_options") or {}).get("opset", "14")
        if self.opset not in _OPSETS:
            raise ValueError(f"opset must be one of {', '.join(_OPSETS)}, got {self.opset}")
        self.core = openvino.Core()
        self.factory = NodeFactory(f"opset{self.opset}")
        self.description = {
            "wants": f"openvino-{self.opset}",
            "decides": "shapes",
            "distribution": "openvino",
            "version": openvino.get_version().partition("-")[0],
            "provider": "",
            "providers": [],
            "session_options": {"opset": self.opset},
            "indices": None if self.opset == "1" else "whole",
            "spatial": [1, 2, 3],
            "graphs": _GRAPHS,
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Build a model and reshape it; any exception of OpenVINO is a refusal."""
        dtype = unsupported(request, DTYPES)
        if dtype is not None:
            return unable(f"OpenVINO does not support {dtype}")
        try:
            content = request["model"]
            model = self.core.read_model(io.BytesIO(content)) if content else self._model(request)
            # Of an ONNX model, inputs that nothing needs are gone.
            names = {name for each in model.inputs for name in each.names}
            shapes = {name: openvino.PartialShape(list(np.shape(inputs[name]))) for name in names & set(inputs)}
            model.reshape(shapes)
            outputs = [_described(output) for output in model.outputs]
        except Exception as error:
            return refusal(error)
        return inferred(dict(zip(request["outputs"], outputs)))

    def _model(self, request: dict[str, Any]) -> Any:
        """A MaxPool of an X of known rank."""
        X = request["inputs"]["X"]
        rank = len(X["shape"])
        attributes = request["attributes"]
        if self.opset != "1":
            # As for openvino: an error without them where Indices are an output, although their default is 1.
            attributes = {"dilations": [1] * max(rank - 2, 0), **attributes}
        element = openvino.Type(np.dtype(X["dtype"])) if X["dtype"] != "bfloat16" else openvino.Type.bf16
        parameter = Parameter(element, openvino.PartialShape([-1] * rank))
        parameter.output(0).set_names({"X"})
        node = self.factory.create("MaxPool", [parameter], attributes)
        results = [node.output(number) for number in range(len(request["outputs"]))]
        return openvino.Model(results, [parameter], "maxpool")


def _described(output: Any) -> tuple[str | None, list[int | None] | None]:
    shape = output.get_partial_shape()
    sizes = [size.get_length() if size.is_static else None for size in shape] if shape.rank.is_static else None
    return _NAMES.get(output.get_element_type().get_type_name()), sizes


ADAPTER = ReshapedModel
