"""OpenVINO, com.ms.internal.nhwc, nGraph and XMOS: what their texts say."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification

X = np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3)
LAST = np.moveaxis(X, 1, -1)
OPENVINO = {"kernel": [2, 2], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
XMOS = {"Y_h": 2, "Y_w": 2, "K_h": 2, "K_w": 2, "W_r0": 0, "W_c0": 0, "W_vert": 1, "W_hori": 1}
IMAGE = np.arange(36, dtype=np.int8).reshape(3, 3, 4)


@pytest.mark.parametrize("axis", range(-4, 4))
def test_openvino_counts_indices_from_the_axis_on(axis):
    whole = maxpool_check.maxpool(X, spec="openvino-8", **OPENVINO).Indices
    bound = int(np.prod(X.shape[axis:] if axis else X.shape))
    counted = maxpool_check.maxpool(X, spec="openvino-8", axis=axis, **OPENVINO).Indices
    assert (counted == whole % bound).all()


def test_openvino_indices_of_32_bits_are_refused_where_they_cannot_hold_one():
    def resolved(shape, **changes):
        return specification("openvino-8").resolve({**OPENVINO, "index_element_type": "i32", **changes}, "int8", shape)

    assert resolved((1, 1, 2**15, 2**16)).numbering.dtype == "int32"
    assert "is too small for the largest index, 2147549183" in str(resolved((1, 1, 2**15 + 1, 2**16)))
    # Counted from the last axis on it fits again.
    assert isinstance(resolved((1, 1, 2**16, 2**16), axis=3), Pooling)


PADDED = {"kernel": [2], "strides": [2], "pads_begin": [0], "pads_end": [1]}
VALID_CEIL = {"kernel": [2], "strides": [2], "auto_pad": "valid", "rounding_type": "ceil"}
SAME = {"kernel": [2], "strides": [1]}


@pytest.mark.parametrize(
    ("spec", "attributes", "policies", "row", "Y"),
    [
        # Ceil keeps a window that starts in the padding, and ceil_torch drops it.
        ("openvino-14", {**PADDED, "rounding_type": "ceil"}, {}, [1, 2, 3, 4], [2, 4, -np.inf]),
        ("openvino-14", {**PADDED, "rounding_type": "ceil_torch"}, {}, [1, 2, 3, 4], [2, 4]),
        ("openvino-8", VALID_CEIL, {}, [1, 3, 2], [3, 2]),
        ("openvino-8", VALID_CEIL, {"valid_ceil": "formula"}, [1, 3, 2], [3]),
        # The odd cell of same, and pads that auto_pad ignores.
        ("openvino-8", {**SAME, "auto_pad": "same_upper"}, {}, [1, 3, 2], [3, 3, 2]),
        ("openvino-8", {**SAME, "auto_pad": "same_lower"}, {}, [1, 3, 2], [1, 3, 3]),
        ("openvino-8", {**SAME, "auto_pad": "valid"}, {}, [1, 3, 2], [3, 3]),
        ("openvino-8", {**SAME, "auto_pad": "valid", "pads_begin": [1], "pads_end": [1]}, {}, [1, 3, 2], [3, 3]),
        ("ngraph-0", {"window_shape": [2], "padding_below": [1]}, {}, [1, 3, 2], [1, 3, 3]),
        ("ngraph-0", {"window_shape": [2], "padding_above": [1]}, {}, [1, 3, 2], [3, 3, 2]),
        # ONNX drops a window that starts in the end padding from version 22 on, and ignores pads beside auto_pad.
        *(
            (
                f"onnx-{since}",
                {"kernel_shape": [1], "strides": [2], "pads": [0, 1], "ceil_mode": 1},
                {},
                [1, 3, 2, 4],
                Y,
            )
            for since, Y in ((10, [1, 2, -np.inf]), (11, [1, 2, -np.inf]), (12, [1, 2, -np.inf]), (22, [1, 2]))
        ),
        ("onnx-22", {"kernel_shape": [2], "auto_pad": "SAME_LOWER", "pads": [1, 1]}, {}, [1, 3, 2], [1, 3, 3]),
    ],
)
def test_y(spec, attributes, policies, row, Y):
    pooled = maxpool_check.maxpool(np.array([[row]], np.float32), spec=spec, policies=policies, **attributes)
    assert np.where(pooled.empty, -np.inf, pooled.Y).tolist() == [[Y]]


def test_documents_without_indices_have_none():
    assert maxpool_check.maxpool(X, spec="ngraph-0", window_shape=[2, 3]).Indices is None
    assert maxpool_check.maxpool(X, spec="onnx-1", kernel_shape=[2, 2]).Indices is None
    assert maxpool_check.maxpool(X[:0], spec="ngraph-0", window_shape=[1, 1]).Y.shape == (0, 2, 3, 3)


@pytest.mark.parametrize(
    "attributes", [{}, {"ceil_mode": 1, "strides": [2, 2]}, {"auto_pad": "SAME_LOWER"}, {"pads": [1, 0, 0, 1]}]
)
def test_nhwc_is_onnx_11_transposed(attributes):
    attributes = {"kernel_shape": [2, 2], **attributes}
    first = maxpool_check.maxpool(X, spec="onnx-11", **attributes)
    ours = maxpool_check.maxpool(LAST, spec="ort-nhwc-11", **attributes)
    assert (np.moveaxis(ours.Y, -1, 1) == first.Y).all()
    assert (np.moveaxis(ours.Indices, -1, 1) == first.Indices).all()
    flat = maxpool_check.maxpool(LAST, spec="ort-nhwc-11", policies={"nhwc_index_base": "NHWC-flat"}, **attributes)
    assert (LAST.reshape(-1)[flat.Indices] == flat.Y).all()


@pytest.mark.parametrize(
    ("function", "parameters", "activation"),
    [
        ("Relu", [], lambda y: np.maximum(y, 0)),
        ("Relu", [0.0, float("inf")], lambda y: np.maximum(y, 0)),
        ("Clip", [-3.0, 6.0], lambda y: np.clip(y, -3, 6)),
        ("LeakyRelu", [0.5], lambda y: np.where(y < 0, y / 2, y)),
    ],
)
def test_nhwc_activation_changes_y_and_not_indices(function, parameters, activation):
    fused = {"activation": function, "activation_params": parameters}
    plain, fused = (
        maxpool_check.maxpool(LAST - 20, spec="ort-nhwc-11", kernel_shape=[2, 2], **each) for each in ({}, fused)
    )
    assert (fused.Y == activation(plain.Y)).all()
    assert (fused.Indices == plain.Indices).all()


def test_xmos_windows_are_where_they_are_placed():
    pooled = maxpool_check.maxpool(IMAGE, spec="xmos-maxpool2d", **{**XMOS, "Y_h": 1, "Y_w": 1, "W_r0": 1, "W_c0": 1})
    assert pooled.Y.tolist() == [[[32, 33, 34, 35]]]
    exact = maxpool_check.maxpool(IMAGE, spec="xmos-maxpool2d", X_h=3, X_w=3, X_c=4, **XMOS)
    assert exact.Y[1, 1].tolist() == [32, 33, 34, 35]
