"""Asks ONNX Runtime."""

from __future__ import annotations

import base64
import platform
import re
from typing import Any

import numpy as np
import onnxruntime

_BFLOAT16 = 16  # onnx.TensorProto.BFLOAT16
_STATUS = re.compile(r"\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
_RECORD = "session.record_ep_graph_assignment_info"


class OnnxRuntime:
    """One provider of one ONNX Runtime; each question is a session of its own."""

    wants = "model"

    def __init__(self, options: dict[str, Any]) -> None:
        self.provider = options.get("provider") or "CPUExecutionProvider"
        available = onnxruntime.get_available_providers()
        if self.provider not in available:
            raise ValueError(f"this ONNX Runtime has no {self.provider}; it has {', '.join(available)}")
        self.provider_options = options.get("provider_options") or {}
        self.entries = {} if self.provider == "CPUExecutionProvider" else {"session.disable_cpu_ep_fallback": "1"}
        if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
            self.entries[_RECORD] = "1"

    def describe(self) -> dict[str, Any]:
        """What the record says of the target."""
        return {
            "wants": self.wants,
            "distribution": "onnxruntime",
            "version": onnxruntime.__version__,
            "provider": self.provider,
            "providers": onnxruntime.get_available_providers(),
            "session_options": {
                "intra_op_num_threads": 1,
                "inter_op_num_threads": 1,
                "graph_optimization_level": "ORT_ENABLE_ALL",
                **self.entries,
                **self.provider_options,
            },
            "python": platform.python_version(),
            "numpy": np.__version__,
        }

    def ask(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; ONNX Runtime's own errors are refusals."""
        try:
            session = self._session(base64.b64decode(request["model"]))
            provider = self._ran(session)
            if request["inputs"]["X"]["dtype"] == "bfloat16":
                bits = inputs["X"].view(np.uint16)
                values = {"X": onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, _BFLOAT16)}
                outputs = [value.numpy() for value in session.run_with_ort_values(request["outputs"], values)]
            else:
                outputs = session.run(request["outputs"], inputs)
        except Exception as error:
            found = _STATUS.match(str(error))
            if found:
                return {"type": "refusal", "status": found[1], "message": str(error)[found.end() :]}
            # Some releases leave the status out of the words; then the class has it.
            status = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).upper()
            if type(error).__module__.startswith("onnxruntime"):
                return {"type": "refusal", "status": status, "message": str(error)}
            raise
        return {"type": "answer", "provider": provider, "outputs": dict(zip(request["outputs"], outputs))}

    def _session(self, model: bytes) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        for key, value in self.entries.items():
            options.add_session_config_entry(key, value)
        # ONNX Runtime's Python would try again on another provider, and hide the first error.
        session = onnxruntime.InferenceSession(
            model, options, providers=[(self.provider, self.provider_options)], enable_fallback=0
        )
        session.disable_fallback()
        return session

    def _ran(self, session: Any) -> str:
        """The provider that has the node; what the session was given first, where the release cannot tell.

        Releases 1.24 to 1.26 tell nothing of a node that they put casts around, as float16 on the CPU.
        """
        told = session.get_provider_graph_assignment_info() if _RECORD in self.entries else ()
        return "+".join(sorted({subgraph.ep_name for subgraph in told})) or str(session.get_providers()[0])


ADAPTER = OnnxRuntime
