# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2"]
# ///
"""ReferenceEvaluator's Indices of MaxPool with auto_pad SAME count the padding as cells of X.

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

node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[1, 2], auto_pad="SAME_LOWER")
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 4])]
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[3, 1, 4, 5]]]], np.float32)
expected_Y = np.array([[[[3, 3, 4, 5]]]], np.float32)
expected_Indices = np.array([[[[0, 0, 2, 3]]]], np.int64)

try:
    Y, Indices = ReferenceEvaluator(model).run(None, {"X": X})
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) and np.array_equal(Indices, expected_Indices) else 1)
