# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-openvino==1.24.1"]
# ///
"""MaxPool of an initializer with windows of -inf is computed by the CPU kernel, which keeps its seed.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, numpy_helper
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 2])
inputs = []
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
initializers = [
    numpy_helper.from_array(np.array([[[[-np.inf, -np.inf, -np.inf],
      [-np.inf, -np.inf, -np.inf],
      [-np.inf, -np.inf, -np.inf]]]], np.float32), "X"),
]
graph = make_graph([node], "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)

feeds = {}  # X is a constant of the model
expected_Y = np.array([[[[-np.inf, -np.inf], [-np.inf, -np.inf]]]], np.float32)
expected_Indices = np.array([[[[0, 1], [3, 4]]]], np.int64)
# ONNX MaxPool-22 does not say which of several equal maxima Indices name: each that is listed is right.
allowed_Indices = [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]

print("expected Y:", expected_Y, sep="\n")
print("expected Indices:", expected_Indices, sep="\n")
ran, wrong = [], []
for level in ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]:
    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["OpenVINOExecutionProvider"])
        Y, Indices = session.run(None, feeds)
    except Exception as error:
        print(f"{level} cannot tell:", error)
        continue
    print(f"got Y at {level}:", Y, sep="\n")
    print(f"got Indices at {level}:", Indices, sep="\n")
    ran.append(level)
    if not (np.array_equal(Y, expected_Y) and Indices.shape == expected_Indices.shape and is_allowed(Indices, allowed_Indices)):
        wrong.append(level)
print("wrong at:", ", ".join(wrong) or "no level")
if not ran and not wrong:
    sys.exit(125)
sys.exit(1 if wrong else 0)
