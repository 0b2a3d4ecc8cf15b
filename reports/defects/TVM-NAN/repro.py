# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm==0.27.0.post1", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""The result of MaxPool depends on the place of a NaN in the window, and with padding it may be the smallest finite
value.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import tvm
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install apache-tvm==0.27.0.post1 numpy==2.4.6 onnx==1.23.2", sep="\n",
    )
    sys.exit(125)

print("TVM", tvm.__version__)


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2, 2], pads=[1, 1, 1, 1])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 3, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[np.nan, 1, 2], [3, 4, 5], [6, 7, np.nan]]]], np.float32)
expected_Y = np.array([[[[np.nan, 1, 2, 2], [3, 4, 5, 5], [6, 7, 7, 5], [6, 7, 7, np.nan]]]], np.float32)
# ONNX MaxPool-22 does not say what a window with NaN gives: each value that is listed for a cell is right.
allowed_Y = [[np.nan, -np.inf], [1, np.nan], [2], [2], [3, np.nan], [4, np.nan], [5], [5], [6], [7], [7, np.nan], [5, np.nan], [6], [7], [7, np.nan], [np.nan, -np.inf]]

try:
    executable = tvm.compile(from_onnx(model), target="llvm")
    results = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(X))
    (Y,) = [tensor.numpy() for tensor in [results]]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if Y.shape == expected_Y.shape and is_allowed(Y, allowed_Y) else 1)
