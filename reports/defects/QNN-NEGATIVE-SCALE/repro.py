# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-qnn==2.7.0", "onnxruntime==1.31.1"]
# ///
"""DequantizeLinear with a negative scale takes its absolute value.

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
    make_node("DequantizeLinear", ["X", "before_0_dequantizelinear_x_scale"], ["before_0"]),
    make_node("MaxPool", ["before_0"], ["Y"], kernel_shape=[2, 2]),
]
inputs = [make_tensor_value_info("X", TensorProto.INT8, [1, 1, 2, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, ["Y_0", "Y_1", "Y_2", "Y_3"])]
initializers = [numpy_helper.from_array(np.array(-2, np.float32), "before_0_dequantizelinear_x_scale")]
graph = make_graph(nodes, "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[1, -10, 127], [-20, -128, 30]]]], np.int8)
expected_Y = np.array([[[[256, 256]]]], np.float32)

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
