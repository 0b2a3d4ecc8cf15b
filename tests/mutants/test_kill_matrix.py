"""The corpus notices every wrong kernel, at least twice, and finds no fault with a correct one."""

import os

import pytest

from maxpool_check.evidence.kernels import CORRECT, DEATHS, all_kernels, wrong_kernels
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import CASES
from tests.mutants.in_process import any_kills, faults, first_kills, is_excused, tasks
from tests.mutants.kill_matrix import measure

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
@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.long)], ids=["by-hand", "generated"])
def test_no_case_kills_a_correct_kernel(kernel, quick):
    chosen = [task for task in tasks() if is_quick(task) == quick]
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
    assert matrix.kills_in(CORRECT) == {}
    for kernel in set(IN_PROCESS) & set(OF_ONNX):
        assert matrix.kills[kernel] == tuple(first_kills(kernel, len(matrix.cases)))


def test_every_kernel_says_what_it_does_and_where_that_was_seen():
    for kernel in KERNELS:
        assert kernel.sentence
        assert kernel.is_correct or ("Seen: " in kernel.sentence) != ("Plausible: " in kernel.sentence), str(kernel)
