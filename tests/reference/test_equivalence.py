"""The evaluator gives what the definition says, in every bit."""

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check.reference import definition, evaluator
from maxpool_check.reference.dtypes import NAMES, NUMPY, bits, highest, is_float, lowest, rounded
from maxpool_check.reference.geometry import Axis, NoWindow, ceil_output, clipped_ceil_output, floor_output, padded_axis
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import Nan, Policies
from maxpool_check.reference.pooling import Activation, Function, Pooled, Pooling

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint32", "int64", "uint64")
SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1e30, -1e30]


def assert_same(fast: Pooled, slow: Pooled, name: str = "") -> None:
    """Both agree in every bit; ``name`` is what a failure is about."""
    assert fast.Y.dtype == slow.Y.dtype, name
    assert fast.Y.shape == slow.Y.shape, name
    assert (bits(fast.Y) == bits(slow.Y)).all(), name
    assert (bits(fast.maxima) == bits(slow.maxima)).all(), name
    assert (fast.empty == slow.empty).all(), name
    assert (fast.undefined == slow.undefined).all(), name
    if slow.Indices is None:
        assert fast.Indices is None, name
    else:
        assert fast.Indices is not None, name
        assert fast.Indices.dtype == slow.Indices.dtype, name
        assert (fast.Indices == slow.Indices).all(), name


def every_axis(size: int):
    """Every geometry of one axis of a size: k and s to 3, d to 2, pads to 3, rounded every way there is, also to 0."""
    for k, s, d, b, e in itertools.product(range(1, 4), range(1, 4), range(1, 3), range(4), range(4)):
        outputs = set()
        for size_of in (floor_output, ceil_output, clipped_ceil_output):
            try:
                outputs.add(padded_axis(size, k, s, d, b, e, size_of, zero_size=True).output)
            except NoWindow:
                continue
        for output in outputs:
            yield Axis(size, k, s, d, b, e, output)


@pytest.mark.parametrize("size", range(6))
def test_every_small_geometry_in_one_dimension(size):
    values = np.array([[[2.0, -np.inf, 2.0, 3.0, 0.0][:size]], [[-np.inf, -np.inf, 1.0, -1.0, -np.inf][:size]]], "f4")
    count = 0
    for axis in every_axis(size):
        pooling = Pooling((axis,), Policies())
        assert_same(evaluator.evaluate(values, pooling), definition.evaluate(values, pooling))
        count += 1
    assert count > 100 or size == 0


@pytest.mark.parametrize(("dtype", "value"), [("f4", -np.inf), ("i1", -128), ("u1", 0)])
def test_every_small_geometry_whose_padding_has_a_value(dtype, value):
    X = np.array([[[5, 3, 4], [1, 2, 0]]], dtype)
    for size in range(4):
        for axis in every_axis(size):
            pooling = Pooling((axis,), Policies(), padding_value=value)
            pooled = evaluator.evaluate(X[..., :size], pooling)
            assert_same(pooled, definition.evaluate(X[..., :size], pooling))
            assert (pooled.Y[pooled.empty & ~pooled.undefined] == value).all()


@pytest.mark.parametrize("nan", Nan)
def test_every_small_geometry_with_every_reading_of_nan(nan):
    values = np.array([[[np.nan, -np.inf, 0.0, -0.0], [-0.0, 0.0, -np.nan, np.nan], [-np.inf, np.nan, -np.inf, 1.0]]])
    for axis in every_axis(4):
        pooling = Pooling((axis,), Policies(nan=nan))
        assert_same(evaluator.evaluate(values, pooling), definition.evaluate(values, pooling))


@pytest.mark.parametrize("sizes", [(9,), (3, 3), (2, 2, 2)], ids=str)
@pytest.mark.parametrize("pad", [0, 1])
def test_every_pattern_of_two_values(sizes, pad):
    # Every way to tie, one image each: the first maximum counts over all axes together.
    cells = int(np.prod(sizes))
    X = (np.arange(2**cells)[:, None] >> np.arange(cells) & 1).astype(np.int8).reshape(-1, 1, *sizes)
    pooling = Pooling(tuple(Axis(size, 2, 1, 1, pad, 0, size - 1 + pad) for size in sizes), Policies())
    assert_same(evaluator.evaluate(X, pooling), definition.evaluate(X, pooling))


@pytest.mark.parametrize("sizes", [(9,), (3, 3), (2, 2, 2)], ids=str)
def test_the_last_of_equal_maxima_is_the_first_from_the_other_end(sizes):
    cells = int(np.prod(sizes))
    X = (np.arange(2**cells)[:, None] >> np.arange(cells) & 1).astype(np.int8).reshape(-1, 1, *sizes)
    last = evaluator.chosen(X, Pooling(tuple(Axis(size, 2, 1, 1, 1, 0, size) for size in sizes), Policies()), last=True)
    axes = tuple(range(2, X.ndim))
    mirrored = Pooling(tuple(Axis(size, 2, 1, 1, 0, 1, size) for size in sizes), Policies())
    first = np.flip(definition.evaluate(np.flip(X, axes), mirrored).Indices, axes)
    assert (last // cells == first // cells).all()
    assert (last % cells == cells - 1 - first % cells).all()


@pytest.mark.parametrize("name", ["float32", "int8"])
@pytest.mark.parametrize(
    "sizes", [(255,), (256,), (257,), (2, 128), (1, 257), (65535,), (65536,), (65537,), (257, 256)]
)
def test_planes_at_the_limits_of_the_types_that_positions_are_kept_in(name, sizes):
    # Few windows, which together hold the first and the last cell of each plane, and ties.
    geometry = tuple(Axis(size, size, max(1, size - 1), 1, size // 2, size // 2, 2) for size in sizes[:1])
    geometry += tuple(Axis(size, 2, max(1, size - 2), 1, 0, 0, 2) for size in sizes[1:])
    X = np.zeros((1, 3, *sizes), NUMPY[name])
    X[(0, 0, *[-1] * len(sizes))] = X[(0, 2, *[0] * len(sizes))] = 1
    pooling = Pooling(geometry, Policies())
    assert_same(evaluator.evaluate(X, pooling), definition.evaluate(X, pooling))


@pytest.mark.parametrize(
    "axis",
    [
        Axis(3, 50, 1, 1, 49, 49, 52),
        Axis(3, 50, 7, 1, 40, 40, 5),
        Axis(3, 2, 1, 1, 9, 9, 20),
        Axis(3, 2, 4, 5, 9, 9, 5),
        Axis(2, 9, 5, 1, 3, 60, 8),
        Axis(5, 3, 2, 1, -2, 9, 5),
        Axis(5, 3, 2, 3, 7, -1, 4),
        Axis(5, 4, 100, 1, 150, 150, 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("first", [True, False])
def test_windows_that_reach_far_out_of_x_or_miss_it(axis, first):
    other = Axis(3, 2, 1, 1, 1, 1, 4)
    geometry = (axis, other) if first else (other, axis)
    sizes = [axis.size for axis in geometry]
    for X in (np.arange(2 * np.prod(sizes), dtype=np.int8), -np.arange(2 * np.prod(sizes), dtype=np.float64) * 0.0):
        X = X.reshape(1, 2, *sizes)
        pooling = Pooling(geometry, Policies())
        assert_same(evaluator.evaluate(X, pooling), definition.evaluate(X, pooling))


@st.composite
def axes(draw):
    size = draw(st.integers(0, 5))
    k, s, d = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    # Negative pads crop, and outputs beyond those of any rounding still have a meaning: windows that miss X.
    begin, end = draw(st.integers(-2, 4)), draw(st.integers(-2, 4))
    return Axis(size, k, s, d, begin, end, draw(st.integers(1, 4)))


ACTIVATIONS = [
    None,
    Activation(Function.RELU),
    Activation(Function.CLIP, (-1.5, 2.0)),
    Activation(Function.LEAKY_RELU, (0.1,)),
]


@st.composite
def poolings(draw):
    geometry = tuple(draw(st.lists(axes(), min_size=1, max_size=4)))
    layout = draw(st.sampled_from([Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST]))
    axis = draw(st.integers(0, len(geometry) + 1)) if layout is Layout.CHANNELS_FIRST else 0
    return Pooling(
        geometry,
        Policies(nan=draw(st.sampled_from(Nan))),
        Numbering(draw(st.sampled_from(StorageOrder)), layout, axis, draw(st.sampled_from(["int64", "int32"]))),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        indices=draw(st.booleans()),
    )


@settings(max_examples=300, deadline=None)
@given(poolings(), st.sampled_from(DTYPES), st.integers(0, 2), st.integers(1, 2), st.data())
def test_any_geometry_policy_and_value_in_one_to_four_dimensions(pooling, name, batch, channels, data):
    dtype = NUMPY[name]
    shape = (batch, channels, *[axis.size for axis in pooling.geometry])
    size = int(np.prod(shape))
    if not is_float(dtype):
        pooling = replace(pooling, activation=None)
    if is_float(dtype):
        drawn = data.draw(st.lists(st.sampled_from(SPECIAL), min_size=size, max_size=size))
        X = rounded(np.array(drawn, np.float64), dtype).reshape(shape)
    else:
        low, high = int(lowest(dtype)), int(highest(dtype))
        drawn = data.draw(st.lists(st.sampled_from([low, low + 1, 0, 1, high - 1, high]), min_size=size, max_size=size))
        X = np.array(drawn, dtype).reshape(shape)
    fast = evaluator.evaluate(X, pooling)
    assert_same(fast, definition.evaluate(X, pooling))
    assert fast.Indices is None or fast.Indices.dtype == pooling.numbering.dtype


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("nan", [Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST, Nan.IGNORED])
def test_a_nan_keeps_its_payload(name, nan):
    dtype = NUMPY[name]
    payload = bits(np.array([np.nan], dtype)) | 1
    X = payload.view(dtype).reshape(1, 1, 1)
    pooling = Pooling((Axis(1, 1, 1, 1, 0, 0, 1),), Policies(nan=nan))
    for evaluate in (evaluator.evaluate, definition.evaluate):
        assert (bits(evaluate(X, pooling).Y).reshape(-1) == payload).all()


def test_a_huge_kernel_costs_no_more_than_the_input_is_wide():
    axis = Axis(3, 10**9, 1, 1, 5 * 10**8, 5 * 10**8, 3)
    X = np.array([[[1, 3, 2]]], np.int8)
    assert evaluator.evaluate(X, Pooling((axis,), Policies())).Y.tolist() == [[[3, 3, 3]]]


def test_numbers_near_the_limits_of_64_bits():
    X = np.array([[[1, 3, 2]]], np.int8)
    far = 2**63 - 1
    for axis in (
        Axis(3, far, 1, 1, far - 2, 1, 3),
        Axis(3, 2, 1, far - 1, far, 3, 6),
        Axis(3, 2, far, 1, 0, 0, 1),
        Axis(3, 2, 2**62, 1, 0, 0, 5),
        Axis(3, 2, 1, 2**62, 2**62, 2**62, 2),
        Axis(3, 2, 1, 2**63 - 1, 2**63 - 1, 2**63 - 1, 3),
    ):
        pooled = evaluator.evaluate(X, Pooling((axis,), Policies()))
        for i in range(axis.output):
            inside = [p for p in range(3) if (p - axis.start(i)) % axis.dilation == 0 and 0 <= (p - axis.start(i)) // axis.dilation < axis.kernel]  # fmt: skip
            assert pooled.empty[0, 0, i] == (not inside)
            if inside:
                assert pooled.Y[0, 0, i] == max(X[0, 0, p] for p in inside)


def test_an_answer_too_large_for_any_memory_is_an_error_at_once():
    pooling = Pooling((Axis(3, 2, 1, 1, 10**17, 10**17, 2 * 10**17 + 2),), Policies())
    with pytest.raises((MemoryError, ValueError)):
        evaluator.evaluate(np.zeros((1, 1, 3)), pooling)


@pytest.mark.parametrize("nan", Nan)
@pytest.mark.parametrize(
    "axis", [Axis(4, 4, 1, 1, 0, 0, 1), Axis(4, 9, 1, 1, -1, 6, 1), Axis(4, 9, 2, 1, 3, 2, 1)], ids=str
)
def test_one_window_of_the_whole_plane_or_of_all_but_a_cell(axis, nan):
    X = np.array([[[3, np.nan, 3, np.nan], [4, 1, -np.inf, 4]]], np.float32)
    pooling = Pooling((axis,), Policies(nan=nan))
    assert_same(evaluator.evaluate(X, pooling), definition.evaluate(X, pooling))


PARTS = (1, 24, 100, 1000)
"""Sizes of parts of one window or of several, of one plane or of several."""


@st.composite
def longer_axes(draw, most):
    """Windows of any length, with gaps between them or overlaps, and pads larger than they are."""
    size, k = draw(st.integers(1, most)), draw(st.integers(1, most + 3))
    s, d = draw(st.integers(1, most)), draw(st.integers(1, 4))
    begin, end = draw(st.integers(-2, most)), draw(st.integers(-2, most))
    output = (size + begin + end - (k - 1) * d - 1) // s + 1
    return Axis(size, k, s, d, begin, end, max(1, min(output, most)))


@st.composite
def longer_poolings(draw):
    rank = draw(st.integers(1, 3))
    geometry = tuple(draw(longer_axes((23, 9, 4)[rank - 1])) for _ in range(rank))
    return Pooling(geometry, Policies(nan=draw(st.sampled_from(Nan))), Numbering(draw(st.sampled_from(StorageOrder))))


@st.composite
def ties(draw, pooling):
    """Two images of few different values: many ties, infinities, both zeros and NaN, or the limits of integers."""
    dtype = NUMPY[draw(st.sampled_from(NAMES))]
    values = [np.nan, -np.nan, -np.inf, np.inf, 0.0, -0.0, 1.0]
    if not is_float(dtype):
        values = [int(lowest(dtype)), int(lowest(dtype)) + 1, 0, int(highest(dtype)) - 1, int(highest(dtype))]
    few = np.array(draw(st.lists(st.sampled_from(values), min_size=1, max_size=4)), float if is_float(dtype) else dtype)
    shape = (2, draw(st.integers(1, 3)), *[axis.size for axis in pooling.geometry])
    which = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, len(few), shape)
    return few[which].astype(dtype)


@settings(max_examples=200, deadline=None)
@given(longer_poolings(), st.sampled_from(PARTS), st.data())
def test_parts_change_nothing(pooling, part_size, data):
    X = data.draw(ties(pooling))
    slow = definition.evaluate(X, pooling)
    assert_same(evaluator.evaluate(X, pooling, part_size), slow)
    # Neither does the order of X in memory.
    assert_same(evaluator.evaluate(np.asfortranarray(X), pooling, part_size), slow)


@settings(max_examples=100, deadline=None)
@given(longer_poolings(), st.sampled_from(PARTS), st.data())
def test_the_last_of_equal_maxima_in_parts(pooling, part_size, data):
    # From the other end, the last one is the first; of several NaN that propagate as well.
    X = data.draw(ties(pooling))
    axes = tuple(range(2, X.ndim))
    nan = Nan.PROPAGATES if pooling.policies.nan is Nan.PROPAGATES_LAST else pooling.policies.nan
    mirrored = Pooling(
        tuple(replace(axis, begin=axis.reach - axis.size) for axis in pooling.geometry), Policies(nan=nan)
    )
    first = definition.evaluate(np.flip(X, axes), mirrored)
    last = np.flip(evaluator.chosen(X, pooling, part_size, last=True), axes)
    plane = int(np.prod(X.shape[2:]))
    named = ~first.empty
    assert (last // plane == first.Indices // plane)[named].all()
    assert (last % plane == plane - 1 - first.Indices % plane)[named].all()


@pytest.mark.parametrize("name", ["float16", "float64", "int8"])
@pytest.mark.parametrize(
    "geometry",
    [
        (Axis(100_000, 300, 1, 1, 100, 0, 99_801),),
        (Axis(1, 3, 1, 1, 1, 1, 1), Axis(600_000, 7, 50, 2, 3, 3, 12_000)),
        (Axis(300, 3, 1, 1, 1, 1, 300), Axis(300, 3, 1, 1, 1, 1, 300)),
    ],
    ids=lambda geometry: "x".join(str(axis.size) for axis in geometry),
)
def test_large_tensors_are_as_in_one_part(name, geometry):
    # The definition would take minutes. In the usual size, these are several parts.
    pooling = Pooling(geometry, Policies(nan=Nan.PROPAGATES_LAST))
    random = np.random.default_rng(0)
    X = random.integers(-3, 3, (1, 2, *[axis.size for axis in geometry])).astype(NUMPY[name])
    if is_float(X.dtype):
        X[random.random(X.shape) < 0.01] = np.nan
    assert_same(evaluator.evaluate(X, pooling), evaluator.evaluate(X, pooling, 2**30))


def test_memory_beside_the_result_stays_small():
    # Three planes, in one part each or in several.
    pooling = Pooling((Axis(2**20, 3, 1, 1, 1, 1, 2**20),), Policies())
    X = np.random.default_rng(0).standard_normal((1, 3, 2**20)).astype(np.float32)
    X[:, 1, ::100] = np.nan
    tracemalloc.start()
    pooled = evaluator.evaluate(X, pooling)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    result = pooled.Y.nbytes + pooled.Indices.nbytes + pooled.empty.nbytes
    assert peak - result < X.nbytes / 2


@pytest.mark.parametrize("part_size", PARTS, ids=str)
def test_what_is_empty_stays_empty_in_parts(part_size):
    for sizes, outputs in (((0,), (3,)), ((3,), (0,)), ((0, 3), (2, 2)), ((4, 3), (0, 2))):
        geometry = tuple(Axis(size, 2, 1, 1, 1, 1, output) for size, output in zip(sizes, outputs, strict=True))
        for batch in (0, 2):
            X = np.zeros((batch, 2, *sizes))
            pooled = evaluator.evaluate(X, Pooling(geometry, Policies()), part_size)
            assert_same(pooled, definition.evaluate(X, Pooling(geometry, Policies())))
            assert evaluator.chosen(X, Pooling(geometry, Policies()), part_size).shape == pooled.Y.shape


def test_the_two_references_do_not_agree_by_accident():
    # The comparison above must see a difference in a single bit of each part of the answer.
    pooling = Pooling((Axis(2, 2, 1, 1, 1, 0, 2),), Policies())
    right = definition.evaluate(np.array([[[-0.0, 1.0]]]), pooling)
    assert right.Indices is not None
    for wrong in (
        replace(right, Y=right.Y + 0.0),
        replace(right, Indices=right.Indices + 1),
        replace(right, empty=~right.empty),
        replace(right, Y=right.Y.astype(np.float32)),
    ):
        with pytest.raises(AssertionError):
            assert_same(wrong, right)
