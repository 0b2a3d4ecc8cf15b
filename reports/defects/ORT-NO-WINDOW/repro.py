# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0"]
# ///
"""MaxPool has one output where the window is larger than the padded input and the output size is 0.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    from onnx.helper import (
        make_graph,
        make_model,
        make_node,
        make_opsetid,
        make_tensor_value_info,
        np_dtype_to_tensor_dtype,
    )
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0", sep="\n",
    )
    sys.exit(125)

print("ONNX Runtime", onnxruntime.__version__)


def max_pool(X, **attributes):
    node = make_node("MaxPool", ["X"], ["Y"], **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    outputs = [make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim)]
    model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})


X = np.array([[[1, 2]]], np.float32)
expected_Y = np.zeros((1, 1, 0), np.float32)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    (Y,) = max_pool(X, kernel_shape=[3], strides=[2])
except Exception as error:
    print("refused, which is allowed:", error)
    sys.exit(0)
print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
