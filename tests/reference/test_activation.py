"""Fused activations against ONNX's own reference of the same operators."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.pooling import Activation, Function

VALUES = [-np.inf, -3.5, -1e-3, -0.0, 0.0, 1e-3, 2.0, 6.5, np.inf, np.nan]


def of_onnx(function, parameters, X):
    inputs, attributes, feeds = ["X"], {}, {"X": X}
    if function is Function.CLIP:
        inputs += ["low", "high"]
        feeds |= {name: np.array(value, X.dtype) for name, value in zip(("low", "high"), parameters, strict=True)}
    elif function is Function.LEAKY_RELU:
        attributes = {"alpha": parameters[0]}
    element = helper.np_dtype_to_tensor_dtype(X.dtype)
    graph = helper.make_graph(
        [helper.make_node(function.value, inputs, ["Y"], **attributes)],
        "activation",
        [helper.make_tensor_value_info(name, element, None) for name in inputs],
        [helper.make_tensor_value_info("Y", element, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    return ReferenceEvaluator(model).run(None, feeds)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("function", "parameters"),
    [(Function.RELU, ()), (Function.CLIP, (-1.0, 6.0)), (Function.CLIP, (2.0, 1.0)), (Function.LEAKY_RELU, (0.25,))],
)
def test_is_onnxs(function, parameters, dtype):
    X = np.array(VALUES, dtype)
    ours, onnxs = Activation(function, parameters).of(X), of_onnx(function, parameters, X)
    assert ours.dtype == X.dtype
    np.testing.assert_array_equal(ours, onnxs)


def test_a_product_is_rounded_once():
    # 2049 * 0.1 in float16: the factor is float32's 0.1, the product exact, the one rounding that of the result.
    X = np.array([-2048.0, -3.0], np.float16)
    exact = X.astype(np.float64) * np.float64(np.float32(0.1))
    assert (Activation(Function.LEAKY_RELU, (0.1,)).of(X) == exact.astype(np.float16)).all()


def test_a_parameter_that_float32_cannot_hold_is_infinite():
    X = np.array([1e300, -1.0])
    assert Activation(Function.CLIP, (0.0, 1e40)).of(X).tolist() == [1e300, 0.0]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("activation", [Activation(Function.RELU), Activation(Function.CLIP, (-1.0, 1.0)),
                                        Activation(Function.LEAKY_RELU, (0.0,))])  # fmt: skip
def test_a_nan_passes_without_a_word(name, activation):
    assert np.isnan(activation.of(np.array([np.nan], NUMPY[name]))).all()
