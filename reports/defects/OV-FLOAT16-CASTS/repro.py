# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "openvino==2026.4.1"]
# ///
"""Conversions to float16 and back have no effect on the values that MaxPool compares.

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
    make_node("Cast", ["X"], ["before_0"], to=10),
    make_node("Cast", ["before_0"], ["before_1"], to=1),
    make_node("MaxPool", ["before_1"], ["Y"], kernel_shape=[2, 2]),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 3, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, ["Y_0", "Y_1", "Y_2", "Y_3"])]
model = make_model(make_graph(nodes, "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[2048, 2049, 1], [3, 4, 5], [4096, 1, 4097]]]], np.float32)
expected_Y = np.array([[[[2048, 2048], [4096, 4096]]]], np.float32)

try:
    onnx_model = ov.Core().read_model(io.BytesIO(model.SerializeToString()))
    compiled = ov.compile_model(onnx_model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    (Y,) = list(compiled({"X": X}).values())
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
