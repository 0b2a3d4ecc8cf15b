# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm==0.27.0.post1", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""MaxPool with auto_pad VALID and pads adds the pads.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import tvm
    from onnx.helper import (
        make_graph,
        make_model,
        make_node,
        make_opsetid,
        make_tensor_value_info,
        np_dtype_to_tensor_dtype,
    )
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install apache-tvm==0.27.0.post1 numpy==2.4.6 onnx==1.23.2", sep="\n",
    )
    sys.exit(125)

print("TVM", tvm.__version__)


def max_pool(X, **attributes):
    node = make_node("MaxPool", ["X"], ["Y"], **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    outputs = [make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim)]
    model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 10)], ir_version=5)
    executable = tvm.compile(from_onnx(model), target="llvm")
    results = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(X))
    return [tensor.numpy() for tensor in [results]]


X = np.array([[[[3, 0.0, 1, 2], [-4, -3, 4, -5], [5, -6, -2, -1]]]], np.float32)
expected_Y = np.array([[[[3, 4, 4], [5, 4, 4]]]], np.float32)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    (Y,) = max_pool(X, kernel_shape=[2, 2], auto_pad="VALID", pads=[1, 1, 1, 1])
except Exception as error:
    print("refused, which is allowed:", error)
    sys.exit(0)
print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
