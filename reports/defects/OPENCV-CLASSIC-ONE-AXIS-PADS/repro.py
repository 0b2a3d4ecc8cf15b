# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "opencv-python-headless==5.0.0.93"]
# ///
"""MaxPool over one axis pads as many cells at the end as at the beginning.

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

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[3], pads=[0, 2])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 3)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[1, 3, 2]]], np.float32)
expected_Y = np.array([[[3, 3, 2]]], np.float32)

try:
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        net = cv2.dnn.readNetFromONNX(f"{folder}/maxpool.onnx", engine=cv2.dnn.ENGINE_CLASSIC)
    net.setInput(X)
    (Y,) = net.forward([output.name for output in model.graph.output])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
