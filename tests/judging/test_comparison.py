"""Wrong outputs: the comparison finds each in the right cells, under the right kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check.judging.comparison import compare
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import NUMPY, lowest
from maxpool_check.reference.policies import Nan, Policies, Tie, ZeroSign
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import override

STRICT = Policies(nan=Nan.AS_NEG_INF, tie=Tie.FIRST, zero_sign=ZeroSign.CHOSEN)
OPEN = Policies()
BOTH = ("Y", "Indices")


def oracle_for(X, policies=STRICT, **attributes):
    X = np.asarray(X)
    attributes = {"kernel_shape": [2] * (X.ndim - 2), **attributes}
    return Oracle(X, specification("onnx-22").resolve(attributes, X.dtype.name, X.shape, policies))


def right(oracle):
    pooled = oracle.pooled
    return {"Y": pooled.Y.copy(), "Indices": pooled.Indices.copy()}


def kinds(comparison):
    return {
        (wrong.output, wrong.kind.value, tuple(map(tuple, np.argwhere(wrong.cells).tolist())))
        for wrong in comparison.wrong
    }


def kinds_of(oracle, value, index):
    """The kinds of mistakes where one window gives this value and this index."""
    outputs = {"Y": np.array([[[value]]]), "Indices": np.array([[[index]]])}
    return [wrong.kind.value for wrong in compare(oracle, outputs, BOTH).wrong]


def wrong_with(oracle, output, at, value):
    outputs = right(oracle)
    outputs[output][at] = value
    return kinds(compare(oracle, outputs, BOTH))


X2 = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
NEG_INF = np.full((1, 2, 2, 3), -np.inf, np.float32)


def test_the_right_outputs_conform():
    oracle = oracle_for(X2)
    compared = compare(oracle, right(oracle), BOTH)
    assert compared.wrong == compared.information == ()


NAN_AND_1 = np.array([[[np.nan, 1.0]]])
ZEROS = np.array([[[-0.0, 0.0]]])
PROPAGATES = override(STRICT, {"nan": "propagates"})
LOWEST = np.full((1, 2, 3, 4), lowest(X2.dtype))


@pytest.mark.parametrize(
    ("oracle", "output", "at", "value", "kind"),
    [
        *((oracle_for(np.full((1, 1, 2, 2), -np.inf, NUMPY[name])), "Y", (0, 0, 0, 0), lowest(NUMPY[name]), "y-lowest-for-neg-inf")
          for name in ("float16", "bfloat16", "float32", "float64")),
        (oracle_for(X2), "Y", (0, 1, 0, 0), 3, "y-from-outside-window"),
        # The lowest finite value is only that kind where -inf is expected.
        (oracle_for(X2), "Y", (0, 0, 0, 0), lowest(X2.dtype), "y-not-in-input"),
        # One bit is enough.
        (oracle_for(X2), "Y", (0, 0, 0, 0), np.nextafter(X2[0, 0, 1, 1], np.float32(np.inf)), "y-not-in-input"),
        (oracle_for(X2), "Y", (0, 0, 0, 0), np.nan, "y-nan-introduced"),
        (oracle_for(NAN_AND_1), "Y", (0, 0, 0), np.nan, "y-nan-introduced"),
        (oracle_for(NAN_AND_1, PROPAGATES), "Y", (0, 0, 0), 1.0, "y-nan-dropped"),
        # What no interpretation gives is not blamed on NaN.
        (oracle_for(NAN_AND_1), "Y", (0, 0, 0), 7.0, "y-not-in-input"),
        (oracle_for(ZEROS), "Y", (0, 0, 0), 0.0, "y-signed-zero"),
        # A zero that is not in the window is wrong whatever the policy.
        (oracle_for(np.full((1, 1, 2), -0.0), OPEN), "Y", (0, 0, 0), 0.0, "y-signed-zero"),
        (oracle_for(np.full((1, 1, 2), 0.0), OPEN), "Y", (0, 0, 0), -0.0, "y-signed-zero"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), -1, "indices-sentinel"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 24, "indices-out-of-range"),
        # The next column, the row below, the same place in the other channel, a cell that dilation skips, another batch.
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 2, "indices-outside-window"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 9, "indices-outside-window"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 17, "indices-outside-window"),
        (oracle_for(np.arange(5.0).reshape(1, 1, 5), dilations=[2]), "Indices", (0, 0, 0), 1, "indices-outside-window"),
        (oracle_for(X2.reshape(2, 1, 3, 4)), "Indices", (1, 0, 0, 0), 5, "indices-outside-window"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 4, "indices-in-window-not-maximum"),
        # The second plane begins at 12, and 12 - 4 - 1 = 7 is the number of a kept seed, where a scan could have kept one.
        (oracle_for(X2), "Indices", (0, 1, 0, 0), 7, "indices-outside-window"),
        (oracle_for(LOWEST), "Indices", (0, 1, 0, 0), 7, "indices-sentinel"),
        (oracle_for(np.array([[[-np.inf, np.nan]]])), "Indices", (0, 0, 0), 1, "indices-at-nan"),
        (oracle_for(np.full((1, 1, 2, 2), 7, np.int8)), "Indices", (0, 0, 0, 0), 3, "indices-tie-last"),
    ],
)  # fmt: skip
def test_one_wrong_cell_has_one_kind(oracle, output, at, value, kind):
    assert wrong_with(oracle, output, at, value) == {(output, kind, (at,))}


def test_the_payload_of_a_nan_does_not_count():
    X = np.array([[[np.nan, np.nan]]], np.float32)
    oracle = oracle_for(X, override(STRICT, {"nan": "propagates"}))
    outputs = right(oracle)
    outputs["Y"] = np.array([[[0xFFC00123]]], np.uint32).view(np.float32)
    assert compare(oracle, outputs, BOTH).wrong == ()


def test_the_sign_of_zero_by_policy():
    oracle = oracle_for(ZEROS, OPEN)
    outputs = right(oracle)
    outputs["Y"][:] = 0.0
    compared = compare(oracle, outputs, BOTH)
    assert compared.wrong == ()
    assert [wrong.kind for wrong in compared.information] == [DivergenceKind.Y_SIGNED_ZERO]


@pytest.mark.parametrize(
    ("shape", "order", "sentinel"),
    [
        # base - 1, base - W - 1, base - W * D - D - 1; with storage_order=1: base - 1 - H, base - 1 - H - H * W
        ((2, 2, 5), 0, -1),
        ((2, 2, 3, 4), 0, -4 - 1),
        ((2, 2, 2, 3, 4), 0, -3 * 4 - 4 - 1),
        ((2, 2, 3, 4), 1, -1 - 3),
        ((2, 2, 2, 3, 4), 1, -1 - 2 - 2 * 3),
    ],
)
def test_the_sentinel_is_found_in_every_plane(shape, order, sentinel):
    X = np.full(shape, -np.inf, np.float32)
    oracle = oracle_for(X, storage_order=order)
    plane = int(np.prod(shape[2:]))
    at = (0,) * (len(shape) - 2)
    for n in range(2):
        for c in range(2):
            number = (n * 2 + c) * plane + sentinel
            assert wrong_with(oracle, "Indices", (n, c, *at), number) == {
                ("Indices", "indices-sentinel", ((n, c, *at),))
            }


def test_any_zero_may_be_the_chosen_one_where_any_of_equal_maxima_may():
    assert kinds_of(oracle_for(ZEROS, override(OPEN, {"zero_sign": "chosen"})), 0.0, 1) == []


@pytest.mark.parametrize(("interpretation", "right_index"), [("propagates-first", 0), ("propagates-last", 1)])
def test_which_nan_is_chosen_by_the_stricter_interpretations(interpretation, right_index):
    oracle = oracle_for(np.array([[[np.nan, np.nan]]]), override(OPEN, {"nan": interpretation}))
    for index in (0, 1):
        assert (kinds_of(oracle, np.nan, index) == []) is (index == right_index)


def test_a_nan_that_counts_as_minus_infinity_is_no_cell_that_equals_it():
    X = np.array([[[-np.inf, np.nan]]])
    oracle = oracle_for(X, override(OPEN, {"nan": "as-neg-inf"}))
    assert kinds_of(oracle, -np.inf, 0) == []
    assert kinds_of(oracle, -np.inf, 1) == ["indices-at-nan"]


def test_another_of_equal_maxima_by_policy():
    X = np.full((1, 1, 2, 2), 7, np.int8)
    oracle = oracle_for(X, OPEN)
    outputs = right(oracle)
    outputs["Indices"][:] = 3
    compared = compare(oracle, outputs, BOTH)
    assert compared.wrong == ()
    assert [wrong.kind for wrong in compared.information] == [DivergenceKind.INDICES_TIE_LAST]


def test_where_nan_is_open_the_index_must_go_with_the_value():
    oracle = oracle_for(np.array([[[np.nan, 3.0, np.nan]]]), OPEN, kernel_shape=[3])
    assert kinds_of(oracle, 3.0, 1) == kinds_of(oracle, np.nan, 0) == kinds_of(oracle, np.nan, 2) == []
    assert kinds_of(oracle, 3.0, 0) == ["indices-disagrees-with-y"]
    assert kinds_of(oracle, np.nan, 1) == ["indices-disagrees-with-y"]
    # A value that no interpretation gives is one mistake; an index that some interpretation gives is not another.
    assert kinds_of(oracle, -np.inf, 0) == ["y-not-in-input"]
    assert kinds_of(oracle, -np.inf, 5) == ["y-not-in-input", "indices-out-of-range"]


def test_a_window_of_nan_may_be_minus_infinity_where_nan_is_open():
    oracle = oracle_for(np.array([[[np.nan, np.nan]]]), OPEN)
    assert kinds_of(oracle, np.nan, 0) == kinds_of(oracle, -np.inf, 0) == []
    assert kinds_of(oracle, 0.0, 0) == ["y-not-in-input"]


def test_empty_windows_are_not_judged_and_the_others_are():
    X = np.array([[[5.0, 6.0]]])
    oracle = oracle_for(X, kernel_shape=[2], dilations=[2], pads=[1, 1])
    assert oracle.pooled.empty.tolist() == [[[False, False]]]
    oracle = oracle_for(X[:, :, :1], kernel_shape=[2], dilations=[2], pads=[2, 2])
    assert oracle.pooled.empty.tolist() == [[[False, True, False]]]
    outputs = right(oracle)
    outputs["Y"][0, 0, 1], outputs["Indices"][0, 0, 1] = 99, -77
    assert compare(oracle, outputs, BOTH).wrong == ()
    outputs["Y"][0, 0, 2] = 99
    assert kinds(compare(oracle, outputs, BOTH)) == {("Y", "y-not-in-input", ((0, 0, 2),))}


@pytest.mark.parametrize(
    ("change", "mistakes"),
    [
        (lambda o: {**o, "Y": o["Y"].astype(np.float64)}, [("Y", "dtype")]),
        (lambda o: {**o, "Indices": o["Indices"].astype(np.int32)}, [("Indices", "dtype")]),
        # The same bits, of another type.
        (lambda o: {**o, "Y": o["Y"].view(np.int32)}, [("Y", "dtype")]),
        (lambda o: {**o, "Indices": o["Indices"].view(np.uint64)}, [("Indices", "dtype")]),
        (lambda o: {**o, "Y": o["Y"][..., :1]}, [("Y", "shape")]),
        (lambda o: {**o, "Y": o["Y"][0]}, [("Y", "shape")]),
        (lambda o: {"Y": o["Y"]}, [("Indices", "missing-output")]),
        (lambda o: {}, [("Y", "missing-output"), ("Indices", "missing-output")]),
    ],
)
def test_outputs_that_are_wrong_as_a_whole(change, mistakes):
    oracle = oracle_for(X2)
    compared = compare(oracle, change(right(oracle)), BOTH)
    assert [(wrong.output, wrong.kind.value) for wrong in compared.wrong] == mistakes


def test_outputs_without_indices_are_judged_by_y_alone():
    oracle = oracle_for(X2)
    assert compare(oracle, {"Y": oracle.pooled.Y}, ("Y",)).wrong == ()


def test_the_other_size_of_valid_with_ceil_is_information():
    X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    oracle = oracle_for(X, OPEN, strides=[2, 2], ceil_mode=1, auto_pad="VALID")
    assert oracle.pooled.Y.shape == (1, 1, 2, 2)
    printed = {"Y": np.array([[[[4]]]], np.float32), "Indices": np.array([[[[4]]]])}
    compared = compare(oracle, printed, BOTH)
    assert compared.wrong == ()
    assert {wrong.kind for wrong in compared.information} == {DivergenceKind.CEIL_FLOOR_EXCHANGED}
    printed["Y"][:] = 3
    # Wrong in the terms of the size it has, not for having it.
    assert {wrong.kind for wrong in compare(oracle, printed, BOTH).wrong} == {DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM}
    honours = oracle_for(X, override(OPEN, {"valid_ceil": "honours"}), strides=[2, 2], ceil_mode=1, auto_pad="VALID")
    assert {wrong.kind for wrong in compare(honours, printed, BOTH).wrong} == {DivergenceKind.SHAPE}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_single_change_of_an_output_is_detected(data):
    X = data.draw(
        st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 2.0, np.inf]), min_size=24, max_size=24).map(
            lambda values: np.array(values, np.float32).reshape(2, 1, 3, 4)
        )
    )
    attributes = {
        "pads": data.draw(st.sampled_from([[0, 0, 0, 0], [1, 0, 0, 1]])),
        "storage_order": data.draw(st.integers(0, 1)),
    }
    oracle = oracle_for(X, **attributes)
    outputs = right(oracle)
    output = data.draw(st.sampled_from(BOTH))
    at = tuple(data.draw(st.integers(0, size - 1)) for size in outputs[output].shape)
    value = data.draw(
        st.sampled_from([-np.inf, lowest(X.dtype), -1.0, 0.0, 2.0, np.inf, np.nan])
        if output == "Y"
        else st.integers(-9, 30)
    )
    if outputs[output][at] == value:
        return
    outputs[output][at] = value
    assert [tuple(np.argwhere(wrong.cells)[0]) for wrong in compare(oracle, outputs, BOTH).wrong] == [at]
