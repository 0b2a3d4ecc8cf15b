# /// script
# requires-python = ">=3.11"
# dependencies = ["ncnn==1.0.20261020", "numpy==2.4.6"]
# ///
"""Pooling3D with pad_mode 3 (SAME_LOWER) pads the depth as SAME_UPPER does.

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

X = np.array([[[[[1, 2]], [[3, -4]]]]], np.float32)
expected_Y = np.array([[[[[1, 2]], [[3, 2]]]]], np.float32)

try:
    ids = {
        "pooling_type": 0, "pad_mode": 5, "kernel_w": 1, "kernel_h": 11, "kernel_d": 21, "stride_w": 2,
        "stride_h": 12, "stride_d": 22,
    }
    parameters = dict(
        pooling_type=0, pad_mode=3, kernel_w=1, kernel_h=1, kernel_d=2, stride_w=1, stride_h=1, stride_d=1,
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
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
