"""The check of SONNX's profile, condition by condition."""

import numpy as np
import pytest
from onnx import helper

from maxpool_check.models.analysis import analyse
from maxpool_check.models.model_file import read_model
from tests.models.writing import saved, written

INSIDE = {
    "kernel_shape": "[2, 2]", "strides": "[2, 2]", "pads": "[0, 0, 0, 0]", "dilations": "[1, 1]",
    "auto_pad": '"NOTSET"', "ceil_mode": "0", "storage_order": "0",
}  # fmt: skip


def broken_conditions(
    tmp_path,
    *,
    spec="sonnx",
    shape="1, 3, 8, 8",
    dtype="float",
    y_dtype=None,
    output="a, b, c, d",
    opset=22,
    leave_out=(),
    **changed,
):
    written_attributes = {**INSIDE, **changed}
    text = ", ".join(f"{name} = {value}" for name, value in written_attributes.items() if name not in leave_out)
    model = written(
        f"g ({dtype}[{shape}] x) => ({y_dtype or dtype}[{output}] y) {{ [pool] y = MaxPool <{text}> (x) }}", onnx=opset
    )
    (node,) = analyse(read_model(saved(model, tmp_path)), spec=spec).nodes
    return [each.short for each in node.profile], node


def test_a_node_with_everything_explicit_is_inside_and_judged_by_sonnx(tmp_path):
    shorts, node = broken_conditions(tmp_path)
    assert (shorts, node.maker.document.name) == ([], "sonnx")


@pytest.mark.parametrize(
    ("changes", "short", "message"),
    [
        ({"shape": "1, 3, 8", "kernel_shape": "[2]", "strides": "[2]", "pads": "[0, 0]", "dilations": "[1]", "output": "a, b, c"}, "R1", "1 spatial axes"),
        ({"leave_out": ["dilations"]}, "R2", "dilations not set explicitly"),
        ({"auto_pad": '"VALID"'}, "R3", "auto_pad is VALID"),
        ({"ceil_mode": "1"}, "R4", "ceil_mode is 1"),
        ({"storage_order": "1"}, "R5", "storage_order is 1"),
        ({"dtype": "bfloat16"}, "type", "X is bfloat16"),
        ({"shape": "N, 3, 8, 8"}, "shapes", "the shape of X is not explicit"),
        ({"opset": 13}, "version", "operator set 13 has ONNX MaxPool-12"),
        ({"strides": "[0, 1]"}, "strides", "strides must be at least 1"),
        ({"dilations": "[1, 0]"}, "dilations", "dilations must be at least 1"),
        ({"pads": "[0, 0]"}, "pads", "pads"),
        ({"kernel_shape": "[20, 20]"}, "Y", "the window covers 20 cells"),
        ({"dilations": "[1]"}, "dilations", "dilations must have 2 values"),
        ({"auto_pad": '"FOO"'}, "auto_pad", "FOO"),
        ({"dtype": "float", "y_dtype": "float16"}, "GR3", "Y is declared as float16"),
        ({"output": "1, 3, 5, 5"}, "Y", "the model declares Y as [1, 3, 5, 5]; it is [1, 3, 4, 4]"),
    ],
)  # fmt: skip
def test_each_condition(changes, short, message, tmp_path):
    shorts, node = broken_conditions(tmp_path, **changes)
    assert short in shorts
    finding = next(each for each in node.profile if each.short == short)
    assert message in finding.message
    assert finding.fix
    assert "SONNX" in finding.clause


def test_what_onnx_leaves_open_is_said(tmp_path):
    assert "a padding is as large as the kernel" in broken_conditions(tmp_path, pads="[2, 0, 0, 0]")[1].open_points[0]
    for spec, is_open in (("onnx", True), ("sonnx", False)):
        points = broken_conditions(tmp_path, spec=spec, pads="[3, 0, 0, 0]")[1].open_points
        assert any("padding alone" in point for point in points) == is_open
    _, node = broken_conditions(tmp_path, auto_pad='"SAME_UPPER"', dilations="[2, 2]")
    assert any("SAME padding with dilations" in point for point in node.open_points)
    assert broken_conditions(tmp_path)[1].open_points == ()


def test_the_clauses_are_those_of_the_document(tmp_path):
    clauses = {
        "dilations": ({"dilations": "[1]"}, "SONNX MaxPool, dilations: C2"),
        "strides": ({"strides": "[0, 1]"}, "SONNX MaxPool, strides: C1"),
        "pads": ({"pads": "[0, 0]"}, "SONNX MaxPool, pads: C1"),
        "auto_pad": ({"auto_pad": '"FOO"'}, "SONNX MaxPool, auto_pad: C1"),
    }
    for short, (changes, clause) in clauses.items():
        _, node = broken_conditions(tmp_path, **changes)
        assert clause in [each.clause for each in node.profile if each.short == short]
    # The document has no constraint on the length of strides.
    _, node = broken_conditions(tmp_path, strides="[1]")
    assert "ONNX MaxPool-22, attribute strides (SONNX has no constraint on it)" in [
        each.clause for each in node.profile
    ]


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        (
            {"auto_pad": '"SAME_UPPER"', "strides": "[1, 1]"},
            "write auto_pad=NOTSET, pads=[0, 0, 1, 1], so that Y stays as it is",
        ),
        (
            {"auto_pad": '"SAME_LOWER"', "strides": "[1, 1]"},
            "write auto_pad=NOTSET, pads=[1, 1, 0, 0], so that Y stays as it is",
        ),
        ({"ceil_mode": "1", "shape": "1, 3, 7, 7"}, "write ceil_mode=0, pads=[0, 0, 1, 1], so that Y stays as it is"),
        ({"ceil_mode": "1"}, "write ceil_mode=0: Y stays as it is"),
    ],
)
def test_the_fix_keeps_y(changes, fix, tmp_path):
    _, node = broken_conditions(tmp_path, **changes)
    assert fix in [each.fix for each in node.profile]
    # By the definition: the outputs before and after are equal.
    fixed = {"auto_pad": '"NOTSET"', "ceil_mode": "0"}
    if "pads=" in fix:
        fixed["pads"] = fix.partition("pads=")[2].partition("]")[0] + "]"
    _, other = broken_conditions(tmp_path, **{**changes, **fixed})
    before, after = (each.cases[0].case.oracle() for each in (node, other))
    assert np.array_equal(before.outputs["Y"], after.outputs["Y"])
    assert np.array_equal(before.outputs["Indices"], after.outputs["Indices"])


def test_what_the_model_does_not_say_and_what_contradicts(tmp_path):
    text = "g (float[1,3,8,8] x) => (float[a,b,c,d] z) {{ w = Relu(x) [pool] y = MaxPool <{0}> (w) z = Relu(y) }}"
    attributes = ", ".join(f"{name} = {value}" for name, value in INSIDE.items())
    model = written(text.format(attributes))
    (node,) = analyse(read_model(saved(model, tmp_path)), spec="sonnx").nodes
    assert [(each.short, each.message) for each in node.profile] == [
        ("GR2", "the model gives no type for X and Y: it must be inferred")
    ]
    model.graph.value_info.append(helper.make_tensor_value_info("w", 1, [1, 3, 9, 9]))
    model.graph.value_info.append(helper.make_tensor_value_info("y", 1, [1, 3, 4, 4]))
    (node,) = analyse(read_model(saved(model, tmp_path)), spec="sonnx").nodes
    assert [(each.short, each.message) for each in node.profile] == [
        ("X", "X is declared as [1, 3, 9, 9]; its shape is [1, 3, 8, 8]")
    ]


def test_indices_have_their_type_and_the_shape_of_y(tmp_path):
    attributes = ", ".join(f"{name} = {value}" for name, value in INSIDE.items())
    for type_of, short in (("int64[1,3,5,5]", "Indices"), ("int32[1,3,4,4]", "Indices"), ("int64[1,3,4,4]", None)):
        text = f"g (float[1,3,8,8] x) => (float[1,3,4,4] y, {type_of} i) {{ [pool] y, i = MaxPool <{attributes}> (x) }}"
        (node,) = analyse(read_model(saved(written(text), tmp_path)), spec="sonnx").nodes
        assert [each.short for each in node.profile] == ([short] if short else [])


def test_sparse_tensors_wherever_they_are(tmp_path):
    attributes = ", ".join(f"{name} = {value}" for name, value in INSIDE.items())
    model = written(f"g (float[1,3,8,8] x) => (float[1,3,4,4] y) {{ [pool] y = MaxPool <{attributes}> (x) }}")
    values = helper.make_tensor("s", 1, [1], [1.0])
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", 7, [1], [0]), [3])
    model.graph.node.insert(0, helper.make_node("Constant", [], ["unused"], sparse_value=sparse))
    (node,) = analyse(read_model(saved(model, tmp_path)), spec="sonnx").nodes
    assert [each.short for each in node.profile] == ["GR1"]
