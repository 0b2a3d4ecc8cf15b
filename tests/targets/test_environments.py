"""Isolated environments: real ones, of real releases."""

import json
import os
import subprocess
import sys
import threading

import pytest

from maxpool_check.targets import environments
from maxpool_check.targets.environments import CannotMake, interpreter

network = pytest.mark.network


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path))
    return tmp_path / "environments"


def versions(python):
    code = "import json, numpy, onnxruntime; print(json.dumps([onnxruntime.__version__, numpy.__version__]))"
    return json.loads(subprocess.run([python, "-c", code], capture_output=True, check=True).stdout)


@network
def test_two_runs_that_make_the_same_environment_make_it_once(empty_cache):
    made, calls = [], []
    fill = environments._fill

    def counted(*arguments):
        calls.append(arguments)
        fill(*arguments)

    def make():
        made.append(interpreter("onnxruntime", "1.23.2"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environments, "_fill", counted)
        threads = [threading.Thread(target=make) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(made)) == 1
    assert len(made) == 3
    assert len(calls) == 1
    assert versions(made[0])[0] == "1.23.2"
    # Nothing half made is left, only the environment and its lock.
    assert len(list(empty_cache.iterdir())) == 2


@network
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="1.15.1 has no wheel for this Python")
def test_an_old_release_gets_the_numpy_it_was_built_for(empty_cache):
    onnxruntime, numpy = versions(interpreter("onnxruntime", "1.15.1"))
    assert onnxruntime == "1.15.1"
    assert numpy.startswith("1.")


@network
def test_a_version_that_was_never_released(empty_cache):
    with pytest.raises(CannotMake, match=r"(?s)onnxruntime==9\.9\.9.*pip index versions") as error:
        interpreter("onnxruntime", "9.9.9")
    assert "Traceback" not in str(error.value)
    # The next try starts afresh.
    assert [path.suffix for path in empty_cache.iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("distribution", "version", "companions"),
    [
        ("onnxruntime", "1.18.1", ["numpy<2"]),
        ("onnxruntime-openvino", "1.24.1", ["numpy"]),
        ("onnxruntime-qnn", "2.3.0", ["onnxruntime==1.26.0", "numpy"]),
        ("onnxruntime-qnn", "2.7.0", ["onnxruntime==1.31.1", "numpy"]),
        ("onnxruntime-qnn", "2.8.0", ["onnxruntime", "numpy"]),
        ("onnxruntime-qnn", "1.20.0", ["numpy"]),
        ("onnxruntime-ep-webgpu", "0.4.0", ["onnxruntime==1.31.1", "numpy"]),
    ],
)
def test_a_plugin_gets_an_onnx_runtime_beside_it(distribution, version, companions):
    assert environments._companions(distribution, version) == companions


def test_without_a_network_the_error_says_so(empty_cache, monkeypatch):
    # A closed port of this machine stands for an index that cannot be reached.
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", str(empty_cache / "uv"))
    with pytest.raises(CannotMake, match="cannot be reached"):
        interpreter("onnxruntime", "1.23.2")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    tmp_path.chmod(0o500)
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path))
    with pytest.raises(CannotMake, match="set MAXPOOL_CHECK_CACHE"):
        interpreter("onnxruntime", "1.23.2")


def test_a_cache_that_is_a_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "file"))
    with pytest.raises(CannotMake, match="set MAXPOOL_CHECK_CACHE"):
        interpreter("onnxruntime", "1.23.2")
