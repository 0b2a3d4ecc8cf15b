"""What ``model`` says of what it did not test: never that it conforms."""

import pytest
from onnx import TensorProto, helper

from tests.models.writing import saved

DECLARED = ["STRING", "BOOL", "COMPLEX64", "COMPLEX128", "INT4", "UINT4", "INT32", "UINT64", "FLOAT4E2M1"]
DECLARED += ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]


def pool_of(X, **graph):
    """A model that is one MaxPool of X: an element type, or a whole type."""
    declared = X if isinstance(X, int) else TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, declared, [1, 1, 4, 4]) for name in "XY"]
    if not isinstance(X, int):
        ends[0].type.CopyFrom(X)
    node = helper.make_node("MaxPool", ["X"], ["Y"], "pool", kernel_shape=[1, 1])
    made = helper.make_graph([node], "one", ends[:1], ends[1:], **graph)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.mark.parametrize("name", DECLARED)
def test_a_declared_element_type_that_the_document_lacks_is_excluded(name, cli, tmp_path):
    done = cli("model", saved(pool_of(getattr(TensorProto, name)), tmp_path), "--format", "json")
    (node,) = done.json["models"][0]["nodes"]
    assert (done.code, done.json["result"]) == (1, "EXCLUDED")
    assert f"X must be one of float16, float32, float64, int8, uint8, bfloat16, got {name.lower()}" in node["untested"]
    assert node["tested_input"] == {"dtype": name.lower(), "shape": [1, 1, 4, 4], "assumed": False}
    assert done.json["results"] == []


def test_what_is_no_tensor_is_excluded(cli, tmp_path):
    tensors = helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 1, 4, 4])
    for X, name in (
        (helper.make_sequence_type_proto(tensors), "sequence"),
        (helper.make_optional_type_proto(tensors), "optional"),
        (helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [1, 1, 4, 4]), "sparse_tensor"),
    ):
        done = cli("model", saved(pool_of(X), tmp_path), COLUMNS="160")
        assert (done.code, done.out.splitlines()[-1].partition(" ")[0]) == (1, "EXCLUDED")
        assert f"  {name} [" in done.out


@pytest.mark.parametrize(
    ("number", "name"), [(TensorProto.UNDEFINED, "undefined"), (99, "undefined (99)"), (-1, "undefined (-1)")]
)
def test_an_element_type_that_onnx_does_not_have_is_not_tested(number, name, cli, tmp_path):
    done = cli("model", saved(pool_of(number), tmp_path), COLUMNS="160")
    assert (done.code, done.out.splitlines()[-1]) == (4, "NOTHING TESTED  no result could be compared")
    assert f"the element type of its input is {name}" in done.out
    assert "assumed" not in done.out


@pytest.mark.parametrize(("dtype", "label"), [("STRING", "EXCLUDED"), ("DOUBLE", "CONFORMS")])
def test_the_declared_type_of_a_tensor_that_no_inference_reaches_counts(dtype, label, cli, tmp_path, kernel_target):
    known = helper.make_tensor_value_info("X", getattr(TensorProto, dtype), [1, 1, 4, 4])
    model = pool_of(TensorProto.FLOAT, value_info=[known])
    model.graph.input[0].name = "raw"
    model.graph.node.insert(0, helper.make_node("Decode", ["raw"], ["X"], domain="local"))
    model.opset_import.append(helper.make_opsetid("local", 1))
    done = cli("model", saved(model, tmp_path), "-t", kernel_target("right"), "--format", "json")
    assert done.json["result"] == label
    (node,) = done.json["models"][0]["nodes"]
    assert node["tested_input"] == {
        "dtype": {"DOUBLE": "float64"}.get(dtype, "string"),
        "shape": [1, 1, 4, 4],
        "assumed": False,
    }


def test_a_tensor_of_no_declared_type_is_assumed_and_said(cli, tmp_path, kernel_target):
    model = pool_of(TensorProto.FLOAT)
    model.graph.input[0].name = "raw"
    model.graph.node.insert(0, helper.make_node("Decode", ["raw"], ["X"], domain="local"))
    model.opset_import.append(helper.make_opsetid("local", 1))
    done = cli("model", saved(model, tmp_path), "-t", kernel_target("right"), COLUMNS="160")
    assert done.code == 0
    assert "float32 [1, 3, 64, 64], assumed" in done.out
