# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "tract==0.23.9"]
# ///
"""MaxPool ignores auto_pad when the node has pads, even pads of zero.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys
import tempfile

try:
    import numpy as np
    import onnx
    import tract
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2, 2], auto_pad="SAME_UPPER", pads=[0, 0, 0, 0])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 3, 4])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[-5, 1, 0.0, -4], [-1, 3, 5, 4], [-3, -2, -6, 2]]]], np.float32)
expected_Y = np.array([[[[3, 5, 5, 4], [3, 5, 5, 4], [-2, -2, 2, 2]]]], np.float32)

try:
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        runnable = tract.onnx().load(f"{folder}/maxpool.onnx").into_model().into_runnable()
    (Y,) = [tensor.to_numpy() for tensor in runnable.run([X])]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
