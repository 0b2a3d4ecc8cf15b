"""The benchmark can be run. How fast anything is depends on the machine, and is no test."""

import pytest

from tests.bench.__main__ import Used, python, row


@pytest.mark.long
def test_the_smallest_one_measures_every_row(tmp_path):
    python("-m", "tests.bench", "--tiny", "-o", tmp_path / "benchmark.md")
    assert (tmp_path / "benchmark.md").read_text().count("\n| ") == 40


def test_what_is_wanted_is_a_most():
    for values, met in (((6, 6), "yes"), ((7, 7), "no"), ((6, 7), "1 of 2")):
        pairs = [(Used(value, 10, 100), Used(5, 5)) for value in values]
        assert row("x", pairs, 1.25).endswith(f" | 100 | at most 1.25 x | {met} |")
        assert row("x", pairs, 6.5, "s").endswith(f" | at most 6.5 s | {met} |")
        assert row("x", pairs, 1.1, "x + 1 s").endswith(f" | at most 1.1 x + 1 s | {met} |")
