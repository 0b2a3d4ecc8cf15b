"""The corpus notices every wrong kernel, at least twice, and finds no fault with a correct one."""

import os

import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.evidence.kernels import CORRECT, DEATHS, WrongKernel, all_kernels, wrong_kernels
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import CASES
from tests.mutants.in_process import any_kills, faults, first_kills, is_excused, tasks
from tests.mutants.kill_matrix import Matrix, measure, render

KERNELS = all_kernels()
IN_PROCESS = [kernel for kernel in wrong_kernels() if kernel.module != DEATHS]
OF_ONNX = [kernel for kernel in KERNELS if not kernel.specs]
IN_OTHER_LANGUAGES = [kernel for kernel in KERNELS if kernel.specs and kernel.is_correct]

ORDINARY = 20_000
"""The cells of X of a case that every correct kernel executes quickly, also one in Python's own loops."""


def of_module(name):
    return [kernel for kernel in KERNELS if kernel.module == name]


@pytest.mark.parametrize("kernel", IN_PROCESS, ids=str)
def test_two_cases_kill_every_wrong_kernel(kernel):
    kills = any_kills(kernel, 2)
    assert len(kills) == 2, f"{kernel.sentence} Killed by: {kills}"


def test_two_cases_kill_every_kernel_that_ends_its_process():
    matrix = measure(of_module(DEATHS), paths=[CASES / "refusals"])
    assert matrix.noticed(0, 1) == {}


def is_quick(task):
    """Whether a case is by hand and of ordinary size."""
    return task.case.X.size < ORDINARY and not task.case.id.startswith("generated/")


@pytest.mark.parametrize("kernel", of_module(CORRECT), ids=str)
def test_no_case_by_hand_kills_a_correct_kernel(kernel):
    assert [fault for fault in faults(kernel, filter(is_quick, tasks())) if not is_excused(kernel, fault)] == []


@pytest.mark.long
@pytest.mark.parametrize("kernel", of_module(CORRECT), ids=str)
def test_no_generated_or_large_case_kills_a_correct_kernel(kernel):
    chosen = [task for task in tasks() if not is_quick(task)]
    assert len(chosen) > 400
    assert [fault for fault in faults(kernel, chosen) if not is_excused(kernel, fault)] == []


@pytest.mark.parametrize("kernel", IN_OTHER_LANGUAGES, ids=str)
def test_no_case_kills_a_kernel_that_reads_the_attributes_of_a_document_as_it_says(kernel):
    ordinary = [task for task in tasks(kernel.specs) if task.case.policies == task.case.specification.policies]
    assert len(ordinary) > 100
    assert list(faults(kernel, ordinary)) == []


def test_each_language_has_one_correct_kernel():
    languages = {kernel.specs for kernel in KERNELS if kernel.specs}
    assert sorted(kernel.specs for kernel in IN_OTHER_LANGUAGES) == sorted(languages)
    assert {spec for specs in languages for spec in specs} == set(SPECIFICATIONS)


@pytest.mark.long
def test_the_command_line_gives_the_same_matrix():
    matrix = measure(OF_ONNX, max(2, os.cpu_count() or 2))
    assert matrix.noticed(0, 1) == {}
    assert {kernel: cases for kernel, cases in matrix.kills_in(CORRECT).items() if cases} == {}
    for kernel in set(IN_PROCESS) & set(OF_ONNX):
        assert matrix.kills[kernel] == tuple(first_kills(kernel, len(matrix.cases)))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_kernel_says_what_it_does_and_where_that_was_seen(kernel):
    assert kernel.sentence
    if not kernel.is_correct:
        assert ("Seen: " in kernel.sentence) != ("Plausible: " in kernel.sentence)


def test_the_matrix_names_what_is_not_noticed():
    twice, once, never, correct = (WrongKernel(*words) for words in (
        ("sizes", "a", "Wrong a."), ("ties", "b", "Wrong b."), ("nans", "c", "Wrong c."), (CORRECT, "d", "Correct."),
    ))  # fmt: skip
    cases = ("one:1", "one:2", "one:3")
    matrix = Matrix(cases, {twice: cases[:2], once: cases[:1], never: (), correct: ()})
    assert list(matrix.noticed(0, 1)) == [once, never]
    assert matrix.idle == ("one:3",)
    text = render(matrix)
    assert "survivors: 1\n  nans:c" in text
    assert "3 wrong kernels: 1 killed twice or more, 1 once, 1 never; 0 of 1 correct kernels flagged" in text


def test_a_case_needs_a_kernel_that_it_kills_or_a_pair_of_bins_of_its_own(tmp_path):
    (tmp_path / "three.yaml").write_text(
        "defaults: {attributes: {kernel_shape: [2, 2]}}\n"
        "cases:\n"
        "  - {id: one, title: One, input: {dtype: int8, shape: [1, 1, 3, 3], fill: 1}}\n"
        "  - {id: same, title: The same bins, input: {dtype: int8, shape: [1, 1, 3, 4], fill: 2}}\n"
        "  - {id: own, title: Another type, input: {dtype: uint8, shape: [1, 1, 3, 3], fill: 1}}\n"
        "  - {id: no, title: No window, input: {dtype: uint8, shape: [1, 1, 1, 3], fill: 1}, attributes: {kernel_shape: [3, 2]}}\n"
    )
    cases = collect([tmp_path]).cases
    ids = tuple(case.id for case in cases)
    killer = WrongKernel("sizes", "a", "Wrong a.")
    assert Matrix(ids, {killer: ()}).without_a_reason(cases) == ("three:one", "three:same")
    assert Matrix(ids, {killer: ids[:1]}).without_a_reason(cases) == ("three:same",)
