"""Other providers of ONNX Runtime than the CPU's: real releases, each in its environment."""

import contextlib

import numpy as np
import pytest

from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.targets import onnx_model
from maxpool_check.targets.name import parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import Target

network = pytest.mark.network


def ask(target, dtype):
    attributes, X = {"kernel_shape": [2, 2]}, np.ones((1, 1, 3, 3), dtype)
    with contextlib.closing(target.worker()) as worker:
        return worker.ask(Request(X, ("Y",), onnx_model.build(13, attributes, dtype, X.shape, ("Y",)), attributes), 60)


@network
def test_what_a_provider_does_not_take_is_refused_and_not_answered_by_the_cpu():
    target = Target(parse("onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider?device_type=CPU"))
    assert (target.description.distribution, target.description.version) == ("onnxruntime-openvino", "1.24.1")
    assert target.description.session_options["device_type"] == "CPU"
    answer = ask(target, "float32")
    assert isinstance(answer, Returned)
    assert answer.provider == "OpenVINOExecutionProvider"
    refused = ask(target, "float64")
    assert isinstance(refused, RefusedByTarget)
    assert refused.status == "FAIL"


@network
def test_a_plugin_beside_onnx_runtime():
    target = Target(parse("onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp"))
    said = target.description
    assert (said.distribution, said.version, said.provider) == ("onnxruntime-qnn", "2.7.0", "QNNExecutionProvider")
    assert said.session_options["onnxruntime"] == "1.31.1"
    answer = ask(target, "float32")
    assert isinstance(answer, Returned)
    assert answer.provider == "QNNExecutionProvider"


def test_a_provider_that_is_not_there():
    with pytest.raises(CannotStart, match="has no NoExecutionProvider: it is not built in; it has .*CPUExecution"):
        Target(parse("onnxruntime@NoExecutionProvider"))


def test_a_distribution_that_is_not_installed():
    with pytest.raises(CannotStart, match="onnxruntime-qnn is not installed in this environment"):
        Target(parse("onnxruntime-qnn@QNNExecutionProvider"))
