# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-ep-webgpu==0.4.0", "onnxruntime==1.31.1"]
# ///
"""MaxPool with auto_pad SAME_UPPER or SAME_LOWER ignores dilations when it computes the padding.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    import onnxruntime_ep_webgpu
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[1, 2], dilations=[1, 2], auto_pad="SAME_UPPER")
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 5])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 21)], ir_version=10)

X = np.array([[[[3, 1, 4, 2, 5]]]], np.float32)
expected_Y = np.array([[[[1, 4, 2, 5, 2]]]], np.float32)

try:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    if all(device.ep_name != "WebGpuExecutionProvider" for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library("WebGpuExecutionProvider", onnxruntime_ep_webgpu.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "WebGpuExecutionProvider"]
    options.add_provider_for_devices(devices[:1], {})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    (Y,) = session.run(None, {"X": X})
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
