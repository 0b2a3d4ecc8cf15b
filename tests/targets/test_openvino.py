"""OpenVINO through its ONNX frontend, and the devices that this machine does not have."""

import onnx
import pytest

from maxpool_check.targets.name import parse
from tests.conftest import CASES

pytestmark = pytest.mark.network

FRONTEND = "openvino==2026.4.1?frontend=onnx"


def results(cli, target, case, *options):
    path = case.partition(":")[0]
    process = cli(
        "run", CASES / f"{path}.yaml", "-k", case, "-t", target, "--known", "none", "--report", "json", *options
    )
    assert process.code in (0, 1), process.err
    return process.json


def test_the_frontend_takes_models_in_their_own_operator_set(cli):
    document = results(cli, FRONTEND, "onnx/version-8:*")
    (target,) = document["targets"]
    assert (target["speaks"], target["provider"], target["indices"]) == ("onnx", "CPU", "whole")
    assert target["newest_opset"] >= 22
    assert target["session_options"]["frontend"] == "onnx"
    right = [result for result in document["results"] if result["verdict"] == "conforms"]
    assert {result["opset"] for result in right} == {8}
    assert {result["variant"] for result in right} == {"indices", "y-only"}
    assert parse(FRONTEND).takes_models
    assert parse(FRONTEND).implements == ("onnx",)
    assert not parse("openvino==2026.4.1").takes_models


def test_the_frontend_keeps_a_window_that_operator_set_22_drops(cli):
    case = "documents/onnx-22:ceil-in-padding"
    own, frontend = (results(cli, target, case)["results"] for target in ("openvino==2026.4.1", FRONTEND))
    assert {(result["variant"], result["verdict"]) for result in own} == {
        ("indices", "conforms"),
        ("y-only", "conforms"),
    }
    assert {(result["variant"], *result["kinds"]) for result in frontend} == {
        ("indices", "ceil-clip-exchanged"),
        ("y-only", "ceil-clip-exchanged"),
    }


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("GPU?frontend=onnx", "this machine has no device GPU"),
        ("NPU?opset=8", "this machine has no device NPU"),
        ("TEMPLATE", 'this machine has no device TEMPLATE (Device with "TEMPLATE" name is not registered'),
        ("AUTO", "AUTO leaves the choice of the device to OpenVINO; name the device itself"),
        ("MULTI:CPU", "MULTI:CPU leaves the choice of the device to OpenVINO"),
    ],
)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(cli, device, message):
    process = cli("targets", "list", f"openvino==2026.4.1@{device}")
    if process.code == 0 and device[:3] in ("GPU", "NPU"):
        pytest.skip(f"this machine has a {device[:3]}")
    assert process.code == 3
    assert message in process.out
    assert "OpenVINO has found CPU" in process.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("frontend=tensorflow", "frontend must be onnx, got tensorflow"),
        ("frontend=onnx&opset=8", "opset is of OpenVINO's own operators, and frontend=onnx takes ONNX models"),
        ("front=onnx", "unknown option front; OpenVINO has opset, frontend, threads"),
    ],
)
def test_a_wrong_option_is_refused(cli, options, message):
    process = cli("targets", "list", f"openvino==2026.4.1?{options}")
    assert process.code == 3
    assert message in process.out


def test_a_reproduction_reads_the_onnx_model(cli, tmp_path):
    target = tmp_path / "ceil"
    process = cli("repro", "documents/onnx-22:ceil-in-padding", "-t", FRONTEND, "-o", target, "-p", CASES)
    assert process.code == 0, process.err
    assert "read_model(model)" in (target / "repro.py").read_text()
    assert [each.version for each in onnx.load(target / "model.onnx").opset_import] == [22]
    assert "### Framework\n\nONNX\n" in (target / "ISSUE.md").read_text()
