# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "tensorflow-cpu==2.21.0"]
# ///
"""tf.nn.max_pool and max_pool_with_argmax take subnormal numbers for 0.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import numpy as np
    import tensorflow as tf
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install numpy==2.4.6 tensorflow-cpu==2.21.0", sep="\n",
    )
    sys.exit(125)

print("TensorFlow", tf.__version__)

X = np.array([[[[0.0], [1e-45], [0.0], [0.0]], [[0.0], [0.0], [0.0], [1e-45]]]], np.float32)
expected_Y = np.array([[[[1e-45], [1e-45], [1e-45]]]], np.float32)
expected_Indices = np.array([[[[1], [1], [7]]]], np.int64)

try:
    pooled = tf.nn.max_pool_with_argmax(X, ksize=[2, 2], strides=[1, 1], padding="VALID")
    Y, Indices = [tensor.numpy() for tensor in pooled]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) and np.array_equal(Indices, expected_Indices) else 1)
