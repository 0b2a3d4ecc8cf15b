# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2"]
# ///
"""ReferenceEvaluator rounds the output size of MaxPool with auto_pad SAME_LOWER down instead of up.

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


node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[1], strides=[4], auto_pad="SAME_LOWER")
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 7])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 3)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[1, 2, 3, 4, 5, 6, 7]]], np.float32)
expected_Y = np.array([[[1, 5]]], np.float32)
# ONNX MaxPool-22 leaves open which windows there are: what is allowed by each interpretation, cell by cell.
allowed_Y_1 = [[1], [5]]  # of the shape (1, 1, 2)
allowed_Y_2 = [[2], [6]]  # of the shape (1, 1, 2)

try:
    (Y,) = ReferenceEvaluator(model).run(None, {"X": X})
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
is_right = (
    (Y.shape == (1, 1, 2) and is_allowed(Y, allowed_Y_1)) or (Y.shape == (1, 1, 2) and is_allowed(Y, allowed_Y_2))
)
sys.exit(0 if is_right else 1)
