# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2"]
# ///
"""ReferenceEvaluator does not pad MaxPool of one, three or more axes if strides and dilations are 1.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[3], pads=[0, 2])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 3)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[1, 3, 2]]], np.float32)
expected_Y = np.array([[[3, 3, 2]]], np.float32)

try:
    (Y,) = ReferenceEvaluator(model).run(None, {"X": X})
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
