"""A clause is tested where its own cases notice kernels that violate it."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from maxpool_check.evidence.kernels import WrongKernel, all_kernels, kernel_named, wrong_kernels
from maxpool_check.evidence.kills import LoadedKernel, is_named, kills_by_clause, to_json, violating
from maxpool_check.evidence.wrong_kernels.mutations import check_mutation
from maxpool_check.library import case
from maxpool_check.specifications.clauses import Clause, ClauseKind, ClauseStatus, clauses
from maxpool_check.targets.name import parse
from maxpool_check.targets.worker import python_adapter
from tests.conftest import shipped

UNPADDED = {
    "kernel_shape": [2],
    "strides": [1],
    "dilations": [1],
    "auto_pad": "NOTSET",
    "ceil_mode": 0,
    "storage_order": 0,
}

CLAUSE = Clause(id="T-PADS", where="", states="", kind=ClauseKind.DEFINITION, violated_by=("padding:zero",))


def covering(clause, **fields):
    return replace(case([[[-3.0, -2.0]]], kernel_shape=[2], **fields), covers=(clause,))


PADDED = covering("T-PADS", name="padded", pads=[1, 0])
LARGER = replace(covering("T-PADS", name="larger", pads=[1, 0]), X=case([[[-3.0, -2.0, -1.0]]], kernel_shape=[2]).X)
NOT_PADDED = covering("T-PADS", name="not-padded")
OF_ANOTHER_CLAUSE = covering("T-OTHER", name="of-another-clause", pads=[0, 1])


def kills(*cases, clause=CLAUSE, most=3):
    return {str(kernel): found for kernel, found in kills_by_clause(cases, [clause], most)[clause.id].items()}


def test_the_cases_of_a_clause_that_notice_a_kernel_are_named_small_ones_first():
    cases = (LARGER, NOT_PADDED, PADDED, OF_ANOTHER_CLAUSE)
    assert kills(*cases) == {"padding:zero": ("library:padded", "library:larger")}
    assert kills(*cases, most=1) == {"padding:zero": ("library:padded",)}


def test_a_clause_whose_cases_notice_nothing_names_its_kernels_without_cases():
    assert kills(NOT_PADDED, OF_ANOTHER_CLAUSE) == {"padding:zero": ()}


def test_only_testable_clauses_count():
    assert kills_by_clause([PADDED], [changed(CLAUSE, status=ClauseStatus.INFORMATIVE)]) == {}


def test_a_kernel_that_ends_its_process_is_executed_in_another_one():
    refused = replace(
        case([[[1.0, 2.0]]], name="stride-0", kernel_shape=[2], strides=[0], expect={"refuse": "invalid-attribute"}),
        covers=("T-PADS",),
    )
    clause = changed(CLAUSE, violated_by=("deaths",))
    assert kills(PADDED, refused, clause=clause) == {"deaths:dies_of_the_stride": ("library:stride-0",)}


def test_a_kernel_in_the_language_of_a_document_gets_the_attributes_of_its_cases():
    # Without strides, which no translation leaves out.
    clause = changed(CLAUSE, violated_by=("onnx_maxpool:needs_strides", "openvino_maxpool:needs_all_attributes"))
    found = kills(NOT_PADDED, clause=clause)
    assert found == {"onnx_maxpool:needs_strides": ("library:not-padded",), "openvino_maxpool:needs_all_attributes": ()}


@pytest.mark.parametrize(
    ("pattern", "named"),
    [("padding", True), ("padding:zero", True), ("padding:z*", True), ("padding:*_for_*", False), ("pad", False)],
)
def test_a_clause_names_kernels_by_module_or_by_name(pattern, named):
    assert is_named(WrongKernel("padding", "zero", ""), pattern) is named


def test_the_kills_as_json_say_what_each_kernel_does():
    found = to_json(kills_by_clause([PADDED], [CLAUSE]))
    (kernel,) = violating(CLAUSE)
    assert found == {
        "schema": "maxpool-check/kills/1",
        "kernels": {"padding:zero": kernel.sentence},
        "clauses": {"T-PADS": {"padding:zero": ["library:padded"]}},
    }


def test_a_kernel_is_loaded_by_its_name_as_a_target():
    path, function = parse(kernel_named("padding:zero").target).function
    kernel = python_adapter.Runtime({"function": [path, function]})
    Y, Indices = kernel.function(PADDED.X.tensor(), {**UNPADDED, "pads": [1, 0]})
    assert (Y.tolist(), Indices.tolist()) == ([[[0.0, -2.0]]], [[[-1, 1]]])
    with pytest.raises(LookupError, match="no function 'padding__one'"):
        python_adapter.Runtime({"function": [path, "padding__one"]})


def test_every_kernel_can_be_made():
    assert all(callable(LoadedKernel(kernel).function) for kernel in all_kernels())


@pytest.mark.parametrize(
    ("mutation", "named"),
    [
        ({"attribute": {"set": {"pads": 0}}}, "attribute"),
        ({"attributes": {"sets": {"pads": 0}}}, "sets"),
        ({"when": {"raining": True}}, "raining"),
        ({"scan": {"pick": "the_best"}}, "pick"),
        ({"scan": {"picks": "last"}}, "picks"),
        ({"Y": {"multiplied": 2}}, "multiplied"),
    ],
)
def test_a_mutation_that_there_is_not_is_a_mistake(mutation, named):
    with pytest.raises(ValueError, match=f"no such mutation: {named}$"):
        check_mutation(mutation)


@pytest.fixture(scope="module")
def testable():
    return [clause for clause in clauses().values() if clause.status is ClauseStatus.TESTABLE]


def test_every_pattern_of_a_clause_names_a_kernel():
    patterns = {(clause.id, pattern) for clause in clauses().values() for pattern in clause.violated_by}
    assert [each for each in patterns if not any(is_named(kernel, each[1]) for kernel in wrong_kernels())] == []


def test_kernels_violate_every_testable_clause_and_only_these(testable):
    assert [clause.id for clause in clauses().values() if bool(clause.violated_by) != (clause in testable)] == []


def test_every_wrong_kernel_violates_a_clause(testable):
    violators = {kernel for clause in testable for kernel in violating(clause)}
    assert [str(kernel) for kernel in wrong_kernels() if kernel not in violators] == []


def test_cases_of_every_clause_notice_every_kernel_that_violates_it(testable):
    unnoticed = {
        (clause, str(kernel))
        for clause, by_kernel in kills_by_clause(shipped().cases, testable, most=1).items()
        for kernel, killing in by_kernel.items()
        if not killing
    }
    assert unnoticed == set()
