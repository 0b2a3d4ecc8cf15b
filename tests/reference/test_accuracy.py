"""MaxPool selects: what ``maxpool-check docs accuracy`` says of the numbers, for random inputs, by the public function."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check import maxpool
from maxpool_check.reference.dtypes import NUMPY, bits, highest, is_float, lowest, rounded

NAMES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8")


@st.composite
def poolings(draw):
    """Shape of X and attributes, of one or two spatial axes; every window has a cell of X."""
    rank = draw(st.integers(1, 2))
    kernel = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    dilations = draw(st.lists(st.integers(1, 2), min_size=rank, max_size=rank))
    pads = [
        draw(st.integers(0, size - 1)) if dilation == 1 else 0 for size, dilation in zip(kernel, dilations, strict=True)
    ]
    sizes = [(k - 1) * d + draw(st.integers(1, 3)) for k, d in zip(kernel, dilations, strict=True)]
    attributes = {
        "kernel_shape": kernel, "dilations": dilations, "pads": pads * 2,
        "strides": draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)),
    }  # fmt: skip
    return (draw(st.integers(1, 2)), draw(st.integers(1, 2)), *sizes), attributes


@st.composite
def tensors(draw, shape, name):
    """Finite values of a type, often equal, subnormal, or at its limits."""
    dtype, size = NUMPY[name], int(np.prod(shape))
    low, high = lowest(dtype), highest(dtype)
    if not is_float(dtype):
        values = st.sampled_from([low, 0, 1, 2, high]) | st.integers(int(low), int(high))
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype).reshape(shape)
    bound = float(high)
    values = st.sampled_from([-bound, -1.0, -0.0, 0.0, 1.0, bound]) | st.floats(-bound, bound, allow_nan=False)
    drawn = np.array(draw(st.lists(values, min_size=size, max_size=size)), np.float64)
    with np.errstate(under="ignore"):
        return np.clip(rounded(drawn, dtype), low, high).reshape(shape)


def pool(X, attributes):
    return maxpool(X, spec="onnx-22", **attributes)


def exact(tensor):
    """The values as numbers without any rounding."""
    return np.array([Fraction(float(value)) for value in tensor.reshape(-1)], object).reshape(tensor.shape)


def distance(A, B):
    """The maximum norm of the difference, without rounding."""
    return max(abs(exact(A) - exact(B)).reshape(-1))


@settings(max_examples=30, deadline=None)
@given(poolings(), st.sampled_from(NAMES), st.data())
def test_y_has_the_bits_of_a_cell_of_its_window_and_none_there_is_greater(pooling, name, data):
    shape, attributes = pooling
    X = data.draw(tensors(shape, name))
    pooled = pool(X, attributes)
    assert (bits(X).reshape(-1)[pooled.Indices] == bits(pooled.Y).reshape(pooled.Y.shape)).all()
    rank = len(shape) - 2
    for at in np.ndindex(pooled.Y.shape):
        # From the document's words: position = i * stride - pad + t * dilation, where it lies in X.
        taps = [
            [
                position
                for t in range(attributes["kernel_shape"][axis])
                if 0 <= (position := at[2 + axis] * attributes["strides"][axis] - attributes["pads"][axis] + t * attributes["dilations"][axis]) < shape[2 + axis]
            ]
            for axis in range(rank)
        ]  # fmt: skip
        window = exact(X[at[0], at[1]][np.ix_(*taps)])
        assert Fraction(float(pooled.Y[at])) == max(window.reshape(-1))


@settings(max_examples=30, deadline=None)
@given(poolings(), st.sampled_from(NAMES), st.data())
def test_it_is_monotone_and_1_lipschitz_in_the_maximum_norm(pooling, name, data):
    shape, attributes = pooling
    A, B = data.draw(tensors(shape, name)), data.draw(tensors(shape, name))
    assert distance(pool(A, attributes).Y, pool(B, attributes).Y) <= distance(A, B)
    larger = np.where(A >= B, A, B)
    assert (exact(pool(larger, attributes).Y) >= exact(pool(A, attributes).Y)).all()
    assert exact(A).min() <= exact(pool(A, attributes).Y).min()
    assert exact(pool(A, attributes).Y).max() <= exact(A).max()


ORDER_PRESERVING = {
    "to float16": lambda X: rounded(X, NUMPY["float16"]),
    "to bfloat16": lambda X: rounded(X, NUMPY["bfloat16"]),
    "quantized": lambda X: np.clip(np.rint(np.clip(X, -1e6, 1e6) / 0.25) + 3, -128, 127).astype(np.int8),
    "relu": lambda X: np.maximum(X, 0),
    "clip": lambda X: np.clip(X, -1.0, 2.0),
    "times 3": lambda X: 3 * np.clip(X, -1e300, 1e300),
}


@settings(max_examples=30, deadline=None)
@given(poolings(), st.sampled_from(sorted(ORDER_PRESERVING)), st.data())
def test_it_commutes_with_functions_that_keep_the_order(pooling, name, data):
    shape, attributes = pooling
    X, function = data.draw(tensors(shape, "float64")), ORDER_PRESERVING[name]
    before, behind = pool(function(X), attributes).Y, function(pool(X, attributes).Y)
    assert before.dtype == behind.dtype
    assert (before == behind).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(5, 7), st.sampled_from(NAMES), st.data())
def test_windows_compose(first, second, size, name, data):
    X = data.draw(tensors((1, 1, size), name))
    twice = pool(pool(X, {"kernel_shape": [first]}).Y, {"kernel_shape": [second]}).Y
    assert (twice == pool(X, {"kernel_shape": [first + second - 1]}).Y).all()


def test_it_is_idempotent_where_a_window_is_its_own_cell_and_where_y_is_one_cell():
    X = np.array([[[3.0, 1.0, 2.0]]])
    for attributes in ({"kernel_shape": [1]}, {"auto_pad": "SAME_UPPER", "kernel_shape": [5], "strides": [3]}):
        Y = pool(X, attributes).Y
        assert (pool(Y, attributes).Y == Y).all()
    X = np.array([[[3.0, 1.0, 0.0, 0.0]]])
    moving = {"kernel_shape": [2], "pads": [1, 0]}
    assert pool(pool(X, moving).Y, moving).Y.tolist() != pool(X, moving).Y.tolist()


def test_indices_jump_where_two_cells_are_nearly_equal():
    X = np.array([[[1.0, 1.0]]])
    nearly = np.array([[[1.0, np.nextafter(1.0, 2.0)]]])
    assert pool(X, {"kernel_shape": [2]}).Indices.item() == 0
    assert pool(nearly, {"kernel_shape": [2]}).Indices.item() == 1


def test_what_nan_infinity_and_zeros_do():
    def both(X, **policies):
        return maxpool(np.array([[X]]), spec="onnx-22", kernel_shape=[2], policies=policies).Y.item()

    assert both([-np.inf, -np.inf]) == -np.inf
    assert both([-np.inf, np.nan], nan="as-neg-inf") == both([np.nan, np.nan], nan="as-neg-inf") == -np.inf
    # Not monotone, and no bound on the distance: no number may take the place of the NaN.
    assert both([5.0, np.nan], nan="ignored") == 5.0
    assert np.isnan(both([5.0, np.nan], nan="propagates"))
    assert np.signbit(both([-0.0, 0.0])) != np.signbit(both([0.0, -0.0]))
    assert both([-0.0, 0.0]) == both([0.0, -0.0])
