"""How bad wrong cells are, and what their windows hold: by the values of the windows, not by the names of kinds."""

import numpy as np
import pytest

from maxpool_check.judging.defects import severity_of
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.outputs import unpacked
from maxpool_check.results.variants import WITH_INDICES
from tests.judging.test_verdicts import oracle_of

LOW = float(np.finfo(np.float32).min)


def judged(row, Y=None, Indices=None, dtype=np.float32, pads=(0, 0)):
    """The judgement on windows of two cells beside each other, of which some outputs are changed: by place, the value."""
    oracle = oracle_of(np.array([[row]], dtype), kernel_shape=[2], pads=list(pads))
    outputs = {name: oracle.outputs[name].copy() for name in ("Y", "Indices")}
    for name, changes in (("Y", Y or {}), ("Indices", Indices or {})):
        for place, value in changes.items():
            outputs[name][0, 0, place] = value
    return judge(oracle, {WITH_INDICES: Returned(outputs)})[WITH_INDICES]


def severity(judgement):
    return severity_of(judgement.kinds, is_special=judgement.windows.special).value


@pytest.mark.parametrize(
    ("row", "changes", "dtype", "expected"),
    [
        ([1, 2, 3], {"Y": {0: 1}}, np.float32, "wrong-on-finite"),
        ([1, 2, 3], {"Y": {0: np.nan}}, np.float32, "wrong-on-finite"),
        ([1, 2, 3], {"Indices": {0: -4}}, np.float32, "wrong-on-finite"),
        ([-np.inf, -np.inf, 3], {"Y": {0: LOW}}, np.float32, "wrong-on-special"),
        ([np.inf, 2, 3], {"Indices": {0: 1}}, np.float32, "wrong-on-special"),
        ([np.nan, 2, 3], {"Indices": {0: 2}}, np.float32, "wrong-on-special"),
        # As bad as the worst cell.
        ([-np.inf, -np.inf, 3], {"Y": {0: LOW}, "Indices": {1: 0}}, np.float32, "wrong-on-special"),
        ([-np.inf, -np.inf, 3, 4], {"Y": {0: LOW}, "Indices": {2: 2}}, np.float32, "wrong-on-finite"),
        ([LOW, LOW, 3], {"Indices": {0: -4}}, np.float32, "wrong-on-special"),
        ([LOW, 0, 3], {"Indices": {0: -4}}, np.float32, "wrong-on-finite"),
        # The lowest value of an integer type is an ordinary one: a black patch of an image.
        ([0, 0, 3], {"Indices": {0: -4}}, np.uint8, "wrong-on-finite"),
        ([-128, -128, 3], {"Indices": {0: -4}}, np.int8, "wrong-on-finite"),
        # Zeros of both signs are special where the sign alone is wrong.
        ([-0.0, 0.0, 3], {"Y": {0: 1}}, np.float32, "wrong-on-finite"),
    ],
)
def test_a_result_is_as_bad_as_its_worst_cell(row, changes, dtype, expected):
    assert severity(judged(row, dtype=dtype, **changes)) == expected


@pytest.mark.parametrize(
    ("row", "changes", "pads", "expected"),
    [
        ([1, 2, 3], {"Y": {0: 1}}, (0, 0), {"ordinary": 1}),
        ([1, 2, 3], {"Y": {0: 7}}, (1, 0), {"padding": 1}),
        ([-np.inf, -np.inf, 3], {"Y": {0: LOW}}, (0, 0), {"infinity lowest start": 1}),
        ([np.nan, -np.inf, 3], {"Y": {0: LOW}}, (0, 0), {"nan infinity lowest start": 1}),
        ([-1, -2, -3], {"Y": {0: 0, 1: 0}}, (0, 0), {"zero": 2}),
    ],
)
def test_what_the_windows_of_wrong_cells_hold(row, changes, pads, expected):
    windows = judged(row, pads=pads, **changes).windows.counts
    assert {
        held: count for kind, counts in windows.items() for held, count in counts.items() if kind[0] == "y"
    } == expected


def test_a_scan_that_finds_nothing_gives_the_cell_before_the_plane():
    counts = judged([0, 0, 3], Indices={0: -1}, dtype=np.uint8).windows.counts
    assert counts == {"indices-sentinel": {"lowest start zero": 1}}
    # Another negative number is not what such a scan gives.
    counts = judged([0, 0, 3], Indices={0: -5}, dtype=np.uint8).windows.counts
    assert counts == {"indices-sentinel": {"lowest zero": 1}}


def test_the_wrong_cells_are_marked_by_output_and_sort():
    cells = judged([-np.inf, -np.inf, 3, 4], Y={0: LOW}, Indices={2: 2}).windows.cells
    marked = {(output, sort): unpacked(text)[:3].tolist() for output, by in cells.items() for sort, text in by.items()}
    assert marked == {("Y", "special"): [1, 0, 0], ("Indices", "finite"): [0, 0, 1]}
