"""The corpus notices every wrong kernel, at least twice, and finds no fault with a correct one."""

import os

import pytest

from maxpool_check.evidence.kernels import CORRECT, DEATHS, all_kernels, wrong_kernels
from maxpool_check.evidence.kills import LoadedKernel, outcome
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import FAULTS, Verdict
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.specification import Refused
from tests.conftest import CASES, run_record
from tests.mutants.in_process import any_kills, faults, first_kills, is_excused, tasks

KERNELS = all_kernels()
IN_PROCESS = [kernel for kernel in wrong_kernels() if kernel.module != DEATHS]
OF_ONNX = [kernel for kernel in KERNELS if not kernel.specs]
IN_OTHER_LANGUAGES = [kernel for kernel in KERNELS if kernel.specs and kernel.is_correct]

ORDINARY = 20_000
"""The cells of X of a case that every correct kernel executes quickly, also one in Python's own loops."""

SAMPLE = 24
"""Of so many wrong kernels one is measured in a process of its own: of all of them, that takes hours."""

TOGETHER = 16
"""Targets of one run: the reference computes each case once for all of them, and each target is a process."""


OF_OTHER_DTYPES = {
    "numbering:as_int32",
    "outputs:y_is_float32",
    "ngraph_maxpool:output_is_float32",
    "nhwc_maxpool:indices_are_int32",
    "openvino_maxpool:indices_are_int32",
    "openvino_maxpool:indices_are_int32_by_default",
    "openvino_maxpool:indices_are_int64",
    "openvino_maxpool:outputs_are_float32",
}
"""The kernels whose mistake is a dtype; no other may be caught by one."""


def measure(chosen, jobs=2, path=CASES):
    """For each kernel the cases that kill it, of those of a path, with a process for each kernel, as a run has it."""
    kernels = list(dict.fromkeys([chosen[0].model, *chosen]))
    faults = {kernel.target: {} for kernel in kernels}
    for start in range(0, len(kernels), TOGETHER):
        targets = [kernel.target for kernel in kernels[start : start + TOGETHER]]
        # In this process every kernel gets the cases of all documents.
        record = run_record(path, *targets, seconds=60.0, jobs=jobs, specs=SPECIFICATIONS)
        assert not record.footer.errors
        for execution in record.executions:
            # None of them hangs: a time-out is of the machine, and no kill.
            assert execution.verdict not in (Verdict.ERROR, Verdict.TIMES_OUT), execution.message
            if execution.verdict in FAULTS:
                faults[execution.target][execution.case, execution.variant] = None
    excused = faults[kernels[0].target]
    return {
        kernel: tuple(dict.fromkeys(fault[0] for fault in faults[kernel.target] if fault not in excused))
        for kernel in chosen
    }


def of_module(name):
    return [kernel for kernel in KERNELS if kernel.module == name]


@pytest.mark.parametrize("kernel", IN_PROCESS, ids=str)
def test_two_cases_kill_every_wrong_kernel(kernel):
    kills = any_kills(kernel, 2)
    assert len(kills) == 2, f"{kernel.sentence} Killed by: {kills}"


@pytest.mark.parametrize("kernel", IN_PROCESS, ids=str)
def test_a_wrong_kernel_is_right_in_every_bit_where_its_mistake_is_not_concerned(kernel):
    chosen = [each for each in tasks(kernel.specs) if each.case.X.size < 100 and not isinstance(each.oracle, Refused)]
    small = [task.jobs[0].request for task in chosen if task.jobs[0].request is not None]
    wrong, right = LoadedKernel(kernel), LoadedKernel(kernel.model)
    pairs = [(outcome(wrong, request), outcome(right, request)) for request in small]
    both = [pair for pair in pairs if all(isinstance(each, Returned) for each in pair)]
    assert any(mine.digests == expected.digests for mine, expected in both)
    has_other_dtypes = any(
        value.dtype != expected.outputs[name].dtype for mine, expected in both for name, value in mine.outputs.items()
    )
    assert has_other_dtypes == (str(kernel) in OF_OTHER_DTYPES), kernel.sentence


def test_two_cases_kill_every_kernel_that_ends_its_process():
    kills = measure(of_module(DEATHS), path=CASES / "refusals")
    assert {kernel: cases for kernel, cases in kills.items() if len(cases) < 2} == {}


@pytest.mark.parametrize("kernel", of_module(CORRECT), ids=str)
@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.long)], ids=["by-hand", "generated"])
def test_no_case_kills_a_correct_kernel(kernel, quick):
    by_hand = [task.case.X.size < ORDINARY and not task.case.id.startswith("generated/") for task in tasks()]
    chosen = [task for task, is_quick in zip(tasks(), by_hand, strict=True) if is_quick == quick]
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
def test_a_process_for_each_kernel_gives_the_same_matrix():
    correct = [kernel for kernel in OF_ONNX if kernel.module == CORRECT]
    wrong = [kernel for kernel in OF_ONNX if kernel in IN_PROCESS][::SAMPLE]
    kills = measure([*correct, *wrong], max(2, os.cpu_count() or 2))
    assert kills == dict.fromkeys(correct, ()) | {kernel: tuple(first_kills(kernel, len(tasks()))) for kernel in wrong}


def test_every_kernel_says_what_it_does_and_where_that_was_seen():
    for kernel in KERNELS:
        assert kernel.sentence
        assert kernel.is_correct or ("Seen: " in kernel.sentence) != ("Plausible: " in kernel.sentence), str(kernel)
