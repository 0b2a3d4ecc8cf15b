"""ONNX's own MaxPool node tests, from its package."""

import functools
import warnings

import numpy as np
import onnx

import maxpool_check


@functools.cache
def node_tests():
    """The tests of MaxPool alone. Collecting makes the test data of every operator, overflows and all."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases("MaxPool")
    return [case for case in collected if [node.op_type for node in case.model.graph.node] == ["MaxPool"]]


def test_every_node_test():
    for case in node_tests():
        (node,) = case.model.graph.node
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
        for (X,), outputs in case.data_sets:
            pooled = maxpool_check.maxpool(X, spec="onnx-22", **attributes)
            np.testing.assert_array_equal(pooled.Y, outputs[0], case.name, strict=True)
            if len(outputs) > 1:
                np.testing.assert_array_equal(pooled.Indices, outputs[1], case.name, strict=True)


def test_there_are_as_many_as_the_package_ever_had():
    assert len(node_tests()) >= 15
