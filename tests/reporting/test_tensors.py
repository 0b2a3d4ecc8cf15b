"""Tensors and windows as text."""

from maxpool_check.reference.layout import Layout
from maxpool_check.reporting.tensors import planes, window_cells, window_text


def test_a_plane_is_aligned_and_its_marked_cells_stand_in_brackets():
    assert planes(["1", "-22", "3", "4"], (2, 2), [(0, 1)]) == [" 1  [-22]", " 3     4"]


def test_one_dimension_is_one_line():
    assert planes(["1", "2", "3"], (3,), [(1,)]) == [" 1  [2]  3"]


def test_several_planes_have_headings():
    lines = planes(list("abcd"), (1, 2, 1, 2))
    assert lines == ["[0, 0, :, :]", " a   b", "[0, 1, :, :]", " c   d"]


def test_three_axes_are_planes_of_the_last_two():
    assert planes(list("ab"), (1, 1, 2)) == [" a   b"]


def test_nothing():
    assert planes([], (0, 2)) == ["(empty)"]


def test_windows_in_words():
    assert window_text([[0, 1], [2]]) == "rows 0-1, column 2"
    assert window_text([[0, 2, 4]]) == "positions 0 2 4"
    assert window_text([[], [1]]) == "row none, column 1"
    assert window_text([[0], [1], [2, 3]]) == "D1 0, D2 1, D3 2-3"


def test_the_cells_of_a_window():
    assert window_cells((1, 2, 0, 0), [[0, 1], [3]]) == [(1, 2, 0, 3), (1, 2, 1, 3)]


def test_only_the_planes_that_hold_a_marked_cell():
    assert planes(list("abcd"), (1, 2, 1, 2), [(0, 1, 0, 0)], only_marked=True) == [
        "[0, 1, :, :]",
        "[c]  d",
        "(1 more of 2 planes)",
    ]
    tensor = (list("ab"), (1, 1, 2))
    assert planes(*tensor, [(0, 0, 0)], only_marked=True) == planes(*tensor, [(0, 0, 0)])
    assert planes(*tensor, only_marked=True) == planes(*tensor)


def test_channels_last_are_shown_plane_by_plane_too():
    assert planes(list("abcdef"), (1, 1, 3, 2), [(0, 0, 1, 1)], Layout.CHANNELS_LAST) == [
        "[0, :, :, 0]",
        " a   c   e",
        "[0, :, :, 1]",
        " b  [d]  f",
    ]
    assert planes(list("abcd"), (2, 1, 2), layout=Layout.IMAGE) == ["[:, :, 0]", " a", " c", "[:, :, 1]", " b", " d"]
    assert window_cells((1, 0, 0, 2), [[0, 1], [3]], Layout.CHANNELS_LAST) == [(1, 0, 3, 2), (1, 1, 3, 2)]
    assert window_cells((0, 0, 2), [[0, 1], [3]], Layout.IMAGE) == [(0, 3, 2), (1, 3, 2)]
