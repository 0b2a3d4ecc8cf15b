"""The search for the release where something changes."""

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from maxpool_check.comparing.bisection import Bisection


def search(history):
    asked = []

    def ask(place):
        asked.append(place)
        return history[place]

    bisection = Bisection(len(history), ask)
    return bisection, bisection.boundaries(), asked


def plainly(history):
    """The boundaries, read one after the other."""
    could = [(place, shown) for place, shown in enumerate(history) if shown is not None]
    return [(low, high) for (low, a), (high, b) in itertools.pairwise(could) if a != b]


@given(st.integers(1, 60), st.data())
def test_one_change_is_found_in_few_variants(size, data):
    at = data.draw(st.integers(1, size))
    history = ["wrong"] * at + ["right"] * (size - at + 1)
    bisection, found, asked = search(history)
    assert [(one.last, one.first) for one in found] == plainly(history)
    assert len(asked) == len(set(asked))
    assert len(asked) <= 2 + math.ceil(math.log2(len(history))) + 2
    assert not bisection.linear


@given(st.lists(st.sampled_from(["wrong", None, "right"]), max_size=30))
def test_any_history_with_one_change_or_none_and_gaps(history):
    ordered = sorted((shown for shown in history if shown), reverse=True)
    history = [shown and ordered.pop(0) for shown in history]
    _, found, asked = search(history)
    assert [(one.last, one.first) for one in found] == plainly(history)
    assert len(asked) == len(set(asked))


def test_a_change_that_comes_back_is_found_one_after_the_other():
    for history in ("aabba", "abbbbbba", "aabbcc", "aaaaaaba", "abababab"):
        bisection, found, _ = search(list(history))
        assert [(one.last, one.first) for one in found] == plainly(list(history)), history
        assert bisection.linear


def test_the_neighbours_of_the_boundary_give_a_history_away_that_is_not_monotone():
    # Halving alone would stop at one of the changes.
    bisection, found, _ = search(list("aaababbb"))
    assert bisection.linear
    assert len(found) == 3


def test_nothing_to_ask():
    assert search([])[1] == []
    assert search([None, None])[1] == []
    assert search(["a"])[1] == []
    assert search([None, "a", None, "b", None])[1][0].first == 3


def test_an_island_beside_the_boundary_is_found():
    # Halving ends between the places 5 and 6; only the left neighbour of that boundary gives the other changes away.
    for history in ("aaaababb", "aaaaaaaababbbbbb"):
        bisection, found, _ = search(list(history))
        assert [(one.last, one.first) for one in found] == plainly(list(history)), history
        assert bisection.linear
