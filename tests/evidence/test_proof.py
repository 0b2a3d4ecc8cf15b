"""The log of the comparison of evaluator and definition: it is about the present files, a part comes out again, and it can fail."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxpool_check.evidence.proof import families, shipped_proof, sources
from maxpool_check.evidence.reference_comparison import (
    EvaluatorComparison,
    TunedComparison,
    compare_numbers,
    compare_row,
    compare_values,
)
from maxpool_check.evidence.small_geometries import BOUNDS, planes, tables
from maxpool_check.reference import evaluator
from maxpool_check.reference.numbering import Numbering
from maxpool_check.reference.policies import Nan, Policies

LOG = shipped_proof()
AXES = list(tables(BOUNDS).values())
ROW = 54
"""A window of padding alone, one of both cells of X, and one that reaches beyond the padded input."""


def test_the_log_is_about_the_present_reference():
    assert LOG.sources == sources(), "the reference has changed since it was compared: make prove"


def test_everything_within_the_bounds_was_compared_and_agreed():
    assert LOG.bounds == BOUNDS
    assert (LOG.axes, LOG.tables, LOG.pairs) == (sum(map(len, AXES)), len(AXES), 384_400)
    assert LOG.counts["two_dimensions"].evaluations == 2 * LOG.pairs + LOG.pairs // 10
    assert LOG.counts["one_dimension"].evaluations == 6 * LOG.axes
    assert LOG.counts["tunings"].evaluations == 12 * LOG.axes + 6 * (LOG.pairs // 10)
    assert LOG.families.keys() == families((table, "") for table in tables(BOUNDS)).keys()
    assert LOG.mismatches == ()
    assert LOG.total.mismatches == 0


def test_a_family_of_the_log_comes_out_again():
    ((row, table),) = ((row, table) for row, table in enumerate(tables(BOUNDS)) if len(table.windows) == 9)
    compared = EvaluatorComparison()
    compare_row(compared, row, AXES)
    assert compared.counts.mismatches == 0
    assert families([(table, compared.digest.hexdigest())]) == {"9 windows": LOG.families["9 windows"]}


def test_every_tenth_pair_of_a_row_agrees_as_tuned_for_other_sizes():
    tuned = TunedComparison()
    tuned.row(ROW, AXES)
    assert tuned.counts.evaluations == 6 * (len(AXES) // 10)
    assert tuned.mismatches == []


def the_first_in_column_major_order(X, pooling):
    # Right in one dimension.
    order = (0, 1, *range(X.ndim - 1, 1, -1))
    turned = evaluator.evaluate(
        np.ascontiguousarray(X.transpose(order)),
        replace(pooling, geometry=pooling.geometry[::-1], numbering=Numbering()),
    )
    cells = np.where(turned.empty, 0, turned.Indices)
    coordinates = np.unravel_index(cells, [X.shape[axis] for axis in order])
    numbers = np.asarray(pooling.numbering.of_coordinates([coordinates[axis] for axis in order], X.shape))
    turned = replace(turned, Indices=np.where(turned.empty, -1, numbers))
    return type(turned)(
        *(getattr(turned, name).transpose(order) for name in ("Y", "Indices", "empty", "undefined", "maxima"))
    )


def dilation_is_ignored(X, pooling):
    return evaluator.evaluate(
        X, replace(pooling, geometry=tuple(replace(axis, dilation=1) for axis in pooling.geometry))
    )


def the_second_axis_is_padded_as_the_first(X, pooling):
    first, *others = pooling.geometry
    return evaluator.evaluate(
        X, replace(pooling, geometry=(first, *(replace(axis, begin=first.begin) for axis in others)))
    )


def padding_has_its_value_everywhere(X, pooling):
    pooled = evaluator.evaluate(X, pooling)
    return replace(pooled, undefined=pooled.undefined & (pooling.padding_value is None))


def nan_always_wins(X, pooling):
    return evaluator.evaluate(X, replace(pooling, policies=Policies(nan=Nan.PROPAGATES_LAST)))


def a_zero_loses_its_sign(X, pooling):
    pooled = evaluator.evaluate(X, pooling)
    Y = pooled.Y + X.dtype.type(0)
    return replace(pooled, Y=Y, maxima=Y)


@pytest.mark.parametrize(
    "wrong",
    [
        the_first_in_column_major_order, dilation_is_ignored, the_second_axis_is_padded_as_the_first,
        padding_has_its_value_everywhere, nan_always_wins, a_zero_loses_its_sign,
    ],
)  # fmt: skip
def test_a_wrong_evaluator_is_found_in_the_row(wrong):
    assert list(tables(BOUNDS))[ROW].windows == ((), (0, 1), ())
    compared = EvaluatorComparison(wrong)
    compare_row(compared, ROW, AXES, range(0, len(AXES), 9))
    assert compared.counts.mismatches > 0
    assert compared.mismatches
    assert compared.digest.hexdigest() != EvaluatorComparison().digest.hexdigest()


@pytest.mark.long
def test_a_wrong_evaluator_is_found_in_values_and_in_numbers():
    def indices_of_the_plane(X, pooling):
        pooled = evaluator.evaluate(X, pooling)
        return replace(pooled, Indices=np.where(pooled.empty, -1, pooled.Indices % max(1, X[0, 0].size)))

    values, numbers = EvaluatorComparison(nan_always_wins), EvaluatorComparison(indices_of_the_plane)
    compare_values(values)
    compare_numbers(numbers)
    # Five of six interpretations are not that one; integers have no NaN.
    assert values.counts.mismatches == 5 * 2 * 4 < values.counts.evaluations
    assert 0 < numbers.counts.mismatches < numbers.counts.evaluations


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_the_planes_show_every_wrong_order_of_joining_cells(joined):
    """Of programs that join cells one after the other, exactly those are right about the planes that are right about all."""
    X = planes(6)
    X = X[~np.isnan(X).any(axis=1)]
    chosen = np.full(len(X), joined[0])
    for cell in joined[1:]:
        chosen = np.where(X[:, cell] > X[np.arange(len(X)), chosen], cell, chosen)
    for window in ({*joined}, {0, 1, 2}, {1, 4}):
        first = [max(sorted(window), key=lambda cell: plane[cell]) for plane in X]
        assert (list(chosen) == first) == (list(dict.fromkeys(joined)) == sorted(window))
