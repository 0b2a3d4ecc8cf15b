"""``pytest --maxpool-check=TARGET``, as a user types it."""

import subprocess
import sys
from functools import partial

import pytest

from tests.conftest import environment, run_pytest
from tests.models import zoo
from tests.models.writing import saved


@pytest.fixture
def check(tmp_path):
    return partial(run_pytest, tmp_path)


KNOWN = """\
known:
  - id: seed
    when: python
    cases: ["small:neg-inf"]
    kinds: [indices-sentinel, y-lowest-for-neg-inf]
    variants: [indices, y-only]
    reason: It keeps the seed of its scan.
"""


def test_cases_are_items_and_what_cannot_be_compared_is_skipped(check, small, kernel_target):
    done = check(f"--maxpool-check={kernel_target('right')}", small, "-v", "-rs")
    assert done.code == 0, done.out
    assert "5 passed, 1 skipped" in done.out
    assert f"small.yaml::ordinary[{kernel_target('right')}] PASSED" in done.out
    assert "undefined: 1 of 1 windows hold no cell of X" in done.out


def test_a_process_of_pytest_finds_the_plugin(small, kernel_target, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--maxpool-check={kernel_target('right')}", small],
        capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False,
    )  # fmt: skip
    assert (done.returncode, "5 passed, 1 skipped" in done.stdout) == (0, True), done.stdout


def test_a_failure_shows_what_run_shows(check, small, kernel_target):
    done = check(f"--maxpool-check={kernel_target('keeps_the_seed')}", small)
    assert done.code == 1
    assert "1 failed, 4 passed, 1 skipped" in done.out
    assert "Y[0, 0, 0, 0]  rows 0-1, columns 0-1: expected -inf, got -3.4028235e+38  (y-lowest-for-neg-inf)" in done.out
    assert "Traceback" not in done.out


def test_a_known_divergence_is_an_expected_failure_and_strict(check, small, kernel_target):
    (small / "known-divergences.yaml").write_text(KNOWN)
    done = check(f"--maxpool-check={kernel_target('keeps_the_seed')}", small, "-rx")
    assert done.code == 0, done.out
    assert "seed: It keeps the seed of its scan." in done.out
    assert "4 passed, 1 skipped, 1 xfailed" in done.out
    repaired = check(f"--maxpool-check={kernel_target('right')}", small)
    assert repaired.code == 1
    assert "[XPASS(strict)] known defect seed no longer occurs" in repaired.out


def test_selection_by_name_and_by_tag(check, small, kernel_target):
    assert "1 passed" in check(f"--maxpool-check={kernel_target('right')}", small, "-k", "padded").out
    assert "1 passed" in check(f"--maxpool-check={kernel_target('right')}", small, "-k", "neg-inf").out


def test_documents_select_their_cases(check, small, kernel_target):
    done = check(f"--maxpool-check={kernel_target('right')}", "--maxpool-check-spec=sonnx,onnx", small, "--co", "-q")
    assert "6 tests collected" in done.out
    done = check(f"--maxpool-check={kernel_target('right')}", "--maxpool-check-spec=openvino", small, "--co", "-q")
    assert "no tests collected" in done.out


def test_a_broken_file_and_a_target_that_does_not_start(check, small, kernel_target, tmp_path):
    (small / "broken.yaml").write_text("cases:\n  - id: a\n    imput: {}\n")
    done = check(f"--maxpool-check={kernel_target('right')}", small)
    assert done.code == 2
    assert "unknown key 'imput'" in done.out
    (small / "broken.yaml").unlink()
    assert check(f"--maxpool-check=python:{tmp_path}/no.py:f", small).code == 3
    assert check("--maxpool-check=nope", small).code == 4


def test_without_the_option_nothing_is_collected(check, small):
    assert "no tests ran" in check(small).out


def test_the_nodes_of_a_model_are_items(check, kernel_target, tmp_path):
    path = saved(zoo.unnamed(), tmp_path, "my.onnx")
    right = check(f"--maxpool-check={kernel_target('right')}", path, "-v", "-rs")
    assert right.code == 0, right.out
    assert "3 passed, 1 skipped" in right.out
    assert f"my.onnx::A[{kernel_target('right')}] PASSED" in right.out
    assert "not judged: another operator than MaxPool" in right.out
    wrong = check(f"--maxpool-check={kernel_target('pads_with_zero')}", saved(zoo.plain(), tmp_path, "plain.onnx"))
    assert wrong.code == 1
    assert f"WRONG  y-pad-value-leak  pool on {kernel_target('pads_with_zero')} (wrong-on-finite)" in wrong.out
    assert "Traceback" not in wrong.out
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    assert "not an ONNX model" in check(f"--maxpool-check={kernel_target('right')}", tmp_path / "broken.onnx").out


def test_a_node_of_a_model_that_cannot_be_run_is_no_success(check, tmp_path):
    done = check("--maxpool-check=onnxruntime", "-rs", saved(zoo.custom_operator(), tmp_path, "custom.onnx"))
    assert "1 skipped" in done.out
    assert "not run as a model on onnxruntime: the target refuses it: " in done.out


@pytest.mark.long
def test_options_of_models(check, kernel_target, tmp_path):
    path, target = saved(zoo.dynamic(), tmp_path), f"--maxpool-check={kernel_target('keeps_the_seed')}"
    assert check(target, path, "--maxpool-check-shape=batch=2").code == 0
    assert check(target, path, "--maxpool-check-strict").code == 1
    assert "is not NAME=SIZES" in check(target, path, "--maxpool-check-shape=batch").err
