# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "opencv-python-headless==5.0.0.93"]
# ///
"""MaxPool gives the lowest finite number and the index -1 for a window of -inf, of NaN, or of the lowest number.

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


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 2])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 2, 3])]
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[-np.inf, -np.inf, 4], [-np.inf, -np.inf, 2]]]], np.float32)
expected_Y = np.array([[[[-np.inf, 4]]]], np.float32)
expected_Indices = np.array([[[[0, 2]]]], np.int64)
# ONNX MaxPool-22 does not say which of several equal maxima Indices name: each that is listed is right.
allowed_Indices = [[0, 1, 3, 4], [2]]

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
is_right = (
    np.array_equal(Y, expected_Y)
    and Indices.shape == expected_Indices.shape and is_allowed(Indices, allowed_Indices)
)
sys.exit(0 if is_right else 1)
