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


def shrunk(case, keeps, *limit):
    """The smallest case, and all that were tried."""
    tried = []

    def counted(case):
        tried.append(case)
        return keeps(case)

    return shrink(EVERY[case] if isinstance(case, str) else case, counted, *limit), tried


def valid(case):
    return isinstance(case.resolved, Pooling)


def gives_neg_inf(case):
    return valid(case) and bool((evaluate(case.X.tensor(), case.resolved).Y == -np.inf).any())


@pytest.mark.parametrize("name", ["wide-padded-w33", "three-axes", "second-channel-float64"])
def test_of_any_window_of_neg_inf_one_cell_is_left_and_nothing_is_tried_twice(name):
    case = EVERY[f"edge/neg-inf:{name}"]
    small, tried = shrunk(case, gives_neg_inf)
    assert (small.X.shape, dict(small.attributes)) == ((1, 1, 1), {"kernel_shape": [1]})
    assert (small.X.dtype, small.outputs) == (case.X.dtype, ("Y",))
    digests = [each.sha256 for each in tried]
    assert len({*digests, case.sha256}) == len(digests) + 1
    # The same case shrinks to the same by the same steps, of which no more are taken than allowed.
    assert [each.sha256 for each in shrunk(case, gives_neg_inf, 7)[1]] == digests[:7]


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

    candidates = (case for case in EVERY.values() if case.spec == "onnx-22")
    small = shrink(next(filter(has_a_nan_beside_something_large, candidates)), has_a_nan_beside_something_large)
    ordinary = small.X.tensor()[np.isfinite(small.X.tensor()) & (small.X.tensor() < 1e30)]
    assert small.X.size - ordinary.size == 2
    assert (ordinary == np.rint(ordinary)).all()


def test_padding_goes_with_the_plane_and_cells_are_not_shrunk_to_nothing():
    case = maxpool_check.case(np.array([[[3]]], np.float32), kernel_shape=[3], pads=[2, 0])
    small = shrink(case, lambda case: valid(case) and case.resolved.geometry[0].output == 1)
    assert (small.X.size, small.attributes) == (1, {"kernel_shape": [1]})
    small, tried = shrunk("refusals/attributes:strides-zero-rows", lambda case: True)
    assert small.X.size == 1
    assert all(case.X.size for case in tried)


@pytest.mark.parametrize("spec", sorted({case.spec for case in EVERY.values()}))
def test_every_document_shrinks_in_its_own_attributes(spec):
    candidates = [case for case in EVERY.values() if case.spec == spec and valid(case) and case.X.size <= 100]
    case = max(candidates, key=lambda candidate: candidate.X.size)
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

    small, tried = shrunk(GRAPH, has_a_pad_of_a_number_that_enters)
    pad = {"pads": [0, 0, 0, 0, 0, 1], "constant_value": 7}
    assert (small.X.shape, small.attributes) == ((1, 1, 1), {"kernel_shape": [1]})
    # The document of the case is that of operator set 22.
    assert small.context == Context(22, before=(Node("Pad", pad),))
    assert all(case.is_exact for case in tried), "nothing inexact is tried"
    small = shrink(GRAPH, valid)
    assert (small.context, small.X.size) == (MAX_POOL_ALONE, 1)
    small = shrink(GRAPH, lambda case: valid(case) and not case.context.is_alone and case.context.inside == "Loop")
    assert (operators(small), small.context.initializer) == (("MaxPool",), False)
    # What nothing smaller keeps stays as it is.
    assert shrink(GRAPH, lambda _: False).sha256 == GRAPH.sha256


def test_every_drawn_graph_shrinks_to_one_cell():
    for case in itertools.islice(generate("onnx-22", 5, graphs=1), 40):
        small = shrink(case, valid)
        assert (small.X.size, operators(small)) in ((1, ()), (1, ("MaxPool",)))
