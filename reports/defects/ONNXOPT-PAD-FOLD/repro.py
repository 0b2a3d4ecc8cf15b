# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxoptimizer==0.4.2", "onnxruntime==1.31.1"]
# ///
"""fuse_pad_into_pool folds a Pad of zeros into the pads of MaxPool.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxoptimizer
    import onnxruntime
    from onnx import TensorProto, numpy_helper
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
    make_node("Pad", ["X", "before_0_pad_pads", "before_0_pad_constant_value"], ["before_0"], mode="constant"),
    make_node("MaxPool", ["before_0"], ["Y"], kernel_shape=[2, 2], strides=[2, 2]),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 3, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, ["Y_0", "Y_1", "Y_2", "Y_3"])]
initializers = [
    numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "before_0_pad_pads"),
    numpy_helper.from_array(np.array(0.0, np.float32), "before_0_pad_constant_value"),
]
graph = make_graph(nodes, "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[-1, -2, -3], [-4, -5, -6], [-7, -8, -9]]]], np.float32)
expected_Y = np.array([[[[0.0, 0.0], [0.0, -5]]]], np.float32)

try:
    (Y,) = max_pool(model, X)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)
if not np.array_equal(Y, expected_Y):
    print("cannot tell: the original model gives", Y)
    sys.exit(125)

try:
    rewritten = onnxoptimizer.optimize(model)
    (Y,) = max_pool(rewritten, X)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
