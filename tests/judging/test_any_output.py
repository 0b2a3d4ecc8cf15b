"""Whatever the outputs, the judge has one kind for every wrong cell, and none for a right one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import NUMPY, is_float, lowest
from maxpool_check.reference.numbering import NUMBERINGS
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import ALL_VARIANTS, VARIATIONS, WITH_INDICES, Y_ONLY
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.targets.name import parse
from maxpool_check.targets.requests import plan
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.worker.messages import DTYPES
from tests.conftest import shipped

FILES = ("edge/nan", "edge/neg-inf", "edge/storage-order", "edge/auto-pad", "edge/dilations", "openvino/types",
         "nhwc/attributes", "nhwc/activation", "xmos/examples", "ngraph/examples", "edge/empty-windows", "edge/empty-batch",
         "edge/bfloat16", "edge/asymmetric-pads")  # fmt: skip
READY = [
    case
    for case in shipped().cases
    if case.id.startswith(tuple(f"{file}:" for file in FILES))
    and isinstance(case.resolved, Pooling)
    and case.X.size < 300
]


@st.composite
def executed_cases(draw):
    """The oracle of a case, and outputs of the right dtypes: some of the cells, or all, are others."""
    case = draw(st.sampled_from(READY))
    oracle = case.oracle()
    pooled = oracle.pooled.arranged(case.resolved.layout)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = [case.X.tensor().reshape(-1), np.zeros(1, case.X.dtype), np.array([lowest(case.X.dtype)], case.X.dtype)]
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


def profile(indices):
    """A target that takes any attributes, and counts Indices as it says."""
    description = TargetDescription(
        name="any", distribution="any", version="0", provider="CPU", providers=(), session_options={}, python="-",
        numpy="-", newest_opset=None, speaks="attributes", indices=indices,
    )  # fmt: skip
    return TargetProfile(parse("python:any.py:any"), description, settings=tuple(each.name for each in VARIATIONS))


def array(data, *shapes):
    """Any tensor that the protocol can carry; often of one of some shapes."""
    shape = data.draw(st.sampled_from(shapes) | st.lists(st.integers(0, 3), max_size=5).map(tuple))
    dtype = NUMPY[data.draw(st.sampled_from(DTYPES))]
    numbers = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-3, 9, shape).astype(dtype)
    return np.asarray(numbers, order=data.draw(st.sampled_from("CF")))


FLAT = [
    Case(f"flat:{name}-{rank}", name, Recipe.of(np.ones((2,) * rank, np.int8)), {}, ("Y", "Indices"), document.policies)
    for name, document in SPECIFICATIONS.items()
    for rank in range(3)
]
ANY_CASE = [case for case in shipped().cases if case.X.size < 300]


any_answers = given(st.sampled_from(FLAT) | st.sampled_from(ANY_CASE), st.sampled_from(list(NUMBERINGS)), st.data())


@settings(max_examples=100, deadline=None)
@any_answers
def test_no_answer_at_all_stops_the_judge(case, indices, data):
    check_answers(case, indices, data)


def check_answers(case, indices, data):
    target, oracle = profile(indices), case.oracle()
    shapes = {case.X.shape, *([oracle.shape] if isinstance(oracle, Oracle) else [])}
    results = {}
    for planned in plan(case, ALL_VARIANTS, target):
        outcomes = [
            Returned({name: array(data, *shapes) for name in planned.variant.outputs[: data.draw(st.integers(0, 2))]})
            for _ in planned.requests
        ]
        results[planned.variant] = planned.result(outcomes, target).outcome
    for judgement in judge(oracle, results).values():
        assert judgement.verdict.value != "error", judgement.traceback


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@any_answers
def test_no_answer_of_many_stops_the_judge(case, indices, data):
    check_answers(case, indices, data)
