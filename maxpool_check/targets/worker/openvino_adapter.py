"""Runs OpenVINO: its own operators, MaxPool-1, MaxPool-8 or MaxPool-14, or ONNX models through its ONNX frontend.

Or has it reshape a model of no sizes to those of a case, which computes shapes alone.
"""

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

from .adapter import Adapter
from .messages import NUMPY_DTYPES, inferred, returned

_CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1"}
_THREADS = "2"
"""With one, 2025.4 and 2026.4 lose an error that occurs while a model runs: its outputs are garbage instead."""
_GRAPHS = 26
"""The newest operator set of ONNX graphs that are executed."""

_OPSETS = ("14", "1", "8", "14")
"""The default, and all."""

_NAMES = {
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}
"""The names of dtypes, by those of OpenVINO."""

_CHOOSES_DEVICES = ("AUTO", "BATCH", "HETERO", "MULTI")
"""The plugins that run a model on other devices."""


class Runtime(Adapter):
    """One operator set, or the ONNX frontend, of one OpenVINO, on one device; each request has its own model.

    A model of an operator set is a Parameter, a MaxPool and its Results.
    """

    title, distribution = "OpenVINO", "openvino"
    version = openvino.get_version().partition("-")[0]
    dtypes, spatial = NUMPY_DTYPES, (1, 2, 3)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, opset=_OPSETS, frontend=(None, "onnx"), threads=(_THREADS,))
        self.opset, frontend = self.chosen["opset"], self.chosen["frontend"]
        if frontend is not None and "opset" in options["provider_options"]:
            raise ValueError(
                "opset is of OpenVINO's own operators, and frontend=onnx takes ONNX models; use one of them"
            )
        self.core = openvino.Core()
        self.provider = options.get("provider") or "CPU"
        _check_device(self.core, self.provider)
        self.providers = self.core.available_devices
        config = {**_CONFIG, "INFERENCE_NUM_THREADS": self.chosen["threads"]}
        supported = self.core.get_property(self.provider, "SUPPORTED_PROPERTIES")
        self.config = {name: value for name, value in config.items() if name in supported}
        self.indices = None if frontend is None and self.opset == "1" else "whole"
        if frontend is None:
            self.wants, self.graphs = f"openvino-{self.opset}", _GRAPHS
        operators = {"opset": self.opset} if frontend is None else {"frontend": frontend}
        self.session_options = {**operators, **self.config}

    def check_provider(self, provider: str | None) -> None:
        """A provider is a device, which OpenVINO itself knows."""

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Build a model with the unchanged attributes, compile and run it."""
        names = request["outputs"]
        tensors = {name: _tensor(array) for name, array in inputs.items()}
        if request["model"]:
            # So does a graph of several nodes, whatever the operator set.
            model = self.core.read_model(io.BytesIO(request["model"]))
            run = self.core.compile_model(model, self.provider, self.config).create_infer_request()
            for name, tensor in tensors.items():
                run.set_tensor(name, tensor)
        else:
            X = tensors["X"]
            model = _model(self.opset, X.element_type, list(X.shape), request)
            run = self.core.compile_model(model, self.provider, self.config).create_infer_request()
            run.set_input_tensor(X)
        run.infer()
        devices = map(self._device_name, run.get_compiled_model().get_property("EXECUTION_DEVICES"))
        outputs = [run.get_output_tensor(number) for number in range(len(names))]
        return returned(names, map(_array, outputs), "+".join(devices))

    def _device_name(self, device: str) -> str:
        """An executing device as it was named: GPU, where there is one, is GPU.0."""
        return self.provider if device.partition(".")[0] == self.provider else device


class ReshapedModel(Adapter):
    """One operator set of one OpenVINO; graphs of several nodes come as ONNX models. No model is compiled."""

    title, distribution, version = "OpenVINO's reshape", "openvino", Runtime.version
    decides, provider, providers = "shapes", "", ()
    spatial, graphs = (1, 2, 3), _GRAPHS

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, opset=_OPSETS)
        self.core, self.opset = openvino.Core(), self.chosen["opset"]
        self.wants, self.session_options = f"openvino-{self.opset}", {"opset": self.opset}
        self.indices = None if self.opset == "1" else "whole"

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Build a model and reshape it."""
        if request["model"]:
            model = self.core.read_model(io.BytesIO(request["model"]))
        else:
            X = request["inputs"]["X"]
            element = openvino.Type(np.dtype(X["dtype"])) if X["dtype"] != "bfloat16" else openvino.Type.bf16
            model = _model(self.opset, element, [-1] * len(X["shape"]), request)
        # Of an ONNX model, inputs that nothing needs are gone.
        names = {name for each in model.inputs for name in each.names}
        shapes = {name: openvino.PartialShape(list(np.shape(inputs[name]))) for name in names & set(inputs)}
        model.reshape(shapes)
        return inferred(dict(zip(request["outputs"], map(_described, model.outputs))))


def _model(opset: str, element: Any, shape: list[int], request: dict[str, Any]) -> Any:
    """A MaxPool of X with the requested outputs. It has no others, since the plugin's kernels depend on them.

    The functions of ``openvino.opset14`` require attributes that have defaults, and change some to capitals; the
    factory that they use does neither.
    """
    attributes = request["attributes"]
    if opset != "1":
        # Without them, 2026.4 raises an error where Indices are an output, although their default is 1.
        attributes = {"dilations": [1] * max(len(shape) - 2, 0), **attributes}
    parameter = Parameter(element, openvino.PartialShape(shape))
    parameter.output(0).set_names({"X"})
    node = NodeFactory(f"opset{opset}").create("MaxPool", [parameter], attributes)
    results = [node.output(number) for number in range(len(request["outputs"]))]
    return openvino.Model(results, [parameter], "maxpool")


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


def _described(output: Any) -> tuple[str | None, list[int | None] | None]:
    shape = output.get_partial_shape()
    sizes = [size.get_length() if size.is_static else None for size in shape] if shape.rank.is_static else None
    return _NAMES.get(output.get_element_type().get_type_name()), sizes
