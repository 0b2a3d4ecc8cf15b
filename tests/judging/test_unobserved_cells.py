"""Cells of MaxPool that the graph does not output: they contradict nothing, in whatever way the document is interpreted."""

import numpy as np
import pytest

from maxpool_check.corpus.case_file import read_cases
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY

FIRST_CHANNEL = "graph: [{op: MaxPool}, {op: Split, axis: 1, split: [1, 1]}]"


def verdicts(tmp_path, X, attributes, Y, Indices, dtype="float32"):
    """The verdicts on outputs of a graph that outputs the first channel of MaxPool alone."""
    path = tmp_path / "case.yaml"
    path.write_text(
        f"spec: onnx-22\ncases:\n  - id: a\n    input: {{dtype: {dtype}, data: {X}}}\n    {FIRST_CHANNEL}\n"
        f"    attributes: {attributes}\n"
    )
    (case,) = read_cases(path, tmp_path)
    outputs = {"Y": np.array(Y, case.X.dtype), "Indices": np.array(Indices, np.int64)}
    outcomes = {WITH_INDICES: Returned(outputs), Y_ONLY: Returned({"Y": outputs["Y"]})}
    return [judgement.verdict for judgement in judge(case.oracle(), outcomes).values()]


@pytest.mark.parametrize("index", [2, 3])
def test_the_index_of_a_nan_or_of_the_maximum_beside_it(index, tmp_path):
    X = "[[[1, 2], [.nan, 4]]]"
    assert verdicts(tmp_path, X, "{kernel_shape: [2]}", [[[2]]], [[[1], [index]]]) == [Verdict.CONFORMS] * 2


@pytest.mark.parametrize("at", [0, 1])
def test_a_geometry_that_the_document_leaves_open(at, tmp_path):
    attributes = "{kernel_shape: [1], strides: [3], auto_pad: SAME_UPPER}"
    outputs = [[[at + 1]]], [[[at], [at + 3]]]
    assert verdicts(tmp_path, "[[[1, 2, 3], [4, 5, 6]]]", attributes, *outputs) == [Verdict.CONFORMS] * 2


def test_a_wrong_index_is_wrong(tmp_path):
    assert verdicts(tmp_path, "[[[1, 2], [3, 4]]]", "{kernel_shape: [2]}", [[[2]]], [[[1], [2]]]) == [
        Verdict.DIVERGES, Verdict.CONFORMS,
    ]  # fmt: skip
