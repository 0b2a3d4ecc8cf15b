"""ONNX's own MaxPool node tests, from its package."""

import warnings

import numpy as np
import onnx
import pytest
from onnx.backend.test.case.node import collect_testcases

import maxpool_check

with warnings.catch_warnings():
    # Collecting makes the test data of every operator, overflows and all.
    warnings.simplefilter("ignore")
    CASES = [
        case for case in collect_testcases("MaxPool") if [node.op_type for node in case.model.graph.node] == ["MaxPool"]
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node(case):
    (node,) = case.model.graph.node
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
    for (X,), outputs in case.data_sets:
        pooled = maxpool_check.maxpool(X, spec="onnx-22", **attributes)
        np.testing.assert_array_equal(pooled.Y, outputs[0], strict=True)
        if len(outputs) > 1:
            np.testing.assert_array_equal(pooled.Indices, outputs[1], strict=True)


def test_there_are_as_many_as_the_package_ever_had():
    assert len(CASES) >= 15
