"""The benchmark can be run. How fast anything is depends on the machine, and is no test."""

import pytest

from tests.bench.__main__ import python, row


@pytest.mark.long
def test_the_smallest_one_measures_every_row(tmp_path):
    python("-m", "tests.bench", "--tiny", "-o", tmp_path / "benchmark.md")
    assert (tmp_path / "benchmark.md").read_text().count("\n| ") == 43


def test_what_is_wanted_is_a_most_or_a_least():
    for values, most, least in (
        ((1.2, 1.2), "yes", "no"),
        ((1.3, 1.3), "no", "yes"),
        ((1.2, 1.3), "unclear", "unclear"),
    ):
        assert row("x", values, 1.25).endswith(f"| at most 1.25 x | {most} |")
        assert row("x", values, -1.25).endswith(f"| at least 1.25 x | {least} |")
