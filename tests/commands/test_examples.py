"""The kernels that ``targets example`` prints: each is right, as its first lines say how to run it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import command

PARTS = ("corpus:kit", "corpus:edge")
WITH_TRITON = os.environ.get("MAXPOOL_CHECK_TRITON_PYTHON")
"""An interpreter that has torch and triton, together several GB; Triton's interpreter took 45 s for the kit."""


def conforms(target, *parts):
    """Hold a kernel to conforming, and to having been compared."""
    document = command("run", *parts, "-t", target, "--report", "json").check(0).json
    assert (document["result"], document["faults"]) == ("CONFORMS", [])
    assert document["summary"]["conforms"] > 80


def saved(name, path):
    path.write_text(command("targets", "example", name).check(0).out)
    return path


@pytest.mark.skipif(shutil.which("cc") is None, reason="it needs cc")
def test_a_shared_library_is_right_and_guards_its_outputs(tmp_path):
    path = saved("ctypes", tmp_path / "kernel.py")
    conforms(f"python:{path}:maxpool", *PARTS)
    text = path.read_text()
    for right, wrong, beside in (
        ("Y[y] = best", "if (y == 0) Y[-1] = 0; Y[y] = best", "Y"),
        ("Indices[y] = best", "Indices[y] = Indices[y + 1] = best", "Indices"),
    ):
        assert right in text
        path.write_text(text.replace(right, wrong))
        done = command("run", "corpus:kit", "-x", "-t", f"python:{path}:maxpool").check(3)
        assert f"RuntimeError: the library wrote beside {beside}" in done.out


@pytest.mark.skipif(shutil.which("rustc") is None, reason="it needs rustc")
def test_a_program_in_rust_is_right(tmp_path):
    path = saved("rust", tmp_path / "maxpool.rs")
    compile_ = path.read_text().splitlines()[1].removeprefix("// ").partition(" && ")[0].split()
    subprocess.run(compile_, cwd=tmp_path, check=True, capture_output=True)
    conforms(f"command:{tmp_path / 'maxpool'}", *PARTS)
    command("targets", "check", f"command:{tmp_path / 'maxpool'}").check(0)


@pytest.mark.network
def test_a_function_of_torch_is_right(tmp_path):
    folder = command("targets", "prepare", "torch==2.13.0").check(0).out.split()[-1]
    conforms(f"python:{saved('torch', tmp_path / 'kernel.py')}:maxpool?python={folder}/bin/python", *PARTS)


@pytest.mark.network
def test_loops_that_numba_compiles_are_right(tmp_path):
    for words in (["python3", "-m", "venv", "venv"], ["venv/bin/pip", "install", "-q", "numba", "numpy"]):
        subprocess.run(words, cwd=tmp_path, check=True)
    conforms(f"python:{saved('numba', tmp_path / 'kernel.py')}:maxpool?python={tmp_path}/venv/bin/python", *PARTS)


@pytest.mark.skipif(not WITH_TRITON, reason="MAXPOOL_CHECK_TRITON_PYTHON names no interpreter that has triton")
def test_a_kernel_of_triton_is_right_in_its_interpreter(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    conforms(f"python:{saved('triton', tmp_path / 'kernel.py')}:maxpool?python={Path(WITH_TRITON)}", "corpus:kit")
