"""The corpus notices every wrong kernel, at least twice, and finds no fault with a right one."""

import os

import pytest

from maxpool_check.corpus.collection import collect
from tests.mutants.kill_matrix import CORRECT, POLICIES, Kernel, Matrix, kernels, measure, render

KERNELS = kernels()


@pytest.fixture(scope="module")
def matrix():
    return measure(KERNELS, max(2, os.cpu_count() or 2))


@pytest.mark.parametrize("kernel", [one for one in KERNELS if one.module not in (CORRECT, POLICIES)], ids=str)
def test_two_cases_kill_every_wrong_kernel(matrix, kernel):
    assert len(matrix.kills[kernel]) >= 2, f"{kernel.sentence} Killed by: {matrix.kills[kernel]}"


@pytest.mark.parametrize("kernel", [one for one in KERNELS if one.module == CORRECT], ids=str)
def test_no_case_kills_a_right_kernel(matrix, kernel):
    assert matrix.kills[kernel] == ()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_kernel_says_what_it_does_and_where_that_was_seen(kernel):
    assert kernel.sentence
    if kernel.module != CORRECT:
        assert ("Seen: " in kernel.sentence) != ("Plausible: " in kernel.sentence)


def test_the_matrix_names_what_is_not_noticed():
    twice, once, never, right = (Kernel(*words) for words in (
        ("sizes", "a", "Wrong a."), ("ties", "b", "Wrong b."), ("nans", "c", "Wrong c."), (CORRECT, "d", "Right."),
    ))  # fmt: skip
    cases = ("one:1", "one:2", "one:3")
    found = Matrix(cases, {twice: cases[:2], once: cases[:1], never: (), right: ()})
    assert list(found.noticed(0, 1)) == [once, never]
    assert found.idle == ("one:3",)
    shown = render(found)
    assert "survivors: 1\n  nans:c" in shown
    assert "3 wrong kernels: 1 killed twice or more, 1 once, 1 never; 0 of 1 right kernels flagged" in shown


def test_a_case_needs_a_kernel_that_it_kills_or_a_pair_of_bins_of_its_own(tmp_path):
    (tmp_path / "three.yaml").write_text(
        "defaults: {attributes: {kernel_shape: [2, 2]}}\n"
        "cases:\n"
        "  - {id: one, title: One, input: {dtype: int8, shape: [1, 1, 3, 3], fill: 1}}\n"
        "  - {id: same, title: The same bins, input: {dtype: int8, shape: [1, 1, 3, 4], fill: 2}}\n"
        "  - {id: own, title: Another type, input: {dtype: uint8, shape: [1, 1, 3, 3], fill: 1}}\n"
        "  - {id: no, title: No window, input: {dtype: uint8, shape: [1, 1, 1, 3], fill: 1}}\n"
    )
    cases = collect([tmp_path]).cases
    ids = tuple(case.id for case in cases)
    killer = Kernel("sizes", "a", "Wrong a.")
    assert Matrix(ids, {killer: ()}).without_a_reason(cases) == ("three:one", "three:same")
    assert Matrix(ids, {killer: ids[:1]}).without_a_reason(cases) == ("three:same",)
