"""The verdicts on graphs of several nodes: levels of optimization, refusals, mistakes in rewriting, shapes."""

import numpy as np
import pytest

from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.judging.judge import judge
from maxpool_check.results.details import WrongShape
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import OPTIMIZATION_OFF, WITH_INDICES, Y_ALONE, Y_ONLY, Variant
from tests.judging.oracles import INF, NAN, graph_oracle

OFF = Variant(Y_ALONE, OPTIMIZATION_OFF)
X = -np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
PAD = Node("Pad", {"pads": [0, 0, 1, 1, 0, 0, 1, 1]})
RESHAPE = Node("Reshape", {"shape": [4, 1]})


def image(*values):
    side = int(len(values) ** 0.5)
    return np.array(values, np.float32).reshape(1, 1, side, side)


RIGHT, FOLDED = image(0, 0, 0, -5), image(-1, -2, -4, -5)


def oracle_of(before=(PAD,), after=(), *, x=X, opset=22, initializer=False, **attributes):
    context = Context(opset, tuple(before), tuple(after), initializer=initializer)
    return graph_oracle(x, f"onnx-{opset}", context, **{"kernel_shape": [2, 2], "strides": [2, 2], **attributes})


def judged(oracle, actual, unoptimized=None):
    """By variant: the verdict and its kinds."""
    outcomes = {Y_ONLY: actual, **({} if unoptimized is None else {OFF: unoptimized})}
    return judge(oracle, {name: Returned({"Y": Y}) if isinstance(Y, np.ndarray) else Y for name, Y in outcomes.items()})


def kinds(judgement):
    return [kind.value for kind in judgement.kinds]


REFUSAL = RefusedByTarget("FAIL", "pads must be smaller than the kernel")
CASTS = [Node("Cast", {"to": "float16"})], [Node("Cast", {"to": "float32"})]
ODD = oracle_of(*CASTS, x=image(2048, 2049, 1, 0))
NAN_OPEN = oracle_of([Node("Identity")], x=image(NAN, 1, 2, 3))
NAN_NEG = oracle_of([Node("Identity")], [Node("Neg")], x=image(NAN, -1, -2, -3))
NEG_MAX_NEG = oracle_of([Node("Neg")], [Node("Neg")], kernel_shape=[3, 3])
CONSTANT = oracle_of(after=[Node("Pad", {"pads": [0, 0, 0, 0, 0, 0, 0, 1], "constant_value": 5})])
RELU = oracle_of([Node("Relu")], x=image(-1, -2, -3, -4))


@pytest.mark.parametrize(
    ("oracle", "actual", "unoptimized", "expected"),
    [
        # The level that is wrong diverges, and the right one conforms.
        (oracle_of(), FOLDED, RIGHT, [("diverges", ["pad-folded-into-pads"]), ("conforms", [])]),
        (oracle_of(), Crashed("killed by SIGSEGV", ""), RIGHT, [("crashes", ["crash"]), ("conforms", [])]),
        # Casts there and back that are removed at every level are named.
        (ODD, image(2049), image(2049), [("diverges", ["node-dropped"])] * 2),
        # Two levels that differ where both are allowed are inconsistent.
        (NAN_OPEN, image(3), image(NAN), [("conforms", []), ("inconsistent", ["y-depends-on-optimization"])]),
        # A graph that loads only without optimization has a kind of its own.
        (oracle_of(), REFUSAL, RIGHT, [("refuses", ["graph-not-loadable"]), ("conforms", [])]),
        # A Relu that returns negative zero is no other order of nodes.
        (RELU, image(-0.0), image(-0.0), [("diverges", ["y-signed-zero"])] * 2),
        # Relu behind and before MaxPool: either may have been moved, and the name is the same.
        (NEG_MAX_NEG, image(X.max()), image(X.min()), [("diverges", ["relu-moved"]), ("conforms", [])]),
        # Constants that nodes add behind MaxPool count.
        (CONSTANT, CONSTANT.output, None, [("conforms", [])]),
        (CONSTANT, CONSTANT.output * np.float32([1, 1, 0]), None, [("diverges", ["graph-output"])]),
        # A function behind MaxPool changes what conforms where the document leaves NaN open.
        (NAN_NEG, image(1), None, [("conforms", [])]),
        (NAN_NEG, image(3), None, [("diverges", ["y-in-window-not-maximum"])]),
    ],
)
def test_the_levels_of_optimization(oracle, actual, unoptimized, expected):
    judgements = judged(oracle, actual, unoptimized)
    shown = [judgements[variant] for variant in (Y_ONLY, OFF) if variant in judgements]
    assert [(judgement.verdict, kinds(judgement)) for judgement in shown] == expected


@pytest.mark.parametrize(("initializer", "kind"), [(False, "rewritten-wrongly"), (True, "constant-folded-wrongly")])
def test_a_mistake_without_a_name_is_named_by_what_is_known_of_it(initializer, kind):
    assert kind in kinds(judged(oracle_of(initializer=initializer), image(0, 0, 0, -9), RIGHT)[Y_ONLY])


@pytest.mark.parametrize(
    ("actual", "kind", "message"),
    [
        (RIGHT.reshape(2, 2), "shape", "Y has the shape [2, 2], expected [4, 1]"),
        (RIGHT.reshape(4, 1).astype(np.float64), "dtype", "Y is float64, expected float32"),
        (RIGHT, "node-dropped", "Y has the shape [1, 1, 2, 2], expected [4, 1]"),
    ],
)
def test_the_shape_behind_the_last_node_counts(actual, kind, message):
    judgement = judged(oracle_of(after=[RESHAPE]), actual)[Y_ONLY]
    assert (kinds(judgement), judgement.message) == ([kind], message)
    wrong = {} if kind == "dtype" else {"Y": WrongShape(expected=(4, 1), got=actual.shape)}
    assert judgement.shapes == wrong


def test_a_window_that_a_mistake_leaves_empty_explains_nothing():
    padded = Node("Pad", {"pads": [0, 0, 0, 0, 0, 0, 3, 0], "constant_value": -INF})
    oracle = oracle_of([padded], kernel_shape=[2, 3])
    assert np.isinf(oracle.output).any()
    lowest = np.where(np.isinf(oracle.output), np.finfo(np.float32).min, oracle.output)
    assert kinds(judged(oracle, lowest)[Y_ONLY]) == ["y-lowest-for-neg-inf"]


def test_the_cells_of_max_pool_are_shown_where_it_is_an_output_too():
    context = Context(22, (), (Node("Relu"),), consumers=2)
    oracle = graph_oracle(image(-INF, -INF, -INF, -INF), context=context, kernel_shape=[2, 2])
    wrong, right = (
        judge(oracle, {Y_ONLY: Returned({"Y": image(0), "behind": image(behind)})})[Y_ONLY]
        for behind in (np.finfo(np.float32).min, -INF)
    )
    assert kinds(wrong) == ["y-lowest-for-neg-inf"]
    assert wrong.message == "behind MaxPool: Y[0, 0, 0, 0] is -3.4028235e+38, expected -inf"
    assert right.verdict is Verdict.CONFORMS


@pytest.mark.parametrize("copies", [[5, -0.0], [-0.0, 5], [5, 5]])
def test_a_wrong_cell_does_not_hide_beside_another_copy_that_is_allowed(copies):
    # Zeros of both signs leave the sign of the maximum open; the edge is copied.
    edge = Node("Pad", {"mode": "edge", "pads": [0, 0, 0, 0, 0, 1]})
    oracle = oracle_of((), (edge,), x=np.array([[[0.0, -0.0]]], np.float32), kernel_shape=[2], strides=[1])
    for Y, expected in ((copies, ["y-not-in-input"]), ([0.0, -0.0], []), ([-0.0, 0.0], []), ([0.0, 0.0], [])):
        assert kinds(judged(oracle, np.array([[Y]], np.float32))[Y_ONLY]) == expected


EDGES = Node("Pad", {"mode": "edge", "pads": [0, 0, 1, 0, 0, 1]})


def test_each_cell_of_max_pool_with_a_wrong_copy_counts():
    oracle = oracle_of((), (EDGES,), x=np.array([[[1, 2, 3, 4]]], np.float32), kernel_shape=[2], strides=[2])
    judgement = judged(oracle, np.array([[[9, 2, 4, 9]]], np.float32))[Y_ONLY]
    assert judgement.counts == {"y-not-in-input": 2}


@pytest.mark.parametrize("other", [[0.0, 0.0, 0.0, -0.0], [-0.0, 0.0, 0.0, 0.0]])
def test_two_variants_differ_if_any_copy_of_a_cell_does(other):
    oracle = oracle_of((), (EDGES,), x=np.array([[[0.0, -0.0, -0.0, 0.0]]], np.float32), kernel_shape=[2], strides=[2])
    judgements = judged(oracle, np.array([[other]], np.float32), np.zeros((1, 1, 4), np.float32))
    assert {judgement.verdict.value for judgement in judgements.values()} == {"conforms", "inconsistent"}


FIRST_ROW = Node("Slice", {"starts": [0], "ends": [1], "axes": [2]})
NAN_ROWS = oracle_of(
    (), (FIRST_ROW,), x=np.array([[[[NAN, 1], [2, NAN], [NAN, 3]]]], np.float32), kernel_shape=[1, 2], strides=[1, 2]
)


@pytest.mark.parametrize(
    ("indices", "verdict"), [((0, 3, 5), "conforms"), ((0, 2, 4), "conforms"), ((1, 3, 5), "diverges")]
)
def test_a_window_whose_y_is_no_output_follows_any_interpretation_of_nan(indices, verdict):
    outputs = {"Y": image(NAN), "Indices": np.array(indices).reshape(1, 1, 3, 1)}
    judgement = judge(NAN_ROWS, {WITH_INDICES: Returned(outputs)})[WITH_INDICES]
    assert judgement.verdict.value == verdict
    assert judgement.interpretations["nan"] == ("propagates", "first-sticks")
    assert {each.output for each in judgement.differences} <= {"Y", "Indices"}


@pytest.mark.parametrize(
    ("nodes", "zeros", "right"),
    [
        ([Node("Abs")], [0.0, -0.0], [0.0]),
        ([Node("Abs"), Node("Identity"), Node("Neg")], [0.0, -0.0], [-0.0]),
        # max(0, -0) may be either, and so may be what is made of it.
        ([Node("Relu"), Node("Neg")], [0.0, -0.0], [0.0, -0.0]),
    ],
)
def test_neg_and_abs_define_the_sign_of_a_zero_as_far_as_max_pool_does(nodes, zeros, right):
    oracle = oracle_of((), nodes, x=np.array([[[zeros]]], np.float32), kernel_shape=[1, 2], strides=[1, 1])
    conforming = [zero for zero in (0.0, -0.0) if judged(oracle, image(zero))[Y_ONLY].verdict is Verdict.CONFORMS]
    assert str(conforming) == str(right)
