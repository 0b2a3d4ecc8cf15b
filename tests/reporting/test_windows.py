"""Drawings of wrong cells, from the records of kernels that are wrong on purpose."""

import pytest

from maxpool_check.reporting.drawing import drawings
from tests.conftest import KERNELS, run_record

CASES = """\
cases:
  - id: padded
    title: Negative values beside padding
    input: {dtype: float32, shape: [1, 1, 2, 3], arange: {start: -9}}
    attributes: {kernel_shape: [2, 2], pads: [1, 1, 0, 0]}
  - id: second-plane
    title: Two channels
    input: {dtype: float32, shape: [1, 2, 2, 2], arange: {}}
    attributes: {kernel_shape: [2, 2]}
  - id: large
    title: More cells than a record holds
    input: {dtype: float32, shape: [1, 1, 40, 40], arange: {start: -2000}}
    attributes: {kernel_shape: [2, 2], pads: [1, 1, 0, 0], strides: [40, 40]}
  - id: dilated
    title: A window with gaps that begins in the padding
    input: {dtype: float32, shape: [1, 1, 5], arange: {start: -9}}
    attributes: {kernel_shape: [3], dilations: [2], pads: [2, 0]}
  - id: far
    title: An index of the plane, far from where its number lies in X
    input: {dtype: float32, shape: [1, 2, 30], arange: {}}
    attributes: {kernel_shape: [2], strides: [28]}
"""


@pytest.fixture(scope="module")
def executions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    (folder / "small.yaml").write_text(CASES)
    record = run_record(folder, f"python:{KERNELS}:pads_with_zero", f"python:{KERNELS}:counts_in_the_plane")
    return {
        (each.target.rpartition(":")[2], each.case.rpartition(":")[2]): each
        for each in record.executions
        if each.variant == "indices"
    }


@pytest.mark.parametrize(
    ("kernel", "case", "lines"),
    [
        # The window of Y[0, 0, 0, 0] has three taps in the padding; the reference chose the cell of -9.
        ("pads_with_zero", "padded", ["X[0, 0, :, :]", "       -1       0     1     2", "-1    [~]     [~]    ~     ~",
                                      " 0    [~]  =[-9.0]  -8.0  -7.0", " 1     ~    -6.0   -5.0  -4.0"]),
        # Of a large tensor the window alone.
        ("pads_with_zero", "large", ["X[0, 0, :, :]", "    -1          0", "-1 [~]        [~]", " 0 [~] =[-2000.0]"]),
        # The padding on one axis, with the gaps of the dilation.
        ("pads_with_zero", "dilated", ["X[0, 0, :]", "   -2    -1        0     1        2     3     4",
                                       "  [~]     ~   [-9.0]  -8.0  =[-7.0]  -6.0  -5.0"]),
    ],
)  # fmt: skip
def test_the_window_of_the_first_wrong_cell(executions, kernel, case, lines):
    drawing = drawings(executions[kernel, case])[0]
    assert [line.split() for line in [drawing.planes[0].heading, *drawing.planes[0].lines]] == [
        line.split() for line in lines
    ]


def test_an_index_names_the_cell_of_the_target(executions):
    drawing = drawings(executions["counts_in_the_plane", "second-plane"])[0]
    assert drawing.place == "[0, 1, 0, 0]"
    assert marks(drawing) == {("X[0, 1, :, :]", "1", "1"): (True, False), ("X[0, 0, :, :]", "1", "1"): (False, True)}


def test_the_taps_lie_in_the_plane_of_the_window_alone(executions):
    drawing = drawings(executions["counts_in_the_plane", "second-plane"])[0]
    taps = {plane.heading: sum(cell.is_tap for row in plane.cells for cell in row) for plane in drawing.planes}
    assert taps == {"X[0, 1, :, :]": 4, "X[0, 0, :, :]": 0}


def test_a_cell_far_from_the_window_is_drawn_with_its_own_surroundings(executions):
    execution = executions["counts_in_the_plane", "far"]
    assert [(cell.output, cell.at, cell.got_cell) for cell in execution.cells][-1] == ("Indices", (0, 1, 1), (0, 0, 29))
    assert marks(drawings(execution)[-1]) == {
        ("X[0, 1, :]", "", "29"): (True, False),
        ("X[0, 0, :]", "", "29"): (False, True),
    }


def marks(drawing):
    """The marked cells by plane, row and column: whether the reference chose it, and whether it is the target's."""
    return {
        (plane.heading, plane.rows[y], plane.columns[x]): (cell.is_chosen, cell.is_target)
        for plane in drawing.planes
        for y, row in enumerate(plane.cells)
        for x, cell in enumerate(row)
        if cell.is_chosen or cell.is_target
    }


def test_every_line_of_a_drawing_fits_the_others(executions):
    for execution in executions.values():
        for drawing in drawings(execution):
            for plane in drawing.planes:
                assert {len(row) for row in plane.cells} == {len(plane.columns)}
                assert len(plane.rows) == len(plane.cells)
