"""The functions for a test-suite of one's own, and what they say about arguments that cannot be used."""

from pathlib import Path

import numpy as np
import pytest

import maxpool_check
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import CASES, KERNELS

X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
RIGHT = f"python:{KERNELS}:right"
Y = np.array([[[[4, 5], [7, 8]]]], np.float32)
INDICES = np.array([[[[4, 5], [7, 8]]]])


@pytest.fixture
def case():
    return maxpool_check.case(X, kernel_shape=2)


def test_the_result_of_the_reference_unpacks_and_keeps_its_fields():
    pooled = maxpool_check.maxpool(X, kernel_shape=2)
    unpacked_Y, unpacked_indices = pooled
    assert unpacked_Y is pooled.Y
    assert unpacked_indices is pooled.Indices
    assert not pooled.empty.any()
    only_Y, nothing = maxpool_check.maxpool(X, spec="onnx-1", kernel_shape=2)
    np.testing.assert_array_equal(only_Y, pooled.Y, strict=True)
    assert nothing is None


@pytest.mark.parametrize("outputs", [{"Y": Y, "Indices": INDICES}, {"Y": Y}, (Y, INDICES), [Y, INDICES], (Y,), Y])
def test_outputs_of_every_form_are_judged(case, outputs):
    assert maxpool_check.judge(case, outputs).verdict == "conforms"


def test_a_judgement_has_no_truth_value(case):
    with pytest.raises(TypeError, match=r"compare \.verdict"):
        assert maxpool_check.judge(case, {"Y": X})


@pytest.mark.parametrize(
    ("outputs", "error", "message"),
    [
        ((Y, INDICES, 1), ValueError, r"returned 3 values; expected \(Y, Indices\) or Y"),
        ((), ValueError, "returned 0 values"),
        ({"y": Y}, ValueError, "unknown output 'y'; there are Y, Indices"),
        ({"Y": None}, ValueError, r"Y is None: did the function return\?"),
        (None, ValueError, r"Y is None: did the function return\?"),
        ((Y, None), ValueError, "Indices is None: leave it out"),
        ({}, TypeError, "outputs is {}"),
        (7, TypeError, r"outputs is 7; it takes \(Y, Indices\) or Y"),
        (ValueError, TypeError, "outputs is the class ValueError; it takes the exception itself"),
        ([[[1], [1, 2]]], ValueError, "Y is no array"),
    ],
)
def test_outputs_of_another_form(case, outputs, error, message):
    with pytest.raises(error, match=message):
        maxpool_check.judge(case, outputs)


def test_arguments_of_the_judge_that_are_something_else(case):
    with pytest.raises(TypeError, match=r"outputs is a Pooled.*\(pooled\.Y, pooled\.Indices\)"):
        maxpool_check.judge(case, maxpool_check.maxpool(X, kernel_shape=2))
    with pytest.raises(TypeError, match=r"the first argument is a ndarray; it takes a Case.*judge\(case, outputs\)"):
        maxpool_check.judge(Y, case)
    ngraph = maxpool_check.case(X, spec="ngraph-0", window_shape=2)
    with pytest.raises(ValueError, match="unknown output 'Indices'; the document has Y only"):
        maxpool_check.judge(ngraph, (Y, INDICES))


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ValueError("no"), "refuses"),
        (TypeError("no"), "refuses"),
        (NotImplementedError("no"), "refuses"),
        (NameError("name 'y' is not defined"), "error"),
        (UnboundLocalError("y"), "error"),
        (AttributeError("y"), "error"),
        (ModuleNotFoundError("y"), "error"),
        (IndentationError("y"), "error"),
    ],
)
def test_a_mistake_in_the_code_of_a_kernel_is_no_refusal(case, error, verdict):
    judgement = maxpool_check.judge(case, error)
    assert (judgement.verdict, judgement.message) == (verdict, f"{type(error).__name__}: {error}")


def test_a_mistake_in_the_code_does_not_satisfy_a_case_that_must_be_refused():
    excluded = maxpool_check.case(X, kernel_shape=0, expect={"refuse": "invalid-attribute"})
    assert maxpool_check.judge(excluded, ValueError("a window of 0 cells")).verdict == "conforms"
    assert maxpool_check.judge(excluded, NameError("y")).verdict == "error"
    assert maxpool_check.judge(excluded, {"Y": Y}).verdict == "diverges"


def test_a_case_is_refused_as_the_reference_refuses_it():
    with pytest.raises(maxpool_check.IllTyped, match=r"no attribute 'stride' \(did you mean 'strides'\?\)"):
        maxpool_check.case(X, kernel_shape=2, stride=1)
    with pytest.raises(maxpool_check.IllTyped, match="ceil_mode must be"):
        maxpool_check.case(X, kernel_shape=2, ceil_mode="yes")
    with pytest.raises(maxpool_check.Refused, match="the window covers 9 cells"):
        maxpool_check.case(X, kernel_shape=9)


@pytest.mark.parametrize(
    ("expect", "error", "message"),
    [
        ({"refuse": "invalid-shape"}, ValueError, "expects the refusal invalid-shape, but it is refused as invalid-attribute"),
        ({"refuse": "invalid-attributes"}, ValueError, r"did you mean 'invalid-attribute'\?"),
        ("invalid-attribute", TypeError, "expect is 'invalid-attribute'; it takes {'refuse': REASON}"),
    ],
)  # fmt: skip
def test_another_expectation_than_that_of_the_document(expect, error, message):
    with pytest.raises(error, match=message):
        maxpool_check.case(X, kernel_shape=0, expect=expect)


def test_a_refusal_that_the_document_does_not_make():
    with pytest.raises(ValueError, match=r"expects a refusal \(invalid-attribute\), but .* allows the graph"):
        maxpool_check.case(X, kernel_shape=2, expect={"refuse": "invalid-attribute"})


@pytest.mark.parametrize("function", [maxpool_check.maxpool, maxpool_check.case])
def test_documents_and_policies_of_a_wrong_type(function):
    with pytest.raises(TypeError, match="policies is 'propagates'; it takes a mapping"):
        function(X, kernel_shape=2, policies="propagates")
    with pytest.raises(TypeError, match="spec is None; it takes the name of a document"):
        function(X, kernel_shape=2, spec=None)


def test_help_names_every_document_and_policy():
    text = maxpool_check.maxpool.__doc__
    names = {option.value for options in INTERPRETATIONS.values() for option in options}
    assert [name for name in [*SPECIFICATIONS, *INTERPRETATIONS, *names] if name not in text] == []


def test_one_case_and_variants_in_a_list():
    images = maxpool_check.case(np.concatenate([X, -X]), kernel_shape=2)
    results = maxpool_check.run(images, RIGHT, variants=["y-only", "batch-split"])
    assert {each.variant: each.verdict for each in results.executions} == dict.fromkeys(
        ["indices", "y-only", "indices-batch-split", "y-only-batch-split"], "conforms"
    )


def kernel(X, attributes):
    return X


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"targets": kernel}, TypeError, "use 'python:FILE.py:NAME' for a function"),
        ({"targets": [kernel]}, TypeError, "use 'python:FILE.py:NAME' for a function"),
        ({"targets": []}, ValueError, "targets is empty"),
        ({"targets": ["onnxruntime", "onnxruntime"]}, ValueError, "targets names one twice"),
        ({"jobs": 0}, ValueError, "jobs is 0; it takes a number of processes, at least 1"),
        ({"timeout": 0}, ValueError, "timeout is 0; it takes a number of seconds above 0"),
        ({"timeout": "1"}, ValueError, "timeout is '1'"),
        ({"variants": 3}, TypeError, "variants is 3; it takes names"),
        ({"variants": "twise"}, ValueError, "unknown variant 'twise'"),
        ({"cases": 3}, TypeError, "cases is 3; it takes a list of cases"),
        ({"cases": [X]}, TypeError, r"cases contains a ndarray; it takes cases, made by case\(\) or read_cases\(\)"),
        ({"cases": "nope.yaml"}, FileNotFoundError, "nope.yaml"),
    ],
)
def test_arguments_of_a_run_that_cannot_be_used(case, options, error, message):
    arguments = {"cases": [case], "targets": RIGHT, **options}
    with pytest.raises(error, match=message):
        maxpool_check.run(arguments.pop("cases"), arguments.pop("targets"), **arguments)


def test_cases_of_one_name_are_refused(case):
    with pytest.raises(ValueError, match=r"2 cases are called 'library:case'.*case\(X, name=\.\.\.\)"):
        maxpool_check.run([case, maxpool_check.case(X, kernel_shape=3)], RIGHT)


def test_reading_cases():
    assert maxpool_check.read_cases(CASES / "sonnx/float.yaml")
    assert maxpool_check.read_cases("corpus:sonnx/float")
    with pytest.raises(TypeError, match="read_cases takes the path"):
        maxpool_check.read_cases()
    with pytest.raises(TypeError, match="paths are separate arguments"):
        maxpool_check.read_cases([Path("a")])
    with pytest.raises(FileNotFoundError, match=r"^\[Errno 2\] No such file or directory: 'nope.yaml'$"):
        maxpool_check.read_cases("nope.yaml")


def test_mistakes_in_files_have_a_public_error(tmp_path):
    (tmp_path / "wrong.yaml").write_text("cases: 3\n")
    with pytest.raises(maxpool_check.CorpusError, match=r"wrong.yaml:1:8: "):
        maxpool_check.read_cases(tmp_path)


def test_a_target_that_does_not_start_is_not_a_success(case):
    results = maxpool_check.run(case, f"python:{KERNELS}:rihgt")
    assert (results.unexpected, results.exit_code) == ([], 3)
    assert results.errors[0].endswith(f"{KERNELS} has no function 'rihgt' (did you mean 'right'?)")
    assert repr(results) == "Results(errors: 1, exit_code: 3)"


def test_short_representations(case):
    assert repr(case) == "Case(library:case, onnx-22, float32[1, 1, 3, 3], kernel_shape=[2, 2])"
    results = maxpool_check.run(
        maxpool_check.case(X - 20, kernel_shape=2, pads=[1, 1, 0, 0]), [RIGHT, f"python:{KERNELS}:pads_with_zero"]
    )
    assert repr(results) == "Results(conforms: 2, diverges: 2, exit_code: 1)"
