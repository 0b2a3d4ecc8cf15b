"""What the texts of the documents say, and the files of their clauses."""

import re

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import maxpool_check
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification
from maxpool_check.specifications.clauses import ClauseStatus, clause_files, clauses, clauses_of, edition_name, editions
from maxpool_check.specifications.onnx import VERSIONS

X = np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3)
LAST = np.moveaxis(X, 1, -1)
OPENVINO = {"kernel": [2, 2], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
XMOS = {"Y_h": 2, "Y_w": 2, "K_h": 2, "K_w": 2, "W_r0": 0, "W_c0": 0, "W_vert": 1, "W_hori": 1}
IMAGE = np.arange(36, dtype=np.int8).reshape(3, 3, 4)


@pytest.mark.parametrize("axis", range(-4, 4))
def test_openvino_counts_indices_from_the_axis_on(axis):
    whole = maxpool_check.maxpool(X, spec="openvino-8", **OPENVINO).Indices
    bound = int(np.prod(X.shape[axis:] if axis else X.shape))
    counted = maxpool_check.maxpool(X, spec="openvino-8", axis=axis, **OPENVINO).Indices
    assert (counted == whole % bound).all()


def test_openvino_indices_of_32_bits_are_refused_where_they_cannot_hold_one():
    def resolved(shape, **changes):
        return specification("openvino-8").resolve({**OPENVINO, "index_element_type": "i32", **changes}, "int8", shape)

    assert resolved((1, 1, 2**15, 2**16)).numbering.dtype == "int32"
    assert "is too small for the largest index, 2147549183" in str(resolved((1, 1, 2**15 + 1, 2**16)))
    # Counted from the last axis on it fits again.
    assert isinstance(resolved((1, 1, 2**16, 2**16), axis=3), Pooling)


PADDED = {"kernel": [2], "strides": [2], "pads_begin": [0], "pads_end": [1]}
VALID_CEIL = {"kernel": [2], "strides": [2], "auto_pad": "valid", "rounding_type": "ceil"}
SAME = {"kernel": [2], "strides": [1]}
ONNX_CEIL = {"kernel_shape": [1], "strides": [2], "pads": [0, 1], "ceil_mode": 1}


@pytest.mark.parametrize(
    ("spec", "attributes", "policies", "row", "Y"),
    [
        # Ceil keeps a window that starts in the padding, and ceil_torch drops it.
        ("openvino-14", {**PADDED, "rounding_type": "ceil"}, {}, [1, 2, 3, 4], [2, 4, -np.inf]),
        ("openvino-14", {**PADDED, "rounding_type": "ceil_torch"}, {}, [1, 2, 3, 4], [2, 4]),
        ("openvino-8", VALID_CEIL, {"valid_ceil": "formula"}, [1, 3, 2], [3]),
        # The odd cell of same, and pads that auto_pad ignores.
        ("openvino-8", {**SAME, "auto_pad": "same_upper"}, {}, [1, 3, 2], [3, 3, 2]),
        ("openvino-8", {**SAME, "auto_pad": "same_lower"}, {}, [1, 3, 2], [1, 3, 3]),
        ("openvino-8", {**SAME, "auto_pad": "valid", "pads_begin": [1], "pads_end": [1]}, {}, [1, 3, 2], [3, 3]),
        ("ngraph-0", {"window_shape": [2], "padding_below": [1]}, {}, [1, 3, 2], [1, 3, 3]),
        # ONNX drops a window that starts in the end padding from version 22 on, and ignores pads beside auto_pad.
        ("onnx-12", ONNX_CEIL, {}, [1, 3, 2, 4], [1, 2, -np.inf]),
        ("onnx-22", ONNX_CEIL, {}, [1, 3, 2, 4], [1, 2]),
        ("onnx-22", {"kernel_shape": [2], "auto_pad": "SAME_LOWER", "pads": [1, 1]}, {}, [1, 3, 2], [1, 3, 3]),
    ],
)
def test_y(spec, attributes, policies, row, Y):
    pooled = maxpool_check.maxpool(np.array([[row]], np.float32), spec=spec, policies=policies, **attributes)
    assert np.where(pooled.empty, -np.inf, pooled.Y).tolist() == [[Y]]


def test_documents_without_indices_have_none():
    assert maxpool_check.maxpool(X, spec="ngraph-0", window_shape=[2, 3]).Indices is None
    assert maxpool_check.maxpool(X, spec="onnx-1", kernel_shape=[2, 2]).Indices is None
    assert maxpool_check.maxpool(X[:0], spec="ngraph-0", window_shape=[1, 1]).Y.shape == (0, 2, 3, 3)


@pytest.mark.parametrize(
    "attributes", [{}, {"ceil_mode": 1, "strides": [2, 2]}, {"auto_pad": "SAME_LOWER"}, {"pads": [1, 0, 0, 1]}]
)
def test_nhwc_is_onnx_11_transposed(attributes):
    attributes = {"kernel_shape": [2, 2], **attributes}
    first = maxpool_check.maxpool(X, spec="onnx-11", **attributes)
    ours = maxpool_check.maxpool(LAST, spec="ort-nhwc-11", **attributes)
    assert (np.moveaxis(ours.Y, -1, 1) == first.Y).all()
    assert (np.moveaxis(ours.Indices, -1, 1) == first.Indices).all()
    flat = maxpool_check.maxpool(LAST, spec="ort-nhwc-11", policies={"nhwc_index_base": "NHWC-flat"}, **attributes)
    assert (LAST.reshape(-1)[flat.Indices] == flat.Y).all()


@pytest.mark.parametrize(
    ("function", "parameters", "activation"),
    [
        ("Relu", [0.0, float("inf")], lambda y: np.maximum(y, 0)),
        ("Clip", [-3.0, 6.0], lambda y: np.clip(y, -3, 6)),
        ("LeakyRelu", [0.5], lambda y: np.where(y < 0, y / 2, y)),
    ],
)
def test_nhwc_activation_changes_y_and_not_indices(function, parameters, activation):
    fused = {"activation": function, "activation_params": parameters}
    plain, fused = (
        maxpool_check.maxpool(LAST - 20, spec="ort-nhwc-11", kernel_shape=[2, 2], **each) for each in ({}, fused)
    )
    assert (fused.Y == activation(plain.Y)).all()
    assert (fused.Indices == plain.Indices).all()


def test_xmos_windows_are_where_they_are_placed():
    pooled = maxpool_check.maxpool(IMAGE, spec="xmos-maxpool2d", **{**XMOS, "Y_h": 1, "Y_w": 1, "W_r0": 1, "W_c0": 1})
    assert pooled.Y.tolist() == [[[32, 33, 34, 35]]]
    exact = maxpool_check.maxpool(IMAGE, spec="xmos-maxpool2d", X_h=3, X_w=3, X_c=4, **XMOS)
    assert exact.Y[1, 1].tolist() == [32, 33, 34, 35]


NEWEST = onnx.defs.onnx_opset_version()
SINCES = sorted({onnx.defs.get_schema("MaxPool", opset).since_version for opset in range(1, NEWEST + 1)})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("onnx-0", f"operator set 0 is none of those that onnx .* knows, 1 to {NEWEST}"),
        (f"onnx-{NEWEST + 1}", f"operator set {NEWEST + 1} is none of those that onnx .* knows, 1 to {NEWEST}"),
        ("openvino", "unknown specification 'openvino' .did you mean 'openvino-14'"),
        ("onnx-022", "unknown specification 'onnx-022' .did you mean 'onnx-22'"),
    ],
)
def test_an_operator_set_names_the_version_in_force_there(name, words):
    for opset, document in ((21, "onnx-12"), (9, "onnx-8"), (NEWEST, DEFAULT)):
        assert specification(f"onnx-{opset}") is SPECIFICATIONS[document]
    with pytest.raises(ValueError, match=words):
        specification(name)


@pytest.mark.parametrize(("since", "version"), list(zip(SINCES, VERSIONS, strict=True)))
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


@pytest.mark.parametrize("file", clause_files().values(), ids=list(clause_files()))
def test_a_clause_names_what_exists(file):
    numbers = {erratum.number for erratum in file.errata}
    assert set(file.editions) <= set(SPECIFICATIONS)
    for clause in file.clauses:
        assert re.fullmatch(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+", clause.id)
        assert set(clause.documents) <= set(file.editions), clause.id
        assert set(clause.origin) <= {each.id for each in file.clauses}, clause.id
        assert clause.states.endswith("."), clause.id
        assert (clause.status is ClauseStatus.INFORMATIVE) == bool(clause.reason), clause.id
        assert clause.erratum is None or clause.erratum in numbers, clause.id
        assert clause.status is not ClauseStatus.ERRATUM or clause.erratum is not None, clause.id
        # An open clause is about a point that its documents have.
        assert (clause.status is ClauseStatus.OPEN) == (clause.policy is not None), clause.id
        assert clause.policy is None or clause.policy in INTERPRETATIONS, clause.id
        for document in clause.documents:
            assert clause.policy not in SPECIFICATIONS[document].policies.inapplicable, clause.id


def test_a_document_has_the_clauses_that_hold_in_it_and_an_edition():
    ids = [clause.id for file in clause_files().values() for clause in file.clauses]
    assert sorted(ids) == sorted(set(ids))
    assert clauses()["SONNX-R3"] in clauses_of("sonnx")
    assert all("sonnx" in clause.documents for clause in clauses_of("sonnx"))
    assert edition_name("sonnx") == "sonnx@seed"
    assert all(re.fullmatch(r"[0-9a-f]{64}", edition.sha256) for edition in editions().values() if edition.sha256)
