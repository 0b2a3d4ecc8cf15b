"""Runs ONNX Runtime."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import onnxruntime

from .messages import refusal, returned
from .onnxruntime_provider import Provider

_BFLOAT16 = 16  # onnx.TensorProto.BFLOAT16
_STATUS = re.compile(r"\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
_RECORD = "session.record_ep_graph_assignment_info"


class OnnxRuntime:
    """One provider of one ONNX Runtime; each request has its own session."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.provider = provider = Provider(options)
        self.entries = dict(provider.entries)
        if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
            self.entries[_RECORD] = "1"
        self.description = {
            "wants": "model",
            "distribution": provider.distribution,
            "version": provider.version,
            "provider": provider.name,
            "providers": provider.names,
            "session_options": {
                "intra_op_num_threads": 1,
                "inter_op_num_threads": 1,
                "graph_optimization_level": "ORT_ENABLE_ALL",
                **provider.related,
                **self.entries,
                **provider.options,
            },
            "settings": ["optimization-off", "default-threads", "twice"],
            "dtypes": ["float16", "bfloat16", "float32", "float64", "int8", "uint8"],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; errors of ONNX Runtime are refusals."""
        try:
            setting = request.get("setting")
            session = self._session(base64.b64decode(request["model"]), setting)
            provider = self._provider_of(session)
            if request["inputs"]["X"]["dtype"] == "bfloat16":
                bits = inputs["X"].view(np.uint16)
                values = {"X": onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, _BFLOAT16)}
                outputs = [value.numpy() for value in session.run_with_ort_values(request["outputs"], values)]
            else:
                if setting == "twice":
                    session.run(request["outputs"], inputs)
                outputs = session.run(request["outputs"], inputs)
            return returned(request["outputs"], outputs, provider)
        except Exception as error:
            match = _STATUS.match(str(error))
            if match:
                return refusal(error, str(error)[match.end() :], match[1])
            if not type(error).__module__.startswith("onnxruntime"):
                raise
            # The messages of some releases have no status; it is in the name of the class.
            return refusal(error, status=re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).upper())

    def _session(self, model: bytes, setting: str | None) -> Any:
        options = onnxruntime.SessionOptions()
        if setting != "default-threads":
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
        if setting == "optimization-off":
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        for key, value in self.entries.items():
            options.add_session_config_entry(key, value)
        return self.provider.session(model, options)

    def _provider_of(self, session: Any) -> str:
        """The provider that runs the node; the first one of the session if the release does not report it.

        Releases 1.24 to 1.26 report nothing for a node that they surround with casts, such as float16 on the CPU. The
        first provider is correct then, since the session disables the fallback to the CPU provider.
        """
        assignments = session.get_provider_graph_assignment_info() if _RECORD in self.entries else ()
        return "+".join(sorted({subgraph.ep_name for subgraph in assignments})) or str(session.get_providers()[0])


ADAPTER = OnnxRuntime
