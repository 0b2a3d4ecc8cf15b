"""The conditions of a defect: each holds for what it names and not for what it does not."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check.corpus.conditions import concerns, meets, meets_as_variant
from maxpool_check.corpus.features import GEOMETRY, VALUES
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Conditions, Defect, Severity
from maxpool_check.results.variants import variant_named


def features(X=None, spec="onnx-22", **attributes):
    X = np.ones((1, 1, 5, 5), np.float32) if X is None else X
    refused = attributes.pop("refused", None)
    expect = {"expect": {"refuse": refused}} if refused else {}
    return Features(
        maxpool_check.case(X, spec=spec, kernel_shape=attributes.pop("kernel_shape", 2), **attributes, **expect)
    )


def planes(channels, *sizes):
    """Planes whose last axis has 5 cells."""
    return np.ones((1, channels, *sizes, 5), np.float32)


INVALID = {"refused": "invalid-attribute"}

FLAGS = {
    "padding": ({"pads": 1}, {}),
    "dilation": ({"dilations": [2, 1]}, {"dilations": 1}),
    "dilation-over-31-bits": ({"dilations": 2**31, "kernel_shape": 1}, {"dilations": 2**31 - 1, "kernel_shape": 1}),
    "no-dilation": ({}, {"dilations": [2, 1]}),
    "strides": ({"strides": [1, 2]}, {"strides": 1}),
    "strides-and-dilations-of-1": ({}, {"strides": 2}),
    "same": ({"auto_pad": "SAME_UPPER"}, {"auto_pad": "VALID"}),
    "same-of-dilated-kernel": (
        {"auto_pad": "SAME_UPPER", "dilations": 2},
        {"auto_pad": "SAME_UPPER", "dilations": [2, 1], "kernel_shape": [1, 2]},
    ),
    "same-crops": (
        {"auto_pad": "SAME_UPPER", "strides": 4, "X": planes(1, 8)},
        {"auto_pad": "SAME_UPPER", "strides": 2},
    ),
    "same-beside-half-of-kernel": (
        {"auto_pad": "SAME_UPPER", "strides": 2, "kernel_shape": 3, "X": planes(1, 6)},
        {"auto_pad": "SAME_UPPER", "kernel_shape": 3},
    ),
    "unequal-pads": ({"pads": [1, 0, 0, 0]}, {"pads": [1, 0, 1, 0]}),
    "several-images": ({"X": np.zeros((2, 1, 5, 5), np.float32)}, {"X": np.zeros((1, 2, 5, 5), np.float32)}),
    "stride-over-31-bits": ({"strides": [2**31, 1]}, {"strides": [2**31 - 1, 1]}),
    "same-lower": ({"auto_pad": "SAME_LOWER"}, {"auto_pad": "SAME_UPPER"}),
    "valid": ({"auto_pad": "VALID"}, {}),
    "ceil": ({"ceil_mode": 1}, {"ceil_mode": 0}),
    "row-major": ({"storage_order": 0}, {"storage_order": 1}),
    "column-major": ({"storage_order": 1}, {}),
    "explicit-pads": ({"pads": 0}, {}),
    "pads-beside-auto-pad": ({"pads": [1, 0, 0, 0], "auto_pad": "VALID"}, {"pads": 0, "auto_pad": "VALID"}),
    "window-beginning-in-end-padding": (
        {"ceil_mode": 1, "strides": 3, "pads": [0, 0, 1, 1]},
        {"ceil_mode": 1, "strides": 2},
    ),
    "pads-not-smaller-than-kernel": ({"pads": 2}, {"pads": 1}),
    "empty-window": ({"pads": 2}, {"pads": 1}),
    "no-window": ({"kernel_shape": 7, "strides": 3}, {"kernel_shape": 5}),
    "no-cells": ({"X": np.zeros((0, 1, 5, 5), np.float32)}, {}),
    "no-window-of-stride": (
        {"kernel_shape": 6, "strides": 3, "spec": "onnx-22"},
        {"kernel_shape": 5, "strides": 3, "spec": "onnx-22"},
    ),
    "no-channels": ({"X": np.zeros((1, 0, 5, 5), np.float32)}, {"X": np.zeros((0, 1, 5, 5), np.float32)}),
    "rows-padded-or-stride-above-2": ({"pads": [0, 1, 0, 0]}, {"pads": [1, 0, 0, 0], "strides": [3, 2]}),
    "global": ({"kernel_shape": 5}, {"kernel_shape": [5, 4]}),
    "several-cells": ({"kernel_shape": [1, 2]}, {"kernel_shape": 1}),
    "blocks-of-16-channels": ({"X": planes(32, 5)}, {"X": planes(15, 5)}),
    "no-blocks-of-16-channels": ({"X": planes(16, 5, 5)}, {"X": planes(16, 5)}),
    "blocks-of-16-channels-or-no-dilation": ({"X": planes(16, 5), "dilations": 2}, {"X": planes(8, 5), "dilations": 2}),
    "blocks-of-8-channels": ({"X": planes(24, 5)}, {"X": planes(12, 5)}),
    "no-blocks-of-8-channels": ({"X": planes(4, 5)}, {"X": planes(8, 5)}),
    "blocks-of-8-channels-or-no-dilation": ({"X": planes(8, 5), "dilations": 2}, {"dilations": 2}),
    "stride-0": ({"strides": [0, 1], **INVALID}, {"strides": 1}),
    "negative-strides": ({"strides": [-1, 1], **INVALID}, {"strides": [0, 1], **INVALID}),
    "dilation-below-1": ({"dilations": [0, 1], **INVALID}, {"dilations": [2, 1]}),
    "negative-pads": ({"pads": [-1, 0, 0, 0], **INVALID}, {"pads": 1}),
}


def test_every_flag_has_an_example_here():
    assert set(FLAGS) == set(GEOMETRY)


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_of_the_geometry(flag):
    with_flag, without = FLAGS[flag]
    assert meets(Conditions(geometry=(flag,)), features(**with_flag))
    assert not meets(Conditions(geometry=(flag,)), features(**without))


SPECIAL = {
    "neg-inf": ([-np.inf, 1], [np.inf, np.nan]),
    "pos-inf": ([np.inf, 1], [-np.inf, np.nan]),
    "nan": ([np.nan, 1], [np.inf, -np.inf]),
    "lowest": ([np.finfo(np.float32).min, 1], [-np.inf, -1]),
    "negative": ([-1, 1], [0, 1]),
    "subnormal": ([-1e-40, 1], [0, np.finfo(np.float32).tiny]),
    "zeros-of-both-signs": ([-0.0, 0.0], [0.0, 0.0]),
}


def test_every_flag_of_values_has_an_example_here():
    assert set(SPECIAL) == set(VALUES)


@pytest.mark.parametrize("flag", SPECIAL)
def test_a_flag_of_the_values(flag):
    for values, expected in zip(SPECIAL[flag], (True, False), strict=True):
        X = np.ones((1, 1, 2, 2), np.float32)
        X[0, 0, 0] = values
        assert meets(Conditions(values=(flag,)), features(X)) is expected


@pytest.mark.parametrize(
    ("conditions", "X", "expected"),
    [
        (Conditions(), np.ones((1, 1, 3)), True),
        (Conditions(dtypes=("float32", "int8")), np.ones((1, 1, 3), np.int8), True),
        (Conditions(dtypes=("float32",)), np.ones((1, 1, 3), np.int8), False),
        (Conditions(spatial=(1, 3)), np.ones((1, 1, 3)), True),
        (Conditions(spatial=(2,)), np.ones((1, 1, 3)), False),
        (Conditions(channels_multiple_of=16), np.ones((1, 32, 3)), True),
        (Conditions(channels_multiple_of=16), np.ones((1, 17, 3)), False),
        (Conditions(before=("Pad",)), np.ones((1, 1, 3)), False),
        (Conditions(graph=("explicit-pads",)), np.ones((1, 1, 3)), False),
        (Conditions(opset=">=22"), np.ones((1, 1, 3)), True),
        (Conditions(opset="<8"), np.ones((1, 1, 3)), True),
        (Conditions(opset=">22"), np.ones((1, 1, 3)), False),
        (Conditions(refused="invalid-attribute"), np.ones((1, 1, 3)), False),
    ],
)
def test_the_tensor_and_the_graph(conditions, X, expected):
    assert meets(conditions, features(X)) is expected


def test_all_conditions_must_hold():
    both = Conditions(geometry=("dilation", "same"))
    assert meets(both, features(dilations=2, auto_pad="SAME_UPPER"))
    assert not meets(both, features(dilations=2))


@pytest.mark.parametrize(
    ("conditions", "variant", "expected"),
    [
        (Conditions(indices=True), "indices", True),
        (Conditions(indices=True), "y-only", False),
        (Conditions(indices=False), "y-only-optimization-off", True),
        (Conditions(optimization=("basic", "all")), "y-only", True),
        (Conditions(optimization=("basic", "all")), "y-only-optimization-off", False),
        (Conditions(optimization=("off",)), "y-only-optimization-off", True),
    ],
)
def test_the_variant(conditions, variant, expected):
    assert meets_as_variant(conditions, variant_named(variant)) is expected


@pytest.mark.parametrize(
    ("documents", "spec", "expected"),
    [
        ((), "onnx-8", True),
        (("onnx",), "onnx-12", True),
        (("sonnx", "onnx-22"), "onnx-22", True),
        (("onnx-22",), "onnx-12", False),
        (("sonnx", "openvino"), "onnx-12", False),
    ],
)
def test_the_documents(documents, spec, expected):
    defect = Defect("D", "onnxruntime", "t", Severity.CRASH, "m", (), documents=documents)
    assert concerns(defect, features(spec=spec).case) is expected
