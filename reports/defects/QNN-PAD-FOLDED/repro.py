# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-qnn==2.7.0", "onnxruntime==1.31.1"]
# ///
"""A Pad of zeros before MaxPool becomes pads of MaxPool, whose cells do not count.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    import onnxruntime_qnn
    from onnx import TensorProto, numpy_helper
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

nodes = [
    make_node("Pad", ["X", "before_0_pad_pads", "before_0_pad_constant_value"], ["before_0"], mode="constant"),
    make_node("MaxPool", ["before_0"], ["Y"], kernel_shape=[2, 2], strides=[2, 2]),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT16, [1, 1, 3, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT16, ["Y_0", "Y_1", "Y_2", "Y_3"])]
initializers = [
    numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "before_0_pad_pads"),
    numpy_helper.from_array(np.array(0.0, np.float16), "before_0_pad_constant_value"),
]
graph = make_graph(nodes, "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 13)], ir_version=7)

X = np.array([[[[-1, -2, -3], [-4, -5, -6], [-7, -8, -9]]]], np.float16)
expected_Y = np.array([[[[0.0, 0.0], [0.0, -5]]]], np.float16)

print("expected Y:", expected_Y, sep="\n")
wrong = []
for level in ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]:
    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        if all(device.ep_name != "QNNExecutionProvider" for device in onnxruntime.get_ep_devices()):
            onnxruntime.register_execution_provider_library("QNNExecutionProvider", onnxruntime_qnn.get_library_path())
        devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNNExecutionProvider"]
        options.add_provider_for_devices(devices[:1], {"backend_type": "htp"})
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        (Y,) = session.run(None, {"X": X})
    except Exception as error:
        print("cannot tell:", error)
        sys.exit(125)
    print(f"got Y at {level}:", Y, sep="\n")
    if not np.array_equal(Y, expected_Y):
        wrong.append(level)
print("wrong at:", ", ".join(wrong) or "no level")
sys.exit(1 if wrong else 0)
