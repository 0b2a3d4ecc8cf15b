"""Mistakes in the whole result: made with other attributes, and found by the comparison."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from maxpool_check.judging.comparison import compare
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.windows import wrong_geometries
from maxpool_check.reference.policies import Nan, Policies, Tie, ZeroSign
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Refused

BOTH = ("Y", "Indices")
STRICT = Policies(nan=Nan.AS_NEG_INF, tie=Tie.FIRST, zero_sign=ZeroSign.CHOSEN)


def oracle_of(X, attributes, spec="onnx-22"):
    resolved = specification(spec).resolve(attributes, X.dtype.name, X.shape, STRICT)
    if isinstance(resolved, Refused):
        raise resolved
    return Oracle(X, resolved)


def outputs_of(X, attributes, spec="onnx-22"):
    pooled = oracle_of(X, attributes, spec).pooled
    return {"Y": pooled.Y, "Indices": pooled.Indices}


def interleaved(attributes):
    """The pads that a reader of [b1, e1, b2, e2] takes from a list of [b1, b2, e1, e2]."""
    pads = attributes["pads"]
    return {**attributes, "pads": [*pads[::2], *pads[1::2]]}


def turned(name):
    return lambda attributes: {**attributes, name: attributes[name][::-1]}


def exchanged_pads(attributes):
    pads, rank = attributes["pads"], len(attributes["pads"]) // 2
    return {**attributes, "pads": [*pads[rank:], *pads[:rank]]}


def pads_of_the_other_axis(attributes):
    (b1, b2, e1, e2) = attributes["pads"]
    return {**attributes, "pads": [b2, b1, e2, e1]}


MISTAKES = {
    DivergenceKind.PADS_INTERLEAVED: interleaved,
    DivergenceKind.PADS_BEGIN_END_EXCHANGED: exchanged_pads,
    DivergenceKind.PADS_AXES_EXCHANGED: pads_of_the_other_axis,
    DivergenceKind.STRIDES_AXES_EXCHANGED: turned("strides"),
    DivergenceKind.KERNEL_AXES_EXCHANGED: turned("kernel_shape"),
    DivergenceKind.DILATION_AXES_EXCHANGED: turned("dilations"),
    DivergenceKind.DILATION_IGNORED: lambda attributes: {**attributes, "dilations": [1, 1]},
    DivergenceKind.CEIL_FLOOR_EXCHANGED: lambda attributes: {**attributes, "ceil_mode": 1 - attributes["ceil_mode"]},
}


@st.composite
def cases(draw):
    """X of different values, in no order, and attributes of two axes that any mistake makes others of."""
    pair = lambda low, high: st.tuples(st.integers(low, high), st.integers(low, high)).map(list)  # noqa: E731
    kernel, strides, dilations = draw(pair(1, 3)), draw(pair(1, 3)), draw(pair(1, 2))
    pads = [draw(st.integers(0, kernel[axis % 2] - 1)) for axis in range(4)]
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(5, 9)), draw(st.integers(5, 9)))
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).permutation(int(np.prod(shape)))
    attributes = {
        "kernel_shape": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "ceil_mode": draw(st.integers(0, 1)),
        "storage_order": draw(st.integers(0, 1)),
    }
    return order.reshape(shape).astype(np.float32), attributes


@pytest.mark.parametrize("kind", MISTAKES, ids=lambda kind: kind.value)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_a_mistake_in_the_windows_is_a_cause(kind, data):
    X, attributes = data.draw(cases())
    try:
        right, wrong = oracle_of(X, attributes), outputs_of(X, MISTAKES[kind](attributes))
        assume(not right.pooled.empty.any())
        # What comes of a window without a cell explains nothing.
        assume(not oracle_of(X, MISTAKES[kind](attributes)).pooled.empty.any())
    except Refused:
        assume(False)
    compared = compare(right, wrong, BOTH)
    assume(compared.wrong)
    kinds = {cause.kind for cause in compared.causes if cause.output is None}
    assert kind in kinds, compared.causes
    if len(compared.causes) == 1 and sum(wrong.cells is None or wrong.cells.sum() > 2 for wrong in compared.wrong):
        assert set(compared.kinds) == {kind}


@pytest.mark.parametrize("kind", MISTAKES, ids=lambda kind: kind.value)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_one_more_wrong_cell_and_it_is_none(kind, data):
    X, attributes = data.draw(cases())
    try:
        right, wrong = oracle_of(X, attributes), outputs_of(X, MISTAKES[kind](attributes))
    except Refused:
        assume(False)
    assume(wrong["Y"].size > 1)
    at = tuple(data.draw(st.integers(0, size - 1)) for size in wrong["Y"].shape)
    # What a mistake makes a window without a cell may hold anything.
    assume(not oracle_of(X, MISTAKES[kind](attributes)).pooled.empty[at])
    wrong["Y"] = wrong["Y"].copy()
    wrong["Y"][at] = -1000.5
    assert kind not in {cause.kind for cause in compare(right, wrong, BOTH).causes}


@settings(max_examples=150, deadline=None)
@given(cases())
def test_no_mistake_is_the_geometry_itself(case):
    X, attributes = case
    try:
        right = oracle_of(X, attributes)
    except Refused:
        assume(False)
    for kind, geometry in wrong_geometries(right.pooling).wrong:
        starts = [[axis.taps() for axis in axes] for axes in (geometry, right.pooling.geometry)]
        same_taps = all(
            mine[0].shape == own[0].shape and (mine[0] == own[0]).all() and (mine[1] == own[1]).all()
            for mine, own in zip(*starts, strict=True)
        )
        dilations = [axis.dilation for axis in geometry] == [axis.dilation for axis in right.pooling.geometry]
        # Where the padding is not reached, other pads may have the same taps: then nothing is wrong to be explained.
        if same_taps and dilations:
            assert compare(right, {"Y": right.pooled.Y, "Indices": right.pooled.Indices}, BOTH).causes == (), kind


@pytest.mark.parametrize(("auto_pad", "other"), [("SAME_UPPER", "SAME_LOWER"), ("SAME_LOWER", "SAME_UPPER")])
def test_the_other_same(auto_pad, other):
    X = np.random.default_rng(3).permutation(30).reshape(1, 1, 5, 6).astype(np.float32)
    attributes = {"kernel_shape": [2, 4], "strides": [1, 2], "auto_pad": auto_pad}
    compared = compare(oracle_of(X, attributes), outputs_of(X, {**attributes, "auto_pad": other}), BOTH)
    assert [cause.kind for cause in compared.causes] == [DivergenceKind.SAME_UPPER_LOWER_EXCHANGED]


def test_a_document_that_drops_the_last_window_and_one_that_leaves_it_open():
    X = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
    attributes = {"kernel_shape": [2], "strides": [3], "pads": [1, 1], "ceil_mode": 1}
    kept, dropped = (outputs_of(X, attributes, spec) for spec in ("onnx-12", "onnx-22"))
    assert kept["Y"].shape != dropped["Y"].shape
    compared = compare(oracle_of(X, attributes, "onnx-22"), kept, BOTH)
    assert set(compared.kinds) == {DivergenceKind.CEIL_CLIP_EXCHANGED}
    # Before version 22 both are interpretations of the text.
    compared = compare(oracle_of(X, attributes, "onnx-12"), dropped, BOTH)
    assert (compared.wrong, compared.interpretations["ceil_clip"]) == ((), ("drops",))


def test_two_mistakes_one_in_the_windows_and_one_in_the_numbers():
    X = np.random.default_rng(5).permutation(2 * 30).reshape(1, 2, 5, 6).astype(np.float32)
    attributes = {"kernel_shape": [2, 2], "strides": [1, 2]}
    wrong = outputs_of(X, {**attributes, "strides": [2, 1]})
    wrong["Indices"] = wrong["Indices"] % 30
    compared = compare(oracle_of(X, attributes), wrong, BOTH)
    causes = [(cause.kind, cause.output) for cause in compared.causes]
    assert causes == [(DivergenceKind.STRIDES_AXES_EXCHANGED, "Y"), (DivergenceKind.INDICES_PLANE_RELATIVE, "Indices")]


def test_three_axes_in_any_order():
    X = np.random.default_rng(5).permutation(4 * 5 * 6).reshape(1, 1, 4, 5, 6).astype(np.float32)
    attributes = {"kernel_shape": [1, 2, 3]}
    for order in ([2, 1, 3], [3, 1, 2], [3, 2, 1]):
        compared = compare(oracle_of(X, attributes), outputs_of(X, {"kernel_shape": order}), BOTH)
        assert [cause.kind for cause in compared.causes] == [DivergenceKind.KERNEL_AXES_EXCHANGED]


@settings(max_examples=100, deadline=None)
@given(case=cases(), name=st.sampled_from(["float16", "bfloat16"]))
def test_rounding_of_x_explains_the_index_of_another_maximum_as_well(case, name):
    import ml_dtypes

    X, attributes = case
    X = (X / 7).astype(np.float32)
    narrow = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    try:
        right, wrong = oracle_of(X, attributes), outputs_of(X.astype(narrow).astype(np.float32), attributes)
    except Refused:
        assume(False)
    compared = compare(right, wrong, BOTH)
    assume(any(wrong.output == "Y" for wrong in compared.wrong))
    assert DivergenceKind(f"y-rounded-to-{name}") in {cause.kind for cause in compared.causes if cause.output is None}


def test_a_zero_of_the_wrong_sign_is_no_mistake_in_the_windows():
    X = np.zeros((1, 1, 3, 3), np.float32)
    X[0, 0, 0, 0] = -0.0
    right = oracle_of(X, {"kernel_shape": [2, 2], "pads": [1, 0, 0, 0]})
    Y = np.zeros_like(right.pooled.Y)
    compared = compare(right, {"Y": Y}, ("Y",))
    assert compared.causes == ()
    assert set(compared.kinds) == {DivergenceKind.Y_SIGNED_ZERO}


def test_an_answer_of_another_batch_has_a_shape_and_no_cause():
    X = np.arange(18, dtype=np.float32).reshape(2, 1, 3, 3)
    right = oracle_of(X, {"kernel_shape": [2, 2]})
    compared = compare(right, {"Y": right.pooled.Y[:1], "Indices": right.pooled.Indices[:1]}, BOTH)
    assert set(compared.kinds) == {DivergenceKind.SHAPE}
