"""The floor: ONNX Runtime alone, a session of ready bytes for each request, as the worker makes them, in one process.

``python tests/bench/floor.py FILE``, the file as :func:`tests.bench.work.ready_requests` writes it. It runs with any release.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
import onnxruntime

LEVELS = {"optimization-off": "ORT_DISABLE_ALL", "optimization-basic": "ORT_ENABLE_BASIC"}


def main(path: str) -> None:
    for request in pickle.loads(Path(path).read_bytes()):
        try:
            execute(*request)
        except Exception as error:
            # What ONNX Runtime refuses, and NumPy without bfloat16.
            if not isinstance(error, (RuntimeError, TypeError)) and not type(error).__module__.startswith(
                "onnxruntime"
            ):
                raise


def execute(model: bytes, outputs: tuple, inputs: dict, setting: "str | None") -> None:
    options = onnxruntime.SessionOptions()
    if setting != "default-threads":
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
    if setting in LEVELS:
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[setting])
    options.log_severity_level = 4
    if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    session = onnxruntime.InferenceSession(model, options, providers=[("CPUExecutionProvider", {})], enable_fallback=0)
    session.disable_fallback()
    arrays = {
        name: np.frombuffer(data, np.dtype(dtype)).reshape(shape) for name, (dtype, shape, data) in inputs.items()
    }
    session.run(outputs, arrays)


if __name__ == "__main__":
    main(sys.argv[1])
