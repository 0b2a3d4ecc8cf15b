"""The evaluator gives what the definition says, in every bit."""

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check.reference import definition, evaluator
from maxpool_check.reference.dtypes import NAMES, NUMPY, bits, highest, is_float, lowest
from maxpool_check.reference.geometry import Axis, NoWindow, ceil_output, clipped_ceil_output, floor_output, padded_axis
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import Nan, Policies
from maxpool_check.reference.pooling import Activation, Function, Pooled, Pooling

NAN, INF = np.nan, np.inf


def assert_same(fast: Pooled, slow: Pooled, name: str = "") -> None:
    """Both agree in every bit; ``name`` is what a failure is about."""
    for part in ("Y", "maxima", "empty", "undefined", "Indices"):
        ours, due = getattr(fast, part), getattr(slow, part)
        if due is None:
            assert ours is None, name
        else:
            assert (ours.dtype, ours.shape) == (due.dtype, due.shape), (name, part)
            assert np.array_equal(*(bits(each) if is_float(due.dtype) else each for each in (ours, due))), (name, part)


def assert_equivalent(X, pooling, *part_size):
    assert_same(evaluator.evaluate(X, pooling, *part_size), definition.evaluate(X, pooling))


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


TIES = np.array([[[2, -INF, 2, 3, 0]], [[-INF, -INF, 1, -1, -INF]]], "f4")
NANS = np.array([[[NAN, -INF, 0.0, -0.0], [-0.0, 0.0, -NAN, NAN], [-INF, NAN, -INF, 1.0]]])
SMALL = [[[5, 3, 4], [1, 2, 0]]]


@pytest.mark.parametrize(
    ("X", "nan", "padding_value"),
    [
        *((TIES[..., :size], Nan.UNSPECIFIED, None) for size in range(6)),
        *((NANS, nan, None) for nan in Nan),
        *((np.array(SMALL, dtype)[..., :size], Nan.UNSPECIFIED, value)
          for dtype, value in (("f4", -INF), ("i1", -128), ("u1", 0)) for size in range(4)),
    ],
)  # fmt: skip
def test_every_small_geometry_in_one_dimension(X, nan, padding_value):
    for axis in every_axis(X.shape[-1]):
        pooling = Pooling((axis,), Policies(nan=nan), padding_value=padding_value)
        assert_equivalent(X, pooling)
        pooled = evaluator.evaluate(X, pooling)
        assert padding_value is None or (pooled.Y[pooled.empty & ~pooled.undefined] == padding_value).all()


@pytest.mark.parametrize("sizes", [(255,), (256,), (257,), (1, 257), (65535,), (65536,), (65537,), (257, 256)])
def test_planes_at_the_limits_of_the_types_that_positions_are_kept_in(sizes):
    # Few windows, which together hold the first and the last cell of each plane, and ties.
    first, *others = sizes
    geometry = (
        Axis(first, first, max(1, first - 1), 1, first // 2, first // 2, 2),
        *(Axis(size, 2, max(1, size - 2), 1, 0, 0, 2) for size in others),
    )
    X = np.zeros((1, 3, *sizes), np.int8)
    X[(0, 0, *[-1] * len(sizes))] = X[(0, 2, *[0] * len(sizes))] = 1
    assert_equivalent(X, Pooling(geometry, Policies()))


OTHER = Axis(3, 2, 1, 1, 1, 1, 4)


@pytest.mark.parametrize(
    "axis",
    [
        # Windows that reach far out of X or miss it.
        Axis(3, 50, 1, 1, 49, 49, 52),
        Axis(3, 2, 4, 5, 9, 9, 5),
        Axis(5, 3, 2, 1, -2, 9, 5),
        Axis(5, 4, 100, 1, 150, 150, 3),
        # One window of the whole axis, or of all but a cell.
        Axis(4, 4, 1, 1, 0, 0, 1),
        Axis(4, 9, 1, 1, -1, 6, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("nan", Nan)
def test_windows_that_reach_far_out_of_x_or_hold_all_of_it(axis, nan):
    for geometry in ((axis,), (axis, OTHER), (OTHER, axis)):
        shape = (1, 2, *[axis.size for axis in geometry])
        numbers = np.arange(np.prod(shape)).reshape(shape)
        for X in (numbers.astype(np.int8), -numbers * 0.0, np.where(numbers % 2, NAN, numbers % 4)):
            assert_equivalent(X, Pooling(geometry, Policies(nan=nan)))


@st.composite
def axes(draw, most):
    """Windows of any length, with gaps between them or overlaps, and pads larger than they are."""
    size, k = draw(st.integers(0, most)), draw(st.integers(1, most + 3))
    s, d = draw(st.integers(1, most)), draw(st.integers(1, 4))
    # Negative pads crop, and outputs beyond those of any rounding still have a meaning: windows that miss X.
    return Axis(size, k, s, d, draw(st.integers(-2, most)), draw(st.integers(-2, most)), draw(st.integers(0, most)))


ACTIVATIONS = [
    None,
    Activation(Function.RELU),
    Activation(Function.CLIP, (-1.5, 2.0)),
    Activation(Function.LEAKY_RELU, (0.1,)),
]


@st.composite
def poolings(draw):
    rank = draw(st.integers(1, 4))
    geometry = tuple(draw(axes((23, 9, 4, 3)[rank - 1])) for _ in range(rank))
    layout = draw(st.sampled_from([Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST]))
    axis = draw(st.integers(0, rank + 1)) if layout is Layout.CHANNELS_FIRST else 0
    return Pooling(
        geometry,
        Policies(nan=draw(st.sampled_from(Nan))),
        Numbering(draw(st.sampled_from(StorageOrder)), layout, axis, draw(st.sampled_from(["int64", "int32"]))),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        indices=draw(st.booleans()),
    )


@st.composite
def tensors(draw, pooling):
    """Images of few different values: many ties, infinities, both zeros and NaN, or the limits of integers."""
    dtype = NUMPY[draw(st.sampled_from(NAMES))]
    values = [NAN, -NAN, -INF, INF, 0.0, -0.0, 1.0, -1.0, 1e-45, 1e30]
    if not is_float(dtype):
        values = [int(lowest(dtype)), int(lowest(dtype)) + 1, 0, int(highest(dtype)) - 1, int(highest(dtype))]
    few = draw(st.lists(st.sampled_from(values), min_size=1, max_size=6))
    shape = (draw(st.integers(0, 2)), draw(st.integers(1, 3)), *[axis.size for axis in pooling.geometry])
    which = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, len(few), shape)
    with np.errstate(all="ignore"):
        return np.array(few, float if is_float(dtype) else dtype).astype(dtype)[which]


PARTS = [
    (1, 0, INF),
    (1, 0, 0),
    (24, evaluator.FEW_TAPS),
    (100, 0, INF),
    (100, 0, 0),
    (1000, evaluator.FEW_TAPS),
    (1000, 0, 0),
]
"""Sizes of parts of one window or of several, of one plane or of several; how few taps are compared at once; and whether
windows are reduced tap by tap (infinity) or by doubling runs (0)."""


@settings(max_examples=100, deadline=None)
@given(poolings(), st.sampled_from(PARTS), st.data())
def test_any_geometry_policy_and_value_in_one_to_four_dimensions(pooling, parts, data):
    X = data.draw(tensors(pooling))
    if not is_float(X.dtype):
        pooling = replace(pooling, activation=None)
    slow = definition.evaluate(X, pooling)
    # Neither parts nor the order of X in memory change anything.
    assert_same(evaluator.evaluate(X, pooling), slow)
    assert_same(evaluator.evaluate(X, pooling, *parts), slow)
    assert_same(evaluator.evaluate(np.asfortranarray(X), pooling, *parts), slow)
    assert slow.Indices is None or slow.Indices.dtype == pooling.numbering.dtype


@settings(max_examples=100, deadline=None)
@given(poolings(), st.sampled_from(PARTS), st.data())
def test_the_last_of_equal_maxima_is_the_first_from_the_other_end(pooling, parts, data):
    # Of several NaN that propagate as well.
    X = data.draw(tensors(pooling))
    nan = Nan.PROPAGATES if pooling.policies.nan is Nan.PROPAGATES_LAST else pooling.policies.nan
    mirrored = tuple(replace(axis, begin=axis.reach - axis.size) for axis in pooling.geometry)
    spatial = tuple(range(2, X.ndim))
    first = definition.evaluate(np.flip(X, spatial), Pooling(mirrored, Policies(nan=nan)))
    last = np.flip(evaluator.chosen(X, replace(pooling, numbering=Numbering()), *parts, last=True), spatial)
    plane, named = int(np.prod(X.shape[2:])), ~first.empty
    assert (last[named] // plane == first.Indices[named] // plane).all()
    assert (last[named] % plane == plane - 1 - first.Indices[named] % plane).all()


@pytest.mark.parametrize("nan", [Nan.AS_NEG_INF, Nan.PROPAGATES_LAST])
def test_windows_of_every_length_by_doubling_runs(nan):
    size = 17
    few = np.array([NAN, -INF, 0.0, -0.0, 1.0], np.float32)[np.random.default_rng(0).integers(0, 5, (3, size))]
    # A single maximum at each place of a window, and ties from each place on.
    X = np.concatenate([few, np.eye(size, dtype="f4"), np.tri(size, dtype="f4").T])[np.newaxis]
    for k, (s, d) in itertools.product(range(1, size + 1), ((1, 1), (3, 1), (1, 2))):
        axis = Axis(size, k, s, d, k // 2, k // 2, size // s)
        assert_equivalent(X, Pooling((axis,), Policies(nan=nan)), evaluator.PART, 0, 0)


@pytest.mark.parametrize(
    "axis",
    [
        # Windows side by side, a few windows far from each other, and windows that reach far into the padding.
        Axis(9000, 1000, 1, 1, 0, 0, 8001),
        Axis(9000, 1000, 4000, 1, 0, 0, 3),
        Axis(9000, 1000, 1, 2, 999, 999, 9000),
    ],
    ids=str,
)
def test_long_windows_are_never_reduced_tap_by_tap(monkeypatch, axis):
    monkeypatch.setattr(evaluator, "_tap_by_tap", None)
    X = np.arange(axis.size, dtype=np.int16).reshape(1, 1, -1)
    first, count = axis.taps()
    pooled = evaluator.evaluate(X, Pooling((axis,), Policies()), few_taps=0)
    assert (pooled.Indices[0, 0] == first + (count - 1) * axis.dilation).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("nan", [Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST, Nan.IGNORED])
def test_a_nan_keeps_its_payload(name, nan):
    payload = bits(np.array([NAN], NUMPY[name])) | 1
    pooling = Pooling((Axis(1, 1, 1, 1, 0, 0, 1),), Policies(nan=nan))
    for evaluate in (evaluator.evaluate, definition.evaluate):
        Y = evaluate(payload.view(NUMPY[name]).reshape(1, 1, 1), pooling).Y
        assert (bits(Y).reshape(-1) == payload).all()


@pytest.mark.parametrize(
    "axis",
    [
        # A huge kernel costs no more than the input is wide.
        Axis(3, 10**9, 1, 1, 5 * 10**8, 5 * 10**8, 3),
        # Numbers near the limits of 64 bits.
        Axis(3, 2**63 - 1, 1, 1, 2**63 - 3, 1, 3),
        Axis(3, 2, 1, 2**63 - 2, 2**63 - 1, 3, 6),
        Axis(3, 2, 1, 2**63 - 1, 2**63 - 1, 2**63 - 1, 3),
    ],
    ids=str,
)
def test_large_numbers(axis):
    X = [1, 3, 2]
    pooled = evaluator.evaluate(np.array([[X]], np.int8), Pooling((axis,), Policies()))
    for i in range(axis.output):
        taps = [divmod(p - axis.start(i), axis.dilation) for p in range(3)]
        inside = [X[p] for p, (tap, rest) in enumerate(taps) if rest == 0 and 0 <= tap < axis.kernel]
        assert pooled.empty[0, 0, i] == (not inside)
        assert not inside or pooled.Y[0, 0, i] == max(inside)


def test_an_answer_too_large_for_any_memory_is_an_error_at_once():
    pooling = Pooling((Axis(3, 2, 1, 1, 10**17, 10**17, 2 * 10**17 + 2),), Policies())
    with pytest.raises((MemoryError, ValueError)):
        evaluator.evaluate(np.zeros((1, 1, 3)), pooling)


@pytest.mark.parametrize(
    "axis",
    [
        # Three planes, in one part each or in several.
        Axis(2**20, 3, 1, 1, 1, 1, 2**20),
        # Few cells in many windows of many taps.
        Axis(2, 1000, 1, 1, 5000, 5000, 9003),
        # Windows that are reduced by doubling runs.
        Axis(2**20, 1000, 1, 1, 0, 0, 2**20 - 999),
    ],
    ids=str,
)
def test_memory_beside_the_result_stays_small(axis):
    pooling = Pooling((axis,), Policies())
    X = np.random.default_rng(0).standard_normal((1, 3, axis.size)).astype(np.float32)
    X[:, 1, ::100] = NAN
    tracemalloc.start()
    pooled = evaluator.evaluate(X, pooling)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - (pooled.Y.nbytes + pooled.Indices.nbytes + pooled.empty.nbytes) < max(X.nbytes, 2**22) / 2
