"""ONNX's own backend tests of MaxPool with ONNX Runtime's backend, as users run them.

``python tests/bench/backend.py``: prints how many were run, and the seconds of running them alone.
"""

import json
import time
import unittest
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import onnx.backend.test
    import onnxruntime.backend

    suite = onnx.backend.test.BackendTest(onnxruntime.backend, __name__).include("test_maxpool").test_suite

result = unittest.TestResult()
start = time.perf_counter()
suite.run(result)
seconds = time.perf_counter() - start
print(json.dumps({"cases": result.testsRun - len(result.skipped), "seconds": seconds}))
