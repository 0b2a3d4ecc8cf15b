# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "opencv-python-headless==5.0.0.93"]
# ///
"""MaxPool ignores dilations.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys
import tempfile

try:
    import cv2
    import numpy as np
    import onnx
    from onnx import TensorProto
    from onnx.helper import (
        make_graph,
        make_model,
        make_node,
        make_opsetid,
        make_tensor_value_info,
        np_dtype_to_tensor_dtype,
    )
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 opencv-python-headless==5.0.0.93", sep="\n",
    )
    sys.exit(125)


def max_pool(X, outputs, **attributes):
    node = make_node("MaxPool", ["X"], outputs, **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    infos = [
        make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim),
        make_tensor_value_info("Indices", TensorProto.INT64, [None] * X.ndim),
    ]
    graph = make_graph([node], "maxpool", inputs, infos[:len(outputs)])
    model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        net = cv2.dnn.readNetFromONNX(f"{folder}/maxpool.onnx", engine=cv2.dnn.ENGINE_CLASSIC)
    net.setInput(X)
    return net.forward([output.name for output in model.graph.output])


X = np.array([[[1, 2], [3, 4]]], np.float32)
expected_Y = np.zeros((1, 2, 0), np.float32)
expected_Indices = np.zeros((1, 2, 0), np.int64)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), ["Y"], kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    Y, Indices = max_pool(X, ["Y", "Indices"], kernel_shape=[2], dilations=[2])
except Exception as error:
    print("refused, which is allowed:", error)
    sys.exit(0)
print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) and np.array_equal(Indices, expected_Indices) else 1)
