"""Which targets an entry is about."""

import pytest

from maxpool_check.judging.target_selector import TargetSelector

CPU = "CPUExecutionProvider"


@pytest.mark.parametrize(
    ("when", "target", "covered"),
    [
        ("onnxruntime < 1.29", ("onnxruntime", "1.28.0", CPU), True),
        ("onnxruntime < 1.29", ("onnxruntime", "1.29.0", CPU), False),
        ("onnxruntime<1.29", ("onnxruntime", "1.29.0rc1", CPU), False),
        ("onnxruntime >=1.29.0rc1", ("onnxruntime", "1.29.0rc1", CPU), True),
        ("onnxruntime >=1.21,<1.28", ("onnxruntime", "1.27.0", CPU), True),
        ("onnxruntime", ("onnxruntime", "1.15.1", CPU), True),
        ("onnxruntime", ("openvino", "1.15.1", CPU), False),
        ("onnxruntime", ("onnxruntime", "1.31.1", "CUDAExecutionProvider"), False),
        ("onnxruntime <2 @CUDAExecutionProvider", ("onnxruntime", "1.31.1", "CUDAExecutionProvider"), True),
        ("onnxruntime <2 @CUDAExecutionProvider", ("onnxruntime", "1.31.1", CPU), False),
        ("onnxruntime", ("onnxruntime", "nightly", CPU), True),
        ("onnxruntime <2", ("onnxruntime", "nightly", CPU), False),
    ],
)
def test_which_targets_an_entry_is_about(when, target, covered):
    assert TargetSelector.parse(when).covers(*target) is covered


def test_a_tool_that_rewrites_models_is_selected_by_its_name_alone():
    name = "transform:onnxruntime==1.28.0:on:onnxruntime==1.31.1"
    about = ("onnxruntime", "1.28.0", CPU, name)
    assert not TargetSelector.parse("onnxruntime < 1.29").covers(*about)
    assert TargetSelector.parse(name).covers(*about)
    assert not TargetSelector.parse(name).covers("onnxruntime", "1.28.0", CPU, "onnxruntime==1.28.0")


@pytest.mark.parametrize("text", ["", "< 1.29", "onnxruntime 1.29", "onnxruntime << 1", "onnxruntime[x] <1", "a @b; c"])
def test_what_is_not_a_when(text):
    with pytest.raises(ValueError, match="expected a distribution"):
        TargetSelector.parse(text)


@pytest.mark.parametrize(
    ("runtime", "versions", "target", "covered"),
    [
        ("openvino", "", ("openvino", "2026.4.1", "CPU", "openvino==2026.4.1?opset=14"), True),
        ("openvino?opset=14", "", ("openvino", "2026.4.1", "CPU", "openvino==2026.4.1?opset=14"), True),
        ("openvino?opset=1", "", ("openvino", "2026.4.1", "CPU", "openvino==2026.4.1?opset=14"), False),
        ("openvino", "<2026", ("openvino", "2026.4.1", "CPU", "openvino==2026.4.1?opset=14"), False),
        ("onnx-reference", "", ("onnx", "1.23.2", "CPU", "onnx-reference==1.23.2"), True),
        ("onnx", "", ("onnx", "1.23.2", "CPU", "onnx-reference==1.23.2"), True),
        (
            "onnxruntime-qnn@QNNExecutionProvider",
            "",
            ("onnxruntime-qnn", "2.7.0", "QNNExecutionProvider", "onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp"),
            True,
        ),
        ("transform:onnxsim", "<0.5", ("onnxsim", "0.4.36", CPU, "transform:onnxsim==0.4.36:on:onnxruntime==1.31.1"), True),
        ("transform:onnxsim", "<0.5", ("onnxsim", "0.8.1", CPU, "transform:onnxsim==0.8.1:on:onnxruntime==1.31.1"), False),
        ("onnxsim", "", ("onnxsim", "0.8.1", CPU, "transform:onnxsim==0.8.1:on:onnxruntime==1.31.1"), False),
        (
            "transform:onnxruntime?level=basic",
            "",
            ("onnxruntime", "1.31.1", CPU, "transform:onnxruntime==1.31.1?level=all:on:onnxruntime==1.31.1"),
            False,
        ),
        ("python", "", ("python", "0", CPU, "python:kernel.py:maxpool"), True),
        ("python:kernel.py:maxpool", "", ("python", "0", CPU, "python:kernel.py:maxpool"), True),
        ("python:kernel.py:maxpool", "", ("python", "0", CPU, "python:other.py:maxpool"), False),
    ],
)  # fmt: skip
def test_which_targets_a_runtime_of_a_defect_names(runtime, versions, target, covered):
    selector = TargetSelector.of(runtime, versions)
    assert selector.covers(*target) is covered
    assert selector.runtime == runtime


@pytest.mark.parametrize(("runtime", "versions"), [("", ""), ("a b", ""), ("onnxruntime", "1.29"), ("transform:", "")])
def test_what_is_no_runtime_of_a_defect(runtime, versions):
    with pytest.raises(ValueError, match="expected"):
        TargetSelector.of(runtime, versions)


def test_several_builds_of_one_source_are_selected_by_their_distributions():
    selector = TargetSelector.of_any(["onnxruntime", "onnxruntime-node"], "<2")
    assert selector.runtime == "onnxruntime"
    for name, expected in {"onnxruntime": True, "onnxruntime-node": True, "onnxruntime-web": False}.items():
        assert selector.covers(name, "1.30.0", "CPUExecutionProvider", f"{name}==1.30.0") is expected
    with pytest.raises(ValueError, match="without providers and options"):
        TargetSelector.of_any(["onnxruntime", "openvino?opset=1"])
