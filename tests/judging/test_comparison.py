"""Wrong outputs: the comparison finds each in the right cells, under the right kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check.judging.comparison import compare
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
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
    return Oracle(X, specification("onnx-22").pooling(attributes, X.dtype.name, X.shape, policies))


def right(oracle):
    pooled = oracle.pooled
    return {"Y": pooled.Y.copy(), "Indices": pooled.Indices.copy()}


def kinds(comparison):
    return {
        (wrong.output, wrong.kind.value, tuple(map(tuple, np.argwhere(wrong.cells).tolist())))
        for wrong in comparison.wrong
    }


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


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_lowest_for_minus_infinity(name):
    X = np.full((1, 1, 2, 2), -np.inf, NUMPY[name])
    mistakes = wrong_with(oracle_for(X), "Y", (0, 0, 0, 0), lowest(X.dtype))
    assert mistakes == {("Y", "y-lowest-for-neg-inf", ((0, 0, 0, 0),))}


def test_another_number_is_simply_wrong():
    assert wrong_with(oracle_for(X2), "Y", (0, 1, 0, 0), 3) == {("Y", "y-from-outside-window", ((0, 1, 0, 0),))}
    # The lowest finite value is only that kind where -inf is expected.
    assert wrong_with(oracle_for(X2), "Y", (0, 0, 0, 0), lowest(X2.dtype)) == {("Y", "y-not-in-input", ((0, 0, 0, 0),))}


def test_one_bit_is_enough():
    value = np.nextafter(X2[0, 0, 1, 1], np.float32(np.inf))
    assert wrong_with(oracle_for(X2), "Y", (0, 0, 0, 0), value) == {("Y", "y-not-in-input", ((0, 0, 0, 0),))}


def test_nan_where_a_number_is_expected_and_the_reverse():
    assert wrong_with(oracle_for(X2), "Y", (0, 0, 0, 0), np.nan) == {("Y", "y-nan-introduced", ((0, 0, 0, 0),))}
    X = np.array([[[np.nan, 1.0]]])
    assert wrong_with(oracle_for(X), "Y", (0, 0, 0), np.nan) == {("Y", "y-nan-introduced", ((0, 0, 0),))}
    propagates = override(STRICT, {"nan": "propagates"})
    assert wrong_with(oracle_for(X, propagates), "Y", (0, 0, 0), 1.0) == {("Y", "y-nan-dropped", ((0, 0, 0),))}


def test_the_payload_of_a_nan_does_not_count():
    X = np.array([[[np.nan, np.nan]]], np.float32)
    oracle = oracle_for(X, override(STRICT, {"nan": "propagates"}))
    outputs = right(oracle)
    outputs["Y"] = np.array([[[0xFFC00123]]], np.uint32).view(np.float32)
    assert compare(oracle, outputs, BOTH).wrong == ()


def test_the_sign_of_zero_by_policy():
    X = np.array([[[-0.0, 0.0]]])
    assert wrong_with(oracle_for(X), "Y", (0, 0, 0), 0.0) == {("Y", "y-signed-zero", ((0, 0, 0),))}
    oracle = oracle_for(X, OPEN)
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


def test_the_number_of_a_sentinel_is_none_where_no_scan_could_have_kept_it():
    # The second plane of X2 begins at 12, and 12 - 4 - 1 = 7 is the number a kept seed would have there.
    assert wrong_with(oracle_for(X2), "Indices", (0, 1, 0, 0), 7) == {
        ("Indices", "indices-outside-window", ((0, 1, 0, 0),))
    }
    lowest_cells = np.full((1, 2, 3, 4), lowest(X2.dtype))
    assert wrong_with(oracle_for(lowest_cells), "Indices", (0, 1, 0, 0), 7) == {
        ("Indices", "indices-sentinel", ((0, 1, 0, 0),))
    }


def test_a_negative_index_is_a_sentinel_wherever_it_is():
    assert wrong_with(oracle_for(X2), "Indices", (0, 0, 0, 0), -1) == {("Indices", "indices-sentinel", ((0, 0, 0, 0),))}


def test_a_cell_of_another_batch_is_outside_the_window():
    X = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4)
    assert wrong_with(oracle_for(X), "Indices", (1, 0, 0, 0), 5) == {
        ("Indices", "indices-outside-window", ((1, 0, 0, 0),))
    }


def test_indices_out_of_range_outside_the_window_and_not_at_the_maximum():
    oracle = oracle_for(X2)
    assert wrong_with(oracle, "Indices", (0, 0, 0, 0), 24) == {("Indices", "indices-out-of-range", ((0, 0, 0, 0),))}
    # The next column, the row below, the same place in the other channel, and a cell that dilation skips.
    for number in (2, 9, 17):
        assert wrong_with(oracle, "Indices", (0, 0, 0, 0), number) == {
            ("Indices", "indices-outside-window", ((0, 0, 0, 0),))
        }
    assert wrong_with(oracle, "Indices", (0, 0, 0, 0), 4) == {
        ("Indices", "indices-in-window-not-maximum", ((0, 0, 0, 0),))
    }
    dilated = oracle_for(np.arange(5, dtype=np.float32).reshape(1, 1, 5), dilations=[2])
    assert wrong_with(dilated, "Indices", (0, 0, 0), 1) == {("Indices", "indices-outside-window", ((0, 0, 0),))}


def test_a_zero_that_is_not_in_the_window_is_wrong_whatever_the_policy():
    for zero in (-0.0, 0.0):
        X = np.full((1, 1, 2), zero)
        assert wrong_with(oracle_for(X, OPEN), "Y", (0, 0, 0), -zero) == {("Y", "y-signed-zero", ((0, 0, 0),))}


def test_any_zero_may_be_the_chosen_one_where_any_of_equal_maxima_may():
    oracle = oracle_for(np.array([[[-0.0, 0.0]]]), override(OPEN, {"zero_sign": "chosen"}))
    outputs = {"Y": np.array([[[0.0]]]), "Indices": np.array([[[1]]])}
    assert compare(oracle, outputs, BOTH).wrong == ()


@pytest.mark.parametrize(("interpretation", "right_index"), [("propagates-first", 0), ("propagates-last", 1)])
def test_which_nan_is_chosen_by_the_stricter_interpretations(interpretation, right_index):
    oracle = oracle_for(np.array([[[np.nan, np.nan]]]), override(OPEN, {"nan": interpretation}))
    for index in (0, 1):
        outputs = {"Y": np.array([[[np.nan]]]), "Indices": np.array([[[index]]])}
        assert (compare(oracle, outputs, BOTH).wrong == ()) is (index == right_index)


def test_a_nan_that_counts_as_minus_infinity_ties_with_one():
    X = np.array([[[-np.inf, np.nan]]])
    oracle = oracle_for(X, override(OPEN, {"nan": "as-neg-inf"}))
    for index in (0, 1):
        outputs = {"Y": np.array([[[-np.inf]]]), "Indices": np.array([[[index]]])}
        assert compare(oracle, outputs, BOTH).wrong == ()
    assert wrong_with(oracle_for(X), "Indices", (0, 0, 0), 1) == {("Indices", "indices-tie-last", ((0, 0, 0),))}


def test_a_number_that_no_interpretation_gives_is_not_blamed_on_nan():
    assert wrong_with(oracle_for(np.array([[[np.nan, 1.0]]])), "Y", (0, 0, 0), 7.0) == {
        ("Y", "y-not-in-input", ((0, 0, 0),))
    }


def test_another_of_equal_maxima_by_policy():
    X = np.full((1, 1, 2, 2), 7, np.int8)
    assert wrong_with(oracle_for(X), "Indices", (0, 0, 0, 0), 3) == {("Indices", "indices-tie-last", ((0, 0, 0, 0),))}
    oracle = oracle_for(X, OPEN)
    outputs = right(oracle)
    outputs["Indices"][:] = 3
    compared = compare(oracle, outputs, BOTH)
    assert compared.wrong == ()
    assert [wrong.kind for wrong in compared.information] == [DivergenceKind.INDICES_TIE_LAST]


def test_where_nan_is_open_the_index_must_go_with_the_value():
    X = np.array([[[np.nan, 3.0, np.nan]]])
    oracle = oracle_for(X, OPEN, kernel_shape=[3])

    def kinds_of(value, index):
        outputs = {"Y": np.array([[[value]]]), "Indices": np.array([[[index]]])}
        return [wrong.kind.value for wrong in compare(oracle, outputs, BOTH).wrong]

    assert kinds_of(3.0, 1) == kinds_of(np.nan, 0) == kinds_of(np.nan, 2) == []
    assert kinds_of(3.0, 0) == ["indices-disagrees-with-y"]
    assert kinds_of(np.nan, 1) == ["indices-disagrees-with-y"]
    # A value that no interpretation gives is one mistake; an index that some interpretation gives is not another.
    assert kinds_of(-np.inf, 0) == ["y-not-in-input"]
    assert kinds_of(-np.inf, 5) == ["y-not-in-input", "indices-out-of-range"]


def test_a_window_of_nan_may_be_minus_infinity_where_nan_is_open():
    oracle = oracle_for(np.array([[[np.nan, np.nan]]]), OPEN)
    for value in (np.nan, -np.inf):
        outputs = {"Y": np.array([[[value]]]), "Indices": np.array([[[0]]])}
        assert compare(oracle, outputs, BOTH).wrong == ()
    outputs = {"Y": np.array([[[0.0]]]), "Indices": np.array([[[0]]])}
    assert [wrong.kind.value for wrong in compare(oracle, outputs, BOTH).wrong] == ["y-not-in-input"]


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


def test_every_kind_is_described():
    assert set(DESCRIPTIONS) == set(DivergenceKind)
