# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "tract==0.23.9"]
# ///
"""MaxPool with Indices, or of one or three axes, starts from the smallest finite value and index 0, which a window
of -inf or of the smallest value keeps.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys
import tempfile

try:
    import numpy as np
    import onnx
    import tract
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 2], pads=[1, 1, 1, 1])
inputs = [make_tensor_value_info("X", TensorProto.UINT8, [1, 1, 2, 3])]
outputs = [
    make_tensor_value_info("Y", TensorProto.UINT8, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[0, 0, 0], [0, 0, 0]]]], np.uint8)
expected_Y = np.array([[[[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]]], np.uint8)
expected_Indices = np.array([[[[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 4, 5]]]], np.int64)
# ONNX MaxPool-22 does not say which of several equal maxima Indices name: each that is listed is right.
allowed_Indices = [[0], [0, 1], [1, 2], [2], [0, 3], [0, 1, 3, 4], [1, 2, 4, 5], [2, 5], [3], [3, 4], [4, 5], [5]]

try:
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        runnable = tract.onnx().load(f"{folder}/maxpool.onnx").into_model().into_runnable()
    Y, Indices = [tensor.to_numpy() for tensor in runnable.run([X])]
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
