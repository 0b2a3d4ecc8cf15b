"""The benchmark can be run. How fast anything is depends on the machine, and is no test."""

import pytest

from tests.bench.__main__ import Used, python, row


@pytest.mark.long
def test_the_smallest_one_measures_every_row(tmp_path):
    python("-m", "tests.bench", "--tiny", "-o", tmp_path / "benchmark.md")
    assert (tmp_path / "benchmark.md").read_text().count("\n| ") == 31


def test_what_is_wanted_is_a_most_or_a_least():
    for values, most, least in (((6, 6), "yes", "no"), ((7, 7), "no", "yes"), ((6, 7), "unclear", "unclear")):
        pairs = [(Used(value, 10, 100), Used(5, 5)) for value in values]
        assert row("x", pairs, 1.25).endswith(f" | 100 | at most 1.25 x | {most} |")
        assert row("x", pairs, -1.25).endswith(f" | 100 | at least 1.25 x | {least} |")
        assert row("x", pairs, 6.5, "s").endswith(f" | at most 6.5 s | {most} |")
