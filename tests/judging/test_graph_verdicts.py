"""The verdicts on graphs of several nodes: levels of optimization, refusals, and mistakes in rewriting."""

import numpy as np
import pytest

from maxpool_check.graphs.context import Context, MaxPoolGraph
from maxpool_check.graphs.node import Node
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import OPTIMIZATION_OFF, Y_ALONE, Y_ONLY, Variant
from maxpool_check.specifications import specification

OFF = Variant(Y_ALONE, OPTIMIZATION_OFF)
X = -np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
PAD = Node("Pad", {"pads": [0, 0, 1, 1, 0, 0, 1, 1]})
RIGHT, FOLDED = (np.array(Y, np.float32).reshape(1, 1, 2, 2) for Y in ([0, 0, 0, -5], [-1, -2, -4, -5]))


def oracle_of(before=(PAD,), after=(), *, x=X, opset=22, initializer=False, **attributes):
    document = specification(f"onnx-{opset}")
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2], **attributes}
    context = Context(opset, tuple(before), tuple(after), initializer=initializer)
    return GraphOracle.of(MaxPoolGraph(x, context, document, attributes, document.policies))


def judged(oracle, actual, unoptimized=None):
    outcomes = {Y_ONLY: Returned({"Y": actual}) if isinstance(actual, np.ndarray) else actual}
    if unoptimized is not None:
        outcomes[OFF] = Returned({"Y": unoptimized}) if isinstance(unoptimized, np.ndarray) else unoptimized
    return judge(oracle, outcomes)


def kinds(judgement):
    return [kind.value for kind in judgement.kinds]


def test_the_level_that_is_wrong_diverges_and_the_right_one_conforms():
    judgements = judged(oracle_of(), FOLDED, RIGHT)
    assert judgements[OFF].verdict is Verdict.CONFORMS
    assert (judgements[Y_ONLY].verdict, kinds(judgements[Y_ONLY])) == (Verdict.DIVERGES, ["pad-folded-into-pads"])


def test_a_graph_that_is_wrong_at_every_level_may_have_a_mistake_in_max_pool_itself():
    wrong = np.array([-5, -6, -8, -9], np.float32).reshape(1, 1, 2, 2)
    oracle = oracle_of([Node("Identity"), Node("Pad", {"pads": [0, 0, 0, 0, 0, 0, 1, 1], "constant_value": -20})])
    shifted = judged(oracle, wrong, wrong)
    alone = judged(oracle, wrong)
    for judgements in (shifted, alone):
        for judgement in judgements.values():
            assert judgement.verdict is Verdict.DIVERGES
            assert "rewritten-wrongly" not in kinds(judgement)


def test_casts_there_and_back_that_are_removed_at_every_level_are_named():
    x = np.array([2048, 2049, 1, 0], np.float32).reshape(1, 1, 2, 2)
    oracle = oracle_of([Node("Cast", {"to": "float16"})], [Node("Cast", {"to": "float32"})], x=x)
    wrong = np.full((1, 1, 1, 1), 2049, np.float32)
    for judgement in judged(oracle, wrong, wrong).values():
        assert kinds(judgement) == ["node-dropped"]


def test_two_levels_that_differ_where_both_are_allowed_are_inconsistent():
    x = np.array([np.nan, 1, 2, 3], np.float32).reshape(1, 1, 2, 2)
    oracle = oracle_of([Node("Identity")], x=x)
    first, second = (np.array(value, np.float32).reshape(1, 1, 1, 1) for value in (3, np.nan))
    judgements = judged(oracle, first, second)
    assert judgements[OFF].verdict is Verdict.INCONSISTENT
    assert kinds(judgements[OFF]) == ["y-depends-on-optimization"]


@pytest.mark.parametrize(("unoptimized", "kind"), [(RIGHT, "graph-not-loadable"), (None, "refuses-valid")])
def test_a_graph_that_loads_only_without_optimization_has_a_kind_of_its_own(unoptimized, kind):
    refusal = RefusedByTarget("FAIL", "pads must be smaller than the kernel")
    judgements = judged(oracle_of(), refusal, refusal if unoptimized is None else unoptimized)
    assert (judgements[Y_ONLY].verdict, kinds(judgements[Y_ONLY])) == (Verdict.REFUSES, [kind])


def test_a_crash_at_one_level_is_a_crash():
    judgements = judged(oracle_of(), Crashed("killed by SIGSEGV", ""), RIGHT)
    assert kinds(judgements[Y_ONLY]) == ["crash"]
    assert judgements[OFF].verdict is Verdict.CONFORMS


def test_a_mistake_without_a_name_is_named_by_what_is_known_of_it():
    wrong = RIGHT.copy()
    wrong[0, 0, 1, 1] = -9
    assert "rewritten-wrongly" in kinds(judged(oracle_of(), wrong, RIGHT)[Y_ONLY])
    assert "constant-folded-wrongly" in kinds(judged(oracle_of(initializer=True), wrong, RIGHT)[Y_ONLY])


def test_two_mistakes_that_explain_the_outputs_are_both_candidates():
    # Relu behind and before MaxPool: either may have been moved.
    oracle = oracle_of([Node("Neg")], [Node("Neg")], kernel_shape=[3, 3])
    judgement = judged(oracle, np.full((1, 1, 1, 1), X.max()), np.full((1, 1, 1, 1), X.min()))[Y_ONLY]
    assert {cause.kind for cause in judgement.causes} == {"relu-moved"}
    assert kinds(judgement) == ["relu-moved"]


@pytest.mark.parametrize(
    ("actual", "kind", "message"),
    [
        (RIGHT.reshape(2, 2), "shape", "Y has the shape [2, 2], expected [4, 1]"),
        (RIGHT.reshape(4, 1).astype(np.float64), "dtype", "Y is float64, expected float32"),
        (RIGHT, "node-dropped", "Y has the shape [1, 1, 2, 2], expected [4, 1]"),
    ],
)
def test_the_shape_behind_the_last_node_counts(actual, kind, message):
    oracle = oracle_of(after=[Node("Reshape", {"shape": [4, 1]})])
    judgement = judged(oracle, actual)[Y_ONLY]
    assert (kinds(judgement), judgement.message) == ([kind], message)


def test_constants_that_nodes_add_behind_max_pool_count():
    after = [Node("Pad", {"pads": [0, 0, 0, 0, 0, 0, 0, 1], "constant_value": 5})]
    right = np.pad(RIGHT, [(0, 0)] * 3 + [(0, 1)], constant_values=5)
    assert judged(oracle_of(after=after), right)[Y_ONLY].verdict is Verdict.CONFORMS
    right[0, 0, 0, 2] = 0
    assert kinds(judged(oracle_of(after=after), right)[Y_ONLY]) == ["graph-output"]


def test_a_function_behind_max_pool_changes_what_conforms_where_the_document_leaves_nan_open():
    x = np.array([np.nan, -1, -2, -3], np.float32).reshape(1, 1, 2, 2)
    oracle = oracle_of([Node("Identity")], [Node("Neg")], x=x)
    for value, verdict in ((1, Verdict.CONFORMS), (np.nan, Verdict.CONFORMS), (3, Verdict.DIVERGES)):
        actual = np.full((1, 1, 1, 1), value, np.float32)
        assert judged(oracle, actual)[Y_ONLY].verdict is verdict


def test_a_window_that_a_mistake_leaves_empty_explains_nothing():
    padded = Node("Pad", {"pads": [0, 0, 0, 0, 0, 0, 3, 0], "constant_value": -np.inf})
    oracle = oracle_of([padded], kernel_shape=[2, 3])
    right = oracle.output
    lowest = np.where(np.isinf(right), np.finfo(np.float32).min, right)
    judgement = judged(oracle, lowest)[Y_ONLY]
    assert np.isinf(right).any()
    assert kinds(judgement) == ["y-lowest-for-neg-inf"]


@pytest.mark.parametrize(
    "node", [Node("Transpose", {"perm": [0, 1, 3, 2]}), Node("Flatten"), Node("Reshape", {"shape": [-1]}), Node("Neg")]
)
def test_what_the_document_leaves_open_stays_open_behind_nodes_that_move_cells(node):
    # Before operator set 22, a last window in the end padding may be kept or dropped.
    x = np.array([[[[1, 2]]]], np.float32)
    oracle = oracle_of((), [node], x=x, opset=12, kernel_shape=[1, 1], strides=[1, 2], ceil_mode=1)
    outputs = [each.output for each in oracle.graphs]
    if node.op == "Neg":
        outputs = [np.full((1, 1, 1, 1), -1, np.float32)]
    for output in outputs:
        assert judged(oracle, output)[Y_ONLY].verdict in (Verdict.CONFORMS, Verdict.UNDEFINED)
    assert judged(oracle, np.ones((3, 3), np.float32))[Y_ONLY].verdict is Verdict.DIVERGES


def test_the_cells_of_max_pool_are_shown_where_it_is_an_output_too():
    document = specification("onnx-22")
    context = Context(22, (), (Node("Relu"),), consumers=2)
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    oracle = GraphOracle.of(MaxPoolGraph(x, context, document, {"kernel_shape": [2, 2]}, document.policies))
    outputs = {"Y": np.zeros((1, 1, 1, 1), np.float32), "behind": np.full((1, 1, 1, 1), np.finfo(np.float32).min)}
    judgement = judge(oracle, {Y_ONLY: Returned(outputs)})[Y_ONLY]
    assert kinds(judgement) == ["y-lowest-for-neg-inf"]
    assert judgement.message == "behind MaxPool: Y[0, 0, 0, 0] is -3.4028235e+38, expected -inf"
    right = {**outputs, "behind": np.full((1, 1, 1, 1), -np.inf, np.float32)}
    assert judge(oracle, {Y_ONLY: Returned(right)})[Y_ONLY].verdict is Verdict.CONFORMS


@pytest.mark.parametrize("copies", [[5, -0.0], [-0.0, 5], [0.0, 5], [5, 0.0], [5, 5]])
def test_a_wrong_cell_does_not_hide_beside_another_copy_that_is_allowed(copies):
    # Zeros of both signs leave the sign of the maximum open; the edge is copied.
    edge = Node("Pad", {"mode": "edge", "pads": [0, 0, 0, 0, 0, 1]})
    zeros = np.array([[[0.0, -0.0]]], np.float32)
    oracle = oracle_of((), (edge,), x=zeros, kernel_shape=[2], strides=[1])

    def kinds_of(Y):
        return kinds(judged(oracle, np.array([[Y]], np.float32))[Y_ONLY])

    assert kinds_of(copies) == ["y-not-in-input"]
    assert kinds_of([0.0, -0.0]) == kinds_of([-0.0, 0.0]) == kinds_of([0.0, 0.0]) == []


def test_a_relu_that_returns_negative_zero_is_no_other_order_of_nodes():
    x = -np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2)
    oracle = oracle_of([Node("Relu")], x=x)
    minus_zero = np.full((1, 1, 1, 1), -0.0, np.float32)
    for judgements in (judged(oracle, minus_zero), judged(oracle, minus_zero, minus_zero)):
        assert kinds(judgements[Y_ONLY]) == ["y-signed-zero"]


@pytest.mark.parametrize(
    ("nodes", "zeros", "right"),
    [
        ([Node("Neg")], [0.0, 0.0], [-0.0]),
        ([Node("Neg")], [-0.0, -0.0], [0.0]),
        ([Node("Neg")], [0.0, -0.0], [0.0, -0.0]),
        ([Node("Abs")], [-0.0, -0.0], [0.0]),
        ([Node("Abs")], [0.0, -0.0], [0.0]),
        ([Node("Abs"), Node("Identity"), Node("Neg")], [0.0, -0.0], [-0.0]),
        # max(0, -0) may be either, and so may be what is made of it.
        ([Node("Relu")], [0.0, 0.0], [0.0, -0.0]),
        ([Node("Relu"), Node("Neg")], [0.0, -0.0], [0.0, -0.0]),
    ],
)
def test_neg_and_abs_define_the_sign_of_a_zero_as_far_as_max_pool_does(nodes, zeros, right):
    x = np.array([[[zeros]]], np.float32)
    oracle = oracle_of((), tuple(nodes), x=x, kernel_shape=[1, 2], strides=[1, 1])
    conforming = []
    for zero in (0.0, -0.0):
        (judgement,) = judged(oracle, np.full((1, 1, 1, 1), zero, np.float32)).values()
        conforming += [str(zero)] if judgement.verdict is Verdict.CONFORMS else []
    assert conforming == [str(zero) for zero in right]
