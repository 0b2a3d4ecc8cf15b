"""Runs Eclipse Aidge: ONNX models on its CPU backend."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import aidge_backend_cpu  # noqa: F401, which registers its kernels
import aidge_core
import aidge_onnx
import numpy as np

from .adapter import Adapter, model_file
from .messages import returned


class Runtime(Adapter):
    """One release; each request has its own graph and scheduler."""

    title, distribution, version = "Aidge", "aidge-backend-cpu", metadata.version("aidge-backend-cpu")
    dtypes, spatial = ("float32", "float64", "int8"), (1, 2)
    graphs = None

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        names = ("aidge_core", "aidge_onnx", "onnx")
        self.session_options = {"backend": "cpu", **{name: metadata.version(name) for name in names}}
        aidge_core.Log.set_console_level(aidge_core.Level.Fatal)

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Read and run one model."""
        with model_file(request["model"]) as path:
            graph = aidge_onnx.load_onnx(str(path))
        graph.set_backend("cpu")
        graph.set_datatype(getattr(aidge_core.dtype, inputs["X"].dtype.name))
        X = np.ascontiguousarray(inputs["X"])
        graph.forward_dims([list(X.shape)])
        aidge_core.SequentialScheduler(graph).forward(data=[aidge_core.Tensor(X)])
        outputs = [np.array(node.get_operator().get_output(number)) for node, number in graph.get_ordered_outputs()]
        return returned(request["outputs"], outputs, "CPU")
