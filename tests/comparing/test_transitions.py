"""What becomes of an execution from one record to another, what a gate makes of it, and where something changes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from maxpool_check.comparing.bisection import Bisection
from maxpool_check.comparing.gate import GatePolicy, compare_targets
from maxpool_check.comparing.transitions import Incomparable, Transitions, change, paired
from maxpool_check.results.changes import Change
from maxpool_check.results.outputs import packed
from maxpool_check.results.record import Execution, Record, Verdict
from maxpool_check.results.storage import read
from tests.conftest import ROOT

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
        ("fixed", [(WRONG, RIGHT), (INVALID, REFUSAL), (INVALID_ALONE, REFUSAL), (NO_OUTPUT, RIGHT),
                   (INCONSISTENT, RIGHT)]),
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


GOLDEN = read(ROOT / "tests/data/golden/record.jsonl")


def record(*executions, profile=None, targets=("t",)):
    named = tuple(structs.replace(GOLDEN.header.targets[0], name=name) for name in targets)
    header = structs.replace(GOLDEN.header, targets=named, profile={"onnx-22": profile or {"nan": "ignored"}})
    return Record(header, executions, GOLDEN.footer)


def wrong(digest, **by_output):
    """A wrong execution, whose wrong cells are given as ``f`` for finite, ``s`` for special, by output."""
    cells = {
        output: {sort: packed(np.array([*text]) == sort[0]) for sort in ("finite", "special") if sort[0] in text}
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
        ({"Y": "..ff"}, {"Y": "..f."}, "improved"),
        ({"Y": "ff..", "Indices": "ff.."}, {"Y": "ff.."}, "improved"),
        # A right cell that became wrong decides, whatever became right.
        ({"Y": "ff.."}, {"Y": "f..s"}, "regressed"),
        ({"Y": "fff."}, {"Y": "...s"}, "regressed"),
        ({"Y": "fs.."}, {"Y": "f..f"}, "regressed"),
        ({"Y": "ff.."}, {"Y": 20 * "f"}, "changed"),
        ({}, {"Y": "f..."}, "changed"),
    ],
)
def test_the_cells_of_a_wrong_result_decide(old, new, expected):
    assert change(wrong("1", **old), wrong("2", **new)) == expected


RESULTS = [("conforms", A), ("conforms", B), ("refuses", {}, "refuses-valid")]
EXECUTION = st.tuples(
    st.sampled_from(RESULTS), *map(st.sampled_from, ("abcd", ["indices", "y-only"], ["t", "t", "other"]))
)
EXECUTIONS = st.lists(
    EXECUTION.map(lambda drawn: execution(*drawn[0], case=f"x:{drawn[1]}", variant=drawn[2], target=drawn[3])),
    max_size=12,
)


@settings(deadline=None)
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
        assert len(list(itertools.groupby(cases))) == len(set(cases))


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


@pytest.mark.parametrize(
    ("pairs", "blocking", "line"),
    [
        ([(RIGHT, RIGHT), (WRONG, WRONG)], None, "SAFE no observable change in 2 executions"),
        ([(WRONG, RIGHT), (RIGHT, RIGHT)], None, "REVIEW 1 fixed of 2 executions"),
        ([(RIGHT, OTHER)], None, "REVIEW 1 conforming-but-different of 1 execution"),
        ([(RIGHT, WRONG)], None, "BLOCK 1 regressed of 1 execution"),
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
    assert str(compare_targets(old, new, ("t", "t"), policy).summary) == line


def check(history):
    """The search finds what reading one after the other finds, and tests no place twice. Gives both."""
    tested = []
    bisection = Bisection(len(history), lambda place: tested.append(place) or history[place])
    could = [(place, result) for place, result in enumerate(history) if result is not None]
    boundaries = [(low, high) for (low, a), (high, b) in itertools.pairwise(could) if a != b]
    assert [(each.last, each.first) for each in bisection.boundaries()] == boundaries
    assert len(tested) == len(set(tested))
    return bisection, tested


@settings(deadline=None)
@given(st.integers(1, 60), st.data())
def test_one_change_is_found_in_few_variants(size, data):
    at = data.draw(st.integers(1, size))
    bisection, tested = check(["wrong"] * at + ["right"] * (size - at + 1))
    assert len(tested) <= 4 + math.ceil(math.log2(size + 1))
    assert not bisection.linear


@settings(deadline=None)
@given(st.lists(st.sampled_from(["wrong", None, "right"]), max_size=30))
def test_any_history_with_one_change_or_none_and_gaps(history):
    ordered = sorted((result for result in history if result), reverse=True)
    check([result and ordered.pop(0) for result in history])


@pytest.mark.parametrize("history", [
    "aabba", "abbbbbba", "aabbcc", "aaaaaaba", "abababab",
    # Halving alone would stop at one of the changes: the neighbours of the boundary give the others away.
    "aaababbb", "aaaababb", "aaaaaaaababbbbbb",
])  # fmt: skip
def test_a_change_that_comes_back_is_found_one_after_the_other(history):
    assert check(list(history))[0].linear
