"""The page of how many projects return the same bits: it follows from the records, and the bits are the reference's."""

from collections import Counter

import numpy as np
import pytest

from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.reference.dtypes import digest
from tests.conftest import shipped
from tests.report_agreement import PAGE, by_number, page, shared_results
from tests.report_matrix import RECORDS, record_at

JAX = next(path for path in RECORDS if path.name.startswith("jax-"))


@pytest.fixture(scope="module")
def records():
    return [record_at(path) for path in RECORDS]


def test_the_page_follows_from_the_records(records):
    assert PAGE.read_text(encoding="utf-8") == page(records)


def test_what_three_projects_share_is_the_references_unless_the_document_leaves_it_open(records):
    unchanged = {(case.id, case.sha256): case for case in shipped().cases}
    compared = Counter()
    for shared in shared_results(records):
        case = unchanged.get((shared.case, shared.case_sha256))
        if case is None or len(shared.projects) < 3:
            continue
        oracle = case.oracle()
        outputs = dict(oracle.outputs)
        if isinstance(oracle, GraphOracle):
            outputs["Y"] = oracle.output
        is_same = shared.digest == digest(outputs[shared.output])
        assert is_same or is_open(oracle), (shared.case, shared.output)
        compared[shared.output, is_same] += 1
    # Nearly all of them are the reference's.
    assert compared["Y", True] > 100 * compared["Y", False] > 0
    assert compared["Indices", True] > 100 * compared["Indices", False]


def is_open(oracle):
    """Whether the document leaves a point open that matters here: a NaN, an alternative, an index, one of several maxima or zeros."""
    return bool(
        oracle.nan_is_open
        or oracle.has_empty
        or oracle.pooling.alternatives
        or not np.array_equal(oracle.choices[0], oracle.last)
    )


def test_a_project_counts_once_and_only_where_it_conforms(records):
    by_case = {(each.case, each.output): each for each in shared_results(records)}
    projects = by_case["sonnx/float:float-example-1", "Y"].projects
    assert {"onnxruntime", "torch", "tract"} <= projects
    assert not any(name.startswith("onnxruntime-") for name in projects)
    assert sum(by_number(by_case.values())["Y"].values()) == sum(output == "Y" for _, output in by_case)
    diverging = {execution.case for execution in record_at(JAX).executions if execution.verdict.value == "diverges"}
    assert not any("jax" in by_case[case, "Y"].projects for case in diverging if (case, "Y") in by_case)
