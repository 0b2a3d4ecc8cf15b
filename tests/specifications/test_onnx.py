"""ONNX's versions: defaults, rounding, auto_pad, outputs."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import maxpool_check
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification
from maxpool_check.specifications.onnx import VERSIONS

BY_SINCE = {version.since: version for version in VERSIONS}


def test_the_versions_are_those_of_the_operator():
    sinces = {onnx.defs.get_schema("MaxPool", opset).since_version for opset in range(1, 27)}
    assert set(BY_SINCE) == sinces


@pytest.mark.parametrize(("name", "document"), [("onnx-21", "onnx-12"), ("onnx-9", "onnx-8"), ("onnx-2", "onnx-1")])
def test_any_operator_set_names_the_version_in_force_there(name, document):
    assert specification(name) is SPECIFICATIONS[document]


def test_the_newest_operator_set_is_that_of_the_onnx_package():
    newest = onnx.defs.onnx_opset_version()
    assert specification(f"onnx-{newest}").name == DEFAULT
    for opset in (0, newest + 1):
        with pytest.raises(
            ValueError, match=f"operator set {opset} is none of those that onnx .* knows, 1 to {newest}"
        ):
            specification(f"onnx-{opset}")


@pytest.mark.parametrize(("name", "hint"), [("onnx", "onnx-22"), ("openvino", "openvino-14"), ("onnx-022", "onnx-22")])
def test_a_name_that_is_none_suggests_one(name, hint):
    with pytest.raises(ValueError, match=f"unknown specification '{name}' .did you mean '{hint}'"):
        specification(name)


def test_maxpool_by_the_operator_set():
    X = np.arange(3, dtype=np.float32).reshape(1, 1, 3)
    attributes = {"kernel_shape": [1], "strides": [2], "ceil_mode": 1, "pads": [0, 0]}
    by_set, by_version = (maxpool_check.maxpool(X, spec=spec, **attributes) for spec in ("onnx-21", "onnx-12"))
    assert (by_set.Y == by_version.Y).all()


@pytest.mark.parametrize("since", BY_SINCE)
def test_attributes_types_and_outputs_are_those_of_the_operator(since):
    schema = onnx.defs.get_schema("MaxPool", since)
    version = BY_SINCE[since]
    assert set(version.attributes) == set(schema.attributes)
    assert version.indices == (len(schema.outputs) == 2)
    (types,) = [constraint for constraint in schema.type_constraints if constraint.type_param_str == "T"]
    names = {"double": "float64", "float": "float32"}
    allowed = {kind.removeprefix("tensor(").removesuffix(")") for kind in types.allowed_type_strs}
    assert set(version.dtypes) == {names.get(name, name) for name in allowed}


def test_onnx_1_has_no_indices():
    assert maxpool_check.maxpool(np.zeros((1, 1, 2), np.float32), spec="onnx-1", kernel_shape=[2]).Indices is None


@pytest.mark.parametrize(("spec", "size"), [("onnx-10", 3), ("onnx-11", 3), ("onnx-12", 3), ("onnx-22", 2)])
def test_a_window_that_starts_in_the_end_padding_is_dropped_from_22_on(spec, size):
    X = np.zeros((1, 1, 4), np.float32)
    pooled = maxpool_check.maxpool(X, spec=spec, kernel_shape=[1], strides=[2], pads=[0, 1], ceil_mode=1)
    assert pooled.Y.shape == (1, 1, size)


def test_pads_beside_auto_pad_do_not_count():
    X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    both = maxpool_check.maxpool(X, kernel_shape=[2, 2], auto_pad="SAME_LOWER", pads=[1, 1, 1, 1])
    alone = maxpool_check.maxpool(X, kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    assert (both.Y == alone.Y).all()


def inferred(shape, **attributes):
    node = helper.make_node("MaxPool", ["X"], ["Y"], **attributes)
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "g", [X], [helper.make_empty_tensor_value_info("Y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    dims = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape.dim
    return tuple(dim.dim_value for dim in dims)


@settings(max_examples=200, deadline=None)
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
