"""Whatever the outputs, the judge has one kind for every wrong cell, and none for a right one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check.corpus.collection import collect
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import judge
from maxpool_check.reference.dtypes import is_float, lowest
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY
from tests.conftest import CASES

FOLDERS = ("edge/nan.yaml", "edge/neg-inf.yaml", "edge/storage-order.yaml", "edge/auto-pad.yaml", "edge/dilations.yaml",
           "openvino/types.yaml", "nhwc/attributes.yaml", "nhwc/activation.yaml", "xmos/examples.yaml", "ngraph/examples.yaml",
           "edge/empty-windows.yaml", "edge/empty-batch.yaml", "edge/bfloat16.yaml", "edge/asymmetric-pads.yaml")  # fmt: skip
READY = [
    case
    for case in collect([CASES / name for name in FOLDERS if (CASES / name).exists()]).cases
    if isinstance(case.resolved, Pooling) and case.X.size < 300
]


@st.composite
def executed_cases(draw):
    """The oracle of a case, and outputs of the right dtypes: some of the cells, or all, are others."""
    case = draw(st.sampled_from(READY))
    oracle = Oracle(case.X, case.resolved)
    pooled = oracle.pooled.arranged(case.resolved.layout)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = [case.X.reshape(-1), np.zeros(1, case.X.dtype), np.array([lowest(case.X.dtype)], case.X.dtype)]
    if is_float(case.X.dtype):
        values.append(np.array([np.nan, np.inf, -np.inf, -0.0], case.X.dtype))
    pool = np.concatenate(values)
    Y = pooled.Y.copy()
    share = draw(st.sampled_from([0.1, 0.5, 1]))
    Y = np.where(random.random(Y.shape) < share, random.choice(pool, Y.shape), Y).astype(Y.dtype)
    outputs = {"Y": Y}
    if "Indices" in case.outputs and case.resolved.indices:
        numbers = random.integers(-9, case.X.size + 9, Y.shape)
        wrong = np.where(random.random(Y.shape) < share, numbers, pooled.Indices)
        outputs["Indices"] = wrong.astype(pooled.Indices.dtype)
    return oracle, outputs


@settings(max_examples=400, deadline=None)
@given(executed_cases())
def test_every_wrong_cell_has_one_kind_and_no_right_one_has_any(drawn):
    oracle, outputs = drawn
    compared = compare(oracle, outputs, tuple(outputs))
    judged_by = compared.oracle
    Y = judged_by.pooling.layout.to_core(outputs["Y"])
    masks = {
        name: [wrong.cells for wrong in compared.wrong if wrong.output == name and wrong.cells is not None]
        for name in outputs
    }
    if any(wrong.cells is None for wrong in compared.wrong):
        return
    assert all(np.sum(cells, axis=0).max(initial=0) <= 1 for cells in masks.values() if cells)
    wrong_cells = np.any(masks["Y"], axis=0) if masks["Y"] else np.zeros(Y.shape, bool)
    assert (wrong_cells == ~judged_by.acceptable(Y)).all()
    if "Indices" in outputs and judged_by.core.size:
        numbers = judged_by.pooling.layout.to_core(outputs["Indices"])
        wrong_cells = np.any(masks["Indices"], axis=0) if masks["Indices"] else np.zeros(Y.shape, bool)
        assert (wrong_cells == ~judged_by.match_indices(numbers, Y).right).all()


@settings(max_examples=300, deadline=None)
@given(executed_cases(), st.data())
def test_no_output_of_any_shape_stops_the_judge(drawn, data):
    oracle, outputs = drawn
    shape = data.draw(st.lists(st.integers(0, 4), max_size=6).map(tuple))
    changed = {name: np.resize(value, shape) for name, value in outputs.items()}
    name = data.draw(st.sampled_from([None, *outputs]))
    changed = changed if name is None else {**outputs, name: changed[name]}
    judgements = judge(oracle, {WITH_INDICES if "Indices" in outputs else Y_ONLY: Returned(changed)})
    for judgement in judgements.values():
        assert all(isinstance(kind, DivergenceKind) for kind in judgement.kinds)
        assert judgement.kinds or judgement.verdict.value in ("conforms", "undefined")
