"""ONNX's own node tests of some operators, from the installed package, in a process of their own.

Importing one of its modules makes the data of its tests, filtered by what another test of this process asked it for.
Run as a script, it writes them to stdout.
"""

import importlib
import pickle
import subprocess
import sys
import warnings

MODULES = (
    "abs", "cast", "clip", "concat", "dequantizelinear", "dropout", "flatten", "globalmaxpool", "identity", "leakyrelu",
    "maxunpool", "neg", "pad", "quantizelinear", "relu", "reshape", "slice", "split", "squeeze", "transpose", "unsqueeze",
)  # fmt: skip


def collect():
    """For each test: its name, its model, and its data sets, pairs of inputs and outputs."""
    process = subprocess.run([sys.executable, __file__], capture_output=True, check=True)
    return pickle.loads(process.stdout)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    package = importlib.import_module("onnx.backend.test.case.node")
    for module in MODULES:
        importlib.import_module(f"{package.__name__}.{module}")
    tests = [(test.name, test.model, test.data_sets) for test in package._NodeTestCases]
    sys.stdout.buffer.write(pickle.dumps(tests))
