# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2"]
# ///
"""ReferenceEvaluator's Indices of MaxPool name the largest finite value if infinity comes after it.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
    from onnx.reference import ReferenceEvaluator
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


node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[1, 2])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 2, 4])]
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[3.4028235e+38, np.inf, -3.4028235e+38, -np.inf],
      [1, 3.4028235e+38, -np.inf, -np.inf]]]], np.float32)
expected_Y = np.array([[[[np.inf, np.inf, -3.4028235e+38], [3.4028235e+38, 3.4028235e+38, -np.inf]]]], np.float32)
expected_Indices = np.array([[[[1, 1, 2], [5, 5, 6]]]], np.int64)
# ONNX MaxPool-22 does not say which of several equal maxima Indices name: each that is listed is right.
allowed_Indices = [[1], [1], [2], [5], [5], [6, 7]]

try:
    Y, Indices = ReferenceEvaluator(model).run(None, {"X": X})
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
