# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2", "tract==0.23.9"]
# ///
"""Pad with negative pads, which remove cells, panics.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import signal
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import tract
    from onnx import TensorProto, numpy_helper
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

if sys.argv[1:] != ["child"]:  # The runtime may crash, so it runs in a child process.
    child = subprocess.run([sys.executable, __file__, "child"])
    if child.returncode < 0:
        print("expected outputs, but the process was killed by", signal.Signals(-child.returncode).name)
        sys.exit(1)
    sys.exit(child.returncode)


def max_pool(model, X):
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        runnable = tract.onnx().load(f"{folder}/maxpool.onnx").into_model().into_runnable()
    return [tensor.to_numpy() for tensor in runnable.run([X])]


nodes = [
    make_node("Pad", ["X", "before_0_pad_pads"], ["before_0"]),
    make_node("MaxPool", ["before_0"], ["Y"], kernel_shape=[2, 2], strides=[2, 2]),
]
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 4, 4])]
outputs = [make_tensor_value_info("Y", TensorProto.FLOAT, ["Y_0", "Y_1", "Y_2", "Y_3"])]
initializers = [numpy_helper.from_array(np.array([0, 0, -1, -1, 0, 0, 0, 0], np.int64), "before_0_pad_pads")]
graph = make_graph(nodes, "maxpool", inputs, outputs, initializers)
model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[99, 98, 97, 96], [95, 1, 2, 3], [94, 4, 5, 6], [93, 7, 8, 9]]]], np.float32)
expected_Y = np.array([[[[5]]]], np.float32)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    smallest = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 22]> smallest (float[1, 1, 1] X)'
        ' => (float[1, 1, 1] Y) {Y = MaxPool <kernel_shape = [1]> (X)}'
    )
    max_pool(smallest, np.zeros((1, 1, 1), np.float32))
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    (Y,) = max_pool(model, X)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)
print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
