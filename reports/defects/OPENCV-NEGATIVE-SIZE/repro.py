# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "opencv-python-headless==5.0.0.93"]
# ///
"""MaxPool with a kernel far larger than the padded input crashes or does not end.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import signal
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy as np
    import onnx
    from onnx.helper import (
        make_graph,
        make_model,
        make_node,
        make_opsetid,
        make_tensor_value_info,
        np_dtype_to_tensor_dtype,
    )
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 onnx==1.23.2 opencv-python-headless==5.0.0.93", sep="\n",
    )
    sys.exit(125)

if sys.argv[1:] != ["child"]:  # The runtime may crash, so it runs in a child process.
    child = subprocess.run([sys.executable, __file__, "child"])
    if child.returncode < 0:
        print("expected a refusal, but the process was killed by", signal.Signals(-child.returncode).name)
        sys.exit(1)
    sys.exit(child.returncode)


def max_pool(X, **attributes):
    node = make_node("MaxPool", ["X"], ["Y"], **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    outputs = [make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim)]
    model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        net = cv2.dnn.readNetFromONNX(f"{folder}/maxpool.onnx")
    net.setInput(X)
    return net.forward([output.name for output in model.graph.output])


X = np.array([[[[1, 2, 3], [4, 5, 6]]]], np.float32)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

# The graph must be refused: the window covers 4 cells (kernel 4, dilation 1), the padded input has 2 (0 + 2 + 0)
# [SONNX MaxPool, output shape]
try:
    outputs = max_pool(
        X, kernel_shape=[4, 2], strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0], auto_pad="NOTSET", ceil_mode=0,
        storage_order=0,
    )
except Exception as error:
    print("refused, as it must be:", error)
    sys.exit(0)
print("expected a refusal, got outputs:", *outputs, sep="\n")
sys.exit(1)
