"""The flags of a defect's conditions that tell the kernels of onnx's ReferenceEvaluator apart."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check.corpus.conditions import Features, meets
from maxpool_check.judging.defects import Conditions


def _meets(flag: str, **attributes: object) -> bool:
    X = np.zeros((1, 1, 5, 5), np.float32)
    case = maxpool_check.case(X, spec="onnx-22", kernel_shape=2, **attributes)
    return meets(Conditions(geometry=(flag,)), Features(case))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, True),
        ({"strides": 1, "dilations": 1}, True),
        ({"strides": [1, 2]}, False),
        ({"dilations": [2, 1]}, False),
        ({"pads": 1}, True),
    ],
)
def test_strides_and_dilations_of_1_are_those_that_are_not_written_as_well(attributes, expected):
    assert _meets("strides-and-dilations-of-1", **attributes) == expected


@pytest.mark.parametrize(
    ("auto_pad", "expected"), [("SAME_LOWER", True), ("SAME_UPPER", False), ("VALID", False), ("NOTSET", False)]
)
def test_same_lower_is_not_any_same(auto_pad, expected):
    assert _meets("same-lower", auto_pad=auto_pad) == expected
