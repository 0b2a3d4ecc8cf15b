"""Target names."""

import pytest

from maxpool_check.targets.name import BadTarget, TargetName, parse


def test_names():
    assert parse("onnxruntime") == TargetName("onnxruntime", "onnxruntime")
    full = parse("onnxruntime==1.23.2@CPUExecutionProvider?a=1&b=x")
    assert (full.runtime, full.version, full.provider) == ("onnxruntime", "1.23.2", "CPUExecutionProvider")
    assert full.options == {"a": "1", "b": "x"}
    assert parse("onnxruntime?python=/usr/bin/python3").options == {"python": "/usr/bin/python3"}
    assert parse("python:/a b/k.py:f").function == ("/a b/k.py", "f")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not RUNTIME"),
        ("onnxruntine", "did you mean 'onnxruntime'"),
        ("onnxruntime==", "is not RUNTIME"),
        ("onnxruntime=1.23.2", "is not RUNTIME"),
        ("onnxruntime==new", "'new' is not a version"),
        ("onnxruntime?python", "key=value"),
        ("onnxruntime==1.23.2?python=/x", "an interpreter"),
        ("python", "unknown runtime 'python'"),
        ("python:kernel.py", "python:PATH.py:FUNCTION"),
        ("python:kernel:f", "python:PATH.py:FUNCTION"),
        ("python:kernel.py:not a name", "python:PATH.py:FUNCTION"),
    ],
)
def test_what_is_none(text, words):
    with pytest.raises(BadTarget, match=words.replace(".", r"\.")):
        parse(text)
