# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0"]
# ///
"""Indices of a MaxPool in front of QuantizeLinear are those of the quantized input: they name cells that are not
the maximum.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, numpy_helper
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0", sep="\n",
    )
    sys.exit(125)

print("ONNX Runtime", onnxruntime.__version__)

nodes = [
    make_node("MaxPool", ["X"], ["behind", "Indices"], kernel_shape=[2, 2]),
    make_node("QuantizeLinear", ["behind", "Y_quantizelinear_y_scale", "Y_quantizelinear_y_zero_point"], ["Y"]),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 3, 3])]
outputs = [
    make_tensor_value_info("Y", TensorProto.UINT8, ["Y_0", "Y_1", "Y_2", "Y_3"]),
    make_tensor_value_info("Indices", TensorProto.INT64, ["Indices_0", "Indices_1", "Indices_2", "Indices_3"]),
]
initializers = [
    numpy_helper.from_array(np.array(1, np.float32), "Y_quantizelinear_y_scale"),
    numpy_helper.from_array(np.array(100, np.uint8), "Y_quantizelinear_y_zero_point"),
]
graph = make_graph(nodes, "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[1.25, 1.5, -3], [0.75, 1.75, 900], [-8, -9, 950]]]], np.float32)
expected_Y = np.array([[[[102, 255], [102, 255]]]], np.uint8)
expected_Indices = np.array([[[[4, 5], [4, 8]]]], np.int64)

print("expected Y:", expected_Y, sep="\n")
print("expected Indices:", expected_Indices, sep="\n")
ran, wrong = [], []
for level in ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]:
    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        Y, Indices = session.run(None, {"X": X})
    except Exception as error:
        print(f"{level} cannot tell:", error)
        continue
    print(f"got Y at {level}:", Y, sep="\n")
    print(f"got Indices at {level}:", Indices, sep="\n")
    ran.append(level)
    if not (np.array_equal(Y, expected_Y) and np.array_equal(Indices, expected_Indices)):
        wrong.append(level)
print("wrong at:", ", ".join(wrong) or "no level")
if not ran and not wrong:
    sys.exit(125)
sys.exit(1 if wrong else 0)
