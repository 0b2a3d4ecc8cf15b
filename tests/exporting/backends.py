"""Backends of onnx's test runner: ONNX Runtime's own, and onnx's ReferenceEvaluator, for which onnx ships none."""

import unittest
from pathlib import Path

import onnxruntime.backend
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator


class ReferenceRep(BackendRep):
    def __init__(self, session):
        self._session = session

    def run(self, inputs, **options):
        return self._session.run(None, dict(zip(self._session.input_names, inputs, strict=True)))


class ReferenceBackend(Backend):
    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        return ReferenceRep(ReferenceEvaluator(model))


# Otherwise it skips models with functions of a domain of their own.
onnxruntime.backend.backend.OnnxRuntimeBackend.allowReleasedOpsetsOnly = False
BACKENDS = {"onnxruntime": onnxruntime.backend, "onnx-reference": ReferenceBackend}


class ExportRunner(Runner):
    """onnx's runner on the tests of a folder; as it is, it has those of the onnx package."""

    def __init__(self, backend, folder):
        super().__init__(backend, __name__)
        self._test_items.clear()
        for test in load_model_tests(str(folder.parent), folder.name):
            self._add_model_test(test, "Export")


def failures(backend, folder):
    """The tests of an export that fail in onnx's runner, and all that it ran."""
    suite = ExportRunner(BACKENDS[backend], Path(folder)).test_suite
    ran = {_name(test) for test in suite if test.id().endswith("_cpu")}
    result = unittest.TestResult()
    suite.run(result)
    return {_name(test) for test, _ in [*result.failures, *result.errors]}, ran


def _name(test):
    return test.id().rpartition(".")[2].removesuffix("_cpu")
