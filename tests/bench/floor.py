"""The floor: ONNX Runtime alone, a session of ready bytes for each request, as the worker makes them, in one process.

``python tests/bench/floor.py FILE``, the file as ``ready_requests`` writes it. It runs with any release.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
import onnxruntime

Level = onnxruntime.GraphOptimizationLevel
LEVELS = {"optimization-off": Level.ORT_DISABLE_ALL, "optimization-basic": Level.ORT_ENABLE_BASIC}

for model, outputs, inputs, setting in pickle.loads(Path(sys.argv[1]).read_bytes()):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS.get(setting, Level.ORT_ENABLE_ALL)
    options.log_severity_level = 4
    if setting != "default-threads":
        options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        arrays = {name: np.frombuffer(data, np.dtype(dtype)).reshape(shape) for name, dtype, shape, data in inputs}
        session.run(outputs, arrays)
    except Exception as error:
        # What ONNX Runtime refuses, and NumPy without bfloat16.
        if not isinstance(error, (RuntimeError, TypeError)) and not type(error).__module__.startswith("onnxruntime"):
            raise
