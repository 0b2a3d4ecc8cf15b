"""Isolated environments: real ones, of real releases."""

import json
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from maxpool_check.targets import environments
from maxpool_check.targets.environments import CannotMake, companions, interpreter

network = pytest.mark.network


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path))
    return tmp_path / "environments"


def versions(python):
    code = "import json, numpy, onnxruntime; print(json.dumps([onnxruntime.__version__, numpy.__version__]))"
    return json.loads(subprocess.run([python, "-c", code], capture_output=True, check=True).stdout)


@network
def test_several_threads_create_the_same_environment_once(empty_cache):
    interpreters, commands = [], []

    def counted(*arguments, run_uv=environments.run_uv, **options):
        commands.append(" ".join(arguments[:2]))
        return run_uv(*arguments, **options)

    def create():
        interpreters.append(interpreter("onnxruntime", "1.23.2"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environments, "run_uv", counted)
        threads = [threading.Thread(target=create) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(interpreters)) == 1
    assert len(interpreters) == 3
    assert [command.split()[-1] for command in commands[1:]] == ["install", "compile"]
    assert versions(interpreters[0])[0] == "1.23.2"
    # Nothing incomplete is left, only the environment and its lock.
    assert len(list(empty_cache.iterdir())) == 2


SLOW_SYSCONFIG = """
import sys, threading, time
from pathlib import Path
from maxpool_check.targets.environments import run_uv

class Slow:
    def find_spec(name, path=None, target=None):
        if name.startswith("_sysconfigdata"):
            time.sleep(0.3)

sys.meta_path.insert(0, Slow)
threads = [threading.Thread(target=lambda: print(run_uv("--version").returncode)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_the_first_environments_of_a_process_may_be_created_by_several_threads(empty_cache):
    command = [sys.executable, "-c", SLOW_SYSCONFIG]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stderr == ""
    # The threads print at the same time: a zero may come before the end of another's line.
    assert "".join(process.stdout.split()) == "000"


@network
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="1.15.1 has no wheel for this Python")
def test_an_old_release_gets_the_numpy_it_was_built_for(empty_cache):
    onnxruntime, numpy = versions(interpreter("onnxruntime", "1.15.1"))
    assert onnxruntime == "1.15.1"
    assert numpy.startswith("1.")


@network
def test_a_version_that_was_never_released(empty_cache):
    with pytest.raises(CannotMake, match=r"no release 9\.9\.9 for Python") as error:
        interpreter("onnxruntime", "9.9.9")
    assert "Traceback" not in str(error.value)
    # The next attempt starts from nothing.
    assert [path.suffix for path in empty_cache.iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("distribution", "version", "requirements"),
    [
        ("onnxruntime", "1.18.1", ["numpy<2"]),
        ("onnxruntime-openvino", "1.24.1", ["numpy"]),
        ("onnxruntime-qnn", "2.3.0", ["onnxruntime==1.26.0", "numpy"]),
        ("onnxruntime-qnn", "2.7.0", ["onnxruntime==1.31.1", "numpy"]),
        ("onnxruntime-qnn", "2.8.0", ["onnxruntime", "numpy"]),
        ("onnxruntime-qnn", "1.20.0", ["numpy"]),
        ("onnxruntime-ep-webgpu", "0.4.0", ["onnxruntime==1.31.1", "numpy"]),
        ("onnxsim", "0.4.36", ["numpy", "onnxruntime"]),
        ("onnxsim", "0.8.1", ["numpy"]),
    ],
)
def test_what_a_release_needs_is_installed_with_it(distribution, version, requirements):
    assert companions(distribution, version) == requirements


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


def made(folder, name):
    """An environment in a cache, as far as its Python goes."""
    (folder / name / "bin").mkdir(parents=True)
    (folder / name / "bin/python").touch()
    return folder / name / "bin/python"


def name_of(distribution, version):
    python = f"{platform.python_implementation().lower()}{sys.version_info[0]}.{sys.version_info[1]}"
    return f"{distribution}-{version}-{python}-{platform.machine()}"


@pytest.mark.skipif(os.name == "nt", reason="the folder of the Python is another one there")
def test_an_environment_in_a_cache_that_cannot_be_written_is_used(empty_cache):
    name = name_of("onnx", "1.0")
    python = made(empty_cache, name)
    # Whoever may write everywhere cannot open this lock either.
    (empty_cache / f"{name}.lock").mkdir()
    assert interpreter("onnx", "1.0") == python


def test_the_next_installation_removes_what_a_killed_one_has_left(empty_cache, monkeypatch):
    def fake(*arguments, stdin=None):
        if arguments[0] == "venv":
            made(Path(arguments[-1]).parent, Path(arguments[-1]).name)
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr(environments, "run_uv", fake)
    for killed in ("1.0", "2.0"):
        (empty_cache / f"{name_of('onnx', killed)}.partial" / "lib").mkdir(parents=True)
        (empty_cache / f"{name_of('onnx', killed)}.lock").touch()
    busy = empty_cache / f"{name_of('onnx', '3.0')}.partial"
    busy.mkdir()
    with FileLock(empty_cache / f"{name_of('onnx', '3.0')}.lock"):
        assert interpreter("onnx", "2.0").exists()
    folders = {path.name for path in empty_cache.iterdir() if path.is_dir()}
    assert folders == {name_of("onnx", "2.0"), busy.name}
