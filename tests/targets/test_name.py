"""Target names."""

import pytest

from maxpool_check.targets.name import BadTarget, TargetName, parse
from maxpool_check.targets.runtimes import RUNTIMES


def test_names():
    assert parse("onnxruntime") == TargetName("onnxruntime", "onnxruntime")
    full = parse("onnxruntime==1.23.2@CPUExecutionProvider?a=1&b=x")
    assert (full.runtime, full.version, full.provider) == ("onnxruntime", "1.23.2", "CPUExecutionProvider")
    assert full.options == {"a": "1", "b": "x"}
    assert parse("onnxruntime?python=/usr/bin/python3").options == {"python": "/usr/bin/python3"}
    assert parse("python:/a b/k.py:f").function == ("/a b/k.py", "f")


@pytest.mark.parametrize("runtime", ["onnxruntime-openvino", "onnxruntime-qnn", "onnxruntime-ep-webgpu"])
def test_a_distribution_of_onnx_runtime_is_a_runtime(runtime):
    name = parse(f"{runtime}==1.2.0@AProvider?backend_type=htp")
    assert (name.runtime, name.provider, name.options) == (runtime, "AProvider", {"backend_type": "htp"})
    assert RUNTIMES[runtime].adapter == "onnxruntime"
    assert str(parse(f"{runtime}@AProvider").at("1.2.0")) == f"{runtime}==1.2.0@AProvider"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not RUNTIME"),
        ("onnxruntine", "did you mean 'onnxruntime'"),
        ("onnxruntime==", "is not RUNTIME"),
        ("kernels/mine.py:good", "did you mean 'python:kernels/mine.py:good'"),
        ("mine.py", "did you mean 'python:mine.py:FUNCTION'"),
        ("onnxruntime=1.23.2", "is not RUNTIME"),
        ("onnxruntime==new", "'new' is not a version"),
        ("onnxruntime?python", "key=value"),
        ("onnxruntime==1.23.2?python=/x", "use one of them"),
        ("python", "unknown runtime 'python'"),
        ("python:kernel.py", "python:PATH.py:FUNCTION"),
        ("python:kernel:f", "python:PATH.py:FUNCTION"),
        ("python:kernel.py:not a name", "python:PATH.py:FUNCTION"),
    ],
)
def test_invalid_names(text, message):
    with pytest.raises(BadTarget, match=message.replace(".", r"\.")):
        parse(text)
