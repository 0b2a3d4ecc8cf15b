"""From outcomes to verdicts."""

import numpy as np
import pytest

from maxpool_check.graphs.context import MAX_POOL_ALONE, MaxPoolGraph
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.reference.policies import Policies
from maxpool_check.results.outcomes import Crashed, Failed, NotClaimed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, variant_named, variants_of
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Refused

ONNX = specification("onnx-22")
X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)


def oracle_of(x=X, **attributes):
    attributes = {"kernel_shape": [2] * (x.ndim - 2), **attributes}
    graph = MaxPoolGraph(x, MAX_POOL_ALONE, ONNX, attributes, Policies())
    return graph.resolved if isinstance(graph.resolved, Refused) else GraphOracle.of(graph)


def judged(oracle, outcome, variant=WITH_INDICES):
    judgement = judge(oracle, {variant: outcome})[variant]
    return judgement.verdict.value, [kind.value for kind in judgement.kinds], judgement.message


def right(oracle, **changes):
    return Returned({"Y": oracle.pooled.Y, "Indices": oracle.pooled.Indices, **changes})


VALID = oracle_of()
INVALID = oracle_of(strides=[0, 1])
LARGE_PADS = oracle_of(pads=[2, 2, 2, 2], dilations=[2, 2])
BOTH_PADS = oracle_of(auto_pad="VALID", pads=[1, 1, 1, 1])
EMPTY = oracle_of(np.ones((1, 1, 1), np.float32), dilations=[2], pads=[1, 1])
REFUSAL = RefusedByTarget("INVALID_GRAPH", "no")


@pytest.mark.parametrize(
    ("oracle", "outcome", "verdict", "kinds"),
    [
        (VALID, right(VALID), "conforms", []),
        (VALID, right(VALID, Y=X), "diverges", ["shape"]),
        (VALID, REFUSAL, "refuses", ["refuses-valid"]),
        (VALID, Crashed("killed by SIGFPE", ""), "crashes", ["crash"]),
        (VALID, TimedOut(1), "times-out", ["timeout"]),
        (VALID, NotExecuted("no words"), "not-expressible", []),
        (VALID, NotClaimed("another document"), "not-claimed", []),
        (VALID, Failed("broken"), "error", []),
        (INVALID, REFUSAL, "conforms", []),
        (INVALID, right(VALID), "diverges", ["accepts-invalid"]),
        (INVALID, Crashed("killed by SIGFPE", ""), "crashes", ["crash"]),
        (INVALID, TimedOut(1), "times-out", ["timeout"]),
        (LARGE_PADS, REFUSAL, "refuses", ["refuses-valid"]),
        (BOTH_PADS, REFUSAL, "conforms", []),
        (BOTH_PADS, right(BOTH_PADS), "conforms", []),
        (EMPTY, REFUSAL, "undefined", []),
        (EMPTY, right(EMPTY), "undefined", []),
        (EMPTY, Crashed("killed by SIGSEGV", ""), "crashes", ["crash"]),
    ],
)
def test_verdicts(oracle, outcome, verdict, kinds):
    assert judged(oracle, outcome)[:2] == (verdict, kinds)


def test_a_refusal_is_a_limit_where_the_runtime_says_so_or_most_do():
    def limit(oracle, status):
        return judge(oracle, {WITH_INDICES: RefusedByTarget(status, "no")})[WITH_INDICES].limit

    assert limit(VALID, "NOT_IMPLEMENTED")
    assert not limit(VALID, "INVALID_GRAPH")
    assert limit(LARGE_PADS, "FAIL")


def test_the_message_of_an_outcome_is_kept():
    assert judged(VALID, Crashed("killed by SIGFPE", "core dumped"))[2] == "killed by SIGFPE: core dumped"
    assert judged(VALID, REFUSAL)[2] == "INVALID_GRAPH: no"
    assert "invalid-attribute" in judged(INVALID, right(VALID))[2]
    assert judged(VALID, right(VALID, Y=X))[2] == "Y has the shape [1, 1, 3, 3], expected [1, 1, 2, 2]"


def both(oracle, first, second):
    outcomes = {
        WITH_INDICES: Returned({"Y": np.array(first, oracle.X.dtype), "Indices": oracle.pooled.Indices}),
        Y_ONLY: Returned({"Y": np.array(second, oracle.X.dtype)}),
    }
    return {
        variant.name: [kind.value for kind in judgement.kinds] for variant, judgement in judge(oracle, outcomes).items()
    }


def test_y_that_depends_on_indices_where_either_can_be_defended():
    oracle = oracle_of(np.array([[[1.0, np.nan]]]))
    assert both(oracle, [[[1.0]]], [[[np.nan]]]) == {"indices": [], "y-only": ["y-depends-on-indices"]}
    assert both(oracle, [[[1.0]]], [[[1.0]]]) == {"indices": [], "y-only": []}


def test_a_difference_of_outputs_that_the_document_allows_is_an_inconsistency_and_no_divergence():
    """Where one of the two is itself wrong, the difference stays a divergence."""
    oracle = oracle_of(np.array([[[1.0, np.nan]], [[2.0, 3.0]]]))
    threads = variant_named("y-only-default-threads")

    def verdicts(base, varied, alone=None):
        outcomes = {
            WITH_INDICES: Returned({"Y": np.array(base), "Indices": oracle.pooled.Indices}),
            Y_ONLY: Returned({"Y": np.array(base if alone is None else alone)}),
            threads: Returned({"Y": np.array(varied)}),
        }
        return [judgement.verdict.value for judgement in judge(oracle, outcomes).values()]

    number, nan, wrong = [[[1.0]], [[3.0]]], [[[np.nan]], [[3.0]]], [[[1.0]], [[2.0]]]
    assert verdicts(number, number) == ["conforms"] * 3
    assert verdicts(number, nan) == ["conforms", "conforms", "inconsistent"]
    assert verdicts(number, nan, alone=nan) == ["conforms", "inconsistent", "conforms"]
    assert verdicts(number, wrong) == ["conforms", "conforms", "diverges"]
    assert verdicts(wrong, number) == ["diverges", "diverges", "diverges"]


def test_in_an_empty_window_y_may_be_anything_but_the_same_with_indices_and_without():
    assert both(EMPTY, [[[1.0]]], [[[1.0]]]) == {"indices": [], "y-only": []}
    assert both(EMPTY, [[[1.0]]], [[[2.0]]]) == {"indices": [], "y-only": ["y-depends-on-indices"]}


def test_sizes_that_depend_on_indices_are_found_as_well():
    oracle = oracle_of(np.array([[[1.0, 2.0, 3.0]]]), strides=[2], ceil_mode=1, auto_pad="VALID")
    small = {"Y": np.array([[[2.0]]]), "Indices": np.array([[[1]]])}
    large = {"Y": np.array([[[2.0, 3.0]]]), "Indices": np.array([[[1, 2]]])}

    def kinds(first, second):
        outcomes = {WITH_INDICES: Returned(first), Y_ONLY: Returned({"Y": second["Y"]})}
        return [kind.value for kind in judge(oracle, outcomes)[Y_ONLY].kinds]

    assert kinds(small, small) == kinds(large, large) == []
    assert kinds(small, large) == kinds(large, small) == ["y-depends-on-indices"]


def test_y_that_is_wrong_is_not_called_dependent_as_well():
    oracle = oracle_of(np.array([[[1.0, -np.inf]]]), kernel_shape=[1])
    assert both(oracle, [[[1.0, -np.inf]]], [[[1.0, 0.0]]]) == {"indices": [], "y-only": ["y-not-in-input"]}


def test_cells_are_the_first_of_the_output_and_at_least_one_of_every_kind():
    values = np.arange(40, dtype=np.float32).reshape(1, 1, 40)
    values[0, 0, 38:] = -np.inf
    oracle = oracle_of(values, kernel_shape=[1])
    Y = oracle.pooled.Y + np.float32(0.5)
    Y[0, 0, 39] = np.finfo(np.float32).min
    judgement = judge(oracle, {Y_ONLY: Returned({"Y": Y})})[Y_ONLY]
    assert [cell.at[2] for cell in judgement.cells] == [0, 1, 2, 3, 39]
    assert judgement.counts == {"y-not-in-input": 38, "y-lowest-for-neg-inf": 1}
    last = judgement.cells[-1]
    assert (last.expected, last.got, last.window, last.values) == ("-inf", "-3.4028235e+38", ((39,),), ("-inf",))


def test_the_cell_that_a_wrong_index_refers_to():
    oracle = oracle_of(np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4), storage_order=1)
    numbers = oracle.pooled.Indices.copy()
    numbers[0, 1, 0, 0] = 12 + 2 * 3 + 1
    outcome = right(oracle, Indices=numbers)
    (cell,) = judge(oracle, {WITH_INDICES: outcome})[WITH_INDICES].cells
    assert cell.got_cell == (0, 1, 1, 2)
    assert cell.window == ((0, 1), (0, 1))


def test_a_case_with_both_outputs_is_executed_twice():
    assert variants_of(("Y", "Indices")) == (WITH_INDICES, Y_ONLY)
    assert variants_of(("Y",)) == (Y_ONLY,)


def test_no_verdict_is_both_compared_and_not():
    from maxpool_check.results.record import COMPARED, FAULTS

    assert FAULTS < COMPARED
    assert set(Verdict) - COMPARED == {
        Verdict.UNDEFINED,
        Verdict.UNKNOWN,
        Verdict.NOT_EXPRESSIBLE,
        Verdict.NOT_CLAIMED,
        Verdict.ERROR,
    }
