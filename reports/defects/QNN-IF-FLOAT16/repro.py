# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime-qnn==2.7.0", "onnxruntime==1.31.1"]
# ///
"""MaxPool of float16 inside of an If gives 0.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    import onnxruntime_qnn
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    model = onnx.load(Path(__file__).with_name("model.onnx"))
except OSError as error:
    print("cannot tell:", error)
    sys.exit(125)

feeds = {
    "X": np.array([[[[5, 1, 3], [4, 2, 6], [7, 8, 9]]]], np.float16),
    "condition": np.array(1, np.bool),
}
expected_Y = np.array([[[[5, 6], [8, 9]]]], np.float16)

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
        (Y,) = session.run(None, feeds)
    except Exception as error:
        print("cannot tell:", error)
        sys.exit(125)
    print(f"got Y at {level}:", Y, sep="\n")
    if not np.array_equal(Y, expected_Y):
        wrong.append(level)
print("wrong at:", ", ".join(wrong) or "no level")
sys.exit(1 if wrong else 0)
