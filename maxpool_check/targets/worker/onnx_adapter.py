"""Runs the reference evaluator of the onnx package, its shape inference, or its checker; the last two compute nothing."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.checker
import onnx.shape_inference

from .adapter import Adapter
from .messages import DTYPES, NUMPY_DTYPES, inferred, returned

_ELEMENTS = {getattr(onnx.TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper())): name
             for name in DTYPES}  # fmt: skip


class Runtime(Adapter):
    """The evaluator of one release of onnx; each request has its own evaluator."""

    title, distribution, version = "onnx's evaluator", "onnx", onnx.__version__
    dtypes, spatial = NUMPY_DTYPES, (1, 2, 3, 4)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        # The oldest releases have none.
        from onnx.reference import ReferenceEvaluator

        self.evaluator = ReferenceEvaluator

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Evaluate one model."""
        outputs = self.evaluator(request["model"]).run(request["outputs"], inputs)
        return returned(request["outputs"], outputs, "CPU")


class OnnxShapeInference(Adapter):
    """onnx.shape_inference.infer_shapes of one release; ``strict`` has it raise its errors, and check types."""

    title, distribution, version = "onnx's shape inference", "onnx", onnx.__version__
    decides, provider, providers = "shapes", "", ()

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, strict=("1", "0", "1"), data_prop=("0", "0", "1"))
        is_strict, propagates = self.chosen["strict"] == "1", self.chosen["data_prop"] == "1"
        self.session_options = {"check_type": is_strict, "strict_mode": is_strict, "data_prop": propagates}

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Infer the outputs of one model."""
        model = without_output_types(request["model"])
        graph = onnx.shape_inference.infer_shapes(model, **self.session_options).graph
        return inferred_of(graph, request["outputs"])


class OnnxChecker(Adapter):
    """onnx.checker.check_model of one release; ``full`` has it infer the shapes as well."""

    title, distribution, version = "onnx's checker", "onnx", onnx.__version__
    decides, provider, providers = "acceptance", "", ()

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, full=("1", "0", "1"))
        self.session_options = {"full_check": self.chosen["full"] == "1"}

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Check one model."""
        onnx.checker.check_model(request["model"], **self.session_options)
        return {"type": "accepted"}


def without_output_types(model: bytes) -> Any:
    """The model whose outputs have no types, so that none of them is taken for one that was inferred."""
    loaded = onnx.load_from_string(model)
    for output in loaded.graph.output:
        output.ClearField("type")
    return loaded


def inferred_of(graph: Any, names: list[str]) -> dict[str, Any]:
    """The message about these outputs of a graph, as far as they are known; a symbolic size is not."""
    # Outputs without a type stay so; what is inferred of them stands beside them.
    values = {
        value.name: value.type.tensor_type for value in (*graph.output, *graph.value_info) if value.HasField("type")
    }
    outputs: dict[str, Any] = dict.fromkeys(names, (None, None))
    for name in values.keys() & outputs.keys():
        shape = None
        if values[name].HasField("shape"):
            shape = [size.dim_value if size.HasField("dim_value") else None for size in values[name].shape.dim]
        outputs[name] = _ELEMENTS.get(values[name].elem_type), shape
    return inferred(outputs)
