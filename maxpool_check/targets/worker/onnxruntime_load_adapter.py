"""Loads models in ONNX Runtime and asks for the outputs that it infers; nothing is run."""

from __future__ import annotations

import re
from typing import Any

import onnxruntime

from .messages import DTYPES, check_options, inferred, refusal
from .onnx_types import without_output_types

_STATUS = re.compile(r"\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
_DTYPES = {"float": "float32", "double": "float64"}


class LoadedModel:
    """A session for each request, on the CPU and without optimization, which would compute constants."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "ONNX Runtime's inference at load")
        self.description = {
            "wants": "model",
            "decides": "shapes",
            "distribution": "onnxruntime",
            "version": onnxruntime.__version__,
            "provider": "",
            "providers": [],
            "session_options": {"graph_optimization_level": "ORT_DISABLE_ALL"},
        }

    def run(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Load one model; errors of ONNX Runtime are refusals."""
        model = without_output_types(request["model"]).SerializeToString()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception as error:
            match = _STATUS.match(str(error))
            return refusal(error, str(error)[match.end() :], match[1]) if match else refusal(error)
        return inferred({output.name: _described(output) for output in session.get_outputs()})


def _described(output: Any) -> tuple[str | None, list[int | None] | None]:
    name = output.type[len("tensor(") : -1]
    dtype = _DTYPES.get(name, name)
    return dtype if dtype in DTYPES else None, [size if isinstance(size, int) else None for size in output.shape]


ADAPTER = LoadedModel
