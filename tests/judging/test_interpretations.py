"""Which interpretations of open points agree with some outputs."""

from dataclasses import replace

import numpy as np
import pytest

from maxpool_check.judging.comparison import compare
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import definition
from maxpool_check.reference.numbering import Numbering
from tests.judging.oracles import BOTH, OPEN, oracle_for

NAN, INF = np.nan, np.inf
FAMILY = np.array([[[NAN, 3, 2, 0.5], [3, NAN, 2, 0.5], [3, 2, NAN, 0.5], [3, 2, 0.5, NAN]]], np.float32)
TWO_NANS = np.full((1, 1, 2), NAN, np.float32)
TIES = np.array([[1, 5, 1], [5, 5, 1], [1, 1, 5]], np.int8)[np.newaxis, np.newaxis]
ONES = np.ones((1, 1, 2, 2), np.float32)
ZEROS = np.array([[[-0.0, 0.0, -0.0]]])


@pytest.mark.parametrize(
    ("X", "Y", "Indices", "expected"),
    [
        # What a NaN does at each place of a window.
        (FAMILY, [3, 3, 3, 3], None, {"nan": ("ignored", "as-neg-inf")}),
        (FAMILY, [NAN, NAN, NAN, NAN], None, {"nan": ("propagates",)}),
        (FAMILY, [NAN, 3, 3, 3], None, {"nan": ("first-sticks",)}),
        (FAMILY, [3, 3, 3, NAN], None, {"nan": ("mixed",)}),
        (TWO_NANS, [-INF], None, {"nan": ("as-neg-inf",)}),
        (TWO_NANS, [NAN], None, {"nan": ("ignored", "propagates", "first-sticks")}),
        # Which of equal maxima is chosen shows in Indices alone.
        (TIES, [5], [4], {"tie": ("mixed",)}),
        (ONES, [1], [0], {"tie": ("first", "column-first")}),
        (ONES, [1], None, {}),
        # The sign of a zero.
        (ZEROS, [0.0], None, {"zero_sign": ("positive",)}),
        (ZEROS, [-0.0], None, {"zero_sign": ("first", "last", "negative")}),
        # Points that a case does not touch are left out.
        (np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), [3], [3], {}),
        (np.zeros((1, 1, 2, 2), np.uint8), [0], None, {}),
    ],
)
def test_the_interpretations_that_agree_with_outputs(X, Y, Indices, expected):
    oracle = oracle_for(X, OPEN, kernel_shape=list(X.shape[2:]))
    outputs = {"Y": np.array(Y, X.dtype).reshape(oracle.shape)}
    if Indices is not None:
        outputs["Indices"] = np.array(Indices).reshape(oracle.shape)
    actual = compare(oracle, outputs, tuple(outputs)).interpretations
    assert {point: names for point, names in actual.items() if point != "nan_bits"} == expected


PAYLOADS = np.array([[[0x7FC00001, 0x3F800000, 0xFFC00002, 0x40000000]]], np.uint32).view(np.float32)
USUAL = np.array([[[NAN, 1.0, NAN, 1.0]]], np.float32)


@pytest.mark.parametrize(
    ("X", "patterns", "names"),
    [
        (PAYLOADS, [0x7FC00001, 0xFFC00002], ("kept",)),
        (PAYLOADS, [0x7FC00000, 0x7FC00000], ("changed",)),
        (PAYLOADS, [0x7FC00001, 0x7FC00000], ("mixed",)),
        # Numbers; and the usual NaN, which has no bits to lose.
        (PAYLOADS, [0x3F800000, 0x40000000], None),
        (USUAL, [0x7FC00000, 0x7FC00000], None),
    ],
)
def test_which_bits_a_nan_has(X, patterns, names):
    """No document decides on payload and sign: both conform, and a runtime that canonicalises NaN is named."""
    oracle = oracle_for(X, OPEN, strides=[2])
    Y = np.array([[patterns]], np.uint32).view(np.float32)
    assert compare(oracle, {"Y": Y}, ("Y",)).interpretations.get("nan_bits") == names


RULES = {"first": min, "last": max, "column-first": lambda cells: min(cells, key=lambda cell: cell[::-1])}


@pytest.mark.parametrize("axis", [0, 3])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 0, 1]], ids=str)
def test_the_rule_for_ties_is_that_of_every_window(pads, axis):
    # From the last axis on several cells of a window have the same number.
    numbering = Numbering(axis=axis)
    for pattern in range(0, 2**9, 5):
        X = (pattern >> np.arange(9) & 1).astype(np.float32).reshape(1, 1, 3, 3)
        pooling = oracle_for(X, OPEN, pads=pads).pooling
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
        for Indices in numbers.values():
            fits = tuple(name for name, expected in numbers.items() if (expected == Indices)[tied].all())
            actual = compare(oracle, {"Y": oracle.pooled.Y, "Indices": Indices}, BOTH).interpretations
            assert actual == ({"tie": fits} if tied.any() else {}), (X, Indices)
