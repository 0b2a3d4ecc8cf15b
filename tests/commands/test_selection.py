"""What -k and --spec select."""

import pytest

from maxpool_check.corpus.conditions import with_cases
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.selection import names_of_documents, of_documents
from tests.conftest import CASES, shipped

CORPUS = shipped().cases


def listed(cli, *arguments):
    done = cli("cases", "list", CASES / "edge", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return [case["id"] for case in done.json["cases"]]


def of_edge(condition):
    return [case.id for case in CORPUS if case.id.startswith("edge/") and condition(case)]


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("tag:neg-inf", lambda case: "neg-inf" in case.tags),
        ("clause:ONNX-*", lambda case: any(clause.startswith("ONNX-") for clause in case.covers)),
        ("dtype:float16", lambda case: case.X.dtype.name == "float16"),
        ("dtype:bfloat16", lambda case: case.X.dtype.name == "bfloat16"),
        ("spec:sonnx", lambda case: case.spec == "sonnx"),
        ("spec:onnx", lambda case: case.spec.startswith("onnx-")),
        ("edge/ties:*", lambda case: case.id.startswith("edge/ties:")),
        ("one-cell", lambda case: case.id.endswith(":one-cell")),
    ],
)
def test_an_expression_selects_by_a_property(cli, expression, condition):
    expected = of_edge(condition)
    assert expected
    assert listed(cli, "-k", expression) == expected


@pytest.mark.parametrize("name", ["ort-nhwc", "ort-nhwc-11", "ort", "onnx", "onnx-12", "onnx-13", "xmos", "all"])
def test_k_selects_by_each_name_that_spec_takes(cli, name):
    expected = [case.id for case in of_documents(CORPUS, names_of_documents([name]))]
    done = cli("cases", "list", CASES, "-k", f"spec:{name}", "--json")
    assert [case["id"] for case in done.json["cases"]] == expected


def test_defects_and_kinds_select_the_cases_that_they_are_expected_of(cli):
    (defect,) = (each for each in read_all_defects(shipped().known_files) if each.id == "ORT-SAME-DILATION")
    (with_ids,) = with_cases([defect], CORPUS)
    expected = of_edge(lambda case: any(entry.binds(case.id) for entry in with_ids.expected))
    assert expected
    assert listed(cli, "-k", "defect:ORT-SAME-DILATION") == expected
    assert set(expected) <= set(listed(cli, "-k", "kind:same-ignores-dilation"))


def test_several_expressions_select_what_any_of_them_does_and_documents_only_their_cases(cli):
    either = of_edge(lambda case: case.X.dtype.name == "float16" or "neg-inf" in case.tags)
    assert listed(cli, "-k", "dtype:float16", "-k", "tag:neg-inf") == either
    assert listed(cli, "--spec", "onnx-22,sonnx") == of_edge(lambda case: case.spec in ("onnx-22", "sonnx"))
    assert listed(cli, "--spec", "onnx", "--spec", "all") == of_edge(lambda case: True)
    both = of_edge(lambda case: case.spec == "sonnx" and case.X.dtype.name == "float32")
    assert listed(cli, "--spec", "sonnx", "-k", "dtype:float32") == both


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "edge/ties:*", "-k", "nosuch:*"], "no case is selected by 'nosuch:*'"),
        (["-k", "neg"], "(did you mean '*neg*'?)"),
        (["-k", "edge/ties:all-equl"], "(did you mean 'edge/ties:all-equal'?)"),
        (["-k", "dtype:double"], "(did you mean 'float64'?)"),
        (["-k", "tag:neg-ing"], "(did you mean 'neg-inf'?)"),
        (["-k", "dtype:float61"], "(did you mean 'float64'?)"),
        (["-k", "kind:y-lowest-for-neg-in"], "(did you mean 'y-lowest-for-neg-inf'?)"),
        (["-k", "defect:ORT-SAME"], "(did you mean 'ORT-SAME-DILATION'?)"),
        (["-k", "clauses:X"], "(did you mean 'clause'?)"),
        (["-k", "spec:xmos"], "no case is selected by 'spec:xmos': there is no case of this document"),
        (["-k", "spec:sonx"], "unknown specification 'sonx' (did you mean 'sonnx'?)"),
        (["-k", "spec:onnx-9?"], "no case is selected by 'spec:onnx-9?'"),
        (["--spec", "xmos"], "no selected case is of xmos"),
        (["--spec", "onnx-22,sonx"], "unknown specification 'sonx' (did you mean 'sonnx'?)"),
    ],
)
def test_what_selects_nothing_is_an_error_with_the_nearest_that_does(cli, arguments, message):
    done = cli("cases", "list", CASES / "edge", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_run_of_what_selects_nothing_runs_nothing(cli, small):
    done = cli("run", small, "-k", "neg-inf", "-k", "nosuch")
    assert (done.code, done.out) == (2, "")
    assert "no case is selected by 'nosuch'" in done.err
