# /// script
# requires-python = ">=3.11"
# dependencies = ["ncnn==1.0.20261020", "numpy==2.4.6"]
# ///
"""Pooling forgets at a NaN what it has found: Y is the maximum of the cells behind the last NaN of the window.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import ncnn
    import numpy as np
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install ncnn==1.0.20261020 numpy==2.4.6", sep="\n",
    )
    sys.exit(125)

print("ncnn", ncnn.__version__)


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


X = np.array([[[[np.nan, 3],
      [2, 0.5]],
     [[3, np.nan],
      [2, 0.5]],
     [[3, 2],
      [np.nan, 0.5]],
     [[3, 2],
      [0.5, np.nan]]]], np.float32)
expected_Y = np.array([[[[3]], [[3]], [[3]], [[3]]]], np.float32)
# ONNX MaxPool-22 does not say what a window with NaN gives: each value that is listed for a cell is right.
allowed_Y = [[3, np.nan], [3, np.nan], [3, np.nan], [3, np.nan]]

try:
    ids = {
        "pooling_type": 0, "pad_mode": 5, "kernel_w": 1, "kernel_h": 11, "stride_w": 2, "stride_h": 12,
        "pad_left": 3, "pad_top": 13, "pad_right": 14, "pad_bottom": 15,
    }
    parameters = dict(
        pooling_type=0, pad_mode=1, kernel_w=2, kernel_h=2, stride_w=1, stride_h=1, pad_left=0, pad_top=0,
        pad_right=0, pad_bottom=0,
    )
    text = " ".join(f"{ids[name]}={value}" for name, value in parameters.items())
    layer = {3: "Pooling1D", 4: "Pooling", 5: "Pooling3D"}[X.ndim]
    net = ncnn.Net()
    net.load_param_mem(f"7767517\n2 2\nInput X 0 1 X\n{layer} MaxPool 1 1 X Y {text}\n")
    net.load_model_mem(b"")
    extractor = net.create_extractor()
    extractor.input("X", ncnn.Mat(X, 0))  # axis 0 is the batch
    code, top = extractor.extract("Y")
    if code:
        raise RuntimeError(f"extract returns {code}")
    pooled = np.array(top.numpy("f", 0))
    del top, extractor  # before their network
    Y = pooled
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if Y.shape == expected_Y.shape and is_allowed(Y, allowed_Y) else 1)
