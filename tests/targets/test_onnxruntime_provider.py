"""Providers of ONNX Runtime other than the CPU's: real releases, each in its environment."""

import numpy as np
import pytest

from maxpool_check.graphs.model import maxpool_model
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.targets.name import parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

network = pytest.mark.network


def open_session(name):
    return TargetSession(Target(parse(name), seconds=60))


def execute(session, dtype):
    attributes, X = {"kernel_shape": [2, 2]}, np.ones((1, 1, 3, 3), dtype)
    model = maxpool_model(13, attributes, dtype, X.shape, ("Y",))
    (number,) = session.submit([Request(X, ("Y",), model, attributes)])
    return session.outcome(number)


@network
def test_what_a_provider_does_not_support_is_refused_and_not_computed_by_the_cpu():
    with open_session("onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider?device_type=CPU") as session:
        description = session.profile.description
        assert (description.distribution, description.version) == ("onnxruntime-openvino", "1.24.1")
        assert description.session_options["device_type"] == "CPU"
        returned = execute(session, "float32")
        assert isinstance(returned, Returned)
        assert returned.provider == "OpenVINOExecutionProvider"
        refused = execute(session, "float64")
        assert isinstance(refused, RefusedByTarget)
        assert refused.status == "FAIL"


@network
def test_a_plugin_installed_with_onnx_runtime():
    with open_session("onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp") as session:
        description = session.profile.description
        assert (description.distribution, description.version) == ("onnxruntime-qnn", "2.7.0")
        assert description.provider == "QNNExecutionProvider"
        assert description.session_options["onnxruntime"] == "1.31.1"
        returned = execute(session, "float32")
        assert isinstance(returned, Returned)
        assert returned.provider == "QNNExecutionProvider"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("onnxruntime@NoExecutionProvider", "has no NoExecutionProvider: it is not built in; it has .*CPUExecution"),
        ("onnxruntime-qnn@QNNExecutionProvider", "onnxruntime-qnn is not installed in this environment"),
    ],
)
def test_a_provider_that_is_not_installed(target, message):
    with open_session(target) as session, pytest.raises(CannotStart, match=message):
        _ = session.profile
