"""The source of a model builds that model."""

import onnx
import pytest

from maxpool_check.graphs.model import build, maxpool_model
from maxpool_check.reproducing.onnx_source import FROM_FILE, attributes_source, model_source, needed_imports
from tests.conftest import shipped


def executed(lines):
    names = {}
    exec("\n".join(["import numpy as np", *needed_imports(lines), *lines]), names)
    return names["model"]


def single(**attributes):
    return maxpool_model(22, attributes, "float32", (1, 1, 3, 3), ("Y", "Indices"))


def test_a_node_keeps_its_attributes_whatever_they_are():
    for attributes in (
        {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [2, 2], "strides": [0, -1]},
        {"kernel_shape": [2, 2], "ceil_mode": 1.5},
        {"kernel_shape": [2, 2], "auto_pad": 'quoted"\\'},
    ):
        data = single(**attributes)
        model = executed(model_source(data))
        node = onnx.load_from_string(data).graph.node[0]
        values = [
            {each.name: onnx.helper.get_attribute_value(each) for each in one.attribute}
            for one in (node, model.graph.node[0])
        ]
        assert values[0] == values[1]
        assert attributes_source(data) is not None


def test_what_cannot_be_built_is_loaded():
    # An empty list has no type in Python.
    assert model_source(single(kernel_shape=[])) == FROM_FILE
    inside = next(case for case in shipped().cases if case.id == "contexts/inside:If-opset-18")
    assert model_source(build(inside.graph, ("Y",)).model) == FROM_FILE


@pytest.mark.parametrize("file", ["pad", "casts", "activations", "dynamic"])
def test_graphs_are_built_with_the_same_nodes(file):
    cases = [case for case in shipped().cases if case.id.startswith(f"contexts/{file}:")][:20]
    for case in cases:
        data = build(case.graph, case.outputs).model
        lines = model_source(data)
        if lines == FROM_FILE:
            continue
        built, model = executed(lines), onnx.load_from_string(data)
        assert [node.op_type for node in built.graph.node] == [node.op_type for node in model.graph.node], case.id
        assert built.ir_version == model.ir_version
        onnx.checker.check_model(built)
