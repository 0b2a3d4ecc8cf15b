"""The floor: ONNX Runtime alone, a session of ready bytes for each request, as the worker makes them, in one process.

``python tests/bench/floor.py FILE``, the file as ``ready_requests`` writes it.
"""

import pickle
import sys
from pathlib import Path

from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions

LEVELS = {
    "optimization-off": GraphOptimizationLevel.ORT_DISABLE_ALL,
    "optimization-basic": GraphOptimizationLevel.ORT_ENABLE_BASIC,
}

for model, outputs, inputs, setting in pickle.loads(Path(sys.argv[1]).read_bytes()):
    options = SessionOptions()
    options.graph_optimization_level = LEVELS.get(setting, GraphOptimizationLevel.ORT_ENABLE_ALL)
    options.log_severity_level = 4
    if setting != "default-threads":
        options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(outputs, inputs)
    except Exception as error:
        # What ONNX Runtime refuses.
        if not isinstance(error, (RuntimeError, TypeError)) and not type(error).__module__.startswith("onnxruntime"):
            raise
