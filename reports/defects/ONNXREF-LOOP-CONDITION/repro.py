# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "onnx==1.23.2"]
# ///
"""ReferenceEvaluator executes no iteration of a Loop without a condition input.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    model = onnx.load(Path(__file__).with_name("model.onnx"))
except OSError as error:
    print("cannot tell:", error)
    sys.exit(125)

X = np.array([[[[-5, -1, 3], [-4, -2, -6], [7, -8, 9]]]], np.float32)
expected_Y = np.array([[[[-1, 3], [7, 9]]]], np.float32)

try:
    (Y,) = ReferenceEvaluator(model).run(None, {"X": X})
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
