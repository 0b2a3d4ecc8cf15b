"""Runs OpenVINO: its own operators, MaxPool-1, MaxPool-8 or MaxPool-14, or ONNX models through its ONNX frontend."""

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

from .messages import NUMPY_DTYPES, check_provider_options, refusal, returned, unable, unsupported

_CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1"}
_THREADS = "2"
"""With one, 2025.4 and 2026.4 lose an error that occurs while a model runs: its outputs are garbage instead."""
_GRAPHS = 26
"""The newest operator set of ONNX graphs that are executed."""

_OPSETS = ("1", "8", "14")

_CHOOSES_DEVICES = ("AUTO", "BATCH", "HETERO", "MULTI")
"""The plugins that run a model on other devices."""


class OpenVinoModel:
    """One operator set, or the ONNX frontend, of one OpenVINO, on one device; each request has its own model.

    A model of an operator set is a Parameter, a MaxPool and its Results.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        check_provider_options(options, "OpenVINO", "opset", "frontend", "threads")
        given = options.get("provider_options") or {}
        self.opset, frontend = given.get("opset", "14"), given.get("frontend")
        if frontend not in (None, "onnx"):
            raise ValueError(f"frontend must be onnx, got {frontend}")
        if frontend is not None and "opset" in given:
            raise ValueError(
                "opset is of OpenVINO's own operators, and frontend=onnx takes ONNX models; use one of them"
            )
        if self.opset not in _OPSETS:
            raise ValueError(f"opset must be one of {', '.join(_OPSETS)}, got {self.opset}")
        self.core = openvino.Core()
        self.device = options.get("provider") or "CPU"
        _check_device(self.core, self.device)
        config = {**_CONFIG, "INFERENCE_NUM_THREADS": given.get("threads", _THREADS)}
        supported = self.core.get_property(self.device, "SUPPORTED_PROPERTIES")
        self.config = {name: value for name, value in config.items() if name in supported}
        self.factory = NodeFactory(f"opset{self.opset}")
        has_indices = frontend is not None or self.opset != "1"
        of_models = {"wants": "model", "session_options": {"frontend": frontend, **self.config}}
        of_operators = {
            "wants": f"openvino-{self.opset}",
            "session_options": {"opset": self.opset, **self.config},
            "graphs": _GRAPHS,
        }
        self.description = {
            **(of_operators if frontend is None else of_models),
            "distribution": "openvino",
            "version": openvino.get_version().partition("-")[0],
            "provider": self.device,
            "providers": self.core.available_devices,
            "indices": "whole" if has_indices else None,
            "dtypes": NUMPY_DTYPES,
            "spatial": [1, 2, 3],
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
                # So does a graph of several nodes, whatever the operator set.
                model = self.core.read_model(io.BytesIO(request["model"]))
                run = self.core.compile_model(model, self.device, self.config).create_infer_request()
                for name, tensor in tensors.items():
                    run.set_tensor(name, tensor)
            else:
                run = self._compile(tensors["X"], request["attributes"], len(names))
                run.set_input_tensor(tensors["X"])
            run.infer()
            devices = map(self._device_name, run.get_compiled_model().get_property("EXECUTION_DEVICES"))
            outputs = [run.get_output_tensor(number) for number in range(len(names))]
        except Exception as error:
            return refusal(error)
        return returned(names, map(_array, outputs), "+".join(devices))

    def _device_name(self, device: str) -> str:
        """An executing device as it was named: GPU, where there is one, is GPU.0."""
        return self.device if device.partition(".")[0] == self.device else device

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
        return self.core.compile_model(model, self.device, self.config).create_infer_request()


def _check_device(core: Any, device: str) -> None:
    """Raise ``ValueError`` if this machine has no such device, or if it only chooses among others."""
    available = core.available_devices
    if device in available or any(name.startswith(f"{device}.") for name in available):
        return
    if device.partition(":")[0] in _CHOOSES_DEVICES:
        reason = f"{device} leaves the choice of the device to OpenVINO; name the device itself"
    else:
        reason = f"this machine has no device {device}"
        try:
            core.get_property(device, "FULL_DEVICE_NAME")
        except Exception as error:
            # The last line says why; those before it, where the exception was raised.
            reason += f" ({str(error).strip().splitlines()[-1]})"
    raise ValueError(f"{reason}; OpenVINO has found {', '.join(available) or 'none'}")


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
