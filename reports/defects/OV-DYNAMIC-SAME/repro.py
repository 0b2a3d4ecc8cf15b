# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "openvino==2026.4.1"]
# ///
"""MaxPool with Indices ignores auto_pad SAME_* where the spatial sizes are known at run time only.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import io
import sys

try:
    import numpy as np
    import openvino as ov
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

nodes = [
    make_node("Identity", ["X"], ["before_0"]),
    make_node("MaxPool", ["before_0"], ["Y", "Indices"], kernel_shape=[2, 2], auto_pad="SAME_LOWER", strides=[1, 1]),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, "H", "W"])]
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, ["Y_0", "Y_1", "Y_2", "Y_3"]),
    make_tensor_value_info("Indices", TensorProto.INT64, ["Indices_0", "Indices_1", "Indices_2", "Indices_3"]),
]
model = make_model(make_graph(nodes, "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[-20, -19, -18, -17], [-16, -15, -14, -13], [-12, -11, -10, -9]]]], np.float32)
expected_Y = np.array([[[[-20, -19, -18, -17], [-16, -15, -14, -13], [-12, -11, -10, -9]]]], np.float32)
expected_Indices = np.array([[[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]]], np.int64)

try:
    onnx_model = ov.Core().read_model(io.BytesIO(model.SerializeToString()))
    compiled = ov.compile_model(onnx_model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    Y, Indices = list(compiled({"X": X}).values())
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) and np.array_equal(Indices, expected_Indices) else 1)
