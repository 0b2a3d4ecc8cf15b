"""ONNX's own test runner, with the backend of ONNX Runtime."""

import unittest
import warnings

from tests.pages import blocks

with warnings.catch_warnings():
    # It asks onnx for its version in an old way.
    warnings.simplefilter("ignore", DeprecationWarning)
    import onnxruntime.backend

# Otherwise it skips models with functions of a domain of their own.
onnxruntime.backend.backend.OnnxRuntimeBackend.allowReleasedOpsetsOnly = False


def failures(folder):
    """The tests of an export that fail in onnx's runner, as the documentation has it for its readers; and all that it ran."""
    (text,) = [block.text for block in blocks("export.md") if block.file == "run_export.py"]
    names = {"__name__": "run_export"}
    exec(compile(text, "run_export.py", "exec"), names)
    suite = names["ExportRunner"](onnxruntime.backend, str(folder.parent), folder.name).test_suite
    ran = {_name(test) for test in suite if test.id().endswith("_cpu")}
    result = unittest.TestResult()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suite.run(result)
    return {_name(test) for test, _ in [*result.failures, *result.errors]}, ran


def _name(test):
    return test.id().rpartition(".")[2].removesuffix("_cpu")
