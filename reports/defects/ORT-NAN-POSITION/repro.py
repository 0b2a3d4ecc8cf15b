# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0"]
# ///
"""MaxPool without Indices: whether NaN or a number is the maximum depends on the place of the NaN in the window.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0", sep="\n",
    )
    sys.exit(125)

print("ONNX Runtime", onnxruntime.__version__)


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2, 2])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 4, 2, 2])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[np.nan, 3],
      [2, 0.5]],
     [[3, np.nan],
      [2, 0.5]],
     [[3, 2],
      [np.nan, 0.5]],
     [[3, 2],
      [0.5, np.nan]]]], np.float32)
expected_Y = np.array([[[[3]], [[3]], [[3]], [[3]]]], np.float32)
# ONNX MaxPool-22 does not say what a window with NaN gives: each value that is listed for a cell is right.
allowed_Y = [[3, np.nan], [3, np.nan], [3, np.nan], [3, np.nan]]

try:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (Y,) = session.run(None, {"X": X})
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if Y.shape == expected_Y.shape and is_allowed(Y, allowed_Y) else 1)
