# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0"]
# ///
"""MaxPool with auto_pad SAME_UPPER or SAME_LOWER ignores dilations when it computes the padding; the output is too
small.

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

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2], dilations=[2], auto_pad="SAME_UPPER")
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 5])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 3)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[1, 2, 3, 4, 5]]], np.float32)
expected_Y = np.array([[[2, 3, 4, 5, 4]]], np.float32)

try:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (Y,) = session.run(None, {"X": X})
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
