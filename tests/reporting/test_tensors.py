"""Tensors and windows as text."""

import pytest

from maxpool_check.reference.numbering import Layout
from maxpool_check.reporting.drawing import core_coordinates, planes, window_text


@pytest.mark.parametrize(
    ("tensor", "lines"),
    [
        # Aligned.
        ((["1", "-22", "3", "4"], (2, 2)), [" 1   -22", " 3     4"]),
        ((["1", "2", "3"], (3,)), [" 1   2   3"]),
        # Several planes have headings; three axes are planes of the last two.
        ((list("abcd"), (1, 2, 1, 2)), ["[0, 0, :, :]", " a   b", "[0, 1, :, :]", " c   d"]),
        ((list("ab"), (1, 1, 2)), [" a   b"]),
        (([], (0, 2)), ["(empty)"]),
        # Channels that are last are shown plane by plane, too.
        ((list("abcdef"), (1, 1, 3, 2), Layout.CHANNELS_LAST),
         ["[0, :, :, 0]", " a   c   e", "[0, :, :, 1]", " b   d   f"]),
        ((list("abcd"), (2, 1, 2), Layout.IMAGE), ["[:, :, 0]", " a", " c", "[:, :, 1]", " b", " d"]),
    ],
)  # fmt: skip
def test_tensors_as_lines(tensor, lines):
    assert planes(*tensor) == lines


def test_windows_in_words():
    assert window_text([[0, 1], [2]]) == "rows 0-1, column 2"
    assert window_text([[0, 2, 4]]) == "positions 0 2 4"
    assert window_text([[], [1]]) == "the padding alone"
    assert window_text([[]]) == "the padding alone"
    assert window_text([[0], [1], [2, 3]]) == "D1 0, D2 1, D3 2-3"


@pytest.mark.parametrize(
    ("at", "layout", "core"),
    [
        ((1, 2, 0, 3), Layout.CHANNELS_FIRST, (1, 2, 0, 3)),
        ((1, 0, 3, 2), Layout.CHANNELS_LAST, (1, 2, 0, 3)),
        ((0, 3, 2), Layout.IMAGE, (0, 2, 0, 3)),
    ],
)
def test_the_coordinates_of_the_core(at, layout, core):
    assert core_coordinates(at, layout) == core
