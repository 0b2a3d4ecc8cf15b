"""Isolated environments and the releases to make them of: by uv, from a package index, and by npm."""

import contextlib
import json
import platform
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock
from packaging.version import Version

from maxpool_check.targets import environments, npm_environments
from maxpool_check.targets.cache import NoSuchRelease, NotMade
from maxpool_check.targets.environments import CannotMake, companions, interpreter
from maxpool_check.targets.releases import NoReleases, between, newest_of_minors, released
from tests.commands.test_offline import wheel
from tests.conftest import command

WEB = "onnxruntime-web==1.30.0"
CLOSED = "http://127.0.0.1:9"

network = pytest.mark.network
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    return tmp_path / "cache/environments"


@pytest.mark.parametrize("make", [
    pytest.param(lambda: interpreter("onnxruntime", "1.23.2"), id="uv", marks=network),
    pytest.param(lambda: npm_environments.environment("onnxruntime-web", "1.18.0", offline=False), id="npm",
                 marks=[needs_npm, pytest.mark.runtimes]),
])  # fmt: skip
def test_several_threads_create_the_same_environment_once(empty_cache, make):
    with ThreadPoolExecutor(3) as threads:
        made = [each.result() for each in [threads.submit(make) for _ in range(3)]]
    assert len(set(made)) == 1
    # Nothing incomplete is left, only the environment and its lock.
    assert len(list(empty_cache.iterdir())) == 2


SLOW_SYSCONFIG = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from maxpool_check.targets.environments import run_uv

class Slow:
    def find_spec(name, path=None, target=None):
        if name.startswith("_sysconfigdata"):
            time.sleep(0.3)

sys.meta_path.insert(0, Slow)
with ThreadPoolExecutor(3) as threads:
    print([each.returncode for each in threads.map(run_uv, ["--version"] * 3)])
"""


@pytest.mark.usefixtures("empty_cache")
def test_the_first_environments_of_a_process_may_be_created_by_several_threads():
    words = [sys.executable, "-c", SLOW_SYSCONFIG]
    process = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (process.stderr, process.stdout) == ("", "[0, 0, 0]\n")


def test_what_a_release_needs_is_installed_with_it():
    for distribution, version, requirements in (
        ("onnxruntime", "1.18.1", "numpy<2"),
        ("onnxruntime-openvino", "1.24.1", "numpy"),
        ("onnxruntime-qnn", "2.3.0", "onnxruntime==1.26.0 numpy"),
        ("onnxruntime-qnn", "2.7.0", "onnxruntime==1.31.1 numpy"),
        ("onnxruntime-qnn", "2.8.0", "onnxruntime numpy"),
        ("onnxruntime-ep-webgpu", "0.4.0", "onnxruntime==1.31.1 numpy"),
        ("onnxsim", "0.4.36", "numpy onnxruntime"),
        ("onnxsim", "0.8.1", "numpy"),
    ):
        assert companions(distribution, version) == requirements.split()


def name_of(version):
    python = f"{platform.python_implementation().lower()}{sys.version_info[0]}.{sys.version_info[1]}"
    return f"onnx-{version}-{python}-{platform.machine()}"


def test_the_next_installation_removes_what_a_killed_one_has_left(empty_cache, monkeypatch):
    def fake(*arguments, stdin=None):
        if arguments[0] == "venv":
            (Path(arguments[-1]) / "bin").mkdir(parents=True)
            (Path(arguments[-1]) / "bin/python").touch()
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr(environments, "run_uv", fake)
    for killed in ("1.0", "2.0", "3.0"):
        (empty_cache / f"{name_of(killed)}.partial").mkdir(parents=True)
    # One of npm is complete without a Python.
    complete = empty_cache / "onnxruntime-web-1.30.0-node-x86_64"
    complete.mkdir()
    (complete / "package-lock.json").touch()
    with FileLock(empty_cache / f"{name_of('3.0')}.lock"):
        assert interpreter("onnx", "2.0").exists()
    folders = {path.name for path in empty_cache.iterdir() if path.is_dir()}
    assert folders == {name_of("2.0"), f"{name_of('3.0')}.partial", complete.name}


def test_what_is_waited_for_is_said(empty_cache, monkeypatch, capfd):
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "2")
    monkeypatch.setattr(environments, "_SILENT_SECONDS", 0.5)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        with pytest.raises(CannotMake, match="cannot be reached"):
            interpreter("thing", "1.0")
    said = capfd.readouterr().err
    assert "waiting for uv, and perhaps for a package index that does not answer: uv pip install " in said
    assert "UV_HTTP_TIMEOUT" in said


VERSIONS = ("1.9.0", "1.9.1", "1.10.0rc1", "1.10.0", "1.10.0.1")


@pytest.fixture
def index(tmp_path, monkeypatch, empty_cache):
    """A folder that serves ``thing``: wheels for every Python, one for Python 2.7, and one release without a wheel."""
    folder = tmp_path / "simple/thing"
    folder.mkdir(parents=True)
    for version, tag in [*((version, "py3") for version in VERSIONS), ("2.0", "py27")]:
        wheel(folder, "thing", version, tag=tag)
    (folder / "thing-3.0.tar.gz").touch()
    (folder / "index.html").write_text("".join(f'<a href="{file.name}">{file.name}</a>' for file in folder.iterdir()))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder.parent.as_uri()


@pytest.mark.parametrize(("variable", "pre"), [("UV_DEFAULT_INDEX", True), ("PIP_INDEX_URL", False)])
def test_releases_with_a_wheel_for_this_python_in_the_order_of_versions(index, monkeypatch, variable, pre):
    monkeypatch.setenv(variable, index)
    assert released("thing", pre=pre) == [Version(version) for version in VERSIONS if pre or "rc" not in version]
    with pytest.raises(NoReleases, match=r"(?s)cannot list the releases of other:.*The package index has no other"):
        released("other")


@pytest.mark.parametrize(("variable", "value", "message"), [
    ("UV_DEFAULT_INDEX", f"{CLOSED}/simple", "cannot be reached"),
    ("UV_OFFLINE", "1", r"offline \(UV_OFFLINE\)"),
    ("MAXPOOL_CHECK_CACHE", "/dev/null", "Not a directory"),
])  # fmt: skip
@pytest.mark.usefixtures("index")
def test_an_index_or_a_cache_that_cannot_be_used(monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    with pytest.raises(NoReleases, match=rf"(?s)cannot list the releases of thing:.*{message}"):
        released("thing")
    with pytest.raises(CannotMake, match="set MAXPOOL_CHECK_CACHE" if value == "/dev/null" else message):
        interpreter("thing", "1.23.2")


def test_the_ends_of_a_range_are_included_with_all_of_their_releases():
    names = "1.0.20261020 1.27.0 1.27.0.post1 1.31.0rc1 1.31.0 1.31.1 2026.3.0 2026.3.1 2026.4.1"
    for low, high, found in (
        ("1.27.0", "1.31", "1.27.0 1.27.0.post1 1.31.0rc1 1.31.0 1.31.1"),
        ("1.27.0.post1", "1.31.0", "1.27.0.post1 1.31.0rc1 1.31.0"),
        (None, "1.27.0", "1.0.20261020 1.27.0 1.27.0.post1"),
        ("1.31.0rc1", "1.31.0rc1", "1.31.0rc1"),
        (None, "1.0", "1.0.20261020"),
        ("2026", "2026.3", "2026.3.0 2026.3.1"),
    ):
        ends = [Version(end) if end else None for end in (low, high)]
        assert [str(version) for version in between(map(Version, names.split()), *ends)] == found.split()


def test_the_newest_release_of_each_minor_version_a_date_makes_one():
    for names, newest in (
        ("1.26.1 1.27.0 1.27.0.post1 1.28.0", "1.26.1 1.27.0.post1 1.28.0"),
        ("2025.4.1 2026.4.0 2026.4.1", "2025.4.1 2026.4.1"),
        ("1.0.20260114 1.0.20261020", "1.0.20260114 1.0.20261020"),
        ("1.31.0rc1 1.31.0 1.32.0rc1", "1.31.0 1.32.0rc1"),
        ("1 1.0.1 2", "1.0.1 2"),
    ):
        assert [str(version) for version in newest_of_minors(map(Version, names.split()))] == newest.split()


@pytest.mark.usefixtures("empty_cache")
def test_a_version_of_npm_is_one_release_and_not_the_newest_that_begins_so():
    with pytest.raises(NotMade) as error:
        npm_environments.environment("onnxruntime-web", "1.20", offline=True)
    assert error.value.requirements == ("onnxruntime-web@1.20.0",)
    for version in ("1.20rc1", "v1.20.0", "1!1.20.0", "1.20.0+local", "1.20.0.1"):
        with pytest.raises(NoSuchRelease, match=r"name one by its numbers, as 1\.20\.1"):
            npm_environments.environment("onnxruntime-web", version, offline=False)


@pytest.mark.parametrize(
    ("target", "variables", "words"),
    [
        pytest.param("onnxruntime-web==1.28.99", {}, ["npm has no release 1.28.99", "1.27.0, 1.29.0"],
                     marks=[needs_npm, network]),
        (WEB, {"MAXPOOL_CHECK_OFFLINE": "1"},
         ["has no environment with onnxruntime-web@1.30.0 for Node.js", f"maxpool-check targets prepare {WEB}"]),
        (WEB, {"PATH": "npm"}, ["node is not on PATH; install Node.js 18 or later"]),
        (WEB, {"PATH": "node"}, ["npm is not on PATH; install Node.js 18 or later"]),
        pytest.param(WEB, {"npm_config_registry": CLOSED}, ["ECONNREFUSED", "npm cannot reach its registry"],
                     marks=needs_npm),
    ],
)  # fmt: skip
def test_why_no_environment_of_npm_can_be_made_is_said(empty_cache, tmp_path, monkeypatch, target, variables, words):
    for name in ("npm", "node"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / name / name).chmod(0o755)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value) if name == "PATH" else value)
    (described,) = command("targets", "list", "--json", target).json["targets"]
    assert [word for word in words if word not in described["message"]] == []
    assert "pip download" not in described["message"]
    assert "/_logs/" not in described["message"]
    assert not list(empty_cache.glob("onnxruntime*[!k]"))


@needs_npm
@network
def test_releases_of_npm_are_those_that_a_target_can_name():
    versions = [str(version) for version in npm_environments.released("onnxruntime-node")]
    assert versions == sorted(versions, key=lambda text: [int(part) for part in text.split(".")])
    assert {"1.18.0", "1.30.0"} <= set(versions)
    assert "1.22.0.post0" not in versions


@needs_npm
@pytest.mark.runtimes
def test_a_record_holds_the_digests_of_npm(tmp_path):
    command("run", "corpus:edge/strides.yaml", "-t", WEB, "-q", "-o", tmp_path / "record.jsonl")
    header = json.loads((tmp_path / "record.jsonl").read_text().partition("\n")[0])
    (environment,) = header["targets"][0]["environments"]
    assert environment["implementation"] == "Node.js"
    (package,) = [each for each in environment["distributions"] if each["name"] == "onnxruntime-web"]
    assert package["integrity"].startswith("sha512-")
    assert {"onnxruntime-common", "protobufjs"} <= set(package["requires"])


def test_the_defects_of_the_native_build_are_listed_for_its_javascript_builds():
    shown = {each["id"] for each in command("defects", "list", "onnxruntime-web", "--json").json["defects"]}
    assert {"ORT-SAME-DILATION", "ORTWEB-SHAPE-MERGE"} <= shown
    assert "ORT-LOWEST-BLOCKED" not in shown
