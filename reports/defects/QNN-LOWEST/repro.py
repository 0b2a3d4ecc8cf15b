# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-qnn==2.7.0", "onnxruntime==1.31.1"]
# ///
"""MaxPool of float32 returns -FLT_MAX for windows of -inf or NaN.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    import onnxruntime_qnn
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[1, 1])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 1])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[-np.inf]]]], np.float32)
expected_Y = np.array([[[[-np.inf]]]], np.float32)

try:
    options = onnxruntime.SessionOptions()
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

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
