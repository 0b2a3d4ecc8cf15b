"""From outcomes to verdicts: kinds, messages, cells, how bad wrong cells are, and what their windows hold."""

import numpy as np
import pytest

from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.judging.defects import severity_of
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Crashed, Failed, NotClaimed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, variant_named
from tests.judging.oracles import INF, NAN, graph_oracle, outputs_of

X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
LOW = float(np.finfo(np.float32).min)


def oracle_of(x=X, **attributes):
    return graph_oracle(x, **{"kernel_shape": [2] * (x.ndim - 2), **attributes})


def right(oracle, **changes):
    return Returned({**outputs_of(oracle), **changes})


VALID = oracle_of()
INVALID = oracle_of(strides=[0, 1])
LARGE_PADS = oracle_of(pads=[2, 2, 2, 2], dilations=[2, 2])
BOTH_PADS = oracle_of(auto_pad="VALID", pads=[1, 1, 1, 1])
EMPTY = oracle_of(np.ones((1, 1, 1), np.float32), dilations=[2], pads=[1, 1])
REFUSAL = RefusedByTarget("INVALID_GRAPH", "no")
CRASH = Crashed("killed by SIGFPE", "core dumped")


@pytest.mark.parametrize(
    ("oracle", "outcome", "verdict", "kinds", "message", "limit"),
    [
        (VALID, right(VALID), "conforms", [], "", False),
        (VALID, right(VALID, Y=X), "diverges", ["shape"], "Y has the shape [1, 1, 3, 3], expected [1, 1, 2, 2]", False),
        (VALID, REFUSAL, "refuses", ["refuses-valid"], "INVALID_GRAPH: no", False),
        # A refusal is a limit where the runtime says so or most runtimes refuse.
        (VALID, RefusedByTarget("NOT_IMPLEMENTED", "no"), "refuses", ["refuses-valid"], "NOT_IMPLEMENTED: no", True),
        (LARGE_PADS, RefusedByTarget("FAIL", "no"), "refuses", ["refuses-valid"], "FAIL: no", True),
        (VALID, CRASH, "crashes", ["crash"], "killed by SIGFPE: core dumped", False),
        (VALID, TimedOut(1), "times-out", ["timeout"], None, False),
        (VALID, NotExecuted("no words"), "not-expressible", [], "no words", False),
        (VALID, NotClaimed("another document"), "not-claimed", [], "another document", False),
        (VALID, Failed("broken"), "error", [], "broken", False),
        (INVALID, REFUSAL, "conforms", [], None, False),
        (INVALID, right(VALID), "diverges", ["accepts-invalid"], None, False),
        (BOTH_PADS, REFUSAL, "conforms", [], None, False),
        (BOTH_PADS, right(BOTH_PADS), "conforms", [], "", False),
        (EMPTY, REFUSAL, "undefined", [], None, False),
        (EMPTY, right(EMPTY), "undefined", [], None, False),
        (EMPTY, CRASH, "crashes", ["crash"], "killed by SIGFPE: core dumped", False),
    ],
)
def test_verdicts(oracle, outcome, verdict, kinds, message, limit):
    judgement = judge(oracle, {WITH_INDICES: outcome})[WITH_INDICES]
    assert (judgement.verdict, judgement.limit) == (verdict, limit)
    assert [kind.value for kind in judgement.kinds] == kinds
    assert message in (None, judgement.message)


VARIANTS = (WITH_INDICES, Y_ONLY, variant_named("y-only-default-threads"))
NAN_OPEN = oracle_of(np.array([[[1.0, NAN], [2.0, 3.0]]]))
TWO_CELLS = oracle_of(np.array([[[1.0, -INF]]]), kernel_shape=[1])
A, B, WRONG = [[1.0], [3.0]], [[NAN], [3.0]], [[1.0], [2.0]]
DEPENDENT, UNEQUAL = "inconsistent: y-depends-on-indices", "inconsistent: y-depends-on-threads"


@pytest.mark.parametrize(
    ("oracle", "outputs", "expected"),
    [
        # A difference of outputs that the document allows is no divergence; where one of the two is wrong, it is.
        (NAN_OPEN, [A, A, A], ["conforms", "conforms", "conforms"]),
        (NAN_OPEN, [A, A, B], ["conforms", "conforms", UNEQUAL]),
        (NAN_OPEN, [A, B, B], ["conforms", DEPENDENT, "conforms"]),
        (NAN_OPEN, [A, A, WRONG], ["conforms", "conforms", "diverges: y-depends-on-threads"]),
        (NAN_OPEN, [WRONG, WRONG, A], [*["diverges: y-in-window-not-maximum"] * 2, "diverges: y-depends-on-threads"]),
        # In an empty window Y may be anything, but the same with Indices and without.
        (EMPTY, [[[1.0]], [[1.0]]], ["undefined", "undefined"]),
        (EMPTY, [[[1.0]], [[2.0]]], ["undefined", DEPENDENT]),
        # What is wrong is not called dependent as well.
        (TWO_CELLS, [[[1.0, -INF]], [[1.0, 0.0]]], ["conforms", "diverges: y-not-in-input"]),
    ],
)
def test_outputs_of_two_executions_are_compared(oracle, outputs, expected):
    outcomes = {}
    for variant, value in zip(VARIANTS, outputs, strict=False):
        outcome = {"Y": np.array([value], oracle.X.dtype), "Indices": oracle.pooled.Indices}
        outcomes[variant] = Returned({output: outcome[output] for output in variant.outputs})
    judgements = judge(oracle, outcomes).values()
    assert [": ".join((each.verdict, *(kind.value for kind in each.kinds[:1]))) for each in judgements] == expected


def test_cells_are_the_first_of_the_output_and_at_least_one_of_every_kind():
    values = np.arange(40, dtype=np.float32).reshape(1, 1, 40)
    values[0, 0, 38:] = -INF
    oracle = oracle_of(values, kernel_shape=[1])
    Y = oracle.pooled.Y + np.float32(0.5)
    Y[0, 0, 39] = LOW
    judgement = judge(oracle, {Y_ONLY: Returned({"Y": Y})})[Y_ONLY]
    assert [cell.at[2] for cell in judgement.cells] == [0, 1, 2, 3, 39]
    assert judgement.counts == {"y-not-in-input": 38, "y-lowest-for-neg-inf": 1}
    last = judgement.cells[-1]
    assert (last.expected, last.got, last.window, last.values) == ("-inf", "-3.4028235e+38", ((39,),), ("-inf",))


def test_of_more_kinds_than_cells_are_shown_usually_each_has_a_cell():
    oracle = oracle_of(np.array([[[1, 2, 3, 4, 5, 6, 7, 8, 0.0, -1, 1e-45, -5]]], np.float32), strides=[2])
    Y = np.array([[[1, 100.5, 2, NAN, -0.0, 0.0]]], np.float32)
    judgement = judge(oracle, {Y_ONLY: Returned({"Y": Y})})[Y_ONLY]
    assert len(judgement.counts) == 6
    assert sorted(cell.kind for cell in judgement.cells) == sorted(judgement.counts)


SAME = {"kernel_shape": [1], "strides": [3], "auto_pad": "SAME_UPPER"}


@pytest.mark.parametrize(
    ("X", "attributes", "Y", "Indices", "expected"),
    [
        # The index of a NaN or of the maximum beside it; a geometry that the document leaves open.
        ([[[1, 2], [NAN, 4]]], {}, 2, [1, 3], "conforms"),
        ([[[1, 2, 3], [4, 5, 6]]], SAME, 1, [0, 3], "conforms"),
        ([[[1, 2, 3], [4, 5, 6]]], SAME, 2, [1, 4], "conforms"),
        ([[[1, 2], [3, 4]]], {}, 2, [1, 2], "diverges"),
    ],
)
def test_cells_that_the_graph_does_not_output_contradict_nothing(X, attributes, Y, Indices, expected):
    context = Context(22, (), (Node("Split", {"axis": 1, "split": [1, 1]}),))
    oracle = oracle_of(np.array(X, np.float32), context=context, **attributes)
    outputs = {"Y": np.array([[[Y]]], np.float32), "Indices": np.array(Indices).reshape(1, 2, 1)}
    judgements = judge(oracle, {WITH_INDICES: Returned(outputs), Y_ONLY: Returned({"Y": outputs["Y"]})})
    assert [judgement.verdict for judgement in judgements.values()] == [expected, "conforms"]


def judged(row, Y=None, Indices=None, dtype=np.float32, pads=(0, 0)):
    """The judgement on windows of two cells, of which some outputs are changed: by place, the value."""
    oracle = oracle_of(np.array([[row]], dtype), pads=list(pads))
    outputs = outputs_of(oracle)
    for name, changes in (("Y", Y or {}), ("Indices", Indices or {})):
        for place, value in changes.items():
            outputs[name][0, 0, place] = value
    return judge(oracle, {WITH_INDICES: Returned(outputs)})[WITH_INDICES]


@pytest.mark.parametrize(
    ("row", "changes", "dtype", "expected"),
    [
        ([1, 2, 3], {"Y": {0: 1}}, np.float32, "wrong-on-finite"),
        ([-INF, -INF, 3], {"Y": {0: LOW}}, np.float32, "wrong-on-special"),
        ([INF, 2, 3], {"Indices": {0: 1}}, np.float32, "wrong-on-special"),
        ([NAN, 2, 3], {"Indices": {0: 2}}, np.float32, "wrong-on-special"),
        # As bad as the worst cell.
        ([-INF, -INF, 3], {"Y": {0: LOW}, "Indices": {1: 0}}, np.float32, "wrong-on-special"),
        ([-INF, -INF, 3, 4], {"Y": {0: LOW}, "Indices": {2: 2}}, np.float32, "wrong-on-finite"),
        ([LOW, LOW, 3], {"Indices": {0: -4}}, np.float32, "wrong-on-special"),
        # The lowest value of an integer type is an ordinary one: a black patch of an image.
        ([0, 0, 3], {"Indices": {0: -4}}, np.uint8, "wrong-on-finite"),
        # Zeros of both signs are special where the sign alone is wrong.
        ([-0.0, 0.0, 3], {"Y": {0: 1}}, np.float32, "wrong-on-finite"),
    ],
)
def test_a_result_is_as_bad_as_its_worst_cell(row, changes, dtype, expected):
    judgement = judged(row, dtype=dtype, **changes)
    assert severity_of(judgement.kinds, is_special=judgement.wrong.special) == expected


@pytest.mark.parametrize(
    ("row", "output", "changes", "dtype", "pads", "expected"),
    [
        ([1, 2, 3], "Y", {0: 1}, np.float32, (0, 0), {"ordinary": 1}),
        ([1, 2, 3], "Y", {0: 7}, np.float32, (1, 0), {"padding": 1}),
        ([-INF, -INF, 3], "Y", {0: LOW}, np.float32, (0, 0), {"infinity lowest start": 1}),
        ([-1, -2, -3], "Y", {0: 0, 1: 0}, np.float32, (0, 0), {"zero": 2}),
        # A scan that finds nothing gives the cell before the plane, and no other negative number.
        ([0, 0, 3], "Indices", {0: -1}, np.uint8, (0, 0), {"lowest start zero": 1}),
        ([0, 0, 3], "Indices", {0: -5}, np.uint8, (0, 0), {"lowest zero": 1}),
    ],
)
def test_what_the_windows_of_wrong_cells_hold(row, output, changes, dtype, pads, expected):
    counts = judged(row, **{output: changes}, dtype=dtype, pads=pads).wrong.windows
    assert [held for kind, held in counts.items() if kind.startswith(output.lower()[0])] == [expected]
