"""What a script accepts is what the judge accepts."""

import itertools

import numpy as np
import pytest

from maxpool_check.fuzzing.generation import generate
from maxpool_check.judging.judge import judge
from maxpool_check.reference.dtypes import same
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reproducing.expectation import expected_outputs
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import TargetDescription, Verdict
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES, Y_ONLY
from maxpool_check.running.case_run import CaseRun
from tests.conftest import shipped

SMALL = [
    case
    for case in shipped().cases
    if case.id.startswith(("edge/", "sonnx/", "documents/"))
    and isinstance(case.resolved, Pooling)
    and case.X.size <= 16
    and not case.resolved.alternatives
    and case.specification.layout is Layout.CHANNELS_FIRST
    and 0 < case.oracle().pooled.Y.size <= 8
]


def expected(case, variant, speaks="attributes"):
    target = TargetDescription(
        name="kernel", distribution="kernel", version="", provider="", providers=(), session_options={}, python="",
        numpy="", newest_opset=None, graphs=None, speaks=speaks,
    )  # fmt: skip
    return expected_outputs(Reproduced(CaseRun(case, "kernel", case.oracle(), {}, {}), variant, target))


def conforms(oracle, variant, outputs):
    verdict = judge(oracle, {variant: Returned(outputs)})[variant].verdict
    return verdict in (Verdict.CONFORMS, Verdict.UNDEFINED)


@pytest.mark.parametrize(
    "case",
    [case if number % 3 == 0 else pytest.param(case, marks=pytest.mark.long) for number, case in enumerate(SMALL)],
    ids=lambda case: case.id,
)
def test_of_all_values_of_the_input_those_that_the_judge_takes(case):
    oracle = case.oracle()
    (right,) = expected(case, Y_ONLY)
    Y = right["Y"]
    assert Y.reference.shape == oracle.shape
    for at in np.ndindex(oracle.shape):
        if oracle.pooled.undefined[at]:
            assert Y.is_open[at]
            continue
        every = [*case.X.tensor().reshape(-1), *([-np.inf, np.nan] if case.X.dtype.kind == "f" else [])]
        for value in every:
            changed = oracle.pooled.Y.copy()
            changed[at] = value
            assert Y.right(changed, is_signed=True)[at] == conforms(oracle, Y_ONLY, {"Y": changed}), (at, value)


def test_ties_and_nan_leave_several_and_sonnx_one():
    by_id = {case.id: case for case in shipped().cases}
    sonnx = next(case for name, case in by_id.items() if name.startswith("edge/ties-sonnx:"))
    for case, several in ((by_id["edge/ties:one-axis"], True), (sonnx, False)):
        (right,) = expected(case, WITH_INDICES)
        assert right["Indices"].has_several(is_signed=True) == several, case.id


def test_the_terms_of_the_target_are_those_of_its_layout():
    case = next(
        each for each in shipped().cases
        if each.id.startswith("nhwc/") and isinstance(each.resolved, Pooling) and each.X.shape[-1] > 1 and each.X.ndim == 4
    )  # fmt: skip
    oracle = case.oracle()
    core = oracle.pooled.Y
    assert (expected(case, Y_ONLY)[0]["Y"].reference == core).all()
    assert (expected(case, Y_ONLY, "tensorflow")[0]["Y"].reference == np.moveaxis(core, 1, -1)).all()


def test_the_outputs_of_the_reference_are_accepted_of_graphs():
    for case in itertools.islice(generate("onnx-22", 7, graphs=1), 150):
        oracle = case.oracle()
        variant = {("Y",): Y_ONLY, ("Indices",): INDICES_ONLY}.get(case.outputs, WITH_INDICES)
        right, outputs = expected(case, variant)[0], oracle.expected
        assert list(right) == [*variant.outputs, *case.context.side_outputs]
        for name, each in right.items():
            assert (each.reference.dtype, each.reference.shape) == (outputs[name].dtype, outputs[name].shape)
            assert (each.is_open | same(outputs[name], each.reference)).all()
