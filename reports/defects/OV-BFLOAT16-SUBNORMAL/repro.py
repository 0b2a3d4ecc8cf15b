# /// script
# requires-python = ">=3.11"
# dependencies = ["ml_dtypes==0.6.0", "numpy==2.4.6", "openvino==2026.4.1"]
# ///
"""MaxPool of bfloat16 returns 0 for subnormal values.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import ml_dtypes
    import numpy as np
    import openvino as ov
    from openvino import opset14
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

X = np.array([[[0, 9.18355e-41, 9.18355e-41, 9.18355e-41, 9.18355e-41]]], ml_dtypes.bfloat16)
expected_Y = np.array([[[0, 9.18355e-41, 9.18355e-41]]], ml_dtypes.bfloat16)

try:
    data = opset14.parameter(X.shape, ov.Type.bf16, "X")
    pool = opset14.max_pool(data, strides=[2], dilations=[2], pads_begin=[0], pads_end=[0], kernel_shape=[1])
    model = ov.Model([pool.output(0)], [data], "maxpool")
    compiled = ov.compile_model(model, "CPU")
    (Y,) = [value.view(X.dtype) if value.dtype == np.uint16 else value for value in compiled(ov.Tensor(X.view(np.uint16), X.shape, ov.Type.bf16)).values()]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
