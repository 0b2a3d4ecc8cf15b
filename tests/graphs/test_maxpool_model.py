"""Models of MaxPool alone: the bytes are those that onnx writes."""

import itertools

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from maxpool_check.graphs.model import maxpool_model
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.reference.pooling import Activation, Function

ELEMENTS = {
    "float32": onnx.TensorProto.FLOAT, "float64": onnx.TensorProto.DOUBLE, "float16": onnx.TensorProto.FLOAT16,
    "bfloat16": onnx.TensorProto.BFLOAT16, "int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8,
}  # fmt: skip
INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(
    INTEGERS, st.lists(INTEGERS, min_size=1, max_size=6), st.text("AVS_x", max_size=8), st.floats(width=32)
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["kernel_shape", "strides", "pads", "auto_pad", "ceil_mode", "other"]), VALUES
)


def built_at_once(opset, attributes, dtype, shape, outputs, domain):
    """The model as onnx's helper builds it, node and attributes at once."""
    node = helper.make_node("MaxPool", ["X"], outputs, domain=domain)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    rank = [f"D{axis}" for axis in range(len(shape))]
    types = {"Y": ELEMENTS[dtype], "Indices": onnx.TensorProto.INT64}
    graph = helper.make_graph(
        [node],
        "maxpool",
        [helper.make_tensor_value_info("X", ELEMENTS[dtype], shape)],
        [helper.make_tensor_value_info(name, types[name], rank) for name in outputs],
    )
    imports = [helper.make_opsetid(domain, opset)]
    version = helper.find_min_ir_version_for(imports, ignore_unknown=True)
    return helper.make_model(graph, opset_imports=imports, ir_version=version).SerializeToString()


@given(
    st.integers(7, NEWEST),
    ATTRIBUTES,
    st.sampled_from(sorted(ELEMENTS)),
    st.lists(st.integers(0, 9), max_size=6).map(tuple),
    st.sampled_from([("Y",), ("Y", "Indices")]),
    st.sampled_from(["", "com.ms.internal.nhwc"]),
)
def test_a_model_is_as_onnx_writes_it(opset, attributes, dtype, shape, outputs, domain):
    built = maxpool_model(opset, attributes, dtype, shape, outputs, domain=domain)
    assert built == built_at_once(opset, attributes, dtype, shape, outputs, domain)


def test_the_newest_operator_set_is_that_of_onnx():
    assert onnx.defs.onnx_opset_version() == NEWEST


def test_models_of_different_requests_differ():
    clip = Activation(Function.CLIP, (0.0, 6.0))
    variants = itertools.product(
        (12, 22), ({}, {"kernel_shape": [2]}), ("float32", "float16"), ((1, 1, 4), (1, 1, 5)), (("Y",), ("Y", "Indices")),
        (None, clip, Activation(Function.CLIP, (-0.0, 6.0))), ("", "d"),
    )  # fmt: skip
    models = [maxpool_model(*variant) for variant in variants]
    assert len(set(models)) == len(models) == 192


@pytest.mark.parametrize("value", [[], [True, False]])
def test_lists_that_onnx_cannot_type_are_integers(value):
    (attribute,) = (
        onnx.load_from_string(maxpool_model(22, {"pads": value}, "float32", (1, 1, 1), ("Y",))).graph.node[0].attribute
    )
    assert (attribute.type, list(attribute.ints)) == (onnx.AttributeProto.INTS, [int(flag) for flag in value])


def test_an_empty_list_of_floats_has_their_type():
    model = maxpool_model(11, {"activation_params": []}, "float32", (1, 1, 1), ("Y",), domain="com.ms.internal.nhwc")
    (attribute,) = onnx.load_from_string(model).graph.node[0].attribute
    assert (attribute.type, list(attribute.floats)) == (onnx.AttributeProto.FLOATS, [])
