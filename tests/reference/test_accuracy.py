"""MaxPool selects: what ``maxpool-check docs accuracy`` says of the numbers, by the public function."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check import maxpool
from maxpool_check.reference.dtypes import NUMPY, bits, highest, is_float, lowest, rounded

NAMES = st.sampled_from(["float16", "bfloat16", "float32", "float64", "int8", "uint8"])


def tensor(random, shape, name):
    """Finite values of a type, often equal, subnormal, or at its limits."""
    dtype = NUMPY[name]
    low, high = lowest(dtype), highest(dtype)
    if not is_float(dtype):
        return random.choice(np.array([low, 0, 1, 2, high - 1, high], dtype), shape)
    few = [float(low), -1.0, -0.0, 0.0, 1e-320, 1.0, float(high), *random.standard_normal(4)]
    with np.errstate(under="ignore"):
        return np.clip(rounded(random.choice(few, shape), dtype), low, high).reshape(shape)


@st.composite
def inputs(draw, names=NAMES):
    """Two tensors of one or two spatial axes, and attributes; every window has a cell of X."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rank, name = draw(st.integers(1, 2)), draw(names)
    kernel, dilations = random.integers(1, 4, rank), random.integers(1, 3, rank)
    pads = random.integers(0, np.where(dilations == 1, kernel, 1)).tolist()
    attributes = {
        "kernel_shape": kernel.tolist(), "dilations": dilations.tolist(), "pads": pads * 2,
        "strides": random.integers(1, 4, rank).tolist(),
    }  # fmt: skip
    shape = (*random.integers(1, 3, 2), *((kernel - 1) * dilations + random.integers(1, 4, rank)))
    return attributes, tensor(random, shape, name), tensor(random, shape, name)


def pool(X, attributes):
    return maxpool(X, spec="onnx-22", **attributes)


def exact(values):
    """The values as numbers without any rounding."""
    return np.array([Fraction(float(value)) for value in values.reshape(-1)], object).reshape(values.shape)


def distance(A, B):
    """The maximum norm of the difference, without rounding."""
    return abs(exact(A) - exact(B)).max()


@settings(max_examples=30, deadline=None)
@given(inputs())
def test_y_has_the_bits_of_a_cell_of_its_window_and_none_there_is_greater(drawn):
    attributes, X, _ = drawn
    pooled, names = pool(X, attributes), ("kernel_shape", "strides", "dilations", "pads")
    assert (bits(X).reshape(-1)[pooled.Indices] == bits(pooled.Y).reshape(pooled.Y.shape)).all()
    for at in np.ndindex(pooled.Y.shape):
        taps = []
        for i, size, k, s, d, pad in zip(at[2:], X.shape[2:], *map(attributes.get, names), strict=False):
            # From the document's words: position = i * stride - pad + t * dilation, where it lies in X.
            taps.append([position for t in range(k) if 0 <= (position := i * s - pad + t * d) < size])
        assert Fraction(float(pooled.Y[at])) == exact(X[at[:2]][np.ix_(*taps)]).max()


@settings(max_examples=30, deadline=None)
@given(inputs())
def test_it_is_monotone_and_1_lipschitz_in_the_maximum_norm(drawn):
    attributes, A, B = drawn
    Y = pool(A, attributes).Y
    assert distance(Y, pool(B, attributes).Y) <= distance(A, B)
    assert (exact(pool(np.where(A >= B, A, B), attributes).Y) >= exact(Y)).all()
    assert exact(A).min() <= exact(Y).min()
    assert exact(Y).max() <= exact(A).max()


ORDER_PRESERVING = [
    lambda X: rounded(X, NUMPY["float16"]),
    lambda X: np.clip(np.rint(np.clip(X, -1e6, 1e6) / 0.25) + 3, -128, 127).astype(np.int8),
    lambda X: np.maximum(X, 0),
    lambda X: 3 * np.clip(X, -1e300, 1e300),
]


@settings(max_examples=30, deadline=None)
@given(inputs(st.just("float64")), st.sampled_from(ORDER_PRESERVING))
def test_it_commutes_with_functions_that_keep_the_order(drawn, function):
    attributes, X, _ = drawn
    before, behind = pool(function(X), attributes).Y, function(pool(X, attributes).Y)
    assert before.dtype == behind.dtype
    assert (before == behind).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(5, 7), NAMES, st.integers(0, 2**32 - 1))
def test_windows_compose(first, second, size, name, seed):
    X = tensor(np.random.default_rng(seed), (1, 1, size), name)
    twice = pool(pool(X, {"kernel_shape": [first]}).Y, {"kernel_shape": [second]}).Y
    assert (twice == pool(X, {"kernel_shape": [first + second - 1]}).Y).all()
