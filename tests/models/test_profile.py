"""The check of SONNX's profile, condition by condition."""

import pytest

from maxpool_check.models.analysis import analyse
from maxpool_check.models.model_file import read_model
from tests.models.writing import saved, written

INSIDE = {
    "kernel_shape": "[2, 2]", "strides": "[2, 2]", "pads": "[0, 0, 0, 0]", "dilations": "[1, 1]",
    "auto_pad": '"NOTSET"', "ceil_mode": "0", "storage_order": "0",
}  # fmt: skip


def broken_conditions(
    tmp_path, *, shape="1, 3, 8, 8", dtype="float", output="a, b, c, d", opset=22, leave_out=(), **changed
):
    written_attributes = {**INSIDE, **changed}
    text = ", ".join(f"{name} = {value}" for name, value in written_attributes.items() if name not in leave_out)
    model = written(
        f"g ({dtype}[{shape}] x) => ({dtype}[{output}] y) {{ [pool] y = MaxPool <{text}> (x) }}", onnx=opset
    )
    (node,) = analyse(read_model(saved(model, tmp_path)), spec="sonnx").nodes
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
        ({"shape": "N, 3, 8, 8"}, "shapes", "not all explicit"),
        ({"opset": 13}, "version", "operator set 13 has ONNX MaxPool-12"),
        ({"strides": "[0, 1]"}, "strides", "strides must be at least 1"),
        ({"dilations": "[1, 0]"}, "dilations", "dilations must be at least 1"),
        ({"pads": "[0, 0]"}, "pads", "pads"),
        ({"kernel_shape": "[9, 9]"}, "Y", ""),
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
    points = broken_conditions(tmp_path, pads="[3, 0, 0, 0]")[1].open_points
    assert any("padding alone" in point for point in points)
    _, node = broken_conditions(tmp_path, auto_pad='"SAME_UPPER"', dilations="[2, 2]")
    assert any("SAME padding with dilations" in point for point in node.open_points)
    assert broken_conditions(tmp_path)[1].open_points == ()
