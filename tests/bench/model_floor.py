"""The floor of ``model``: ONNX Runtime alone, at each level of optimization a session of each file, run once, in one process.

``python tests/bench/model_floor.py FILE...``: the model as it is, and with the tensors around its MaxPool nodes as outputs.
"""

import sys

import numpy as np
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions

LEVELS = ("ENABLE_ALL", "DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_LAYOUT")

for level in LEVELS:
    for file in sys.argv[1:]:
        options = SessionOptions()
        options.graph_optimization_level = getattr(GraphOptimizationLevel, f"ORT_{level}")
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        session, random = InferenceSession(file, options, providers=["CPUExecutionProvider"]), np.random.default_rng(0)
        inputs = {each.name: random.standard_normal(each.shape).astype(np.float32) for each in session.get_inputs()}
        session.run(None, inputs)
