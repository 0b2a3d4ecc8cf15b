"""Which interpretations of open points agree with some outputs."""

from dataclasses import replace

import numpy as np
import pytest

from maxpool_check.judging.comparison import compare
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import definition
from maxpool_check.reference.numbering import Numbering
from maxpool_check.reference.policies import Policies
from maxpool_check.specifications import specification

NAN, INF = np.nan, np.inf
FAMILY = np.array([[[NAN, 3], [2, 0.5]], [[3, NAN], [2, 0.5]], [[3, 2], [NAN, 0.5]], [[3, 2], [0.5, NAN]]], np.float32)[
    np.newaxis
]


def interpretations(X, Y, Indices=None, **attributes):
    attributes = {"kernel_shape": list(X.shape[2:]), **attributes}
    oracle = Oracle(X, specification("onnx-22").resolve(attributes, X.dtype.name, X.shape, Policies()))
    outputs = {"Y": np.array(Y, X.dtype).reshape(oracle.shape)}
    if Indices is not None:
        outputs["Indices"] = np.array(Indices, np.int64).reshape(oracle.shape)
    return compare(oracle, outputs, tuple(outputs)).interpretations


@pytest.mark.parametrize(
    ("Y", "names"),
    [
        ([3, 3, 3, 3], ("ignored", "as-neg-inf")),
        ([NAN, NAN, NAN, NAN], ("propagates",)),
        ([NAN, 3, 3, 3], ("first-sticks",)),
        ([3, 3, 3, NAN], ("mixed",)),
        ([3, 2, 0.5, NAN], ("mixed",)),
    ],
)
def test_what_a_nan_does_at_each_place(Y, names):
    assert interpretations(FAMILY, Y)["nan"] == names


def test_a_window_of_nan_distinguishes_two_interpretations():
    X = np.full((1, 1, 1, 2), NAN, np.float32)
    assert interpretations(X, [-INF])["nan"] == ("as-neg-inf",)
    assert interpretations(X, [NAN])["nan"] == ("ignored", "propagates", "first-sticks")


@pytest.mark.parametrize(
    ("patterns", "name"),
    [
        ([0x7FC00001, 0xFFC00002], "kept"),
        ([0x7FC00000, 0x7FC00000], "changed"),
        ([0xFFC00002, 0x7FC00001], "changed"),
        ([0x7FC00001, 0x7FC00000], "mixed"),
    ],
)
def test_which_bits_a_nan_has(patterns, name):
    """No document decides on payload and sign: both conform, and a runtime that canonicalises NaN is named."""
    X = np.array([[[0x7FC00001, 0x3F800000, 0xFFC00002, 0x40000000]]], np.uint32).view(np.float32)
    assert interpretations(X, np.array(patterns, np.uint32).view(np.float32), kernel_shape=[2], strides=[2])[
        "nan_bits"
    ] == (name,)
    # The usual NaN has no bits to lose.
    usual = np.array([[[NAN, 1.0]]], np.float32)
    assert "nan_bits" not in interpretations(usual, [NAN])
    assert "nan_bits" not in interpretations(X, [1, 2], kernel_shape=[2], strides=[2])


@pytest.mark.parametrize(
    ("index", "name"), [(1, "first"), (8, "last"), (3, "column-first"), (4, "mixed")], ids=lambda value: str(value)
)
def test_which_of_equal_maxima_is_chosen(index, name):
    X = np.array([[1, 5, 1], [5, 5, 1], [1, 1, 5]], np.int8)[np.newaxis, np.newaxis]
    assert interpretations(X, [5], [index])["tie"] == (name,)


RULES = {"first": min, "last": max, "column-first": lambda cells: min(cells, key=lambda cell: cell[::-1])}


@pytest.mark.parametrize("axis", [0, 3])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 0, 1]], ids=str)
def test_the_rule_for_ties_is_that_of_every_window(pads, axis):
    for pattern in range(2**9):
        X = (pattern >> np.arange(9) & 1).astype(np.float32).reshape(1, 1, 3, 3)
        attributes = {"kernel_shape": [2, 2], "pads": pads}
        pooling = specification("onnx-22").resolve(attributes, X.dtype.name, X.shape, Policies())
        # From the last axis on several cells of a window have the same number.
        numbering = Numbering(axis=axis)
        oracle = Oracle(X, replace(pooling, numbering=numbering))
        choices = {name: np.zeros(oracle.shape, np.int64) for name in RULES}
        tied = np.zeros(oracle.shape, bool)
        for at in np.ndindex(oracle.shape):
            window = definition.cells(at, pooling.geometry)
            maxima = [cell for cell in window if X[cell] == max(X[other] for other in window)]
            tied[at] = len(maxima) > 1
            for name, rule in RULES.items():
                choices[name][at] = np.ravel_multi_index(rule(maxima), X.shape)
        numbers = {name: numbering.number(cells, X.shape) for name, cells in choices.items()}
        for actual_numbers in numbers.values():
            fits = tuple(name for name, expected in numbers.items() if (expected == actual_numbers)[tied].all())
            actual = compare(
                oracle, {"Y": oracle.pooled.Y, "Indices": actual_numbers}, ("Y", "Indices")
            ).interpretations
            assert actual == ({"tie": fits} if tied.any() else {}), (X, actual_numbers)


def test_a_tie_shows_in_indices_alone():
    X = np.ones((1, 1, 2, 2), np.float32)
    assert interpretations(X, [1], [0]) == {"tie": ("first", "column-first")}
    assert interpretations(X, [1]) == {}


def test_the_sign_of_a_zero():
    X = np.array([[-0.0, 0.0, -0.0]], np.float64)[np.newaxis, np.newaxis]
    assert interpretations(X, [0.0])["zero_sign"] == ("positive",)
    assert interpretations(X, [-0.0])["zero_sign"] == ("first", "last", "negative")


def test_points_that_a_case_does_not_touch_are_left_out():
    X = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    assert interpretations(X, [3], [3]) == {}
    assert interpretations(np.zeros((1, 1, 2, 2), np.uint8), [0]) == {}


def test_an_x_without_a_cell_has_no_ties():
    X = np.zeros((1, 1, 2, 0), np.float32)
    assert interpretations(X, X, X, kernel_shape=[1, 1]).get("tie", ()) == ()
