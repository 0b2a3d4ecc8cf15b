"""What the documents exclude, by clause and reason."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import IllTyped

X = np.zeros((1, 1, 4, 4), np.float32)
SONNX = {
    "kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0], "auto_pad": "NOTSET",
    "ceil_mode": 0, "storage_order": 0,
}  # fmt: skip


def refusal(x=X, spec="onnx-22", **attributes):
    with pytest.raises(maxpool_check.Refused) as refused:
        maxpool_check.maxpool(x, spec=spec, **attributes)
    return refused.value


@pytest.mark.parametrize(
    ("attributes", "clause"),
    [
        ({}, "kernel_shape"),
        ({"kernel_shape": [2]}, "kernel_shape"),
        ({"kernel_shape": [2, 0]}, "kernel_shape"),
        ({"kernel_shape": [2, -1]}, "kernel_shape"),
        ({"kernel_shape": 2.5}, "kernel_shape"),
        ({"kernel_shape": [2.0, 2.0]}, "kernel_shape"),
        ({"kernel_shape": "2x2"}, "kernel_shape"),
        ({"kernel_shape": [2**63, 2]}, "kernel_shape"),
        ({"kernel_shape": [2, 2], "strides": [0, 1]}, "strides"),
        ({"kernel_shape": [2, 2], "strides": [1]}, "strides"),
        ({"kernel_shape": [2, 2], "dilations": [1, 0]}, "dilations"),
        ({"kernel_shape": [2, 2], "dilations": []}, "dilations"),
        ({"kernel_shape": [2, 2], "pads": [0, 0, 0]}, "pads"),
        ({"kernel_shape": [2, 2], "pads": [0, -1, 0, 0]}, "pads"),
        ({"kernel_shape": [2, 2], "auto_pad": "same_upper"}, "auto_pad"),
        ({"kernel_shape": [2, 2], "auto_pad": 1}, "auto_pad"),
        ({"kernel_shape": [2, 2], "ceil_mode": 2}, "ceil_mode"),
        ({"kernel_shape": [2, 2], "storage_order": -1}, "storage_order"),
        ({"kernel_shape": [2, 2], "storage_order": [0]}, "storage_order"),
    ],
)
def test_invalid_attributes(attributes, clause):
    refused = refusal(**attributes)
    assert refused.reason == "invalid-attribute"
    assert refused.clause == f"ONNX MaxPool-22, attribute {clause}"


def test_an_unknown_attribute_suggests_the_nearest():
    refused = refusal(kernel_shape=[2, 2], stride=[1, 1])
    assert isinstance(refused, IllTyped)
    assert "did you mean 'strides'?" in str(refused)


@pytest.mark.parametrize(
    ("spec", "attributes"),
    [("onnx-1", {"storage_order": 0}), ("onnx-8", {"ceil_mode": 0}), ("onnx-8", {"dilations": [1, 1]})],
)
def test_attributes_that_a_version_does_not_have_yet(spec, attributes):
    assert refusal(spec=spec, kernel_shape=[2, 2], **attributes).reason == "invalid-attribute"


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ("onnx-1", {"float16", "float32", "float64"}),
        ("onnx-8", {"float16", "float32", "float64"}),
        ("onnx-10", {"float16", "float32", "float64"}),
        ("onnx-11", {"float16", "float32", "float64"}),
        ("onnx-12", {"float16", "float32", "float64", "int8", "uint8"}),
        ("onnx-22", {"float16", "float32", "float64", "int8", "uint8", "bfloat16"}),
        ("sonnx", {"float16", "float32", "float64", "int8", "uint8"}),
    ],
)
def test_types(spec, allowed):
    from maxpool_check.reference.dtypes import NUMPY

    for name, dtype in NUMPY.items():
        attributes = SONNX if spec == "sonnx" else {"kernel_shape": [2, 2]}
        if name in allowed:
            assert maxpool_check.maxpool(X.astype(dtype), spec=spec, **attributes).Y.dtype == dtype
        else:
            assert refusal(X.astype(dtype), spec, **attributes).reason == "invalid-type"


@pytest.mark.parametrize("shape", [(), (4,), (4, 4)])
def test_shapes_without_a_spatial_axis(shape):
    assert refusal(np.zeros(shape, np.float32), kernel_shape=[1]).reason == "invalid-shape"


@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [6, 2]},
        {"kernel_shape": [2, 3], "dilations": [1, 4]},
        {"kernel_shape": [6, 6], "auto_pad": "VALID"},
        {"kernel_shape": [6, 6], "ceil_mode": 1},
        {"kernel_shape": [8, 8], "pads": [1, 1, 1, 1]},
    ],
)
def test_a_window_larger_than_the_padded_input(attributes):
    refused = refusal(**attributes)
    assert refused.reason == "window-larger-than-input"
    assert refused.clause == "ONNX MaxPool-22, output shape"


def test_a_window_larger_by_no_more_than_a_stride_gives_the_formulas_count_or_is_refused():
    attributes = {"kernel_shape": [5, 2], "strides": [2, 1]}
    assert maxpool_check.maxpool(X, **attributes).Y.shape == (1, 1, 0, 3)
    assert refusal(policies={"zero_size": "refused"}, **attributes).reason == "window-larger-than-input"


@pytest.mark.parametrize("name", SONNX)
def test_sonnx_r2_every_attribute_is_explicit(name):
    incomplete = {key: value for key, value in SONNX.items() if key != name}
    refused = refusal(spec="sonnx", **incomplete)
    assert (refused.reason, refused.clause) == ("outside-profile", "SONNX MaxPool, R2")
    assert name in str(refused)


@pytest.mark.parametrize(
    ("restriction", "x", "changed"),
    [
        ("R1", X[0], {"kernel_shape": [2], "strides": [1], "dilations": [1], "pads": [0, 0]}),
        ("R3", X, {"auto_pad": "VALID"}),
        ("R3", X, {"auto_pad": "SAME_UPPER"}),
        ("R4", X, {"ceil_mode": 1}),
        ("R5", X, {"storage_order": 1}),
    ],
)
def test_sonnx_restrictions(restriction, x, changed):
    refused = refusal(x, "sonnx", **{**SONNX, **changed})
    assert (refused.reason, refused.clause) == ("outside-profile", f"SONNX MaxPool, {restriction}")


def test_sonnx_leaves_what_is_invalid_in_onnx_invalid():
    assert refusal(spec="sonnx", **{**SONNX, "strides": [0, 1]}).reason == "invalid-attribute"
    assert refusal(spec="sonnx", **{**SONNX, "auto_pad": "FOO"}).reason == "invalid-attribute"


def test_large_pads_are_legal_unless_a_policy_refuses_them():
    attributes = {"kernel_shape": [2, 2], "dilations": [3, 3], "pads": [2, 2, 2, 2]}
    assert maxpool_check.maxpool(X, **attributes).Y.shape == (1, 1, 5, 5)
    with pytest.raises(maxpool_check.Refused):
        maxpool_check.maxpool(X, policies={"large_pads": "refused"}, **attributes)


def test_unknown_documents_and_policies():
    with pytest.raises(ValueError, match="did you mean 'onnx-22'"):
        maxpool_check.maxpool(X, spec="onnx22", kernel_shape=[2, 2])
    with pytest.raises(ValueError, match="unknown policy 'nans'"):
        maxpool_check.maxpool(X, policies={"nans": "ignored"}, kernel_shape=[2, 2])
    with pytest.raises(ValueError, match="no interpretation 'ignore'"):
        maxpool_check.maxpool(X, policies={"nan": "ignore"}, kernel_shape=[2, 2])
    with pytest.raises(ValueError, match="unknown specification"):
        specification("openvino")
