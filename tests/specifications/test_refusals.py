"""What the documents exclude, by clause and reason."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.specifications import SPECIFICATIONS
from tests.specifications.test_documents import IMAGE, OPENVINO, XMOS

X = np.zeros((1, 1, 4, 4), np.float32)
ONNX = {"kernel_shape": [2, 2]}
SONNX = {
    "kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0], "auto_pad": "NOTSET",
    "ceil_mode": 0, "storage_order": 0,
}  # fmt: skip
SONNX_1D = {"kernel_shape": [2], "strides": [1], "dilations": [1], "pads": [0, 0]}

INVALID = {
    "onnx-22": (X, ONNX, {
        "kernel_shape": [None, [2], [2, 0], 2.5, [2.0, 2.0], "2x2", [2**63, 2]], "strides": [[0, 1], [1]],
        "dilations": [[1, 0], []], "pads": [[0, 0, 0], [0, -1, 0, 0]], "auto_pad": ["same_upper", 1], "ceil_mode": [2],
        "storage_order": [-1, [0]],
    }),
    # What is invalid in ONNX stays invalid, and is not outside of the profile.
    "sonnx": (X, SONNX, {"strides": [[0, 1]], "auto_pad": ["FOO"]}),
    "openvino-8": (X, OPENVINO, {
        "kernel": [None, [0, 1], [2]], "strides": [None, [0, 1]], "dilations": [[0, 1], [1]],
        "pads_begin": [None, [-1, 0]], "pads_end": [None, [0]], "auto_pad": ["SAME_UPPER"],
        "rounding_type": ["up", "ceil_torch"], "axis": [4, -5], "index_element_type": ["i16"],
    }),
    "ort-nhwc-11": (X.reshape(1, 4, 4, 1), ONNX, {
        "kernel_shape": [None], "activation": ["Tanh", "relu", "Clip", 1], "activation_params": [[1]],
    }),
    "xmos-maxpool2d": (IMAGE, XMOS, {"Y_h": [3], "W_c0": [1], "W_r0": [-1], "K_h": [4], "W_vert": [0], "X_h": [4]}),
}  # fmt: skip


def refusal(x, spec, attributes, **options):
    with pytest.raises(maxpool_check.Refused) as refused:
        maxpool_check.maxpool(x, spec=spec, **options, **attributes)
    return refused.value


@pytest.mark.parametrize(
    ("spec", "name"), [(spec, name) for spec, (*_, changes) in INVALID.items() for name in changes]
)
def test_an_invalid_attribute_is_named(spec, name):
    x, base, changes = INVALID[spec]
    for value in changes[name]:
        # None: the attribute is missing.
        attributes = {key: entry for key, entry in {**base, name: value}.items() if entry is not None}
        refused = refusal(x, spec, attributes)
        assert refused.reason == "invalid-attribute", value
        if spec in ("onnx-22", "openvino-8"):
            assert refused.clause == f"{SPECIFICATIONS[spec].title}, attribute {name}"


WIDE = {"kernel_shape": [6, 6]}
LARGER = "window-larger-than-input"


@pytest.mark.parametrize(
    ("x", "spec", "attributes", "reason", "clause"),
    [
        # Attributes that a version does not have, or that are others.
        (X, "onnx-1", {**ONNX, "storage_order": 0}, "invalid-attribute", None),
        (X, "ort-nhwc-11", {**ONNX, "activation": "Clip", "activation_params": ["0", "6"]}, "invalid-attribute", None),
        (X, "ort-nhwc-11", {**ONNX, "activation": "LeakyRelu", "activation_params": [1, 2]}, "invalid-attribute", None),
        (IMAGE, "xmos-maxpool2d", {**XMOS, "pads": [0, 0]}, "invalid-attribute", None),
        *((np.zeros(shape), "onnx-22", {"kernel_shape": [1]}, "invalid-shape", None) for shape in ((), (4, 4))),
        *((np.zeros((1,) * rank), "openvino-8", OPENVINO, "invalid-shape", None) for rank in (2, 6)),
        (np.zeros((1, 0, 2)), "ngraph-0", {"window_shape": [1]}, "invalid-shape", None),
        (IMAGE[None], "xmos-maxpool2d", XMOS, "invalid-shape", None),
        (IMAGE.astype(np.uint8), "xmos-maxpool2d", XMOS, "invalid-type", None),
        (X, "onnx-22", {"kernel_shape": [2, 3], "dilations": [1, 4]}, LARGER, "ONNX MaxPool-22, output shape"),
        (X, "onnx-22", {**WIDE, "auto_pad": "VALID"}, LARGER, "ONNX MaxPool-22, output shape"),
        (X[0], "sonnx", {**SONNX, **SONNX_1D}, "outside-profile", "SONNX MaxPool, R1"),
        *((X, "sonnx", {key: SONNX[key] for key in SONNX if key != name}, "outside-profile", "SONNX MaxPool, R2")
          for name in SONNX),
        (X, "sonnx", {**SONNX, "auto_pad": "VALID"}, "outside-profile", "SONNX MaxPool, R3"),
        (X, "sonnx", {**SONNX, "ceil_mode": 1}, "outside-profile", "SONNX MaxPool, R4"),
        (X, "sonnx", {**SONNX, "storage_order": 1}, "outside-profile", "SONNX MaxPool, R5"),
    ],
)  # fmt: skip
def test_what_is_excluded(x, spec, attributes, reason, clause):
    refused = refusal(x, spec, attributes)
    assert (refused.reason, clause or refused.clause) == (reason, refused.clause)


FLOATS = {"float16", "float32", "float64"}


@pytest.mark.parametrize(
    ("spec", "attributes", "allowed"),
    [
        ("onnx-22", ONNX, FLOATS | {"int8", "uint8", "bfloat16"}),
        ("sonnx", SONNX, FLOATS | {"int8", "uint8"}),
        ("openvino-8", OPENVINO, {*NUMPY}),
    ],
)
def test_types(spec, attributes, allowed):
    for name, dtype in NUMPY.items():
        if name in allowed:
            assert maxpool_check.maxpool(X.astype(dtype), spec=spec, **attributes).Y.dtype == dtype
        else:
            assert refusal(X.astype(dtype), spec, attributes).reason == "invalid-type"


@pytest.mark.parametrize(
    ("spec", "attributes", "policies", "shape"),
    [
        # A window larger by no more than a stride, and large pads, which a policy may refuse.
        ("onnx-22", {"kernel_shape": [5, 2], "strides": [2, 1]}, {"zero_size": "refused"}, (1, 1, 0, 3)),
        ("onnx-22", {**ONNX, "dilations": [3, 3], "pads": [2, 2, 2, 2]}, {"large_pads": "refused"}, (1, 1, 5, 5)),
        ("openvino-8", {**OPENVINO, "pads_begin": [2, 0]}, {"large_pads": "refused"}, (1, 1, 5, 3)),
        ("ngraph-0", {"window_shape": [2, 2], "padding_below": [2, 0]}, {"large_pads": "refused"}, (1, 1, 5, 3)),
    ],
)
def test_what_a_policy_excludes(spec, attributes, policies, shape):
    assert maxpool_check.maxpool(X, spec=spec, **attributes).Y.shape == shape
    refusal(X, spec, attributes, policies=policies)


@pytest.mark.parametrize(
    ("x", "spec", "policies", "attributes", "words"),
    [
        (X, "onnx22", {}, ONNX, "did you mean 'onnx-22'"),
        (X, "onnx-22", {}, {**ONNX, "stride": [1, 1]}, "did you mean 'strides'?"),
        (X, "onnx-22", {"nans": "ignored"}, ONNX, "unknown policy 'nans'"),
        (X, "onnx-22", {"nan": "ignore"}, ONNX, "no interpretation 'ignore'"),
        (IMAGE, "xmos-maxpool2d", {"nan": "ignored"}, XMOS, "has no policy 'nan'"),
        (X, "onnx-22", {"nhwc_index_base": "NHWC-flat"}, ONNX, "has no policy 'nhwc_index_base'"),
    ],
)
def test_unknown_documents_policies_and_attributes(x, spec, policies, attributes, words):
    with pytest.raises(ValueError, match=words):
        maxpool_check.maxpool(x, spec=spec, policies=policies, **attributes)
