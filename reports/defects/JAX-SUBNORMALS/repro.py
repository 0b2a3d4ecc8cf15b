# /// script
# requires-python = ">=3.11"
# dependencies = ["jax==0.10.2", "numpy==2.4.6"]
# ///
"""reduce_window on the CPU gives 0 for subnormal numbers.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import jax
    import numpy as np
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

X = np.array([[[[0.0, 1e-45, 0.0, 0.0], [0.0, 0.0, 0.0, 1e-45]]]], np.float32)
expected_Y = np.array([[[[1e-45, 1e-45, 1e-45]]]], np.float32)

try:
    start = np.array(-np.inf, X.dtype)
    pooled = jax.lax.reduce_window(
        X, start, jax.lax.max, window_dimensions=(1, 1, 2, 2), window_strides=(1, 1, 1, 1),
        padding=((0, 0), (0, 0), (0, 0), (0, 0)), window_dilation=(1, 1, 1, 1),
    )
    Y = np.asarray(pooled)
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
