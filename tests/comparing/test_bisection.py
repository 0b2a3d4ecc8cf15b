"""The search for the release where something changes."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxpool_check.comparing.bisection import Bisection


def check(history):
    """The search finds what reading one after the other finds, and tests no place twice. Gives it and the places tested."""
    tested = []
    bisection = Bisection(len(history), lambda place: tested.append(place) or history[place])
    could = [(place, result) for place, result in enumerate(history) if result is not None]
    boundaries = [(low, high) for (low, a), (high, b) in itertools.pairwise(could) if a != b]
    assert [(each.last, each.first) for each in bisection.boundaries()] == boundaries
    assert len(tested) == len(set(tested))
    return bisection, tested


@given(st.integers(1, 60), st.data())
def test_one_change_is_found_in_few_variants(size, data):
    at = data.draw(st.integers(1, size))
    bisection, tested = check(["wrong"] * at + ["right"] * (size - at + 1))
    assert len(tested) <= 4 + math.ceil(math.log2(size + 1))
    assert not bisection.linear


@given(st.lists(st.sampled_from(["wrong", None, "right"]), max_size=30))
def test_any_history_with_one_change_or_none_and_gaps(history):
    ordered = sorted((result for result in history if result), reverse=True)
    check([result and ordered.pop(0) for result in history])


@pytest.mark.parametrize("history", [
    "aabba", "abbbbbba", "aabbcc", "aaaaaaba", "abababab",
    # Halving alone would stop at one of the changes: the neighbours of the boundary give the others away.
    "aaababbb", "aaaababb", "aaaaaaaababbbbbb",
])  # fmt: skip
def test_a_change_that_comes_back_is_found_one_after_the_other(history):
    assert check(list(history))[0].linear
