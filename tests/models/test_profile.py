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
ATTRIBUTES = ", ".join(f"{name} = {value}" for name, value in INSIDE.items())
ONE_AXIS = {"kernel_shape": "[2]", "strides": "[2]", "pads": "[0, 0]", "dilations": "[1]"}


@pytest.fixture
def node(tmp_path):
    """Makes a model of one MaxPool inside the profile but for what is given, and gives the analysis of the MaxPool."""

    def of(spec="sonnx", x="float[1, 3, 8, 8]", y="float[a, b, c, d]", opset=22, **changed):
        attributes = {name: value for name, value in {**INSIDE, **changed}.items() if value}
        text = ", ".join(f"{name} = {value}" for name, value in attributes.items())
        return only(written(f"g ({x} x) => ({y} y) {{ [pool] y = MaxPool <{text}> (x) }}", onnx=opset), tmp_path, spec)

    return of


def only(model, folder, spec="sonnx"):
    (found,) = analyse(read_model(saved(model, folder)), spec=spec).nodes
    return found


def test_a_node_with_everything_explicit_is_inside_and_judged_by_sonnx(node):
    inside = node()
    assert (inside.profile, inside.open_points, inside.maker.document.name) == ((), (), "sonnx")


@pytest.mark.parametrize(
    ("changes", "short", "message", "clause"),
    [
        ({"x": "float[1, 3, 8]", "y": "float[a, b, c]", **ONE_AXIS}, "R1", "1 spatial axes", ""),
        ({"dilations": None}, "R2", "dilations not set explicitly", ""),
        ({"auto_pad": '"VALID"'}, "R3", "auto_pad is VALID", ""),
        ({"ceil_mode": "1"}, "R4", "ceil_mode is 1", ""),
        ({"storage_order": "1"}, "R5", "storage_order is 1", ""),
        ({"x": "bfloat16[1, 3, 8, 8]", "y": "bfloat16[a, b, c, d]"}, "type", "X is bfloat16", ""),
        ({"x": "float[N, 3, 8, 8]"}, "shapes", "the shape of X is not explicit", ""),
        ({"opset": 13}, "version", "operator set 13 has ONNX MaxPool-12", ""),
        ({"strides": "[1]"}, "strides", "", "ONNX MaxPool-22, attribute strides (SONNX has no constraint on it)"),
        ({"dilations": "[1]"}, "dilations", "dilations must have 2 values", "SONNX MaxPool, dilations: C2"),
        ({"kernel_shape": "[20, 20]"}, "Y", "the window covers 20 cells", ""),
        ({"y": "float16[a, b, c, d]"}, "GR3", "Y is declared as float16", ""),
        ({"y": "float[1, 3, 5, 5]"}, "Y", "the model declares Y as [1, 3, 5, 5]; it is [1, 3, 4, 4]", ""),
    ],
)
def test_each_condition(node, changes, short, message, clause):
    finding = next(each for each in node(**changes).profile if each.short == short)
    assert message in finding.message
    assert finding.fix
    assert clause in finding.clause
    assert "SONNX" in finding.clause


def test_what_a_document_leaves_open_is_said(node):
    for changes, words, expected in (
        ({"pads": "[2, 0, 0, 0]"}, "a padding is as large as the kernel", True),
        ({"pads": "[3, 0, 0, 0]", "spec": "onnx"}, "padding alone", True),
        ({"pads": "[3, 0, 0, 0]"}, "padding alone", False),
        ({"auto_pad": '"SAME_UPPER"', "dilations": "[2, 2]"}, "SAME padding with dilations", True),
    ):
        assert any(words in point for point in node(**changes).open_points) is expected


@pytest.mark.parametrize(
    ("changes", "fix", "pads"),
    [
        (
            {"auto_pad": '"SAME_UPPER"', "strides": "[1, 1]"},
            "auto_pad=NOTSET, pads=[0, 0, 1, 1], so that",
            "[0, 0, 1, 1]",
        ),
        (
            {"auto_pad": '"SAME_LOWER"', "strides": "[1, 1]"},
            "auto_pad=NOTSET, pads=[1, 1, 0, 0], so that",
            "[1, 1, 0, 0]",
        ),
        ({"ceil_mode": "1", "x": "float[1, 3, 7, 7]"}, "ceil_mode=0, pads=[0, 0, 1, 1], so that", "[0, 0, 1, 1]"),
        ({"ceil_mode": "1"}, "ceil_mode=0:", INSIDE["pads"]),
    ],
)
def test_the_fix_keeps_y(node, changes, fix, pads):
    wrong = node(**changes)
    assert f"write {fix} Y stays as it is" in [each.fix for each in wrong.profile]
    # By the definition: the outputs before and after are equal.
    fixed = node(**{**changes, "auto_pad": '"NOTSET"', "ceil_mode": "0", "pads": pads})
    before, after = (each.cases[0].case.oracle().outputs for each in (wrong, fixed))
    assert all(np.array_equal(before[name], after[name]) for name in ("Y", "Indices"))


def test_what_the_model_does_not_say_and_what_contradicts(tmp_path):
    text = "g (float[1,3,8,8] x) => (float[a,b,c,d] z) {{ w = Relu(x) [pool] y = MaxPool <{0}> (w) z = Relu(y) }}"
    model = written(text.format(ATTRIBUTES))
    assert [(each.short, each.message) for each in only(model, tmp_path).profile] == [
        ("GR2", "the model gives no type for X and Y: it must be inferred")
    ]
    model.graph.value_info.append(helper.make_tensor_value_info("w", 1, [1, 3, 9, 9]))
    model.graph.value_info.append(helper.make_tensor_value_info("y", 1, [1, 3, 4, 4]))
    assert [(each.short, each.message) for each in only(model, tmp_path).profile] == [
        ("X", "X is declared as [1, 3, 9, 9]; its shape is [1, 3, 8, 8]")
    ]


@pytest.mark.parametrize(
    ("indices", "shorts"), [("int64[1,3,5,5]", ["Indices"]), ("int32[1,3,4,4]", ["Indices"]), ("int64[1,3,4,4]", [])]
)
def test_indices_have_their_type_and_the_shape_of_y(tmp_path, indices, shorts):
    text = f"g (float[1,3,8,8] x) => (float[1,3,4,4] y, {indices} i) {{ [pool] y, i = MaxPool <{ATTRIBUTES}> (x) }}"
    assert [each.short for each in only(written(text), tmp_path).profile] == shorts


def test_sparse_tensors_wherever_they_are(tmp_path):
    model = written(f"g (float[1,3,8,8] x) => (float[1,3,4,4] y) {{ [pool] y = MaxPool <{ATTRIBUTES}> (x) }}")
    numbers, cells = helper.make_tensor("i", 7, [1], [0]), helper.make_tensor("s", 1, [1], [1.0])
    sparse = helper.make_sparse_tensor(cells, numbers, [3])
    model.graph.node.insert(0, helper.make_node("Constant", [], ["unused"], sparse_value=sparse))
    assert [each.short for each in only(model, tmp_path).profile] == ["GR1"]
