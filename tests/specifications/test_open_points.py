"""Points that a document leaves open: every interpretation conforms, and nothing else does."""

import numpy as np
import pytest

from maxpool_check import case, judge

NAN, INF = np.nan, np.inf
REFUSES = ValueError("no")


def sonnx(X, **attributes):
    rest = {"strides": [1, 1], "pads": [0, 0, 0, 0], "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0}
    return case(X, spec="sonnx", **{"kernel_shape": [1, 2], "dilations": [1, 1], **rest, **attributes})


def padding(dtype):
    return sonnx(np.array([[[[5]]]], dtype), dilations=[1, 2], pads=[0, 1, 0, 1])


def openvino(X, **attributes):
    return case(
        np.array([[X]], attributes.pop("dtype", "f4")),
        spec="openvino-8",
        **{"kernel": [2], "strides": [1], **attributes},
    )


def onnx(X, spec="onnx-22", **attributes):
    return case(np.array([[X]], np.float32), spec=spec, **attributes)


PADS = {"dilations": [2], "pads_begin": [1], "pads_end": [1]}
BEYOND = openvino([1, 2], kernel=[1], strides=[2], pads_begin=[0], pads_end=[0], rounding_type="ceil")
EMPTY = {"kernel_shape": [2], "dilations": [2], "pads": [1, 1]}
MIXED = sonnx(np.array([[[[NAN, -INF, 3], [1, 2, NAN]]]], np.float32))
NANS = sonnx(np.full((1, 1, 1, 3), NAN, np.float32))
LAST = {"kernel_shape": [2], "strides": [3], "pads": [0, 1], "ceil_mode": 1}
SAME = {"kernel_shape": [1], "strides": [3], "auto_pad": "SAME_UPPER"}
ZERO_SIZE = {"kernel_shape": [3], "strides": [2]}
TANH = {"kernel_shape": [2], "activation": "Tanh", "expect": {"refuse": "invalid-attribute"}}
NONE = np.zeros((1, 1, 0))


def ngraph(window):
    return case(np.array([[[1, 2]]], np.float32), spec="ngraph-0", window_shape=[window], padding_below=[1])


@pytest.mark.parametrize(
    ("subject", "outcome", "expected"),
    [
        # A window of padding has the value of the padding under SONNX, and any index,
        *(
            (padding(dtype), ([[[[value]]]], [[[[index]]]]), verdict)
            for dtype, lowest in (("float16", -INF), ("float32", -INF), ("int8", -128), ("uint8", 0))
            for value, index, verdict in ((lowest, -1, "conforms"), (lowest, 77, "conforms"), (100, 0, "diverges"))
        ),
        # for OpenVINO that of -inf for floats; where the document gives it none, it is undefined.
        (openvino([5], **PADS), ([[[-INF]]], [[[0]]]), "conforms"),
        (openvino([5], **PADS, dtype="i1"), ([[[99]]], [[[0]]]), "undefined"),
        (BEYOND, ([[[1, 12345]]], [[[0, 0]]]), "undefined"),
        (BEYOND, ([[[2, 12345]]], [[[0, 0]]]), "diverges"),
        (onnx([5], **EMPTY), ([[[12345]]], [[[0]]]), "undefined"),
        (case(np.array([[[5]]], np.float32), spec="ort-nhwc-11", **EMPTY), ([[[12345]]], [[[0]]]), "undefined"),
        # Under SONNX the index is that of a cell that equals Y; a window of NaN has none, or that of any of its cells.
        (MIXED, ([[[[-INF, 3], [2, 2]]]], [[[[1, 2], [4, 4]]]]), "conforms"),
        (MIXED, ([[[[-INF, 3], [2, 2]]]], [[[[0, 2], [4, 4]]]]), "indices-at-nan"),
        *((NANS, ([[[[-INF, -INF]]]], [[[indices]]]), "conforms") for indices in ([0, 1], [1, 2], [-4, -4], [3, -1])),
        (NANS, ([[[[-INF, -INF]]]], [[[[2, 2]]]]), "diverges"),
        # Before 22 a last window in the end padding counts or not.
        *((onnx([1, 2, 3], f"onnx-{since}", **LAST), ([[[2]]], [[[1]]]), "conforms") for since in (10, 12, 22)),
        *((onnx([1, 2, 3], f"onnx-{since}", **LAST), ([[[2, 77]]], [[[1, 0]]]), "undefined") for since in (10, 12)),
        (onnx([1, 2, 3], **LAST), ([[[2, 77]]], [[[1, 0]]]), "diverges"),
        # Negative padding of same crops or not.
        (onnx([3, 1, 2], **SAME), ([[[3]]],), "conforms"),
        (onnx([3, 1, 2], **SAME), ([[[1]]],), "conforms"),
        (onnx([3, 1, 2], **SAME), ([[[2]]],), "diverges"),
        # An output of size 0 is the formula's count or a refusal.
        (onnx([1, 2], **ZERO_SIZE), (NONE, NONE), "conforms"),
        (onnx([1, 2], **ZERO_SIZE), REFUSES, "conforms"),
        (onnx([1, 2], **ZERO_SIZE), ([[[2]]], [[[1]]]), "truncated-division"),
        # nGraph may refuse a window larger than the input without its padding.
        (ngraph(3), REFUSES, "conforms"),
        (ngraph(2), REFUSES, "refuses"),
        # An activation without a meaning is refused or not judged.
        (case(np.ones((1, 2, 1), np.float32), spec="ort-nhwc-11", **TANH), REFUSES, "conforms"),
        (case(np.ones((1, 2, 1), np.float32), spec="ort-nhwc-11", **TANH), ([[[0.76]]], [[[0]]]), "undefined"),
    ],
)
def test_what_conforms(subject, outcome, expected):
    if isinstance(outcome, tuple):
        dtypes = {"Y": subject.X.dtype, "Indices": np.int64}
        outcome = {name: np.array(value, dtypes[name]) for name, value in zip(dtypes, outcome, strict=False)}
    result = judge(subject, outcome)
    assert expected in (result.verdict, *(kind.value for kind in result.kinds))


def test_open_points_and_the_differences_that_they_allow_are_named():
    old, new = (onnx([1, 1], spec, kernel_shape=[2]).policies.names() for spec in ("onnx-12", "onnx-22"))
    assert {old[name] for name in ("ceil_clip", "zero_size", "same_clamp")} == {"either"}
    assert "ceil_clip" not in new
    assert judge(NANS, {"Y": np.full((1, 1, 1, 2), -INF, np.float32), "Indices": np.array([[[[1, 1]]]])}).differences
