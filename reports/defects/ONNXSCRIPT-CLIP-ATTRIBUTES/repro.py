# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx-ir==1.1.0", "onnx==1.23.2", "onnxruntime==1.31.1", "onnxscript==0.7.2"]
# ///
"""The fusion of successive Clip and Relu loses the bounds of a Clip before operator set 11.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    import onnxscript.optimizer
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)


def max_pool(model, X):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})


nodes = [
    make_node("MaxPool", ["X"], ["behind"], kernel_shape=[2, 2]),
    make_node("Clip", ["behind"], ["after_0"], min=-3.0, max=2.0),
    make_node("Clip", ["after_0"], ["Y"], min=-1.0, max=3.0),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 2, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, ["Y_0", "Y_1", "Y_2", "Y_3"])]
model = make_model(make_graph(nodes, "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 10)], ir_version=5)

X = np.array([[[[-9, -8, 4], [-7, -6, 5]]]], np.float32)
expected_Y = np.array([[[[-1, 2]]]], np.float32)

try:
    (Y,) = max_pool(model, X)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)
if not np.array_equal(Y, expected_Y):
    print("cannot tell: the original model gives", Y)
    sys.exit(125)

try:
    rewritten = onnxscript.optimizer.optimize(model)
    (Y,) = max_pool(rewritten, X)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
