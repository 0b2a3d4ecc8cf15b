"""The benchmark can be run. How fast anything is depends on the machine, and is no test."""

import sys

import pytest

from tests.bench.__main__ import line
from tests.bench.measuring import Figure, process, python, ratio
from tests.bench.row import Row


@pytest.mark.long
def test_the_smallest_one_writes_every_row(tmp_path):
    page = tmp_path / "benchmark.md"
    process(python("-m", "tests.bench", "--tiny", "-o", page))
    table = [row.split(" | ") for row in page.read_text().splitlines() if row.startswith("| ")][1:]
    what = "\n".join(row[1] for row in table)
    for words in (
        "a bare loop", "processor time of all processes", "two floors", "own kernel", "ReferenceEvaluator", "backend test runner", "Polygraphy", "CSafeLoader", "--help",
        "a case / of", "the largest process", "for the first time", "pytest", "ResNet-50",
    ):  # fmt: skip
        assert words in what
    assert {row[0] for row in table} == {"| run", "| commands", "| evaluator", "| loading", "| start", "| growth"}
    # Whatever was measured took time; only what needs a package index is left out.
    empty = [row for row in table if not row[2]]
    assert [row[-1] for row in empty] == ["not measured: left out |"]
    assert all(float(row[2].split()[0]) > 0 for row in table if row not in empty)


def test_a_ratio_is_of_times_in_turn():
    times = {"one": iter([9.0, 6.0, 8.0, 2.0]), "other": iter([9.0, 3.0, 2.0, 4.0])}
    found = ratio(lambda: next(times["one"]), lambda: next(times["other"]), 3)
    # The first of each is not counted.
    assert found.values == (2.0, 4.0, 0.5)
    assert found.median == 2.0


@pytest.mark.parametrize(
    ("value", "limit", "met"),
    [(1.2, 1.25, "yes"), (1.3, 1.25, "no"), (120, -100, "yes"), (99, -100, "no"), (5, None, "")],
)
def test_what_is_wanted_is_a_most_or_a_least(value, limit, met):
    row = Row("run", "this / that", Figure((value,) * 3), limit=limit)
    assert row.met == met
    if limit is not None:
        crossing = Row("run", "this / that", Figure((value, value, 10 * abs(limit), abs(limit) / 10)), limit=limit)
        assert crossing.met == "unclear"
    assert f"| {row.wanted} | {met} |" in line(row)


def test_a_command_that_fails_is_no_measurement():
    with pytest.raises(RuntimeError, match="ended with 3"):
        process((sys.executable, "-c", "raise SystemExit(3)"))


def test_the_memory_is_that_of_the_process_and_not_of_this_one():
    held = bytearray(b"x" * (200 * 2**20))
    small = process((sys.executable, "-c", "pass")).megabytes
    large = process((sys.executable, "-c", "x = b'x' * (100 * 2**20)")).megabytes
    assert len(held) == 200 * 2**20
    assert small < 60
    assert large - small > 90
