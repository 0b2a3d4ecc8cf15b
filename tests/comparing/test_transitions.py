"""What becomes of an execution from one record to another, and what a gate makes of it."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from maxpool_check.comparing.gate import GatePolicy, summarize
from maxpool_check.comparing.transitions import Change, Incomparable, Transitions, change, paired
from maxpool_check.results.outputs import packed
from maxpool_check.results.record import Execution, Record, RunFooter, RunHeader, TargetDescription, Verdict

A, B = {"Y": "a"}, {"Y": "b"}


def execution(
    verdict="conforms", digests=A, *kinds, case="x:a", variant="y-only", target="t", sha="1", size=1, wrong=None
):
    return Execution(
        target=target, case=case, variant=variant, verdict=Verdict(verdict), title="", spec="onnx-22", case_sha256=sha,
        origin="x.yaml:1", kinds=kinds, digests=digests, size=size, wrong=wrong or {},
    )  # fmt: skip


RIGHT = execution()
OTHER = execution("conforms", B)
WRONG = execution("diverges", A, "y-not-in-input")
INVALID = execution("diverges", A, "accepts-invalid")
INVALID_ALONE = execution("diverges", {}, "accepts-invalid")
NO_OUTPUT = execution("diverges", {}, "missing-output")
REFUSAL = execution("conforms", {})
REFUSES = execution("refuses", {}, "refuses-valid")
CRASH = execution("crashes", {}, "crash")
HANGS = execution("times-out", {}, "timeout")
INCONSISTENT = execution("inconsistent", A, "y-depends-on-indices")
UNDEFINED = execution("undefined", A)
NOT_EXECUTED = execution("not-expressible", {})
ERROR = execution("error", {})


@pytest.mark.parametrize(
    ("expected", "pairs"),
    [
        ("same", [(RIGHT, RIGHT), (UNDEFINED, UNDEFINED), (WRONG, WRONG), (REFUSES, REFUSES), (REFUSAL, REFUSAL),
                  (CRASH, CRASH), (INCONSISTENT, INCONSISTENT)]),
        ("conforming-but-different", [(RIGHT, OTHER), (UNDEFINED, execution("undefined", B)),
                                      (INCONSISTENT, execution("inconsistent", B, "y-depends-on-indices"))]),
        ("regressed", [(RIGHT, WRONG), (UNDEFINED, WRONG), (REFUSAL, INVALID), (REFUSES, WRONG), (CRASH, WRONG),
                       (INCONSISTENT, WRONG), (REFUSAL, INVALID_ALONE), (RIGHT, NO_OUTPUT)]),
        ("fixed", [(WRONG, RIGHT), (INVALID, REFUSAL), (INVALID_ALONE, REFUSAL), (NO_OUTPUT, RIGHT), (INCONSISTENT, RIGHT)]),
        ("changed", [(WRONG, execution("diverges", B, "y-not-in-input")), (CRASH, HANGS),
                     (WRONG, execution("diverges", A, "y-nan-introduced"))]),
        ("newly-refused", [(RIGHT, REFUSAL), (INCONSISTENT, REFUSES), (RIGHT, REFUSES)]),
        ("newly-accepted", [(REFUSES, RIGHT)]),
        ("wrong-to-refused", [(WRONG, REFUSES)]),
        ("crash-new", [(RIGHT, CRASH), (REFUSAL, HANGS), (INCONSISTENT, CRASH)]),
        ("crash-gone", [(CRASH, RIGHT), (CRASH, INVALID), (CRASH, REFUSAL), (CRASH, INCONSISTENT)]),
        ("newly-inconsistent", [(RIGHT, INCONSISTENT), (WRONG, INCONSISTENT), (REFUSES, INCONSISTENT)]),
        ("missing", [(RIGHT, None), (RIGHT, NOT_EXECUTED), (RIGHT, ERROR)]),
        ("added", [(None, RIGHT), (NOT_EXECUTED, WRONG)]),
        ("not-compared", [(NOT_EXECUTED, NOT_EXECUTED), (None, NOT_EXECUTED)]),
    ],
)  # fmt: skip
def test_what_becomes_of_an_execution(expected, pairs):
    assert [change(*pair) for pair in pairs] == [expected] * len(pairs)


def record(*executions, profile=None, targets=("t",), footer=True):
    return Record(
        RunHeader(
            tool="0", started="", python="", system="", cpu="", libraries={}, cases=1, cases_sha256="",
            targets=tuple(
                TargetDescription(
                    name=name, distribution="d", version="1", provider="p", providers=(), session_options={}, python="3",
                    numpy="2", newest_opset=None,
                )
                for name in targets
            ),
            profile={"onnx-22": profile or {"nan": "ignored"}}, known_sha256=None,
        ),
        executions,
        RunFooter(finished="", executions=0, summary={}, known=(), errors=(), exit_code=0) if footer else None,
    )  # fmt: skip


def wrong(digest, **by_output):
    """A wrong execution, whose wrong cells are given as ``f`` for finite, ``s`` for special, by output."""
    cells = {
        output: {
            sort: packed(np.array([each == sort[0] for each in text]))
            for sort in ("finite", "special")
            if sort[0] in text
        }
        for output, text in by_output.items()
    }
    return execution("diverges", {"Y": digest}, "y-not-in-input", wrong=cells)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"Y": "..f."}, {"Y": "..f."}, "changed"),
        # A right cell that is wrong, also where others were wrong before.
        ({"Y": "..f."}, {"Y": "..ff"}, "regressed"),
        ({"Y": "..f."}, {"Y": "..f.", "Indices": "f..."}, "regressed"),
        ({"Y": "s..."}, {"Y": "s..s"}, "regressed"),
        ({"Y": "..ff"}, {"Y": "..f."}, "improved"),
        ({"Y": "ff..", "Indices": "ff.."}, {"Y": "ff.."}, "improved"),
        # Of cells that became wrong and cells that became right, the worse decide.
        ({"Y": "ff.."}, {"Y": "f..s"}, "improved"),
        ({"Y": "fs.."}, {"Y": "f..f"}, "regressed"),
        ({"Y": "ff.."}, {"Y": "f..f"}, "regressed"),
        ({"Y": "ff.."}, {"Y": 20 * "f"}, "changed"),
        ({}, {"Y": "f..."}, "changed"),
    ],
)
def test_the_cells_of_a_wrong_result_decide(old, new, expected):
    assert change(wrong("1", **old), wrong("2", **new)) == expected


EXECUTIONS = st.lists(
    st.builds(
        lambda case, variant, result, target: execution(*result, case=f"x:{case}", variant=variant, target=target),
        st.sampled_from("abcd"),
        st.sampled_from(["indices", "y-only"]),
        st.sampled_from([("conforms", A), ("conforms", B), ("refuses", {}, "refuses-valid")]),
        st.sampled_from(["t", "t", "t", "another"]),
    ),
    max_size=12,
)


@given(EXECUTIONS, EXECUTIONS)
def test_records_in_any_order_are_paired_by_case_and_variant(old, new):
    def first(executions):
        """The first execution of each case and variant on the target."""
        pairs = [((each.case, each.variant), each) for each in executions if each.target == "t"]
        return dict(reversed(pairs))

    before, after = first(old), first(new)
    changes = Transitions(record(*old), record(*new), ("t", "t"))
    expected = {key: (before.get(key), after.get(key)) for key in before | after}
    for _ in range(2):
        pairs = [((each.execution.case, each.execution.variant), (each.old, each.new)) for each in changes]
        assert dict(pairs) == expected
        assert len(pairs) == len(expected)
        # The variants of a case follow each other.
        cases = [case for (case, _), _ in pairs]
        assert len(list(groupby(cases))) == len(set(cases))


def test_a_case_or_a_document_that_is_not_the_same_cannot_be_compared():
    old, new = record(RIGHT, execution(case="x:b")), record(RIGHT, execution(case="x:b", sha="2"))
    with pytest.raises(Incomparable, match="x:b is not the same case in both"):
        Transitions(old, new, ("t", "t"))
    assert [each.execution.case for each in Transitions(old, new, ("t", "t"), intersection=True)] == ["x:a"]
    with pytest.raises(Incomparable, match="onnx-22 is interpreted differently"):
        Transitions(record(RIGHT), record(RIGHT, profile={"nan": "propagates"}), ("t", "t"))


def test_targets_are_paired_by_name_unless_there_is_one_or_they_are_named():
    first, second, both = record(targets=("a",)), record(targets=("b",)), record(targets=("a", "b", "c"))
    assert paired(first, second) == [("a", "b")]
    assert paired(both, record(targets=("b", "c", "d"))) == [("b", "b"), ("c", "c")]
    assert paired(both, second, ("c", None)) == [("c", "b")]
    with pytest.raises(Incomparable, match="name the targets to compare"):
        paired(both, record(targets=("d", "e")))
    with pytest.raises(Incomparable, match="no target 'z'"):
        paired(first, second, ("z", None))


def test_groups_show_the_worst_first_and_the_smallest_case_of_each():
    old = record(
        *[execution(case=f"x:{name}") for name in "abc"], execution("diverges", A, "y-nan-introduced", case="x:d")
    )
    new = record(
        execution("diverges", A, "y-not-in-input", case="x:a", size=9),
        execution("diverges", B, "y-not-in-input", case="x:b", size=2),
        execution("conforms", B, case="x:c"),
        execution(case="x:d"),
    )
    result = summarize(Transitions(old, new, ("t", "t"))).groups
    assert [(group.change.value, group.cases) for group in result] == [
        ("regressed", ["x:b", "x:a"]), ("fixed", ["x:d"]), ("conforming-but-different", ["x:c"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "blocking", "line"),
    [
        ([(RIGHT, RIGHT), (WRONG, WRONG)], None, "SAFE no observable change in 2 executions"),
        ([(RIGHT, RIGHT), (NOT_EXECUTED, NOT_EXECUTED)], None, "SAFE no observable change in 1 execution"),
        ([(WRONG, RIGHT), (RIGHT, RIGHT)], None, "REVIEW 1 fixed of 2 executions"),
        ([(RIGHT, OTHER)], None, "REVIEW 1 conforming-but-different of 1 execution"),
        ([(REFUSES, RIGHT)], None, "REVIEW 1 newly-accepted of 1 execution"),
        ([(RIGHT, None)], None, "REVIEW 1 missing of 1 execution"),
        ([(RIGHT, WRONG)], None, "BLOCK 1 regressed of 1 execution"),
        ([(RIGHT, REFUSES)], None, "BLOCK 1 newly-refused of 1 execution"),
        ([(RIGHT, CRASH), (WRONG, RIGHT)], None, "BLOCK 1 crash-new, 1 fixed of 2 executions"),
        # The changes that block can be chosen.
        ([(WRONG, RIGHT)], [Change.FIXED], "BLOCK 1 fixed of 1 execution"),
        ([(RIGHT, WRONG)], [], "REVIEW 1 regressed of 1 execution"),
    ],
)
def test_the_decision_of_a_gate(pairs, blocking, line):
    old, new = (
        record(*[structs.replace(pair[side], case=f"x:{number}") for number, pair in enumerate(pairs) if pair[side]])
        for side in (0, 1)
    )
    policy = GatePolicy() if blocking is None else GatePolicy(blocking)
    assert str(summarize(map(policy.assessed, Transitions(old, new, ("t", "t"))))) == line
