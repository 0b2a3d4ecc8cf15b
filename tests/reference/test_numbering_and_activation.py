"""Numbers of cells in every way to count, layouts, and fused activations against ONNX's own reference of the same operators."""

import itertools

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from maxpool_check.reference import definition
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.pooling import Activation, Function

NAN, INF = np.nan, np.inf
SHAPES = [(2, 3, 5), (2, 3, 4, 5), (1, 1, 2, 3), (2, 1, 2, 3, 2), (1, 2, 1, 1), (1, 2, 4100, 1)]
"""The last one has more cells than numpy takes at once, in one column."""

WAYS = [
    *(Numbering(order, layout) for order in StorageOrder for layout in (Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST)),
    *(Numbering(axis=axis) for axis in range(1, 5)),
]


@pytest.mark.parametrize(
    ("shape", "way"), [(shape, way) for shape, way in itertools.product(SHAPES, WAYS) if way.axis < len(shape)]
)
def test_a_number_is_the_definitions_and_names_its_cell_again(shape, way):
    positions = np.arange(np.prod(shape)).reshape(shape)
    numbers = way.number(positions, shape)
    assert numbers.reshape(-1).tolist() == [definition.index(at, shape, way) for at in np.ndindex(shape)]
    assert (numbers < way.bound(shape)).all()
    # Every output cell of an identity pooling names itself, perhaps among others of its plane or batch.
    named = list(way.cells(numbers, shape))
    assert all(has_cell.all() for has_cell, _ in named)
    assert (np.array([candidates for _, candidates in named]) == positions).any(axis=0).all()
    assert all((way.number(candidates, shape) == numbers).all() for _, candidates in named)
    assert len(named) == 1 or way.axis >= 3


def test_a_number_outside_the_bound_names_nothing():
    ((named, _),) = Numbering(axis=2).cells(np.array([-1, 0, 19, 20]).reshape(1, 1, 2, 2), (1, 1, 4, 5))
    assert named.reshape(-1).tolist() == [False, True, True, False]


@pytest.mark.parametrize("way", [way for way in WAYS if not way.axis], ids=str)
def test_the_seed_before_a_plane_is_what_a_scan_that_kept_minus_one_coordinates_gives(way):
    offset = -1 * 4 - 1 if way.storage_order is StorageOrder.COLUMN_MAJOR else -1 * 5 - 1
    is_last = way.layout is Layout.CHANNELS_LAST
    for n, c in np.ndindex(2, 3):
        number = (n * 20 + offset) * 3 + c if is_last else (n * 3 + c) * 20 + offset
        assert way.before_planes((2, 3, 4, 5))[n][c] == number


@pytest.mark.parametrize("layout", Layout)
def test_a_layout_there_and_back(layout):
    sizes = (1 if layout is Layout.IMAGE else 2, 3, 4, 5)
    core = np.arange(np.prod(sizes)).reshape(sizes)
    arranged = layout.from_core(core)
    assert arranged.shape == layout.arranged(sizes)
    assert layout.sizes(arranged.shape) == sizes
    assert (layout.to_core(arranged) == core).all()
    assert arranged[layout.arranged((0, 2, 1, 3))] == core[0, 2, 1, 3]


def of_onnx(activation, X):
    """What ONNX's reference makes of it."""
    name, parameters = activation.function.value, activation.parameters
    inputs, attributes = ["X", "low", "high"] if name == "Clip" else ["X"], {}
    feeds = dict(zip(inputs, [X, *(np.array(value, X.dtype) for value in parameters)], strict=False))
    if name == "LeakyRelu":
        attributes = {"alpha": parameters[0]}
    element = helper.np_dtype_to_tensor_dtype(X.dtype)
    infos = [helper.make_tensor_value_info(each, element, None) for each in (*inputs, "Y")]
    graph = helper.make_graph([helper.make_node(name, inputs, ["Y"], **attributes)], "g", infos[:-1], infos[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    return ReferenceEvaluator(model).run(None, feeds)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("function", "parameters"),
    [(Function.RELU, ()), (Function.CLIP, (-1.0, 6.0)), (Function.CLIP, (2.0, 1.0)), (Function.LEAKY_RELU, (0.25,))],
)
def test_an_activation_is_onnxs(function, parameters, dtype):
    X = np.array([-INF, -3.5, -1e-3, -0.0, 0.0, 1e-3, 2.0, 6.5, INF, NAN], dtype)
    activation = Activation(function, parameters)
    np.testing.assert_array_equal(activation.of(X), of_onnx(activation, X), strict=True)


def test_a_product_is_rounded_once_and_a_parameter_that_float32_cannot_hold_is_infinite():
    # 2049 * 0.1 in float16: the factor is float32's 0.1, the product exact, the one rounding that of the result.
    X = np.array([-2048.0, -3.0], np.float16)
    exact = X.astype(np.float64) * np.float64(np.float32(0.1))
    assert (Activation(Function.LEAKY_RELU, (0.1,)).of(X) == exact.astype(np.float16)).all()
    assert Activation(Function.CLIP, (0.0, 1e40)).of(np.array([1e300, -1.0])).tolist() == [1e300, 0.0]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("activation", [Activation(Function.RELU), Activation(Function.CLIP, (-1.0, 1.0)),
                                        Activation(Function.LEAKY_RELU, (0.0,))])  # fmt: skip
def test_a_nan_passes_without_a_word(name, activation):
    assert np.isnan(activation.of(np.array([NAN], NUMPY[name]))).all()
