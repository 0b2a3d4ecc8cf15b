"""Runs OpenVINO's own operators, without ONNX: MaxPool-1, MaxPool-8 or MaxPool-14 on its CPU plugin."""

from __future__ import annotations

import base64
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

from .messages import NUMPY_DTYPES, check_options, refusal, returned, unable, unsupported

_CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1"}
_THREADS = "2"
"""With one, 2025.4 and 2026.4 lose an error that occurs while a model runs: its outputs are garbage instead."""
_GRAPHS = 26
"""The newest operator set of ONNX graphs that are executed."""

_OPSETS = ("1", "8", "14")


class OpenVinoModel:
    """One operator set of one OpenVINO; each request has its own model: a Parameter, a MaxPool and its Results."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "OpenVINO", "opset", "threads")
        given = options.get("provider_options") or {}
        self.opset = given.get("opset", "14")
        self.config = {**_CONFIG, "INFERENCE_NUM_THREADS": given.get("threads", _THREADS)}
        if self.opset not in _OPSETS:
            raise ValueError(f"opset must be one of {', '.join(_OPSETS)}, got {self.opset}")
        self.core = openvino.Core()
        self.factory = NodeFactory(f"opset{self.opset}")
        self.description = {
            "wants": f"openvino-{self.opset}",
            "distribution": "openvino",
            "version": openvino.get_version().partition("-")[0],
            "providers": self.core.available_devices,
            "session_options": {"opset": self.opset, **self.config},
            "indices": None if self.opset == "1" else "whole",
            "dtypes": NUMPY_DTYPES,
            "spatial": [1, 2, 3],
            "graphs": _GRAPHS,
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Build a model with the unchanged attributes, compile and run it; any exception of OpenVINO is a refusal."""
        names = request["outputs"]
        dtype = unsupported(request, NUMPY_DTYPES)
        if dtype is not None:
            return unable(f"OpenVINO does not support {dtype}")
        tensors = {name: _tensor(array) for name, array in inputs.items()}
        try:
            if request["model"]:
                # A graph of several nodes comes as an ONNX model.
                model = self.core.read_model(io.BytesIO(base64.b64decode(request["model"])))
                run = self.core.compile_model(model, "CPU", self.config).create_infer_request()
                for name, tensor in tensors.items():
                    run.set_tensor(name, tensor)
            else:
                run = self._compile(tensors["X"], request["attributes"], len(names))
                run.set_input_tensor(tensors["X"])
            run.infer()
            devices = run.get_compiled_model().get_property("EXECUTION_DEVICES")
            outputs = [run.get_output_tensor(number) for number in range(len(names))]
        except Exception as error:
            return refusal(error)
        return returned(names, map(_array, outputs), "+".join(devices))

    def _compile(self, X: Any, attributes: dict[str, Any], results: int) -> Any:
        """A request for the first ``results`` outputs. The model has no others, since the plugin's kernels depend on them.

        The functions of ``openvino.opset14`` require attributes that have defaults, and change some to capitals; the
        factory that they use does neither.
        """
        parameter = Parameter(X.element_type, openvino.PartialShape(list(X.shape)))
        if self.opset != "1":
            # Without them, 2026.4 raises an error where Indices are an output, although their default is 1.
            attributes = {"dilations": [1] * max(len(X.shape) - 2, 0), **attributes}
        node = self.factory.create("MaxPool", [parameter], attributes)
        model = openvino.Model([node.output(number) for number in range(results)], [parameter], "maxpool")
        return self.core.compile_model(model, "CPU", self.config).create_infer_request()


def _tensor(array: Any) -> Any:
    """The tensor of an array, sharing its memory."""
    if array.dtype.name == "bfloat16":
        return openvino.Tensor(array.view(np.uint16), array.shape, openvino.Type.bf16)
    return openvino.Tensor(array)


def _array(tensor: Any) -> Any:
    """A copy of a tensor as an array."""
    array = np.array(tensor.data)
    return array.view("bfloat16") if tensor.element_type == openvino.Type.bf16 else array


ADAPTER = OpenVinoModel
