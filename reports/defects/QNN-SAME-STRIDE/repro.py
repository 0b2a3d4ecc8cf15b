# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-qnn==2.7.0", "onnxruntime==1.31.1"]
# ///
"""MaxPool with auto_pad SAME_* whose padding would be negative gives -inf or cannot be finalized.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import onnxruntime
    import onnxruntime_qnn
    from onnx import TensorProto
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


def max_pool(X, outputs, **attributes):
    node = make_node("MaxPool", ["X"], outputs, **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    infos = [
        make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim),
        make_tensor_value_info("Indices", TensorProto.INT64, [None] * X.ndim),
    ]
    graph = make_graph([node], "maxpool", inputs, infos[:len(outputs)])
    model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    if all(device.ep_name != "QNNExecutionProvider" for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library("QNNExecutionProvider", onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNNExecutionProvider"]
    options.add_provider_for_devices(devices[:1], {"backend_type": "htp"})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"X": X})


X = np.array([[[1]]], np.float16)
expected_Y = np.array([[[1]]], np.float16)
expected_Indices = np.array([[[0]]], np.int64)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), ["Y"], kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    Y, Indices = max_pool(X, ["Y", "Indices"], kernel_shape=[1], strides=[2], auto_pad="SAME_UPPER")
except Exception as error:
    print("expected outputs, got a refusal:", error)
    sys.exit(1)
print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) and np.array_equal(Indices, expected_Indices) else 1)
