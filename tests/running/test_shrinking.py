"""Shrinking, by plain predicates: no target is executed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import maxpool_check
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.fuzzing.generation import generate
from maxpool_check.graphs.context import MAX_POOL_ALONE, Context
from maxpool_check.graphs.node import Node
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.pooling import Pooling
from maxpool_check.running.shrinking import shrink
from tests.conftest import shipped

EVERY = {case.id: case for case in shipped().cases}


def shrunk(name, keeps, **changed):
    tried = []

    def counted(case):
        tried.append(case)
        return keeps(case)

    return shrink(replace(EVERY[name], **changed), counted), tried


def valid(case):
    return isinstance(case.resolved, Pooling)


def gives_neg_inf(case):
    return valid(case) and bool((evaluate(case.X.tensor(), case.resolved).Y == -np.inf).any())


_NEG_INF = ("edge/neg-inf:wide-padded-w33", "edge/neg-inf:three-axes", "edge/neg-inf:second-channel-float64")


@pytest.mark.parametrize("name", _NEG_INF)
def test_of_any_window_of_neg_inf_one_cell_is_left(name):
    small, _ = shrunk(name, gives_neg_inf)
    assert (small.X.shape, dict(small.attributes)) == ((1, 1, 1), {"kernel_shape": [1]})
    assert small.X.dtype == EVERY[name].X.dtype
    assert small.outputs == ("Y",)


def test_what_is_kept_is_kept_and_nothing_else():
    def two_pads(case):
        return valid(case) and [axis.begin for axis in case.resolved.geometry].count(1) == 2

    padded = replace(
        EVERY["edge/neg-inf:three-axes"],
        X=Recipe.of(np.zeros((2, 3, 5, 6, 7), np.float32)),
        attributes={"kernel_shape": [3, 2, 2], "pads": [1, 0, 1, 0, 1, 0], "strides": [2, 1, 3]},
        expect=None,
    )
    small = shrink(padded, two_pads)
    assert two_pads(small)
    # The axis without a pad at its beginning is gone, from X and from every list.
    assert (small.X.shape, small.attributes["pads"]) == ((1, 1, 1, 1), [1, 1, 0, 0])
    assert "strides" not in small.attributes


def test_values_become_small_integers_unless_they_are_needed():
    def has_a_nan_beside_something_large(case):
        return valid(case) and bool(np.isnan(case.X.tensor()).any() and (case.X.tensor() > 1e30).any())

    case = next(
        candidate
        for candidate in EVERY.values()
        if candidate.spec == "onnx-22" and has_a_nan_beside_something_large(candidate)
    )
    small = shrink(case, has_a_nan_beside_something_large)
    ordinary = small.X.tensor()[np.isfinite(small.X.tensor()) & (small.X.tensor() < 1e30)]
    assert small.X.size - ordinary.size == 2
    assert (ordinary == np.rint(ordinary)).all()


def test_the_same_case_shrinks_to_the_same():
    name = "sonnx/float:float-example-3"
    first, second = (shrunk(name, gives_neg_inf) for _ in range(2))
    assert [case.sha256 for case in first[1]] == [case.sha256 for case in second[1]]
    assert first[0].sha256 == second[0].sha256


def test_no_more_is_tried_than_allowed_and_nothing_twice():
    tried = []

    def keeps(case):
        tried.append(case.sha256)
        return gives_neg_inf(case)

    case = EVERY["edge/neg-inf:wide-padded-w33"]
    shrink(case, keeps, 7)
    assert len(tried) == 7
    shrink(case, keeps)
    assert len(set(tried[7:])) == len(tried[7:])
    assert case.sha256 not in tried


def test_what_nothing_smaller_keeps_stays_as_it_is():
    case = EVERY["sonnx/float:float-example-3"]
    small = shrink(case, lambda _: False)
    assert small.sha256 == case.sha256
    assert (small.expect, small.erratum) == (None, None)


def test_a_kernel_that_fills_its_padded_plane_gets_smaller_with_its_padding():
    X = np.array([[[3]]], np.float32)
    case = maxpool_check.case(X, kernel_shape=[3], pads=[2, 0])
    small = shrink(case, lambda case: valid(case) and case.resolved.geometry[0].output == 1)
    assert (small.X.size, small.attributes) == (1, {"kernel_shape": [1]})


def test_cells_are_not_shrunk_to_nothing():
    small, tried = shrunk("refusals/attributes:strides-zero-rows", lambda case: True)
    assert small.X.size == 1
    assert all(case.X.size for case in tried)


@pytest.mark.parametrize("spec", sorted({case.spec for case in EVERY.values()}))
def test_every_document_shrinks_in_its_own_attributes(spec):
    case = max(
        (
            candidate
            for candidate in EVERY.values()
            if candidate.spec == spec and valid(candidate) and candidate.X.size <= 100
        ),
        key=lambda candidate: candidate.X.size,
    )
    small = shrink(case, valid)
    assert valid(small)
    assert set(small.attributes) <= set(case.attributes)
    # XMOS takes channels by fours, SONNX two spatial axes.
    assert small.X.size == (4 if spec == "xmos-maxpool2d" else 1)


GRAPH = replace(
    EVERY["edge/neg-inf:one-cell"],
    X=Recipe.of(np.arange(-40, 32, dtype=np.float32).reshape(1, 2, 6, 6)),
    attributes={"kernel_shape": [3, 2], "strides": [2, 2]},
    expect=None,
    context=Context(
        24,
        before=(
            Node("Neg"),
            Node("Transpose", {"perm": [0, 1, 3, 2]}),
            Node("Pad", {"pads": [0, 0, 2, 2, 0, 0, 1, 0], "constant_value": 7}, "constant", 2),
        ),
        after=(Node("Clip", {"min": -5, "max": 9.5}), Node("Unsqueeze", {"axes": [0]}, "input")),
        consumers=2,
        initializer=True,
        dimensions=("N", 2, "H", "W"),
        inside="Loop",
    ),
)


def operators(case):
    return () if case.context.is_alone else case.context.operators


def test_a_graph_becomes_the_smallest_that_keeps_it():
    def has_a_pad_of_a_number_that_enters(case):
        return "Pad" in operators(case) and valid(case) and (evaluate(case.entering, case.resolved).Y == 7).any()

    tried = []
    small = shrink(GRAPH, lambda case: bool(tried.append(case)) or has_a_pad_of_a_number_that_enters(case))
    pad = {"pads": [0, 0, 0, 0, 0, 1], "constant_value": 7}
    assert (small.X.shape, small.attributes) == ((1, 1, 1), {"kernel_shape": [1]})
    # The document of the case is that of operator set 22.
    assert small.context == Context(22, before=(Node("Pad", pad),))
    assert all(case.is_exact for case in tried), "nothing inexact is tried"


def test_no_node_is_left_that_is_not_needed():
    small = shrink(GRAPH, valid)
    assert (small.context, small.X.size) == (MAX_POOL_ALONE, 1)
    small = shrink(GRAPH, lambda case: valid(case) and not case.context.is_alone and case.context.inside == "Loop")
    assert (operators(small), small.context.initializer) == (("MaxPool",), False)


def test_nodes_on_both_sides_go_together():
    there, back = Node("Transpose", {"perm": [0, 2, 3, 1]}), Node("Transpose", {"perm": [0, 3, 1, 2]})
    case = replace(GRAPH, context=Context(22, (Node("Relu"), there), (back, Node("Neg"))))

    def are_as_many_on_each_side(case):
        return valid(case) and "Relu" in operators(case) and "Neg" in operators(case) and (
            operators(case).count("Transpose") in (0, 2)
        )  # fmt: skip

    assert operators(shrink(case, are_as_many_on_each_side)) == ("Relu", "MaxPool", "Neg")


def test_every_drawn_graph_shrinks_to_one_cell():
    for case in itertools.islice(generate("onnx-22", 5, graphs=1), 40):
        small = shrink(case, valid)
        assert (small.X.size, operators(small)) in ((1, ()), (1, ("MaxPool",)))
