"""Has ONNX Runtime infer the shapes of outputs, when it loads a model or by its symbolic inference; it computes nothing."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import onnxruntime

from .adapter import Adapter
from .messages import DTYPES, inferred
from .onnx_adapter import inferred_of, without_output_types
from .onnxruntime_adapter import refusal_with_status

_DTYPES = {"float": "float32", "double": "float64"}


class LoadedModel(Adapter):
    """A session for each request, on the CPU and without optimization, which would compute constants."""

    title, distribution, version = "ONNX Runtime's inference at load", "onnxruntime", onnxruntime.__version__
    decides, provider, providers = "shapes", "", ()
    session_options: ClassVar = {"graph_optimization_level": "ORT_DISABLE_ALL"}

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Load one model, and ask for its outputs."""
        model = without_output_types(request["model"]).SerializeToString()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
        return inferred({output.name: _described(output) for output in session.get_outputs()})

    def refusal(self, error: Exception) -> dict[str, Any]:
        """A refusal, with the status in its message if there is one."""
        return refusal_with_status(error) or super().refusal(error)


def _described(output: Any) -> tuple[str | None, list[int | None] | None]:
    name = output.type[len("tensor(") : -1]
    dtype = _DTYPES.get(name, name)
    return dtype if dtype in DTYPES else None, [size if isinstance(size, int) else None for size in output.shape]


class SymbolicInference(Adapter):
    """onnxruntime.tools.symbolic_shape_infer of one release, a Python program of its package, with its defaults."""

    title, distribution, version = "ONNX Runtime's symbolic shape inference", "onnxruntime", onnxruntime.__version__
    decides, provider, providers = "shapes", "", ()

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        # It needs what the other does not.
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

        logging.disable(logging.CRITICAL)
        self.inference = SymbolicShapeInference

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Infer the outputs of one model."""
        result = self.inference.infer_shapes(without_output_types(request["model"]))
        if result is None:
            # It logs so, and returns nothing.
            return {"type": "refusal", "status": "NOT_IMPLEMENTED", "message": "only operator sets from 7 on"}
        return inferred_of(result.graph, request["outputs"])


ADAPTER = LoadedModel
