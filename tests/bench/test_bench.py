"""The benchmark can be run. How fast anything is depends on the machine, and is no test."""

import pytest

from tests.bench.__main__ import python, ratio, row


@pytest.mark.long
def test_the_smallest_one_measures_every_row(tmp_path):
    page = tmp_path / "benchmark.md"
    python("-m", "tests.bench", "--tiny", "-o", page)
    table = [line.split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    # What takes so little of the processor may round to 0.
    assert all(float(line[1].split()[0]) >= 0 for line in table)
    assert len(table) == 41


def test_a_ratio_is_of_times_in_turn():
    one, other = iter([9.0, 6.0, 8.0, 2.0]), iter([9.0, 3.0, 2.0, 4.0])
    # The first of each is not counted.
    assert ratio(lambda: next(one), lambda: next(other), 3) == (2.0, 4.0, 0.5)


def test_what_is_wanted_is_a_most_or_a_least_and_a_failed_command_is_no_measurement():
    wanted = {(1.2, 1.2): "yes", (1.3, 1.3): "no", (1.2, 1.3): "unclear"}
    assert all(row("x", values, 1.25).endswith(f"| at most 1.25 x | {met} |") for values, met in wanted.items())
    wanted = {(120, 100): "yes", (99, 99): "no"}
    assert all(row("x", values, -100).endswith(f"| at least 100 x | {met} |") for values, met in wanted.items())
    with pytest.raises(RuntimeError, match="ended with 3"):
        python("-c", "raise SystemExit(3)")
