# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "openvino==2026.4.1"]
# ///
"""MaxPool returns -FLT_MAX for windows of -inf, NaN or padding alone.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import openvino as ov
    from openvino import opset14
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

X = np.array([[[[-np.inf]]]], np.float32)
expected_Y = np.array([[[[-np.inf]]]], np.float32)

try:
    data = opset14.parameter(X.shape, X.dtype, "X")
    pool = opset14.max_pool(
        data, strides=[1, 1], dilations=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], kernel_shape=[1, 1],
    )
    model = ov.Model([pool.output(0)], [data], "maxpool")
    compiled = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    (Y,) = list(compiled(X).values())
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
