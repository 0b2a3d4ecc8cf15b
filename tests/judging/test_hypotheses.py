"""Mistakes in the whole result: made with other attributes, and found by the comparison."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from maxpool_check.judging.comparison import compare
from maxpool_check.specifications.specification import Refused
from tests.judging.oracles import BOTH, oracle_for, outputs_of


def turned(name):
    return lambda attributes: {name: attributes[name][::-1]}


def pads(*order):
    return lambda attributes: {"pads": [attributes["pads"][place] for place in order]}


MISTAKES = {
    "pads-interleaved": pads(0, 2, 1, 3),
    "pads-begin-end-exchanged": pads(2, 3, 0, 1),
    "pads-axes-exchanged": pads(1, 0, 3, 2),
    "strides-axes-exchanged": turned("strides"),
    "kernel-axes-exchanged": turned("kernel_shape"),
    "dilation-axes-exchanged": turned("dilations"),
    "dilation-ignored": lambda attributes: {"dilations": [1, 1]},
    "ceil-floor-exchanged": lambda attributes: {"ceil_mode": 1 - attributes["ceil_mode"]},
}


def permutation(*shape):
    return np.random.default_rng(5).permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)


@st.composite
def cases(draw):
    """X of different values, in no order, and attributes of two axes that any mistake makes others of."""
    pair = lambda low, high: st.tuples(st.integers(low, high), st.integers(low, high)).map(list)  # noqa: E731
    kernel = draw(pair(1, 3))
    attributes = {
        "kernel_shape": kernel,
        "strides": draw(pair(1, 3)),
        "dilations": draw(pair(1, 2)),
        "pads": [draw(st.integers(0, kernel[axis % 2] - 1)) for axis in range(4)],
        "ceil_mode": draw(st.integers(0, 1)),
        "storage_order": draw(st.integers(0, 1)),
    }
    shape = (*draw(pair(1, 2)), *draw(pair(5, 9)))
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).permutation(int(np.prod(shape)))
    return order.reshape(shape).astype(np.float32), attributes


def oracles(X, *attributes):
    try:
        return [oracle_for(X, **each) for each in attributes]
    except Refused:
        assume(False)


@pytest.mark.parametrize("kind", MISTAKES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_a_mistake_in_the_windows_is_a_cause_and_none_with_one_more_wrong_cell(kind, data):
    X, attributes = data.draw(cases())
    right, mistaken = oracles(X, attributes, {**attributes, **MISTAKES[kind](attributes)})
    # What comes of a window without a cell explains nothing.
    assume(not right.pooled.empty.any() and not mistaken.pooled.empty.any())
    wrong = outputs_of(mistaken)
    compared = compare(right, wrong, BOTH)
    assume(compared.wrong)
    assert kind in {cause.kind for cause in compared.causes if cause.output is None}, compared.causes
    if len(compared.causes) == 1 and sum(wrong.cells is None or wrong.cells.sum() > 2 for wrong in compared.wrong):
        assert set(compared.kinds) == {kind}
    assume(wrong["Y"].size > 1)
    wrong["Y"][tuple(data.draw(st.integers(0, size - 1)) for size in wrong["Y"].shape)] = -1000.5
    assert kind not in {cause.kind for cause in compare(right, wrong, BOTH).causes}


def wrong_outputs(X, **attributes):
    return outputs_of(oracle_for(X, **attributes))


PLANES, CUBE, BATCHES = permutation(1, 2, 5, 6), permutation(1, 1, 4, 5, 6), permutation(2, 1, 3, 3)
EXCHANGED = wrong_outputs(PLANES, strides=[2, 1])
UPPER, LOWER = ({"kernel_shape": [2, 4], "strides": [1, 2], "auto_pad": f"SAME_{name}"} for name in ("UPPER", "LOWER"))
TURNED = wrong_outputs(CUBE, kernel_shape=[3, 1, 2])


@pytest.mark.parametrize(
    ("X", "attributes", "wrong", "causes"),
    [
        (PLANES, LOWER, wrong_outputs(PLANES, **UPPER), [("same-upper-lower-exchanged", None)]),
        # Three axes in any order.
        (CUBE, {"kernel_shape": [1, 2, 3]}, TURNED, [("kernel-axes-exchanged", None)]),
        # Two mistakes, one in the windows and one in the numbers.
        (
            PLANES,
            {"strides": [1, 2]},
            {**EXCHANGED, "Indices": EXCHANGED["Indices"] % 30},
            [("strides-axes-exchanged", "Y"), ("indices-plane-relative", "Indices")],
        ),
        # A shape of another batch, and zeros of the wrong sign, have no cause.
        (BATCHES, {}, {name: value[:1] for name, value in wrong_outputs(BATCHES).items()}, []),
        (np.array([[[-0.0, 0.0, 0.0]]]), {"pads": [1, 0]}, {"Y": np.zeros((1, 1, 3))}, []),
    ],
)
def test_mistakes(X, attributes, wrong, causes):
    compared = compare(oracle_for(X, **attributes), wrong, tuple(wrong))
    assert [(cause.kind.value, cause.output) for cause in compared.causes] == causes


def test_a_document_that_drops_the_last_window_and_one_that_leaves_it_open():
    X = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
    attributes = {"strides": [3], "pads": [1, 1], "ceil_mode": 1}
    keeps, drops = (oracle_for(X, spec=spec, **attributes) for spec in ("onnx-12", "onnx-22"))
    assert keeps.shape != drops.shape
    assert set(compare(drops, outputs_of(keeps), BOTH).kinds) == {"ceil-clip-exchanged"}
    # Before version 22 both are interpretations of the text.
    compared = compare(keeps, outputs_of(drops), BOTH)
    assert (compared.wrong, compared.interpretations["ceil_clip"]) == ((), ("drops",))
