"""The operators around MaxPool, held to ONNX Runtime, to the evaluator of onnx and to what each says of itself."""

import collections
import contextlib
import math
from fractions import Fraction

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.graphs.operators import OPERATORS, apply, attributes_of, inputs_of, output_count, positions
from maxpool_check.reference.dtypes import FLOATS, NUMPY, is_float, name_of, same

OPSETS = range(8, min(26, onnx.defs.onnx_opset_version()) + 1)
DTYPES = (*FLOATS, "int8", "uint8")


def node(op, **fields):
    return Node(op, fields)


def integers(*shape, dtype="float32", start=-7):
    """Small integers in a mixed order, exact in every type that has their sign."""
    count = math.prod(shape)
    values = (np.arange(count) * 11) % max(count, 1) + (start if dtype != "uint8" else 0)
    return values.reshape(shape).astype(NUMPY[dtype])


def assert_same(Y, expected, *where):
    assert (Y.dtype, Y.shape) == (expected.dtype, expected.shape), where
    assert same(Y, expected).all(), (*where, Y, expected)


SPECIAL = [-math.inf, -3.5, -2, -0.0, 0.0, 1, 2.5, math.inf]
MOVEMENTS = [
    (node("Pad", pads=[0, 0, 1, 2, 0, 0, 0, 1], constant_value=3), (1, 2, 3, 4)),
    (node("Pad", pads=[0, 0, 1, -2, 0, 0, 0, 1]), (1, 2, 3, 4)),
    (node("Pad", pads=[0, 1, 0, 1], mode="edge"), (2, 3)),
    (node("Pad", pads=[1, 2, 0, 1], mode="reflect"), (2, 3)),
    (node("Pad", pads=[1, 4, 0, 7], mode="wrap"), (2, 3)),
    (node("Pad", pads=[1, 2], axes=[-1], constant_value=1), (1, 2, 3)),
    (node("Pad", pads=[-1, 0, -1, 0], mode="reflect"), (4, 3)),
    (node("Transpose", perm=[0, 2, 3, 1]), (1, 2, 3, 4)),
    (node("Transpose"), (2, 3, 4)),
    (node("Reshape", shape=[0, -1, 2]), (2, 3, 4)),
    (node("Reshape", shape=[0, 2], allowzero=1), (3, 0)),
    (node("Squeeze", axes=[0, 2]), (1, 3, 1, 1)),
    (node("Unsqueeze", axes=[3, 0]), (2, 3)),
    (node("Flatten", axis=-1), (2, 3, 4)),
    (node("Slice", starts=[1, -3], ends=[2**31 - 1, -1], axes=[1, 2]), (1, 3, 4)),
    (node("Slice", starts=[-1], ends=[-(2**31)], axes=[1], steps=[-2]), (2, 4)),
    (node("Concat", axis=1, inputs=[[[[7, 8]]], [[[9, 9], [1, 2]]]]), (1, 3, 2)),
    (node("Split", axis=1, split=[1, 3], output=1), (2, 4)),
    (node("Split", axis=-1, num_outputs=2), (2, 4)),
    (node("Split", num_outputs=3, output=2), (7, 2)),
    (node("GlobalMaxPool"), (2, 3, 4, 2)),
    (node("Conv", weights="depthwise", kernel_shape=[1, 1], strides=[2, 1], pads=[1, 0, 0, 1]), (1, 2, 3, 4)),
    (node("Conv", weights="identity"), (1, 3, 4)),
]
"""Nodes whose output holds cells of the input and constants, with shapes of X."""

OTHERS = [
    *((node(op), [math.nan, *SPECIAL]) for op in ("Identity", "Dropout", "Neg", "Abs")),
    *((node(op), [-127, 0, 5]) for op in ("Identity", "Relu", "Neg", "Abs")),
    (node("Dropout", ratio=0.25, seed=1), SPECIAL),
    (node("Relu"), [-math.inf, -3, 0, 2, math.inf]),
    (node("LeakyRelu", alpha=0.25), SPECIAL),
    (node("Clip"), [-3, 5]),
    (node("Clip", min=-2, max=2), [-3, -2, 1, 7]),
    (node("Clip", min=3, max=2), [-3, -2, 1, 7]),
    *((node("Cast", to=dtype), [0, 1, 2, 100]) for dtype in (*DTYPES, "int32", "int64")),
    (node("Cast", to="float16"), [0.1, 1e9, 2**-25, -0.0, math.nan, -math.inf]),
    (node("Cast", to="bfloat16"), [0.1, 1e9, 2**-25, -0.0, math.nan, -math.inf]),
    (node("QuantizeLinear", y_scale=0.5, y_zero_point={"dtype": "int8", "data": -3}), [-1.25, -0.75, 0.25, 9, 1e9]),
    (node("QuantizeLinear", y_scale=-2), [-7, -5, -3, -1, 600, -600]),
    (node("DequantizeLinear", x_scale=0.1, x_zero_point=3), [0, 3, 100, 127]),
    (node("DequantizeLinear", x_scale={"dtype": "float16", "data": -0.1}), [1, 3, 100, 127]),
    (node("DequantizeLinear", x_scale={"dtype": "bfloat16", "data": 0.1}), [0, 3, 100, 127]),
    (node("Conv", weights="depthwise", kernel_shape=[2], pads=[1, 1]), [[[1, -1, 2, 3], [0, math.inf, 2, 1]]]),
    (node("Conv", weights="depthwise", kernel_shape=[2], dilations=[2], strides=[3]), [[[1, -1, 2, 3, 4, 0]]]),
]
"""Nodes that compute, with X."""

COMBINED = [
    *(
        (node(op, inputs=["V"]), [-3, -1, 0, 2, 100], [5, -1, 1, -2, 27])
        for op in ("Add", "Sub", "Mul", "Equal", "Greater")
    ),
    *((node(op, inputs=["V", "X"]), [-3, -1, 3, 2, 100], [5, -1, 1, -2, 27]) for op in ("Max", "Min")),
    *((node(op, inputs=[3]), [[1, 5], [9, 3]], [0]) for op in ("Add", "Sub", "Mul", "Max", "Min", "Equal", "Greater")),
    *(
        (node(op, inputs=["V"]), [0.1, 1e-7, 2049, -math.inf, math.nan], [3.3, 1e-7, 0.7, 1, 1])
        for op in ("Add", "Sub", "Mul")
    ),
    *((node(op, inputs=["V"]), [0.0, -math.inf, math.inf], [-0.0, -math.inf, 1]) for op in ("Equal", "Greater")),
    *((node(op, inputs=["V"]), [1.5, -math.inf, math.inf], [-0.5, 2, 1]) for op in ("Max", "Min")),
]
"""Nodes of several tensors, with X and with V, which broadcasts with it."""

CHOOSING = [(node("Where", inputs=["V", 7]), [0, 1, 2]), (node("Where", inputs=[0, "V"]), [-0.0, math.nan, math.inf])]
"""Nodes of a condition, with the tensor V from which they choose."""


def tensor_for(values, dtype):
    """X of a dtype, or None where it does not hold the values."""
    wide = np.array(values, np.float64)
    if not is_float(NUMPY[dtype]):
        limits = np.iinfo(NUMPY[dtype])
        if not ((wide == np.floor(wide)) & (wide >= limits.min) & (wide <= limits.max)).all():
            return None
    with np.errstate(over="ignore"):
        return wide.astype(NUMPY[dtype])


def examples(opsets):
    """Each node with its tensors, in each of some operator sets that has it: node, X and V by name, operator set and Y."""
    each = [(tested, {"X": integers(*shape, dtype=dtype)}) for tested, shape in MOVEMENTS for dtype in DTYPES]
    each += [(tested, {"X": tensor_for(values, dtype)}) for tested, values in OTHERS for dtype in DTYPES]
    each += [
        (tested, {"X": tensor_for(X, dtype), "V": tensor_for(V, dtype)})
        for tested, X, V in COMBINED
        for dtype in DTYPES
    ]
    mask = np.array([True, False, True])
    each += [(tested, {"X": mask, "V": tensor_for(V, dtype)}) for tested, V in CHOOSING for dtype in DTYPES]
    for tested, tensors in each:
        for opset in opsets if all(tensor is not None for tensor in tensors.values()) else ():
            try:
                yield tested, tensors, opset, apply(tested, tensors["X"], opset, named=tensors)
            except Inexact:
                continue


def model_of(tested, tensors, Y, opset):
    """A model of the node, as :func:`attributes_of` and :func:`inputs_of` write it; V is a constant of it."""
    X = tensors["X"]
    inputs = inputs_of(tested, name_of(X.dtype), opset, X.shape, tensors)
    outputs = [f"Y{number}" for number in range(output_count(tested, X.shape, opset))]
    names = ["X", *(name if value is not None else "" for name, value in inputs.items())]
    element = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [helper.make_node(tested.op, names, outputs, **attributes_of(tested, opset, X.shape))],
        "node",
        [helper.make_tensor_value_info("X", element(X.dtype), X.shape)],
        [helper.make_tensor_value_info(outputs[tested.fields.get("output", 0)], element(Y.dtype), Y.shape)],
        [numpy_helper.from_array(value, name) for name, value in inputs.items() if value is not None],
    )
    opsets = [helper.make_opsetid("", opset)]
    # Before version 4 of the file format, initializers are graph inputs, too.
    return helper.make_model(graph, opset_imports=opsets, ir_version=max(4, helper.find_min_ir_version_for(opsets)))


def computed_by_onnx_runtime(model, X):
    """The output of ONNX Runtime without optimisation; None if it has no kernel."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {"X": X})[0]
    except Exception as refusal:
        assert "NOT_IMPLEMENTED" in str(refusal) or "invalid" in str(refusal).lower(), refusal
        return None


def test_models_are_valid_in_every_operator_set_and_onnx_runtime_computes_the_same():
    valid, agreed = collections.Counter(), collections.Counter()
    for tested, tensors, opset, Y in examples(OPSETS):
        X, model = tensors["X"], model_of(tested, tensors, Y, opset)
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, strict_mode=True, check_type=True)
        valid[tested.op] += 1
        # ONNX Runtime's interface takes no numpy array of bfloat16.
        result = None if "bfloat16" in (X.dtype.name, Y.dtype.name) else computed_by_onnx_runtime(model, X)
        if result is not None:
            assert_same(result, Y, tested, X, opset)
            agreed[tested.op] += 1
    assert set(valid) == set(agreed) == set(OPERATORS) - {"MaxUnpool"}
    assert min(valid.values()) >= 45
    assert min(agreed.values()) >= 30, agreed


def test_bfloat16_is_that_of_the_evaluator_of_onnx():
    agreed = set()
    for tested, tensors, opset, Y in examples(OPSETS[-1:]):
        # The evaluator cannot remove cells.
        X, dtypes = tensors["X"], [tensor.dtype.name for tensor in (*tensors.values(), Y)]
        if "bfloat16" in dtypes and min(tested.fields.get("pads", [0])) >= 0:
            (result,) = ReferenceEvaluator(model_of(tested, tensors, Y, opset)).run(None, {"X": X})
            assert_same(result, Y, tested, X)
            agreed.add(tested.op)
    assert agreed == set(OPERATORS) - {"MaxUnpool"}


@pytest.mark.parametrize("opset", [13, 26])
@pytest.mark.parametrize(("tested", "shape"), MOVEMENTS, ids=lambda value: str(getattr(value, "op", value)))
def test_positions_are_those_of_the_cells_in_the_output(tested, shape, opset):
    X = integers(*shape, start=1000)
    cells = np.arange(X.size).reshape(X.shape)
    try:
        Y = apply(tested, X, opset)
    except Inexact:
        assert opset == 13
        return
    numbers = positions(tested, cells, X, opset)
    assert (numbers.dtype, numbers.shape) == (np.int64, Y.shape)
    is_cell = numbers >= 0
    assert (Y[is_cell] == X.reshape(-1)[numbers[is_cell]]).all()
    # All cells are distinct, and none is a constant.
    assert (is_cell == (Y >= 1000)).all()
    # Numbers of numbers: a chain of two nodes.
    assert (positions(tested, cells + 5, X, opset) == np.where(is_cell, numbers + 5, -1)).all()


def test_a_cell_of_an_elementwise_operator_comes_from_its_place():
    for tested, values in OTHERS:
        X = np.array(values, np.float32)
        cells = np.arange(X.size).reshape(X.shape)
        with pytest.raises(Inexact, match="sum of several") if tested.op == "Conv" else contextlib.nullcontext():
            assert positions(tested, cells, X, 26) is cells


INF, NAN = math.inf, math.nan
UNPOOL = node("MaxUnpool", kernel_shape=[2], strides=[2], output_shape=[1, 2, 4])
NUMBERS = [[[-1, 0, 1, -1], [2, -1, -1, 3]]]
CONV = node("Conv", weights="depthwise", kernel_shape=[2])


@pytest.mark.parametrize(
    ("tested", "X", "indices", "Y", "numbers"),
    [
        (UNPOOL, [[[3, 4], [5, NAN]]], [[[1, 2], [4, 7]]], [[[0, 3, 4, 0], [5, 0, 0, NAN]]], NUMBERS),
        # Of equal cells with the same index, the first counts.
        (node("MaxUnpool", kernel_shape=[2]), [[[7, 7]]], [[[1, 1]]], [[[0, 7, 0]]], [[[-1, 0, -1]]]),
        (node("GlobalMaxPool"), [[[1, 3, 3], [4, -1, 4]]], None, [[[3], [4]]], [[[1], [3]]]),
        (CONV, [[[1, INF, 2, -INF, INF, NAN]]], None, [[[INF, INF, -INF, NAN, NAN]]], None),
    ],
)
def test_a_few_by_hand(tested, X, indices, Y, numbers):
    X, indices = np.array(X, np.float32), np.array(indices) if indices else None
    assert same(apply(tested, X, 22, indices), np.array(Y, np.float32)).all()
    if numbers is not None:
        assert positions(tested, np.arange(X.size).reshape(X.shape), X, 22, indices).tolist() == numbers


def test_max_unpool_has_an_input_and_no_two_cells_of_one_index():
    unpool = node("MaxUnpool", kernel_shape=[2])
    assert list(inputs_of(unpool, "float32", 22)) == ["I"]
    with pytest.raises(Inexact, match="same index"):
        apply(unpool, np.array([[[7, 8]]], np.float32), 22, np.array([[[1, 1]]]))


@pytest.mark.parametrize(("dtype", "error"), [("float32", 2**-17), ("float16", 2**-4), ("bfloat16", 2**-1)])
def test_quantization_is_that_of_the_exact_quotient_or_inexact(dtype, error):
    random, kind = np.random.default_rng(7), NUMPY[dtype].type
    inexact = 0
    for scale in kind(random.uniform(0.001, 2, 40)):
        # Quotients at and beside the middle of two integers.
        middle = ((random.integers(-140, 140, 3) + 0.5) * np.float64(scale)).astype(NUMPY[dtype])
        quantized = node("QuantizeLinear", y_scale=float(scale), y_zero_point={"dtype": "int8", "data": 5})
        for x in (*middle, *np.nextafter(middle, kind(INF)), *np.nextafter(middle, kind(0))):
            exact = Fraction(float(x)) / Fraction(float(scale))
            try:
                y = apply(quantized, np.array([x]), 23)
            except Inexact:
                inexact += 1
                # Between 128 and 256, the type rounds a quotient by this much at most.
                assert abs(exact - round(exact)) >= 0.5 - error
                continue
            # Python rounds a fraction to nearest even.
            assert int(y[0]) == min(127, max(-128, round(exact) + 5))
            assert int(y[0]) == min(127, max(-128, round(float(x / scale)) + 5))
    assert 0 < inexact < 360


@pytest.mark.parametrize(
    ("tested", "values", "dtype", "opset", "message"),
    [
        (node("Relu"), [-0.0], "float32", 14, "which of -0 and"),
        (node("Relu"), [NAN], "bfloat16", 14, "Relu of NaN"),
        (node("Clip", min=0), [-0.0], "float32", 13, "which of -0 and"),
        (node("Clip", min=0), [math.inf], "float32", 13, "Clip without max"),
        (node("Clip", min=0.1), [0], "float16", 10, "keeps min in float32"),
        (node("Clip", min=300), [0], "uint8", 13, "integers of uint8"),
        (node("LeakyRelu", alpha=0), [-1], "float32", 16, "product of 0"),
        (node("Neg"), [-128], "int8", 13, "int8 does not hold"),
        (node("Cast", to="int8"), [1.5], "float32", 13, "no integer"),
        (node("Cast", to="int8"), [128], "float32", 13, "out of range is undefined"),
        (node("Cast", to="float16"), [1 + 2**-11 + 2**-40], "float64", 13, "by way of float32"),
        (node("Cast", to="float16"), [65519], "float32", 13, "the text says infinity"),
        (node("Cast", to="bfloat16"), [1], "float32", 12, "has no bfloat16"),
        (node("QuantizeLinear", y_scale=1), [NAN], "float32", 13, "QuantizeLinear of NaN"),
        (node("QuantizeLinear", y_scale=0), [1], "float32", 13, "finite and not 0"),
        (node("DequantizeLinear", x_scale=-1, x_zero_point=3), [3], "int8", 13, "sign of a zero product"),
        (CONV, [[[-0.0, 1]]], "float32", 11, "sign of a zero sum"),
        (CONV, [[[1.7e308, 1.7e308]]], "float64", 11, "may be rounded"),
        (node("Conv", weights="identity"), [[[1], [math.inf]]], "float32", 11, "weights of 0"),
        (node("GlobalMaxPool"), [[[-0.0, 0.0]]], "float32", 11, "-0 and"),
        (node("Pad", pads=[1, 0], mode="wrap"), [1], "float32", 18, "no mode wrap"),
        (node("Pad", pads=[-1, 1], mode="edge"), [1, 2], "float32", 18, "adds or removes"),
        (node("Pad", pads=[1, 0], axes=[0]), [1], "float32", 10, "Pad of operator set 10 has no axes"),
        (node("Slice", starts=[-5], ends=[-9], steps=[-1]), [1, 2], "float32", 13, "differ"),
        (node("Reshape", shape=[2**63]), [1], "float32", 14, "list of integers"),
        (node("Concat", axis=0, inputs=[{"dtype": "int8", "data": [1]}]), [1], "float32", 13, "no input of int8"),
        (node("Dropout", training_mode=1), [1], "float32", 13, "not supported"),
    ],
)  # fmt: skip
def test_what_has_no_exact_result_says_why(tested, values, dtype, opset, message):
    with pytest.raises(Inexact, match=message):
        apply(tested, np.array(values, np.float64).astype(NUMPY[dtype]), opset)
