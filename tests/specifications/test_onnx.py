"""ONNX's versions: names, attributes, types, outputs, sizes."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import maxpool_check
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification
from maxpool_check.specifications.onnx import VERSIONS

NEWEST = onnx.defs.onnx_opset_version()
SINCES = sorted({onnx.defs.get_schema("MaxPool", opset).since_version for opset in range(1, NEWEST + 1)})


@pytest.mark.parametrize(
    ("name", "document"),
    [("onnx-21", "onnx-12"), ("onnx-9", "onnx-8"), ("onnx-2", "onnx-1"), (f"onnx-{NEWEST}", DEFAULT)],
)
def test_any_operator_set_names_the_version_in_force_there(name, document):
    assert specification(name) is SPECIFICATIONS[document]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("onnx-0", f"operator set 0 is none of those that onnx .* knows, 1 to {NEWEST}"),
        (f"onnx-{NEWEST + 1}", f"operator set {NEWEST + 1} is none of those that onnx .* knows, 1 to {NEWEST}"),
        ("onnx", "unknown specification 'onnx' .did you mean 'onnx-22'"),
        ("openvino", "unknown specification 'openvino' .did you mean 'openvino-14'"),
        ("onnx-022", "unknown specification 'onnx-022' .did you mean 'onnx-22'"),
    ],
)
def test_a_name_that_is_none(name, words):
    with pytest.raises(ValueError, match=words):
        specification(name)


@pytest.mark.parametrize(("since", "version"), list(zip(SINCES, VERSIONS, strict=True)), ids=str)
def test_versions_attributes_types_and_outputs_are_those_of_the_operator(since, version):
    schema = onnx.defs.get_schema("MaxPool", since)
    assert version.since == since
    assert set(version.attributes) == set(schema.attributes)
    assert version.indices == (len(schema.outputs) == 2)
    (types,) = [constraint for constraint in schema.type_constraints if constraint.type_param_str == "T"]
    names = {"double": "float64", "float": "float32"}
    allowed = {kind.removeprefix("tensor(").removesuffix(")") for kind in types.allowed_type_strs}
    assert set(version.dtypes) == {names.get(name, name) for name in allowed}


def inferred(shape, **attributes):
    node = helper.make_node("MaxPool", ["X"], ["Y"], **attributes)
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "g", [X], [helper.make_empty_tensor_value_info("Y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    dims = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape.dim
    return tuple(dim.dim_value for dim in dims)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 9), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2),
    st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]), st.integers(0, 1),
)  # fmt: skip
def test_sizes_are_those_of_onnx_shape_inference(n, k, s, d, b, e, auto_pad, ceil_mode):
    attributes = {"kernel_shape": [k], "strides": [s], "dilations": [d], "ceil_mode": ceil_mode, "auto_pad": auto_pad}
    if auto_pad == "NOTSET":
        attributes["pads"] = [b, e]
    X = np.zeros((1, 1, n), np.float32)
    try:
        shape = maxpool_check.maxpool(X, **attributes).Y.shape
    except maxpool_check.Refused as refused:
        assert refused.reason == "window-larger-than-input"
        return
    if 0 not in shape and (k - 1) * d + 1 <= n + (b + e) * (auto_pad == "NOTSET"):
        # Shape inference divides the negative size of a larger window towards zero.
        assert inferred(X.shape, **attributes) == shape
