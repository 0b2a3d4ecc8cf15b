"""The evaluator and the definition: the log of their comparison is about the present files and comes out again, cases have
the results of records, and an evaluator that is wrong is found."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxpool_check.evidence.proof import families, shipped_proof, sources
from maxpool_check.evidence.reference_comparison import EvaluatorComparison, TunedComparison, compare_row
from maxpool_check.evidence.references import ReferenceLog, references
from maxpool_check.evidence.small_geometries import BOUNDS, planes, tables
from maxpool_check.reference import evaluator
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.policies import Nan, Policies
from tests.conftest import shipped

LOG = shipped_proof()
AXES = list(tables(BOUNDS).values())
ROW = 54
"""A window of padding alone, one of both cells of X, and one that reaches beyond the padded input."""


def test_the_log_is_about_the_present_reference_and_everything_within_the_bounds_agreed():
    assert LOG.sources == sources(), "the reference has changed since it was compared: make prove"
    assert LOG.bounds == BOUNDS
    assert (LOG.axes, LOG.tables, LOG.pairs) == (sum(map(len, AXES)), len(AXES), 384_400)
    assert LOG.counts["two_dimensions"].evaluations == 2 * LOG.pairs + LOG.pairs // 10
    assert LOG.counts["one_dimension"].evaluations == 6 * LOG.axes
    assert LOG.counts["tunings"].evaluations == 24 * LOG.axes + 12 * (LOG.pairs // 10)
    assert LOG.families.keys() == families((table, "") for table in tables(BOUNDS)).keys()
    assert (LOG.mismatches, LOG.total.mismatches) == ((), 0)


def test_a_family_of_the_log_comes_out_again():
    ((row, table),) = ((row, table) for row, table in enumerate(tables(BOUNDS)) if len(table.windows) == 9)
    compared = EvaluatorComparison()
    compare_row(compared, row, AXES)
    assert compared.counts.mismatches == 0
    assert families([(table, compared.digest.hexdigest())]) == {"9 windows": LOG.families["9 windows"]}


def test_every_tenth_pair_of_a_row_agrees_as_tuned_for_other_sizes():
    tuned = TunedComparison()
    tuned.row(ROW, AXES)
    assert (tuned.counts.evaluations, tuned.mismatches) == (12 * (len(AXES) // 10), [])


@pytest.mark.parametrize("reduction", ["_tap_by_tap", "_doubled"])
def test_each_way_to_reduce_an_axis_is_compared(monkeypatch, reduction):
    def without_the_last_tap(keys, cells, axis, first, count, wins):
        return right(keys, cells, axis, first, np.minimum(count, 2), wins)

    right, tuned = getattr(evaluator, reduction), TunedComparison()
    monkeypatch.setattr(evaluator, reduction, without_the_last_tap)
    tuned.axis(Axis(5, 3, 1, 1, 0, 0, 3))
    # By some planes at a time in each of five settings, and by some windows.
    assert tuned.counts.mismatches >= 5 + 1


def wrong_evaluator(before=lambda X, pooling: (X, pooling), after=lambda pooled: pooled):
    """An evaluator of something else, or with other outputs."""
    return lambda X, pooling: after(evaluator.evaluate(*before(X, pooling)))


def with_axes(change):
    """Something else: other windows."""
    return lambda X, pooling: (X, replace(pooling, geometry=tuple(change(*pooling.geometry))))


nan_always_wins = wrong_evaluator(lambda X, pooling: (X, replace(pooling, policies=Policies(nan=Nan.PROPAGATES_LAST))))
minima = wrong_evaluator(
    lambda X, pooling: (-X, pooling), lambda pooled: replace(pooled, Y=-pooled.Y, maxima=-pooled.maxima)
)
without_signs = wrong_evaluator(after=lambda pooled: replace(pooled, Y=pooled.Y + 0, maxima=pooled.maxima + 0))
from_one = wrong_evaluator(after=lambda pooled: replace(pooled, Indices=pooled.Indices + 1))
nothing_is_open = wrong_evaluator(after=lambda pooled: replace(pooled, undefined=pooled.undefined & False))
without_dilation = wrong_evaluator(with_axes(lambda *axes: (replace(axis, dilation=1) for axis in axes)))
padded_as_the_first = wrong_evaluator(
    with_axes(lambda first, *others: (first, *(replace(axis, begin=first.begin) for axis in others)))
)


@pytest.mark.parametrize(
    "wrong", [without_dilation, padded_as_the_first, nothing_is_open, nan_always_wins, without_signs]
)
def test_a_wrong_evaluator_is_found_in_a_row(wrong):
    assert list(tables(BOUNDS))[ROW].windows == ((), (0, 1), ())
    compared = EvaluatorComparison(wrong)
    compare_row(compared, ROW, AXES, range(0, len(AXES), 9))
    assert compared.counts.mismatches > 0
    assert compared.mismatches
    assert compared.digest.hexdigest() != EvaluatorComparison().digest.hexdigest()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_the_planes_show_every_wrong_order_of_joining_cells(joined):
    """Of programs that join cells one after the other, those are right about the planes that are right about all."""
    X = planes(6)
    X = X[~np.isnan(X).any(axis=1)]
    chosen = np.full(len(X), joined[0])
    for cell in joined[1:]:
        chosen = np.where(X[:, cell] > X[np.arange(len(X)), chosen], cell, chosen)
    for window in ({*joined}, {0, 1, 2}, {1, 4}):
        first = [max(sorted(window), key=lambda cell: plane[cell]) for plane in X]
        assert (list(chosen) == first) == (list(dict.fromkeys(joined)) == sorted(window))


def by_id(*names):
    cases = {case.id: case for case in shipped().cases}
    return [cases[name] for name in names]


def test_interpretations_open_cells_and_refusals_are_logged_and_read_again():
    cases = by_id(
        "edge/nan:with-neg-inf", "edge/valid-ceil:one-axis", "documents/onnx-22:empty-window",
        "refusals/attributes:kernel-missing",
    )  # fmt: skip
    log = references(cases)
    nan, ceil, empty, refused = log.cases
    names = ("ignored", "as-neg-inf", "propagates", "propagates-last")
    assert [each.interpretation for each in nan.results] == [{"nan": name} for name in names]
    assert [each.interpretation for each in ceil.results] == [{}, {"valid_ceil": "formula"}]
    assert [(each.without_value, each.without_index) for each in empty.results] == [(1, 1)]
    assert (refused.results, refused.refused["reason"]) == ((), "invalid-attribute")
    counts = {"cases": 4, "results": 7, "refused": 1, "computed": 3, "agree": 3, "differ": 0}
    assert log.counts == counts
    assert references(cases).encode() == log.encode()
    assert msgspec.json.decode(log.encode(), type=ReferenceLog) == log


@pytest.mark.parametrize(
    ("wrong", "case"),
    [
        (without_signs, "edge/signed-zero:both-float32"),
        (minima, "contexts/consumers:pool-and-transpose"),
        (from_one, "sonnx/float:float-example-1"),
        (nothing_is_open, "documents/onnx-22:empty-window"),
    ],
)
def test_a_wrong_evaluator_is_found_by_a_case(wrong, case):
    log = references(by_id(case), wrong)
    assert log.differing == [case]
    assert (log.counts["agree"], log.counts["differ"]) == (0, 1)
