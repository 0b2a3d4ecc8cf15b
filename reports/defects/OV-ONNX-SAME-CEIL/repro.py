# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "openvino==2026.4.1"]
# ///
"""ONNX MaxPool with auto_pad SAME_* and ceil_mode=1 has a window too many if the kernel is smaller than the stride.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import io
import sys

try:
    import ml_dtypes
    import numpy as np
    import openvino as ov
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 openvino==2026.4.1", sep="\n",
    )
    sys.exit(125)

print("OpenVINO", ov.__version__)


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[1], strides=[2], ceil_mode=1, auto_pad="SAME_LOWER")
inputs = [make_tensor_value_info("X", TensorProto.BFLOAT16, [1, 1, 2])]
outputs = [make_tensor_value_info("Y", TensorProto.BFLOAT16, [None] * 3)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[1, 2]]], ml_dtypes.bfloat16)
expected_Y = np.array([[[1]]], ml_dtypes.bfloat16)
# ONNX MaxPool-22 leaves open which windows there are: what is allowed by each interpretation, cell by cell.
allowed_Y_1 = [[1]]  # of the shape (1, 1, 1)
allowed_Y_2 = [[2]]  # of the shape (1, 1, 1)

try:
    onnx_model = ov.Core().read_model(io.BytesIO(model.SerializeToString()))
    compiled = ov.compile_model(onnx_model, "CPU")
    (Y,) = [value.view(X.dtype) if value.itemsize == 2 else value for value in compiled({"X": ov.Tensor(X.view(np.uint16), X.shape, ov.Type.bf16)}).values()]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
is_right = (
    (Y.shape == (1, 1, 1) and is_allowed(Y, allowed_Y_1)) or (Y.shape == (1, 1, 1) and is_allowed(Y, allowed_Y_2))
)
sys.exit(0 if is_right else 1)
