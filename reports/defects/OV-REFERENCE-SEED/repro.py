# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "openvino==2026.4.1"]
# ///
"""MaxPool gives windows of -inf, NaN or the smallest value of the type the index of the plane's first cell.

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


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


X = np.full((2, 2, 2, 3), 0, np.uint8)
expected_Y = np.array([[[[0, 0]], [[0, 0]]], [[[0, 0]], [[0, 0]]]], np.uint8)
expected_Indices = np.array([[[[0, 1]], [[6, 7]]], [[[12, 13]], [[18, 19]]]], np.int64)
# ONNX MaxPool-22 does not say which of several equal maxima Indices name: each that is listed is right.
allowed_Indices = [[0, 1, 3, 4], [1, 2, 4, 5], [6, 7, 9, 10], [7, 8, 10, 11], [12, 13, 15, 16], [13, 14, 16, 17], [18, 19, 21, 22], [19, 20, 22, 23]]

try:
    data = opset14.parameter(X.shape, X.dtype, "X")
    pool = opset14.max_pool(
        data, strides=[1, 1], dilations=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], kernel_shape=[2, 2],
    )
    model = ov.Model([pool.output(0), pool.output(1)], [data], "maxpool")
    compiled = ov.compile_model(model, "CPU")
    Y, Indices = list(compiled(X).values())
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
is_right = (
    np.array_equal(Y, expected_Y)
    and Indices.shape == expected_Indices.shape and is_allowed(Indices, allowed_Indices)
)
sys.exit(0 if is_right else 1)
