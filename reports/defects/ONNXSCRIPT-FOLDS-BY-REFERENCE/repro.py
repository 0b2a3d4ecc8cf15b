# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx-ir==1.1.0", "onnx==1.23.2", "onnxruntime==1.31.1", "onnxscript==0.7.2"]
# ///
"""Constant folding of MaxPool has the mistakes of onnx's reference implementation.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    import onnxscript.optimizer
    from onnx import TensorProto, numpy_helper
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)


def max_pool(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2, 2], auto_pad="SAME_LOWER", strides=[2, 2])
inputs = []
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)]
initializers = [
    numpy_helper.from_array(np.array([[[[-20, -19, -18, -17, -16],
      [-15, -14, -13, -12, -11],
      [-10, -9, -8, -7, -6]]]], np.float32), "X"),
]
graph = make_graph([node], "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)

feeds = {}  # X is a constant of the model
expected_Y = np.array([[[[-20, -18, -16], [-10, -8, -6]]]], np.float32)

try:
    (Y,) = max_pool(model, feeds)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)
if not np.array_equal(Y, expected_Y):
    print("cannot tell: the original model gives", Y)
    sys.exit(125)

try:
    rewritten = onnxscript.optimizer.optimize(model)
    (Y,) = max_pool(rewritten, feeds)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
