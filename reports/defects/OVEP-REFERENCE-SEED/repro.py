# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-openvino==1.24.1"]
# ///
"""MaxPool gives windows of -inf, NaN or the smallest value of the type the index of the plane's first cell.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
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


node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 2])
inputs = [make_tensor_value_info("X", TensorProto.UINT8, [2, 2, 2, 3])]
outputs = [
    make_tensor_value_info("Y", TensorProto.UINT8, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.full((2, 2, 2, 3), 0, np.uint8)
expected_Y = np.array([[[[0, 0]], [[0, 0]]], [[[0, 0]], [[0, 0]]]], np.uint8)
expected_Indices = np.array([[[[0, 1]], [[6, 7]]], [[[12, 13]], [[18, 19]]]], np.int64)
# ONNX MaxPool-22 does not say which of several equal maxima Indices name: each that is listed is right.
allowed_Indices = [[0, 1, 3, 4], [1, 2, 4, 5], [6, 7, 9, 10], [7, 8, 10, 11], [12, 13, 15, 16], [13, 14, 16, 17], [18, 19, 21, 22], [19, 20, 22, 23]]

try:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["OpenVINOExecutionProvider"])
    Y, Indices = session.run(None, {"X": X})
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
