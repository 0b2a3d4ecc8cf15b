"""``pytest --maxpool-check=TARGET``, as a user types it."""

from functools import partial

import pytest

from tests.conftest import KERNELS, known_defect, run_pytest
from tests.models import zoo
from tests.models.writing import saved

RIGHT, SEED, PADS = (
    f"--maxpool-check=python:{KERNELS}:{name}" for name in ("right", "keeps_the_seed", "pads_with_zero")
)
KNOWN = known_defect(
    "seed", ["small:neg-inf"], ["indices-sentinel", "y-lowest-for-neg-inf"], reason="It keeps the seed of its scan.",
    variants=["indices", "y-only"],
)  # fmt: skip


@pytest.fixture
def check(tmp_path):
    return partial(run_pytest, tmp_path)


def test_a_case_is_an_item_that_fails_and_a_known_divergence_is_an_expected_failure_and_strict(check, small):
    done = check(SEED, small, "-v", "-rs").check(
        1, "1 failed, 4 passed, 1 skipped", f"small.yaml::ordinary[python:{KERNELS}:keeps_the_seed] PASSED",
        "undefined: 1 of 1 windows hold no cell of X",
        "Y[0, 0, 0, 0]  rows 0-1, columns 0-1: expected -inf, got -3.4028235e+38  (y-lowest-for-neg-inf)",
    )  # fmt: skip
    assert "Traceback" not in done.out
    (small / "known-divergences.yaml").write_text(KNOWN)
    expected = check(SEED, small, "-rx")
    expected.check(0, "seed: It keeps the seed of its scan.", "4 passed, 1 skipped, 1 xfailed")
    check(RIGHT, small).check(1, "[XPASS(strict)] known defect seed no longer occurs")


def test_names_tags_and_documents_select_cases(check, small):
    for words, collected in (
        ([RIGHT, "-k", "padded"], "1/6 tests collected"),
        ([RIGHT, "-k", "neg-inf"], "1/6 tests collected"),
        ([RIGHT, "--maxpool-check-spec=sonnx,onnx"], "6 tests collected"),
        ([RIGHT, "--maxpool-check-spec=openvino"], "no tests collected"),
        ([], "no tests collected"),
    ):
        assert collected in check(*words, small, "--co", "-q").out, words


def test_a_broken_file_and_a_target_that_does_not_start(check, small, tmp_path):
    assert check(f"--maxpool-check=python:{tmp_path}/no.py:f", small).code == 3
    assert check("--maxpool-check=nope", small).code == 4
    (small / "broken.yaml").write_text("cases:\n  - id: a\n    imput: {}\n")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    done = check(RIGHT, small, tmp_path / "broken.onnx").check(2, out="unknown key 'imput'")
    assert "not an ONNX model" in done.out


def test_the_nodes_of_a_model_are_items(check, tmp_path):
    passed, untested = f"my.onnx::A[python:{KERNELS}:right] PASSED", "not judged: another operator than MaxPool"
    right = check(RIGHT, saved(zoo.unnamed(), tmp_path, "my.onnx"), "-v", "-rs")
    right.check(0, "3 passed, 1 skipped", passed, untested)
    wrong = f"WRONG  y-pad-value-leak  wrong-on-finite  pool on python:{KERNELS}:pads_with_zero"
    check(PADS, saved(zoo.plain(), tmp_path, "plain.onnx")).check(1, wrong)


def test_options_of_models_and_a_node_that_cannot_be_run_is_no_success(check, tmp_path):
    path = saved(zoo.dynamic(), tmp_path)
    assert check(SEED, path, "--maxpool-check-shape=batch=2").code == 0
    assert check(SEED, path, "--maxpool-check-strict").code == 1
    assert "is not NAME=SIZES" in check(SEED, path, "--maxpool-check-shape=batch").err
    done = check("--maxpool-check=onnxruntime", "-rs", saved(zoo.custom_operator(), tmp_path, "custom.onnx"))
    assert "1 skipped" in done.out
    assert "not run as a model on onnxruntime: the target refuses it: " in done.out
