# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm==0.27.0.post1", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""MaxPool pads with and starts from the smallest finite value of the type, which a window of -inf gives.

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

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[1, 1])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 1])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[-np.inf]]]], np.float32)
expected_Y = np.array([[[[-np.inf]]]], np.float32)

try:
    executable = tvm.compile(from_onnx(model), target="llvm")
    results = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(X))
    (Y,) = [tensor.numpy() for tensor in [results]]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
