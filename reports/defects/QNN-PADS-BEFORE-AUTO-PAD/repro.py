# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-qnn==2.7.0", "onnxruntime==1.31.1"]
# ///
"""MaxPool with auto_pad SAME_* or VALID uses the attribute pads if there is one.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    import onnxruntime_qnn
    from onnx.helper import (
        make_graph,
        make_model,
        make_node,
        make_opsetid,
        make_tensor_value_info,
        np_dtype_to_tensor_dtype,
    )
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)


def max_pool(X, **attributes):
    node = make_node("MaxPool", ["X"], ["Y"], **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    outputs = [make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim)]
    model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    if all(device.ep_name != "QNNExecutionProvider" for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library("QNNExecutionProvider", onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNNExecutionProvider"]
    options.add_provider_for_devices(devices[:1], {"backend_type": "htp"})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"X": X})


X = np.array([[[[3, 1, 4, -1], [-5, -4, 0.0, 5], [-6, -2, -3, 2]]]], np.float32)
expected_Y = np.array([[[[3, 4, 5, 5], [-2, 0.0, 5, 5], [-2, -2, 2, 2]]]], np.float32)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    (Y,) = max_pool(X, kernel_shape=[2, 2], auto_pad="SAME_UPPER", pads=[1, 1, 1, 1])
except Exception as error:
    print("refused, which is allowed:", error)
    sys.exit(0)
print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
