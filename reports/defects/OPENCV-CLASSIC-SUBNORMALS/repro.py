# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "opencv-python-headless==5.0.0.93"]
# ///
"""MaxPool counts subnormal numbers as zero.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys
import tempfile

try:
    import cv2
    import numpy as np
    import onnx
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 opencv-python-headless==5.0.0.93", sep="\n",
    )
    sys.exit(125)

node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 2])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 2, 4])]
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[0.0, 1e-45, 0.0, 0.0], [0.0, 0.0, 0.0, 1e-45]]]], np.float32)
expected_Y = np.array([[[[1e-45, 1e-45, 1e-45]]]], np.float32)
expected_Indices = np.array([[[[1, 1, 7]]]], np.int64)

try:
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        net = cv2.dnn.readNetFromONNX(f"{folder}/maxpool.onnx", engine=cv2.dnn.ENGINE_CLASSIC)
    net.setInput(X)
    Y, Indices = net.forward([output.name for output in model.graph.output])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) and np.array_equal(Indices, expected_Indices) else 1)
