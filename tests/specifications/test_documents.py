"""OpenVINO, com.ms.internal.nhwc, nGraph and XMOS: what their texts say, and what they exclude."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS, specification

X = np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3)
OPENVINO = {"kernel": [2, 2], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
XMOS = {"Y_h": 2, "Y_w": 2, "K_h": 2, "K_w": 2, "W_r0": 0, "W_c0": 0, "W_vert": 1, "W_hori": 1}
IMAGE = np.arange(36, dtype=np.int8).reshape(3, 3, 4)


def refusal(x, spec, attributes):
    with pytest.raises(maxpool_check.Refused) as refused:
        maxpool_check.maxpool(x, spec=spec, **attributes)
    return refused.value.reason.value, refused.value.clause


@pytest.mark.parametrize("axis", range(-4, 4))
def test_openvino_counts_indices_from_the_axis_on(axis):
    whole = maxpool_check.maxpool(X, spec="openvino-8", **OPENVINO).Indices
    bound = int(np.prod(X.shape[axis:] if axis else X.shape))
    counted = maxpool_check.maxpool(X, spec="openvino-8", axis=axis, **OPENVINO).Indices
    assert (counted == whole % bound).all()


def test_openvino_indices_of_32_bits():
    narrow = maxpool_check.maxpool(X, spec="openvino-14", index_element_type="i32", **OPENVINO).Indices
    assert narrow.dtype == np.int32


def test_an_index_that_32_bits_cannot_hold_is_refused_and_one_that_they_can_is_not():
    document, policies = specification("openvino-8"), Policies()
    attributes = {**OPENVINO, "index_element_type": "i32"}
    fits = (1, 1, 2**15, 2**16)
    assert document.resolve(attributes, "int8", fits, policies).numbering.dtype == "int32"
    refused = document.resolve(attributes, "int8", (1, 1, 2**15 + 1, 2**16), policies)
    assert "is too small for the largest index, 2147549183" in str(refused)
    # Counted from the last axis on it fits again.
    assert isinstance(document.resolve({**attributes, "axis": 3}, "int8", (1, 1, 2**16, 2**16), policies), Pooling)


def test_openvino_ceil_keeps_a_window_that_starts_in_the_padding_and_ceil_torch_drops_it():
    attributes = {"kernel": [2], "strides": [2], "pads_begin": [0], "pads_end": [1]}
    row = np.array([[[1, 2, 3, 4]]], np.int32)
    kept = maxpool_check.maxpool(row, spec="openvino-14", rounding_type="ceil", **attributes)
    assert kept.Y.shape == (1, 1, 3)
    assert kept.empty.tolist() == [[[False, False, True]]]
    dropped = maxpool_check.maxpool(row, spec="openvino-14", rounding_type="ceil_torch", **attributes)
    assert dropped.Y.tolist() == [[[2, 4]]]
    assert refusal(row, "openvino-8", {**attributes, "rounding_type": "ceil_torch"})[0] == "invalid-attribute"


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int64", "uint64"])
def test_openvino_takes_every_float_and_integer(dtype):
    assert maxpool_check.maxpool(X.astype(dtype), spec="openvino-8", **OPENVINO).Y.dtype == dtype


@pytest.mark.parametrize(("change", "attribute"), [
    ({"kernel": [0, 1]}, "kernel"), ({"kernel": [2]}, "kernel"), ({"strides": [0, 1]}, "strides"),
    ({"dilations": [0, 1]}, "dilations"), ({"dilations": [1]}, "dilations"), ({"pads_begin": [-1, 0]}, "pads_begin"),
    ({"pads_end": [0]}, "pads_end"), ({"auto_pad": "SAME_UPPER"}, "auto_pad"), ({"rounding_type": "up"}, "rounding_type"),
    ({"axis": 4}, "axis"), ({"axis": -5}, "axis"), ({"index_element_type": "i16"}, "index_element_type"),
])  # fmt: skip
def test_openvino_names_the_attribute_it_refuses(change, attribute):
    reason, clause = refusal(X, "openvino-8", {**OPENVINO, **change})
    assert (reason, clause) == ("invalid-attribute", f"OpenVINO MaxPool-8, attribute {attribute}")


def test_openvino_requires_its_pads_unless_auto_pad_ignores_them():
    for name in OPENVINO:
        incomplete = {key: value for key, value in OPENVINO.items() if key != name}
        assert refusal(X, "openvino-8", incomplete)[1] == f"OpenVINO MaxPool-8, attribute {name}"
    free = {"kernel": [2, 2], "strides": [1, 1], "auto_pad": "valid"}
    ignored = {**free, "pads_begin": [1, 1], "pads_end": [1, 1]}
    assert (
        maxpool_check.maxpool(X, spec="openvino-8", **free).Y.tolist()
        == maxpool_check.maxpool(X, spec="openvino-8", **ignored).Y.tolist()
    )


def test_openvino_has_three_to_five_axes():
    for axes in (2, 6):
        assert refusal(np.zeros((1,) * axes, np.float32), "openvino-8", OPENVINO)[0] == "invalid-shape"


def test_nhwc_is_onnx_11_transposed():
    last = np.moveaxis(X, 1, -1)
    for attributes in ({}, {"ceil_mode": 1, "strides": [2, 2]}, {"auto_pad": "SAME_LOWER"}, {"pads": [1, 0, 0, 1]}):
        first = maxpool_check.maxpool(X, spec="onnx-11", kernel_shape=[2, 2], **attributes)
        ours = maxpool_check.maxpool(last, spec="ort-nhwc-11", kernel_shape=[2, 2], **attributes)
        assert (np.moveaxis(ours.Y, -1, 1) == first.Y).all()
        assert (np.moveaxis(ours.Indices, -1, 1) == first.Indices).all()
        flat = maxpool_check.maxpool(
            last, spec="ort-nhwc-11", policies={"nhwc_index_base": "NHWC-flat"}, kernel_shape=[2, 2], **attributes
        )
        assert (np.ascontiguousarray(last).reshape(-1)[flat.Indices] == flat.Y).all()


def test_nhwc_activation_changes_y_and_not_indices():
    last = np.moveaxis(X, 1, -1) - 20
    plain = maxpool_check.maxpool(last, spec="ort-nhwc-11", kernel_shape=[2, 2])
    for function, parameters, activation in (
        ("Relu", [], lambda y: np.maximum(y, 0)),
        ("Relu", [0.0, float("inf")], lambda y: np.maximum(y, 0)),
        ("Clip", [-3.0, 6.0], lambda y: np.clip(y, -3, 6)),
        ("LeakyRelu", [0.5], lambda y: np.where(y < 0, y / 2, y)),
    ):
        fused = maxpool_check.maxpool(
            last, spec="ort-nhwc-11", kernel_shape=[2, 2], activation=function, activation_params=parameters
        )
        assert (fused.Y == activation(plain.Y)).all()
        assert (fused.Indices == plain.Indices).all()


@pytest.mark.parametrize("attributes", [
    {"activation": "Tanh"}, {"activation": "relu"}, {"activation": "Clip"}, {"activation": "Clip", "activation_params": [1]},
    {"activation": "LeakyRelu", "activation_params": [1, 2]}, {"activation": "Relu", "activation_params": [1]},
    {"activation_params": [1]}, {"activation": "Clip", "activation_params": ["0", "6"]}, {"activation": 1},
])  # fmt: skip
def test_nhwc_refuses_other_activations(attributes):
    reason, _ = refusal(np.moveaxis(X, 1, -1), "ort-nhwc-11", {"kernel_shape": [2, 2], **attributes})
    assert reason == "invalid-attribute"


def test_ngraph_takes_the_maximum_of_its_equation():
    pooled = maxpool_check.maxpool(X, spec="ngraph-0", window_shape=[2, 3], padding_below=[1, 0], padding_above=[0, 1])
    assert pooled.Indices is None
    assert pooled.Y.shape == (2, 2, 3, 2)
    assert pooled.Y[0, 0].tolist() == [[2, 2], [5, 5], [8, 8]]


def test_xmos_windows_are_where_they_are_placed():
    pooled = maxpool_check.maxpool(IMAGE, spec="xmos-maxpool2d", **{**XMOS, "Y_h": 1, "Y_w": 1, "W_r0": 1, "W_c0": 1})
    assert pooled.Y.tolist() == [[[32, 33, 34, 35]]]
    exact = maxpool_check.maxpool(IMAGE, spec="xmos-maxpool2d", X_h=3, X_w=3, X_c=4, **XMOS)
    assert exact.Y[1, 1].tolist() == [32, 33, 34, 35]


@pytest.mark.parametrize(("x", "change", "reason"), [
    (IMAGE, {"Y_h": 3}, "invalid-attribute"), (IMAGE, {"W_c0": 1}, "invalid-attribute"),
    (IMAGE, {"W_r0": -1}, "invalid-attribute"), (IMAGE, {"K_h": 4}, "invalid-attribute"),
    (IMAGE, {"W_vert": 0}, "invalid-attribute"), (IMAGE, {"X_h": 4}, "invalid-attribute"),
    (IMAGE, {"pads": [0, 0]}, "invalid-attribute"), (IMAGE[..., :3], {}, "invalid-shape"), (IMAGE[None], {}, "invalid-shape"),
    (IMAGE.astype(np.uint8), {}, "invalid-type"),
])  # fmt: skip
def test_xmos_refuses(x, change, reason):
    assert refusal(x, "xmos-maxpool2d", {**XMOS, **change})[0] == reason


def test_a_policy_that_a_document_has_no_use_for_is_an_error_that_names_those_it_has():
    with pytest.raises(ValueError, match="has no policy 'nan'"):
        maxpool_check.maxpool(IMAGE, spec="xmos-maxpool2d", policies={"nan": "ignored"}, **XMOS)
    for document in SPECIFICATIONS.values():
        assert ("nhwc_index_base" in document.policies.names()) == (document.name == "ort-nhwc-11")


def test_a_refusal_of_nhwc_names_its_own_page():
    for attributes, x in (({"kernel_shape": [9, 9]}, X), ({"kernel_shape": [2, 2]}, X.astype(np.int8)), ({}, X)):
        _, clause = refusal(x, "ort-nhwc-11", attributes)
        assert clause.startswith("com.ms.internal.nhwc MaxPool-11, ")


def test_the_readings_of_openvino_can_be_overridden():
    valid = {"kernel": [2], "strides": [2], "auto_pad": "valid", "rounding_type": "ceil"}
    row = np.array([[[1, 3, 2]]], np.float32)
    assert maxpool_check.maxpool(row, spec="openvino-8", **valid).Y.tolist() == [[[3, 2]]]
    formula = maxpool_check.maxpool(row, spec="openvino-8", policies={"valid_ceil": "formula"}, **valid)
    assert formula.Y.tolist() == [[[3]]]
    large = {"kernel": [2], "strides": [1], "pads_begin": [2], "pads_end": [0]}
    for spec, attributes in (("openvino-8", large), ("ngraph-0", {"window_shape": [2], "padding_below": [2]})):
        maxpool_check.maxpool(row, spec=spec, **attributes)
        with pytest.raises(maxpool_check.Refused, match="must be smaller than"):
            maxpool_check.maxpool(row, spec=spec, policies={"large_pads": "refused"}, **attributes)


@pytest.mark.parametrize("upper", [True, False])
def test_the_odd_cell_of_openvinos_same(upper):
    same = {"kernel": [2], "strides": [1], "auto_pad": "same_upper" if upper else "same_lower"}
    row = np.array([[[1, 3, 2]]], np.float32)
    assert maxpool_check.maxpool(row, spec="openvino-8", **same).Y.tolist() == [[[3, 3, 2]] if upper else [[1, 3, 3]]]


def test_ngraph_has_no_empty_axes():
    for shape in ((1, 0, 2), (1, 1, 0)):
        assert refusal(np.zeros(shape, np.float32), "ngraph-0", {"window_shape": [1]})[0] == "invalid-shape"
    assert maxpool_check.maxpool(np.zeros((0, 1, 2)), spec="ngraph-0", window_shape=[1]).Y.shape == (0, 1, 2)
