"""What a script accepts is what the judge accepts."""

import itertools

import numpy as np
import pytest

from maxpool_check.judging.judge import judge
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reproducing.accepted import accepted, expected
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY
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


def conforms(oracle, variant, outputs):
    verdict = judge(oracle, {variant: Returned(outputs)})[variant].verdict
    return verdict in (Verdict.CONFORMS, Verdict.UNDEFINED)


@pytest.mark.parametrize(
    "case",
    [case if number % 3 == 0 else pytest.param(case, marks=pytest.mark.long) for number, case in enumerate(SMALL)],
    ids=lambda case: case.id,
)
def test_of_all_values_of_the_input_those_that_the_judge_takes(case):
    oracle, variant = case.oracle(), Y_ONLY
    (right,) = accepted(oracle, variant, Layout.CHANNELS_FIRST)
    Y = right["Y"]
    assert Y.shape == oracle.shape
    for number, at in enumerate(np.ndindex(Y.shape)):
        if oracle.pooled.undefined[at]:
            assert Y.cells[number] == ()
            continue
        every = [*case.X.tensor().reshape(-1), *([-np.inf, np.nan] if case.X.dtype.kind == "f" else [])]
        for value in every:
            changed = oracle.pooled.Y.copy()
            changed[at] = value
            listed = any(
                changed[at].tobytes() == right.tobytes() or (right != right and value != value)
                for right in Y.cells[number]
            )
            assert listed == conforms(oracle, variant, {"Y": changed}), (at, value)


def test_ties_and_nan_leave_several_and_sonnx_one():
    by_id = {case.id: case for case in shipped().cases}
    for name, several in (("edge/ties:one-axis", True), ("edge/ties-sonnx:" + _first(by_id, "edge/ties-sonnx"), False)):
        case = by_id[name]
        (right,) = accepted(case.oracle(), WITH_INDICES, Layout.CHANNELS_FIRST)
        assert any(len(values) > 1 for values in right["Indices"].cells) == several, name


def _first(by_id, file):
    return next(name for name in by_id if name.startswith(f"{file}:")).partition(":")[2]


def test_the_terms_of_the_runtime_are_channels_first():
    case = next(
        each for each in shipped().cases
        if each.id.startswith("nhwc/") and isinstance(each.resolved, Pooling) and each.X.shape[-1] > 1 and each.X.ndim == 4
    )  # fmt: skip
    oracle = case.oracle()
    Y = expected(oracle, WITH_INDICES, Layout.CHANNELS_FIRST)["Y"]
    assert (Y == np.moveaxis(oracle.pooling.layout.from_core(oracle.pooled.Y), -1, 1)).all()
    right = accepted(oracle, Y_ONLY, Layout.CHANNELS_LAST)[0]["Y"]
    arranged = oracle.pooling.layout.from_core(oracle.pooled.Y)
    assert right.shape == arranged.shape
    for values, cell in itertools.zip_longest(right.cells, arranged.reshape(-1)):
        assert cell in values or cell != cell
