"""Points that a document leaves open: every interpretation conforms, and nothing else does."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check import Refused, case, judge

SONNX = {
    "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0], "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
}  # fmt: skip
NAN, INF = np.nan, np.inf


def verdict(case, Y, Indices=None, dtype=np.float32):
    outputs = {"Y": np.array(Y, dtype)}
    if Indices is not None:
        outputs["Indices"] = np.array(Indices, np.int64)
    return judge(case, outputs).verdict


@pytest.mark.parametrize(("dtype", "value"), [("float16", -INF), ("float32", -INF), ("int8", -128), ("uint8", 0)])
def test_a_window_of_padding_has_the_value_of_the_padding_under_sonnx_and_any_index(dtype, value):
    X = np.array([[[[5]]]], dtype)
    over_x = case(X, spec="sonnx", **{**SONNX, "kernel_shape": [1, 2], "dilations": [1, 2], "pads": [0, 1, 0, 1]})
    for index in (-1, 0, 77):
        assert verdict(over_x, [[[[value]]]], [[[[index]]]], dtype) == "conforms"
        assert verdict(over_x, [[[[100]]]], [[[[index]]]], dtype) == "diverges"


def test_a_window_of_padding_is_minus_infinity_for_floats_of_openvino_and_undefined_for_integers():
    attributes = {
        "kernel": [2], "strides": [1], "dilations": [2], "pads_begin": [1], "pads_end": [1], "spec": "openvino-8",
    }  # fmt: skip
    floats, integers = (case(np.array([[[5]]], dtype), **attributes) for dtype in ("float32", "int8"))
    assert verdict(floats, [[[-INF]]], [[[0]]]) == "conforms"
    assert verdict(floats, [[[12345]]], [[[0]]]) == "diverges"
    assert verdict(integers, [[[99]]], [[[0]]], np.int8) == "undefined"


def test_a_window_behind_the_declared_padding_has_no_value():
    attributes = {"kernel": [1], "strides": [2], "pads_begin": [0], "pads_end": [0], "rounding_type": "ceil"}
    beyond = case(np.array([[[1, 2]]], np.float32), spec="openvino-8", **attributes)
    assert verdict(beyond, [[[1, 12345]]], [[[0, 0]]]) == "undefined"
    assert verdict(beyond, [[[2, 12345]]], [[[0, 0]]]) == "diverges"


@pytest.mark.parametrize("spec", ["onnx-22", "ort-nhwc-11"])
def test_a_window_of_padding_is_undefined_where_the_document_gives_it_no_value(spec):
    empty = case(np.array([[[5]]], np.float32), spec=spec, kernel_shape=[2], dilations=[2], pads=[1, 1])
    assert verdict(empty, [[[12345]]], [[[0]]]) == "undefined"


def test_under_sonnx_the_index_is_that_of_a_cell_that_equals_y():
    X = np.array([[[[NAN, -INF, 3], [1, 2, NAN]]]], np.float32)
    before, Y = case(X, spec="sonnx", **{**SONNX, "kernel_shape": [1, 2]}), [[[[-INF, 3], [2, 2]]]]
    assert verdict(before, Y, [[[[1, 2], [4, 4]]]]) == "conforms"
    wrong = judge(before, {"Y": np.array(Y, np.float32), "Indices": np.array([[[[0, 2], [4, 4]]]])})
    assert [kind.value for kind in wrong.kinds] == ["indices-at-nan"]


def test_under_sonnx_a_window_of_nan_has_no_index_or_that_of_any_of_its_cells():
    X = np.full((1, 1, 1, 3), NAN, np.float32)
    nans = case(X, spec="sonnx", **{**SONNX, "kernel_shape": [1, 2]})
    for indices in ([0, 1], [1, 2], [-4, -4], [3, -1]):
        assert verdict(nans, [[[[-INF, -INF]]]], [[[indices]]]) == "conforms"
    assert verdict(nans, [[[[-INF, -INF]]]], [[[[2, 2]]]]) == "diverges"
    assert judge(nans, {"Y": np.full((1, 1, 1, 2), -INF, np.float32), "Indices": np.array([[[[1, 1]]]])}).differences


@pytest.mark.parametrize("spec", ["onnx-10", "onnx-11", "onnx-12"])
def test_before_22_a_last_window_in_the_end_padding_counts_or_not(spec):
    X = np.array([[[1, 2, 3]]], np.float32)
    attributes = {"kernel_shape": [2], "strides": [3], "pads": [0, 1], "ceil_mode": 1}
    before, after = (case(X, spec=version, **attributes) for version in (spec, "onnx-22"))
    assert verdict(before, [[[2]]], [[[1]]]) == "conforms"
    assert verdict(before, [[[2, 77]]], [[[1, 0]]]) == "undefined"
    assert verdict(after, [[[2]]], [[[1]]]) == "conforms"
    assert verdict(after, [[[2, 77]]], [[[1, 0]]]) == "diverges"


def test_negative_padding_of_same_crops_or_not():
    X = np.array([[[3, 1, 2, 4]]], np.float32)
    same = case(X, kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER")
    clamps = maxpool_check.maxpool(X, kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER").Y
    assert verdict(same, clamps) == "conforms"
    assert verdict(same, [[[9, 9]]]) == "diverges"


def test_an_output_of_size_0_is_the_formulas_count_or_a_refusal():
    X = np.array([[[1, 2]]], np.float32)
    empty = case(X, kernel_shape=[3], strides=[2])
    assert verdict(empty, np.zeros((1, 1, 0)), np.zeros((1, 1, 0))) == "conforms"
    assert judge(empty, ValueError("no window")).verdict == "conforms"
    invented = judge(empty, {"Y": np.array([[[2]]], np.float32), "Indices": np.array([[[1]]])})
    assert [kind.value for kind in invented.kinds] == ["truncated-division"]
    rounded_up = case(X, kernel_shape=[3], strides=[2], ceil_mode=1)
    assert verdict(rounded_up, [[[2]]], [[[1]]]) == "conforms"
    with pytest.raises(Refused):
        maxpool_check.maxpool(X, kernel_shape=[5], strides=[2])


def test_ngraph_may_refuse_a_window_larger_than_the_input_without_its_padding():
    padded = case(np.array([[[1, 2]]], np.float32), spec="ngraph-0", window_shape=[3], padding_below=[1])
    assert verdict(padded, [[[2]]]) == "conforms"
    assert judge(padded, ValueError("w <= d")).verdict == "conforms"
    fits = case(np.array([[[1, 2]]], np.float32), spec="ngraph-0", window_shape=[2], padding_below=[1])
    assert judge(fits, ValueError("w <= d")).verdict == "refuses"


def test_an_activation_without_a_meaning_is_refused_or_not_judged():
    tanh = case(
        np.ones((1, 2, 1), np.float32),
        spec="ort-nhwc-11",
        kernel_shape=[2],
        activation="Tanh",
        expect={"refuse": "invalid-attribute"},
    )
    assert judge(tanh, ValueError("Tanh")).verdict == "conforms"
    assert verdict(tanh, [[[0.76]]], [[[0]]]) == "undefined"


def test_ties_and_points_are_named_with_their_interpretations():
    policies = {
        name: case(np.ones((1, 1, 2), "f4"), spec=name, kernel_shape=[2]).policies.names()
        for name in ("onnx-12", "onnx-22")
    }
    assert (
        policies["onnx-12"]["ceil_clip"]
        == policies["onnx-12"]["zero_size"]
        == policies["onnx-12"]["same_clamp"]
        == "either"
    )
    assert "ceil_clip" not in policies["onnx-22"]
