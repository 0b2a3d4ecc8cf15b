"""tinygrad: known behaviour of the real one, on the device that needs no compiler, and on the CPU where there is clang."""

import shutil

import pytest

from tests.targets.test_runtimes import counts, kinds, run

EMULATED = "tinygrad==0.14.0?device=PYTHON"
RIGHT = ["edge/kernel-one.yaml", "edge/strides.yaml"]

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="tinygrad's CPU device compiles with clang")


@pytest.mark.network
def test_the_device_is_the_one_named_and_same_ignores_dilations(cli):
    document = run(cli, EMULATED, "documents/onnx-22.yaml")
    assert document["targets"][0]["session_options"]["DEV"] == "PYTHON"
    assert document["targets"][0]["provider"] == "PYTHON"
    assert counts(document)["conforms"] > 5
    assert kinds(document)["documents/onnx-22:same-upper", "y-only"] == ["same-ignores-dilation"]


@pytest.mark.runtimes
def test_a_reproduction_runs_on_the_device_that_was_named(cli, tmp_path):
    done = cli("repro", "documents/onnx-22:same-upper", "-t", EMULATED, "-o", tmp_path / "r", "--variant", "y-only")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert 'DEV.value = "PYTHON"' in (tmp_path / "r/repro.py").read_text()


@pytest.mark.network
def test_options_are_refused(cli, monkeypatch, tmp_path):
    for target, message in (
        ("tinygrad==0.14.0?device=GPU", "device must be one of CPU, PYTHON, got GPU"),
        ("tinygrad==0.14.0?devise=CPU", "unknown option devise; tinygrad has device"),
    ):
        process = cli("targets", "list", target)
        assert (process.code, message in process.out) == (3, True)
    monkeypatch.setenv("CC", str(tmp_path / "no-such-clang"))
    process = cli("targets", "list", "tinygrad==0.14.0")
    assert process.code == 3
    assert "which is not installed; install it (Debian: apt-get install clang), or use ?device=PYTHON" in process.out


@pytest.mark.runtimes
@needs_clang
def test_ordinary_geometry_is_right_on_the_cpu(cli):
    document = run(cli, "tinygrad==0.14.0", *RIGHT)
    assert document["targets"][0]["provider"] == "CPU"
    assert counts(document)["conforms"] > 10


@pytest.mark.runtimes
@needs_clang
def test_same_ignores_dilations_and_a_window_of_nan_has_no_index(cli):
    shown = kinds(run(cli, "tinygrad==0.14.0", "documents/onnx-22.yaml", "edge/nan.yaml"))
    assert shown["documents/onnx-22:same-upper", "y-only"] == ["same-ignores-dilation"]
    assert shown["edge/nan:one-axis", "indices"] == ["indices-out-of-range"]
