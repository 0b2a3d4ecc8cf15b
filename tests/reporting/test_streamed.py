"""JSON in parts is the JSON of the whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from maxpool_check.reporting import streamed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_what_holds_no_iterator_is_written_as_by_the_standard_library(value):
    assert "".join(streamed.parts(value)) == json.dumps(value, indent=1)


@given(st.lists(VALUES), st.dictionaries(st.text(), VALUES))
def test_an_iterator_is_a_list_of_which_each_item_is_one_line(items, others):
    parts = list(streamed.parts([{**others, "items": iter(items)}, {"items": iter(())}]))
    assert json.loads("".join(parts)) == [{**others, "items": items}, {"items": []}]
    assert {json.dumps(item) for item in items} <= set(parts)


def test_items_are_made_when_it_is_their_turn():
    made = []
    parts = streamed.parts({"items": (made.append(number) or number for number in range(3))})
    while next(parts) != "1":
        pass
    assert made == [0, 1]
