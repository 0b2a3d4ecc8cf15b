# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "tinygrad==0.14.0"]
# ///
"""The result of MaxPool depends on the place of a NaN in the window.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
    from tinygrad.helpers import DEV
    from tinygrad.nn.onnx import OnnxRunner
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 tinygrad==0.14.0", sep="\n",
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


node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 2, 2])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 2, 2, 3])]
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 5),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 5),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[[1, 2, 3], [4, 5, 6]], [[7, np.nan, 8], [9, 1, 2]]]]], np.float32)
expected_Y = np.array([[[[[9, 8]]]]], np.float32)
expected_Indices = np.array([[[[[9, 8]]]]], np.int64)
# ONNX MaxPool-22 does not say what a window with NaN gives: each value that is listed for a cell is right.
allowed_Y = [[9, np.nan], [8, np.nan]]
# ONNX MaxPool-22 does not say what a window with NaN gives: each value that is listed for a cell is right.
allowed_Indices = [[9, 7], [8, 7]]

try:
    DEV.value = "CPU"
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        results = OnnxRunner(f"{folder}/maxpool.onnx")({"X": X})
    Y, Indices = [tensor.numpy() for tensor in results.values()]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
is_right = (
    Y.shape == expected_Y.shape and is_allowed(Y, allowed_Y)
    and Indices.shape == expected_Indices.shape and is_allowed(Indices, allowed_Indices)
)
sys.exit(0 if is_right else 1)
