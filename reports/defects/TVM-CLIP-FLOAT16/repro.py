# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm==0.27.0.post1", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""Clip of float16 below operator set 11 gives float32.

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

nodes = [make_node("Clip", ["X"], ["before_0"]), make_node("MaxPool", ["before_0"], ["Y"], kernel_shape=[1])]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT16, [1, 1, 1])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT16, ["Y_0", "Y_1", "Y_2"])]
model = make_model(make_graph(nodes, "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 10)], ir_version=5)

X = np.array([[[1]]], np.float16)
expected_Y = np.array([[[1]]], np.float16)

try:
    executable = tvm.compile(from_onnx(model), target="llvm")
    results = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(X))
    (Y,) = [tensor.numpy() for tensor in [results]]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print(f"expected Y, {expected_Y.dtype}:", expected_Y, f"got Y, {Y.dtype}:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) and Y.dtype == expected_Y.dtype else 1)
