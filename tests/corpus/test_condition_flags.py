"""The flags of a defect's conditions that tell kernels, and the graphs that an optimizer rewrites, apart."""

from dataclasses import replace

import numpy as np
import pytest

import maxpool_check
from maxpool_check.corpus.conditions import meets
from maxpool_check.corpus.features import GRAPH
from maxpool_check.corpus.quantities import Features
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.judging.defects import Conditions


def _meets(flag: str, **attributes: object) -> bool:
    X = np.zeros((1, 1, 5, 5), np.float32)
    case = maxpool_check.case(X, spec="onnx-22", kernel_shape=2, **attributes)
    return meets(Conditions(geometry=(flag,)), Features(case))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, True),
        ({"strides": 1, "dilations": 1}, True),
        ({"strides": [1, 2]}, False),
        ({"dilations": [2, 1]}, False),
        ({"pads": 1}, True),
    ],
)
def test_strides_and_dilations_of_1_are_those_that_are_not_written_as_well(attributes, expected):
    assert _meets("strides-and-dilations-of-1", **attributes) == expected


@pytest.mark.parametrize(
    ("auto_pad", "expected"), [("SAME_LOWER", True), ("SAME_UPPER", False), ("VALID", False), ("NOTSET", False)]
)
def test_same_lower_is_not_any_same(auto_pad, expected):
    assert _meets("same-lower", auto_pad=auto_pad) == expected


PADS = [0, 0, 1, 0, 0, 0, 0, 1]


def graph(*before, after=(), dtype=np.float32, inside=None, dimensions=None, **attributes):
    """A case with these nodes around a MaxPool with windows of 2 by 2."""
    X = np.ones((1, 1, 5, 5), dtype)
    alone = maxpool_check.case(X, spec="onnx-22", kernel_shape=2, **attributes)
    return replace(alone, context=Context(22, before, tuple(after), dimensions=dimensions, inside=inside))


def pad(pads=PADS, constants="initializer", **fields):
    """A Pad of one row in front and one column behind, unless told otherwise."""
    return Node("Pad", {"pads": pads, **fields}, constants)


CAST, BACK = Node("Cast", {"to": "float16"}), Node("Cast", {"to": "float32"})
RELU = Node("Relu")
QUANTIZE = Node("QuantizeLinear", {"y_scale": 0.5, "y_zero_point": {"dtype": "uint8", "data": 1}})
REVERSED = Node("QuantizeLinear", {"y_scale": -0.5})
DEQUANTIZE = Node("DequantizeLinear", {"x_scale": 0.5, "x_zero_point": 1})
SMALL, LARGE = "small-zero-pad-in-front", "large-zero-pad-in-front"

FLAGS = {
    SMALL: (
        [graph(pad()), graph(RELU, pad(constant_value=0)), graph(pad(mode="constant"), pads=[0, 1, 0, 0])],
        [
            graph(), graph(pad(), RELU), graph(RELU), graph(pad(mode="edge")), graph(pad(constant_value=1)),
            graph(pad([0, 0, -1, 0, 0, 0, 0, 1])), graph(pad([0, 1, 1, 0, 0, 0, 0, 1])), graph(pad([0] * 8)),
            graph(pad(constants="input")), graph(pad([0, 0, 2, 0, 0, 0, 0, 0])), graph(pad(), pads=[1, 0, 0, 0]),
            graph(pad(), CAST),
        ],
    ),
    LARGE: ([graph(pad([0, 0, 2, 0, 0, 0, 0, 0])), graph(pad(), pads=[1, 0, 0, 0])], [graph(), graph(pad())]),
    "small-zero-pad-in-front-of-cast": ([graph(pad(), CAST)], [graph(pad()), graph(CAST), graph(pad(), CAST, BACK)]),
    "quantize-behind": ([graph(after=[QUANTIZE])], [graph(), graph(after=[RELU, QUANTIZE])]),
    "no-quantize-behind": ([graph(), graph(after=[RELU, QUANTIZE])], [graph(after=[QUANTIZE])]),
    "cast-in-front": ([graph(CAST)], [graph(CAST, RELU), graph(after=[CAST])]),
    "cast-behind": ([graph(after=[CAST])], [graph(after=[RELU, CAST]), graph(CAST)]),
    "two-casts-behind": ([graph(after=[CAST, BACK])], [graph(after=[CAST]), graph(CAST, after=[BACK])]),
    "int8-zero-point-in-front": (
        [graph(DEQUANTIZE, dtype=np.int8)],
        [graph(DEQUANTIZE, dtype=np.uint8), graph(Node("DequantizeLinear", {"x_scale": 0.5}), dtype=np.int8), graph()],
    ),
    "negative-scale-behind": ([graph(after=[RELU, REVERSED])], [graph(after=[QUANTIZE]), graph()]),
    "pad-of-mode-wrap": ([graph(pad(mode="wrap"), RELU)], [graph(pad(mode="edge")), graph()]),
    "pad-with-axes": ([graph(pad([1, 1], axes=[2]))], [graph(pad())]),
    "pad-of-infinity": ([graph(pad(constant_value=float("-inf")))], [graph(pad(constant_value=-1)), graph()]),
    "pad-that-crops": (
        [graph(pad([0, 0, -1, 0, 0, 0, 0, 1])), graph(after=[pad([0, 0, 0, 0, 0, 0, 0, -1])])], [graph(pad()), graph()],
    ),
    "cast-to-int64-behind": ([graph(after=[RELU, Node("Cast", {"to": "int64"})])], [graph(after=[CAST]), graph()]),
    "leaky-relu": ([graph(Node("LeakyRelu")), graph(after=[Node("LeakyRelu")])], [graph(RELU)]),
    "unsqueeze-axes-as-input": (
        [graph(Node("Unsqueeze", {"axes": [0]}, "input"))], [graph(Node("Unsqueeze", {"axes": [0]})), graph()],
    ),
    "dynamic-sizes": ([graph(dimensions=("N", 1, "H", 5))], [graph()]),
    "function": ([graph(inside="function")], [graph(), graph(inside="If")]),
    "negative-scale-in-front": (
        [graph(Node("DequantizeLinear", {"x_scale": -0.5}), dtype=np.int8)], [graph(DEQUANTIZE, dtype=np.int8), graph()],
    ),
}  # fmt: skip


def test_every_flag_of_the_graph_has_an_example_here():
    assert set(FLAGS) == set(GRAPH)


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_of_the_graph(flag):
    having, others = FLAGS[flag]
    for case in having:
        assert meets(Conditions(graph=(flag,)), Features(case)), case.context
    for case in others:
        assert not meets(Conditions(graph=(flag,)), Features(case)), case.context
