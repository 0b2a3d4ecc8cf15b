"""The lowest versions that pyproject.toml allows, on the oldest interpreter of this machine that it allows, pass the core of the tests."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.conftest import ROOT, environment

UV = [sys.executable, "-m", "uv"]
CORE = (
    # What is right, and what is wrong: numpy, onnx, ml_dtypes, PyYAML, jsonschema-rs, msgspec.
    *("reference", "specifications", "graphs", "corpus", "judging", "results", "comparing", "test_corpus.py"),
    # Runs on the installed ONNX Runtime and on kernels, and their reports: onnxruntime, jinja2, rich.
    *("running", "commands/test_run.py", "commands/test_decisions.py", "reporting/test_run.py", "reporting/test_golden.py"),
    # The command line, its configuration and completion: click, tomli, platformdirs; files of defects: ruamel.yaml.
    *("commands/test_program.py", "commands/test_config.py", "commands/test_defects.py"),
    "commands/test_exchange.py::test_a_report_may_blame_the_implementation_or_be_of_another_kind",
    # Environments made of a folder of wheels: uv, filelock, packaging. Bundles: cyclonedx-python-lib.
    *("commands/test_offline.py", "evidence/test_verification.py"),
)  # fmt: skip
"""Not: what knows the values of one release of ONNX Runtime, and what needs releases without wheels for an old Python."""


def ran(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=environment(), timeout=1500)


def check(*words):
    done = ran(*words)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


def oldest_python():
    """The oldest interpreter, of those on PATH and those that pyenv keeps, that the tool supports: its version and path."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin/python3")
    named = filter(None, (shutil.which(f"python3.{minor}") for minor in range(30)))
    supported = SpecifierSet(metadata("maxpool-check")["Requires-Python"])
    found = {path: ran(path, "-c", "import platform; print(platform.python_version())") for path in (*kept, *named)}
    versions = {Version(done.stdout): path for path, done in found.items() if done.returncode == 0}
    return min((version, str(path)) for version, path in versions.items() if version in supported)


@pytest.mark.network
def test_the_lowest_versions_pass_the_core_of_the_tests(tmp_path, capsys):
    version, path = oldest_python()
    python = tmp_path / "venv/bin/python"
    check(*UV, "venv", "--python", path, tmp_path / "venv")
    check(*UV, "pip", "install", "--resolution", "lowest-direct", "--python", python, "--editable", f"{ROOT}[test]")
    fast = "not slow and not long and not runtimes and not network"
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-n", "2", "-m", fast)
    ended = check(python, *words, *(f"tests/{name}" for name in CORE)).splitlines()[-1]
    with capsys.disabled():
        print(f"\nthe lowest versions on Python {version}: {ended}")
