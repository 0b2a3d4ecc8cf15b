"""The search for the release where something changes."""

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from maxpool_check.comparing.bisection import Bisection


def search(history):
    tested = []

    def test(place):
        tested.append(place)
        return history[place]

    bisection = Bisection(len(history), test)
    return bisection, bisection.boundaries(), tested


def plainly(history):
    """The boundaries, read one after the other."""
    could = [(place, result) for place, result in enumerate(history) if result is not None]
    return [(low, high) for (low, a), (high, b) in itertools.pairwise(could) if a != b]


@given(st.integers(1, 60), st.data())
def test_one_change_is_found_in_few_variants(size, data):
    at = data.draw(st.integers(1, size))
    history = ["wrong"] * at + ["right"] * (size - at + 1)
    bisection, boundaries, tested = search(history)
    assert [(each.last, each.first) for each in boundaries] == plainly(history)
    assert len(tested) == len(set(tested))
    assert len(tested) <= 2 + math.ceil(math.log2(len(history))) + 2
    assert not bisection.linear


@given(st.lists(st.sampled_from(["wrong", None, "right"]), max_size=30))
def test_any_history_with_one_change_or_none_and_gaps(history):
    ordered = sorted((result for result in history if result), reverse=True)
    history = [result and ordered.pop(0) for result in history]
    _, boundaries, tested = search(history)
    assert [(each.last, each.first) for each in boundaries] == plainly(history)
    assert len(tested) == len(set(tested))


def test_a_change_that_comes_back_is_found_one_after_the_other():
    for history in ("aabba", "abbbbbba", "aabbcc", "aaaaaaba", "abababab"):
        bisection, boundaries, _ = search(list(history))
        assert [(each.last, each.first) for each in boundaries] == plainly(list(history)), history
        assert bisection.linear


def test_the_neighbours_of_the_boundary_give_a_history_away_that_is_not_monotone():
    # Halving alone would stop at one of the changes.
    bisection, boundaries, _ = search(list("aaababbb"))
    assert bisection.linear
    assert len(boundaries) == 3


def test_nothing_to_test():
    assert search([])[1] == []
    assert search([None, None])[1] == []
    assert search(["a"])[1] == []
    assert search([None, "a", None, "b", None])[1][0].first == 3


def test_an_island_beside_the_boundary_is_found():
    # Halving ends between the places 5 and 6; only the left neighbour of that boundary gives the other changes away.
    for history in ("aaaababb", "aaaaaaaababbbbbb"):
        bisection, boundaries, _ = search(list(history))
        assert [(each.last, each.first) for each in boundaries] == plainly(list(history)), history
        assert bisection.linear
