# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0"]
# ///
"""A Reshape behind a MaxPool with auto_pad and pads of zero gives a wrong shape after optimization.

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
    make_node("MaxPool", ["X"], ["behind"], kernel_shape=[2], strides=[2], auto_pad="SAME_UPPER", pads=[0, 0]),
    make_node("Transpose", ["behind"], ["after_0"], perm=[2, 0, 1]),
    make_node("Reshape", ["after_0", "Y_reshape_shape"], ["Y"]),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [2, 1, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, ["Y_0", "Y_1", "Y_2"])]
initializers = [numpy_helper.from_array(np.array([-1, 1, 0], np.int64), "Y_reshape_shape")]
graph = make_graph(nodes, "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.float32)
expected_Y = np.array([[[2]], [[5]], [[3]], [[6]]], np.float32)

print("expected Y:", expected_Y, sep="\n")
ran, wrong = [], []
for level in ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]:
    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        (Y,) = session.run(None, {"X": X})
    except Exception as error:
        print(f"{level} cannot tell:", error)
        continue
    print(f"got Y at {level}:", Y, sep="\n")
    ran.append(level)
    if not np.array_equal(Y, expected_Y):
        wrong.append(level)
print("wrong at:", ", ".join(wrong) or "no level")
if not ran and not wrong:
    sys.exit(125)
sys.exit(1 if wrong else 0)
