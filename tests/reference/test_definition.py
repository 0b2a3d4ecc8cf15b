"""The definition, against what follows from the documents by hand."""

import numpy as np
import pytest

from maxpool_check.reference.definition import cells, evaluate, index
from maxpool_check.reference.geometry import (
    AutoPad,
    Axis,
    NoWindow,
    Placement,
    ceil_output,
    clipped_ceil_output,
    floor_output,
    padded_axis,
)
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import Nan, Policies
from maxpool_check.reference.pooling import Pooling


def pool(X, *axes, **policies):
    return evaluate(np.array(X), Pooling(axes, Policies(**policies)))


def test_padding_never_wins_not_even_against_the_lowest_value():
    X = np.full((1, 1, 2), -128, np.int8)
    pooled = pool(X, Axis(2, 2, 1, 1, 1, 1, 3))
    assert pooled.Y.tolist() == [[[-128, -128, -128]]]
    assert pooled.Indices.tolist() == [[[0, 0, 1]]]


def test_the_first_of_equal_maxima_is_named_in_row_major_order():
    axes = (Axis(2, 2, 1, 1, 0, 0, 1), Axis(2, 2, 1, 1, 0, 0, 1))
    assert pool([[[[0, 5], [5, 5]]]], *axes).Indices.tolist() == [[[[1]]]]


def test_zeros_of_both_signs_are_equal_and_the_first_is_copied():
    pooled = pool([[[-0.0, 0.0]]], Axis(2, 2, 1, 1, 0, 0, 1))
    assert np.signbit(pooled.Y).all()
    assert pooled.Indices.tolist() == [[[0]]]


@pytest.mark.parametrize(
    ("nan", "value", "at"),
    [
        (Nan.AS_NEG_INF, 2.0, 2),
        (Nan.IGNORED, 2.0, 2),
        (Nan.UNSPECIFIED, 2.0, 2),
        (Nan.PROPAGATES, np.nan, 1),
        (Nan.PROPAGATES_FIRST, np.nan, 1),
        (Nan.PROPAGATES_LAST, np.nan, 3),
    ],
)
def test_each_reading_of_nan(nan, value, at):
    pooled = pool([[[1.0, np.nan, 2.0, np.nan]]], Axis(4, 4, 1, 1, 0, 0, 1), nan=nan)
    np.testing.assert_array_equal(pooled.Y, [[[value]]])
    assert pooled.Indices.tolist() == [[[at]]]


@pytest.mark.parametrize(("nan", "value"), [(Nan.AS_NEG_INF, -np.inf), (Nan.IGNORED, np.nan)])
def test_a_window_of_nan(nan, value):
    pooled = pool([[[np.nan, np.nan]]], Axis(2, 2, 1, 1, 0, 0, 1), nan=nan)
    np.testing.assert_array_equal(pooled.Y, [[[value]]])
    assert pooled.Indices.tolist() == [[[0]]]


def test_the_index_is_that_of_minus_infinity_also_where_a_nan_counts_as_it():
    axis = Axis(2, 2, 1, 1, 0, 0, 1)
    assert pool([[[np.nan, -np.inf]]], axis, nan=Nan.IGNORED).Indices.tolist() == [[[1]]]
    assert pool([[[np.nan, -np.inf]]], axis, nan=Nan.AS_NEG_INF).Indices.tolist() == [[[1]]]


def test_a_window_that_misses_the_input_is_empty_and_says_so():
    pooled = pool([[[7.0]]], Axis(1, 2, 1, 2, 1, 1, 1))
    assert pooled.empty.tolist() == pooled.undefined.tolist() == [[[True]]]


def test_a_window_of_padding_has_the_value_of_the_padding_where_the_document_gives_one():
    # Taps at -1 and 1 of one cell; the window behind it reaches beyond the declared padding.
    pooling = Pooling((Axis(1, 2, 1, 2, 1, 1, 2),), Policies(), padding_value=-np.inf)
    pooled = evaluate(np.array([[[7.0]]]), pooling)
    assert pooled.Y.tolist() == [[[-np.inf, 7.0]]]
    assert pooled.empty.tolist() == [[[True, False]]]
    pooling = Pooling((Axis(2, 1, 2, 1, 0, 0, 2),), Policies(), padding_value=-np.inf)
    assert evaluate(np.array([[[7.0, 8.0]]]), pooling).undefined.tolist() == [[[False, True]]]


def test_the_window_of_a_cell_in_its_own_batch_and_channel():
    axis = Axis(4, 2, 2, 2, 1, 0, 2)
    assert cells((1, 2, 0), (axis,)) == [(1, 2, 1)]
    assert cells((1, 2, 1), (axis,)) == [(1, 2, 1), (1, 2, 3)]


def test_indices_count_the_whole_tensor_and_storage_order_only_the_plane():
    shape = (2, 3, 4, 5)
    column_major = Numbering(StorageOrder.COLUMN_MAJOR)
    assert index((1, 2, 3, 1), shape, Numbering()) == (1 * 3 + 2) * 20 + 3 * 5 + 1
    assert index((1, 2, 3, 1), shape, column_major) == (1 * 3 + 2) * 20 + 1 * 4 + 3
    assert index((0, 0, 1, 2, 3), (1, 1, 4, 5, 6), column_major) == 1 + 4 * (2 + 5 * 3)


def test_indices_count_channels_last_or_from_an_axis_on():
    shape = (2, 3, 4, 5)
    assert index((1, 2, 3, 1), shape, Numbering(layout=Layout.CHANNELS_LAST)) == ((1 * 4 + 3) * 5 + 1) * 3 + 2
    assert index((1, 2, 3, 1), shape, Numbering(axis=1)) == 2 * 20 + 3 * 5 + 1
    assert index((1, 2, 3, 1), shape, Numbering(axis=2)) == 3 * 5 + 1
    assert index((1, 2, 3, 1), shape, Numbering(axis=3)) == 1


def test_output_sizes():
    assert floor_output(5, 2, 2, 1, 0, 0) == 2
    assert ceil_output(5, 2, 2, 1, 0, 0) == 3
    # A last window that starts in the end padding: counted by rounding up, dropped by the clipped form.
    assert ceil_output(4, 1, 2, 1, 0, 1) == 3
    assert clipped_ceil_output(4, 1, 2, 1, 0, 1) == 2
    assert floor_output(20971521, 2, 4194304, 1, 0, 0) == 5
    # Windows larger than the padded input by no more than a stride: the formulas give 0 and 1.
    assert floor_output(2, 3, 2, 1, 0, 0) == 0
    assert ceil_output(2, 2, 2, 2, 0, 0) == 1


def test_a_window_larger_than_the_padded_input_is_no_axis_unless_the_formula_counts():
    with pytest.raises(NoWindow):
        padded_axis(2, 3, 2, 1, 0, 0, floor_output)
    assert padded_axis(2, 3, 2, 1, 0, 0, floor_output, zero_size=True).output == 0
    assert padded_axis(2, 4, 2, 1, 0, 0, floor_output, zero_size=True).output == 0
    with pytest.raises(NoWindow):
        padded_axis(2, 5, 2, 1, 0, 0, floor_output, zero_size=True)


@pytest.mark.parametrize(
    ("n", "k", "s", "d", "output", "padding"), [(5, 2, 1, 2, 5, 2), (6, 1, 3, 1, 2, -2), (5, 1, 1, 1, 5, 0)]
)
def test_same_padding_uses_the_effective_kernel(n, k, s, d, output, padding):
    axis = Placement(AutoPad.SAME_UPPER, clamps=False).axis(n, k, s, d, 0, 0)
    assert (axis.output, axis.begin + axis.end) == (output, padding)
