"""The functions for a test-suite of one's own, and what they say about arguments that cannot be used."""

from pathlib import Path

import numpy as np
import pytest

import maxpool_check
from maxpool_check import IllTyped, Refused, case, judge, maxpool, read_cases
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import CASES, KERNELS, workers_forked

X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
Y = np.array([[[[4, 5], [7, 8]]]], np.float32)
INDICES = Y.astype(np.int64)
CASE = case(X, kernel_shape=2)
NGRAPH = case(X, spec="ngraph-0", window_shape=2)
RIGHT = f"python:{KERNELS}:right"


def run(cases=CASE, targets=RIGHT, **options):
    with workers_forked():
        return maxpool_check.run(cases, targets, **options)


def expecting(reason, size=0):
    return case(X, kernel_shape=size, expect={"refuse": reason})


def kernel(X, attributes):
    return X


def test_the_result_of_the_reference_unpacks_and_keeps_its_fields():
    pooled = maxpool(X, kernel_shape=2)
    assert tuple(map(id, pooled)) == (id(pooled.Y), id(pooled.Indices))
    assert not pooled.empty.any()
    only_Y, nothing = maxpool(X, spec="onnx-1", kernel_shape=2)
    np.testing.assert_array_equal(only_Y, pooled.Y, strict=True)
    assert nothing is None


@pytest.mark.parametrize("outputs", [{"Y": Y, "Indices": INDICES}, {"Y": Y}, (Y, INDICES), [Y, INDICES], (Y,), Y])
def test_outputs_of_every_form_are_judged(outputs):
    assert judge(CASE, outputs).verdict == "conforms"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: judge(CASE, (Y, INDICES, 1)), ValueError, r"returned 3 values; expected \(Y, Indices\) or Y"),
        (lambda: judge(CASE, {"y": Y}), ValueError, "unknown output 'y'; there are Y, Indices"),
        (lambda: judge(CASE, None), ValueError, r"Y is None: did the function return\?"),
        (lambda: judge(CASE, (Y, None)), ValueError, "Indices is None: leave it out"),
        (lambda: judge(CASE, ValueError), TypeError, "outputs is the class ValueError; it takes the exception itself"),
        (lambda: judge(CASE, ([[1], [1, 2]],)), ValueError, "Y is no array"),
        (lambda: judge(CASE, maxpool(X, kernel_shape=2)), TypeError, r"is a Pooled.*\(pooled\.Y, pooled\.Indices\)"),
        (lambda: judge(Y, CASE), TypeError, r"first argument is a ndarray; it takes a Case.*judge\(case, outputs\)"),
        (lambda: judge(NGRAPH, (Y, INDICES)), ValueError, "unknown output 'Indices'; the document has Y only"),
        (lambda: bool(judge(CASE, Y)), TypeError, r"compare \.verdict"),
        (lambda: case(X, kernel_shape=2, stride=1), IllTyped, r"no attribute 'stride' \(did you mean 'strides'\?\)"),
        (lambda: case(X, kernel_shape=2, ceil_mode="yes"), IllTyped, "ceil_mode must be"),
        (lambda: case(X, kernel_shape=9), Refused, "the window covers 9 cells"),
        (lambda: expecting("invalid-shape"), ValueError, "but it is refused as invalid-attribute"),
        (lambda: expecting("invalid-attributes"), ValueError, r"did you mean 'invalid-attribute'\?"),
        (lambda: expecting("invalid-attribute", 2), ValueError, r"a refusal \(invalid-attribute\), but .* allows the graph"),
        (lambda: case(X, kernel_shape=0, expect="no"), TypeError, "expect is 'no'; it takes {'refuse': REASON}"),
        (lambda: case(X, kernel_shape=2, name=""), TypeError, "name is ''; it takes a text"),
        (lambda: case(X, kernel_shape=2, policies="x"), TypeError, "policies is 'x'; it takes a mapping"),
        (lambda: maxpool(X, kernel_shape=2, spec=None), TypeError, "spec is None; it takes the name of a document"),
        (lambda: run(targets=kernel), TypeError, "use 'python:FILE.py:NAME' for a function"),
        (lambda: run(targets=[]), ValueError, "targets is empty"),
        (lambda: run(targets=["onnxruntime", "onnxruntime"]), ValueError, "targets names one twice"),
        (lambda: run(jobs=0), ValueError, "jobs is 0; it takes a number of processes, at least 1"),
        (lambda: run(timeout=0), ValueError, "timeout is 0; it takes a number of seconds above 0"),
        (lambda: run(variants="twise"), ValueError, "unknown variant 'twise'"),
        (lambda: run(3), TypeError, "cases is 3; it takes a list of cases"),
        (lambda: run([CASE, CASE]), ValueError, r"2 cases are called 'library:case'.*case\(X, name=\.\.\.\)"),
        (lambda: run("nope.yaml"), FileNotFoundError, "nope.yaml"),
        (lambda: read_cases(), TypeError, "read_cases takes the path"),
        (lambda: read_cases([Path("a")]), TypeError, "paths are separate arguments"),
        (lambda: read_cases("nope.yaml"), FileNotFoundError, "No such file or directory: 'nope.yaml'$"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_used(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_reading_cases(tmp_path):
    own, shipped = (read_cases(path) for path in (CASES / "sonnx/float.yaml", "corpus:sonnx/float"))
    assert [each.sha256 for each in own] == [each.sha256 for each in shipped] != []
    (tmp_path / "wrong.yaml").write_text("cases: 3\n")
    with pytest.raises(maxpool_check.CorpusError, match=r"wrong.yaml:1:8: "):
        read_cases(tmp_path)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ValueError("no"), "refuses"),
        (NotImplementedError("no"), "not-expressible"),
        (UnboundLocalError("y"), "error"),
        (AttributeError("y"), "error"),
        (ModuleNotFoundError("y"), "error"),
        (IndentationError("y"), "error"),
    ],
)
def test_a_mistake_in_the_code_of_a_kernel_is_no_refusal(error, verdict):
    judgement = judge(CASE, error)
    assert (judgement.verdict, judgement.message) == (verdict, f"{type(error).__name__}: {error}")
    # It does not satisfy a case that must be refused, either.
    excluded = judge(expecting("invalid-attribute"), error)
    assert excluded.verdict == ("conforms" if verdict == "refuses" else verdict)


def test_help_names_every_document_and_policy():
    names = {option.value for options in INTERPRETATIONS.values() for option in options}
    assert [name for name in [*SPECIFICATIONS, *INTERPRETATIONS, *names] if name not in maxpool.__doc__] == []


def test_a_run_of_one_case_in_variants_and_what_is_shown_of_it():
    assert repr(CASE) == "Case(library:case, onnx-22, float32[1, 1, 3, 3], kernel_shape=[2, 2])"
    images = case(np.concatenate([X, -X]), kernel_shape=2, pads=[1, 1, 0, 0])
    results = run(images, [RIGHT, f"python:{KERNELS}:pads_with_zero"], variants=["y-only", "twice"])
    names = ["indices", "indices-twice", "y-only", "y-only-twice"]
    assert [each.variant for each in results.executions if each.target == RIGHT] == names
    assert [each.variant for each in results.unexpected] == names
    assert repr(results) == "Results(conforms: 4, diverges: 4, exit_code: 1)"


def test_a_target_that_does_not_start_is_not_a_success():
    results = run(targets=f"python:{KERNELS}:rihgt")
    assert (results.unexpected, results.exit_code) == ([], 3)
    assert results.errors[0].endswith(f"{KERNELS} has no function 'rihgt' (did you mean 'right'?)")
    assert repr(results) == "Results(errors: 1, exit_code: 3)"
