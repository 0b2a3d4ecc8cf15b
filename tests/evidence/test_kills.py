"""A clause is tested where its own cases notice kernels that violate it."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from maxpool_check.evidence.kernels import all_kernels, wrong_kernels
from maxpool_check.evidence.kills import LoadedKernel, is_named, kills_by_clause, to_json, violating
from maxpool_check.library import case
from maxpool_check.specifications.clauses import Clause, ClauseKind, ClauseStatus, clauses
from tests.conftest import shipped

CLAUSE = Clause(id="T-PADS", where="", states="", kind=ClauseKind.DEFINITION, violated_by=("padding:zero",))


def covering(clause, **fields):
    return replace(case([[[-3.0, -2.0]]], kernel_shape=[2], **fields), covers=(clause,))


PADDED = covering("T-PADS", name="padded", pads=[1, 0])
LARGER = replace(covering("T-PADS", name="larger", pads=[1, 0]), X=case([[[-3.0, -2.0, -1.0]]], kernel_shape=[2]).X)
NOT_PADDED = covering("T-PADS", name="not-padded")
# The pads of the axes are exchanged at each end by itself: the four in reverse would be the same ones.
TURNED = replace(
    case([[[[1.0, 2.0], [3.0, 4.0]]]], name="turned", kernel_shape=[2, 2], pads=[1, 0, 0, 1]), covers=("T-PADS",)
)
OF_ANOTHER_CLAUSE = covering("T-OTHER", name="of-another-clause", pads=[0, 1])
REFUSED = replace(
    case([[[1.0, 2.0]]], name="stride-0", kernel_shape=[2], strides=[0], expect={"refuse": "invalid-attribute"}),
    covers=("T-PADS",),
)


@pytest.mark.parametrize(
    ("cases", "kernels", "expected"),
    [
        # Small cases come first.
        ((LARGER, NOT_PADDED, PADDED, OF_ANOTHER_CLAUSE), ["padding:zero"], [("padded", "larger")]),
        ((NOT_PADDED, OF_ANOTHER_CLAUSE), ["padding:zero"], [()]),
        ((TURNED,), ["padding:axes_exchanged"], [("turned",)]),
        # It ends its process.
        ((PADDED, REFUSED), ["deaths:dies_of_the_stride"], [("stride-0",)]),
        # Kernels in the language of a document get the attributes of a case, which has no strides, translated or not.
        ((NOT_PADDED,), ["onnx_maxpool:needs_strides", "openvino_maxpool:needs_all_attributes"], [("not-padded",), ()]),
    ],
)
def test_the_cases_of_a_clause_that_notice_a_kernel_are_named(cases, kernels, expected):
    clause = changed(CLAUSE, violated_by=tuple(kernels))
    noticed = {str(kernel): found for kernel, found in kills_by_clause(cases, [clause], 3)[clause.id].items()}
    named = (tuple(f"library:{name}" for name in names) for names in expected)
    assert noticed == dict(zip(kernels, named, strict=True))


def test_as_few_cases_as_asked_for_are_named_and_testable_clauses_alone_count():
    (kernel,) = violating(CLAUSE)
    assert to_json(kills_by_clause([LARGER, PADDED], [CLAUSE], 1)) == {
        "schema": "maxpool-check/kills/1",
        "kernels": {"padding:zero": kernel.sentence},
        "clauses": {"T-PADS": {"padding:zero": ["library:padded"]}},
    }
    assert kills_by_clause([PADDED], [changed(CLAUSE, status=ClauseStatus.INFORMATIVE)]) == {}


TESTABLE = [clause for clause in clauses().values() if clause.status is ClauseStatus.TESTABLE]


def test_each_wrong_kernel_can_be_made_and_violates_a_testable_clause_and_each_of_these_is_violated():
    assert all(callable(LoadedKernel(kernel).function) for kernel in all_kernels())
    patterns = {(clause.id, pattern) for clause in clauses().values() for pattern in clause.violated_by}
    assert [each for each in patterns if not any(is_named(kernel, each[1]) for kernel in wrong_kernels())] == []
    assert [clause.id for clause in clauses().values() if bool(clause.violated_by) != (clause in TESTABLE)] == []
    violators = {kernel for clause in TESTABLE for kernel in violating(clause)}
    assert [str(kernel) for kernel in wrong_kernels() if kernel not in violators] == []


def test_cases_of_every_clause_notice_every_kernel_that_violates_it():
    noticed = kills_by_clause(shipped().cases, TESTABLE, most=1)
    unnoticed = [
        (clause, str(kernel)) for clause, kernels in noticed.items() for kernel, cases in kernels.items() if not cases
    ]
    assert unnoticed == [], (
        "add a case, or see 'maxpool-check evidence trace -v -k clause:CLAUSE' for the cases there are"
    )
