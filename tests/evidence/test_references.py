"""The results of cases by the definition and by the evaluator: they are those of records, and a difference is found."""

import json
from dataclasses import replace

import msgspec
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.evidence.references import ReferenceLog, references
from maxpool_check.reference import evaluator
from maxpool_check.results.record import Verdict
from tests.conftest import CASES, run_record, shipped


def by_id(*names):
    cases = {case.id: case for case in shipped().cases}
    return [cases[name] for name in names]


def logged(*names):
    return references(by_id(*names)).cases


def test_the_digests_are_those_of_a_record(tmp_path):
    for file in ("sonnx/float", "contexts/consumers", "contexts/reshape-and-slices"):
        (tmp_path / file).with_suffix(".yaml").parent.mkdir(exist_ok=True)
        (tmp_path / file).with_suffix(".yaml").write_bytes((CASES / file).with_suffix(".yaml").read_bytes())
    log = {each.case_sha256: each for each in references(collect([tmp_path]).cases).cases}
    compared = set()
    for execution in run_record(tmp_path, "onnxruntime").executions:
        if execution.digests and execution.verdict in (Verdict.CONFORMS, Verdict.DIVERGES):
            expected = [result.definition for result in log[execution.case_sha256].results]
            is_expected = any(execution.digests.items() <= digests.items() for digests in expected)
            assert is_expected == (execution.verdict is Verdict.CONFORMS), execution.case
            compared.add((execution.case.partition(":")[0], *execution.digests))
    assert {("sonnx/float", "Y", "Indices"), ("contexts/consumers", "Y", "behind")} <= compared
    assert any(name == "contexts/reshape-and-slices" for name, *_ in compared)


def test_every_interpretation_that_is_open_has_a_result():
    open_nan, formula = logged("edge/nan:with-neg-inf", "edge/valid-ceil:one-axis")
    assert [each.interpretation for each in open_nan.results] == [
        {"nan": name} for name in ("ignored", "as-neg-inf", "propagates", "propagates-last")
    ]
    assert [each.interpretation for each in formula.results] == [{}, {"valid_ceil": "formula"}]


def test_open_cells_are_counted():
    (case,) = logged("documents/onnx-22:empty-window")
    (result,) = case.results
    assert (result.without_value, result.without_index) == (1, 1)


def test_a_refused_case_has_the_refusal_of_its_document():
    log = references(by_id("refusals/attributes:kernel-missing"))
    (refused,) = log.cases
    assert refused.results == ()
    assert refused.refused["reason"] == "invalid-attribute"
    assert (log.counts["refused"], log.counts["computed"]) == (1, 0)


def evaluator_without_signs(X, pooling):
    pooled = evaluator.evaluate(X, pooling)
    return replace(pooled, Y=pooled.Y + X.dtype.type(0), maxima=pooled.maxima + X.dtype.type(0))


def evaluator_of_minima(X, pooling):
    pooled = evaluator.evaluate(-X, pooling)
    return replace(pooled, Y=-pooled.Y, maxima=-pooled.maxima)


def evaluator_that_counts_from_one(X, pooling):
    pooled = evaluator.evaluate(X, pooling)
    return replace(pooled, Indices=pooled.Indices + 1)


def evaluator_without_open_cells(X, pooling):
    pooled = evaluator.evaluate(X, pooling)
    return replace(pooled, undefined=pooled.undefined & False)


@pytest.mark.parametrize(
    ("wrong", "case"),
    [
        (evaluator_without_signs, "edge/signed-zero:both-float32"),
        (evaluator_of_minima, "contexts/consumers:pool-and-transpose"),
        (evaluator_that_counts_from_one, "sonnx/float:float-example-1"),
        (evaluator_without_open_cells, "documents/onnx-22:empty-window"),
    ],
)
def test_a_wrong_evaluator_is_found(wrong, case):
    log = references(by_id(case), wrong)
    assert log.differing == [case]
    assert (log.counts["agree"], log.counts["differ"]) == (0, 1)
    assert references(by_id(case)).differing == []


def test_the_same_cases_give_the_same_bytes_which_can_be_read_again():
    cases = by_id("sonnx/float:float-example-1", "refusals/attributes:kernel-missing")
    log = references(cases)
    data = log.encode()
    assert references(cases).encode() == data
    assert msgspec.json.decode(data, type=ReferenceLog) == log
    assert json.loads(data)["schema"] == "maxpool-check/references/1"
