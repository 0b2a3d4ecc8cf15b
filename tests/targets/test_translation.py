"""A translated case says the same: ONNX's own answer to the graph, brought back, is the document's answer."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxpool_check
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.roles import NotExpressible
from maxpool_check.specifications.specification import Refused, override
from maxpool_check.targets.translation import Translation, opset_for, translate


def meaning_of(spec, attributes, X):
    return specification(spec).resolve(attributes, X.dtype.name, X.shape)


def translated(spec, attributes, X, *, indices=True):
    meaning = meaning_of(spec, attributes, X)
    return translate(specification(spec), attributes, X.dtype.name, X.shape, meaning, indices=indices)


def assert_says_the_same(spec, attributes, X):
    """False if no graph says it."""
    meaning = meaning_of(spec, attributes, X)
    if isinstance(meaning, Refused):
        with pytest.raises(NotExpressible):
            translated(spec, attributes, X)
        return False
    try:
        graph = translated(spec, attributes, X, indices=meaning.indices)
    except NotExpressible:
        return False
    own = evaluate(meaning.layout.to_core(X), meaning).arranged(meaning.layout)
    theirs = maxpool_check.maxpool(graph.input(X), spec=graph.onnx.name, **graph.attributes)
    assert graph.input(X).shape == graph.shape
    empty = graph.output("Y", theirs.empty)
    assert (empty == own.empty).all()
    # Windows of padding alone have a value in one document and none in the other.
    assert (graph.output("Y", theirs.Y) == own.Y)[~empty].all()
    if own.Indices is not None:
        indices = graph.output("Indices", theirs.Indices)
        assert indices.dtype == own.Indices.dtype
        assert (indices == own.Indices).all()
    return True


def small(low, high):
    return st.lists(st.integers(low, high), min_size=2, max_size=2)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["openvino-1", "openvino-8", "openvino-14"]),
    st.fixed_dictionaries(
        {"kernel": small(1, 3), "strides": small(1, 3), "pads_begin": small(0, 3), "pads_end": small(0, 3)},
        optional={
            "rounding_type": st.sampled_from(["floor", "ceil", "ceil_torch"]),
            "auto_pad": st.sampled_from(["explicit", "valid", "same_upper", "same_lower"]),
            "dilations": small(1, 2),
            "index_element_type": st.sampled_from(["i32", "i64"]),
            "axis": st.integers(-4, 3),
        },
    ),
    small(1, 5),
)
def test_openvino(spec, attributes, sizes):
    X = np.random.default_rng(1).permutation(4 * sizes[0] * sizes[1]).astype(np.float32).reshape(2, 2, *sizes)
    assert_says_the_same(spec, attributes, X)


@settings(max_examples=100, deadline=None)
@given(
    st.fixed_dictionaries(
        {"window_shape": small(1, 3)},
        optional={"window_movement_strides": small(1, 3), "padding_below": small(0, 2), "padding_above": small(0, 2)},
    ),
    small(1, 5),
)
def test_ngraph(attributes, sizes):
    X = np.random.default_rng(2).permutation(4 * sizes[0] * sizes[1]).astype(np.float32).reshape(2, 2, *sizes)
    assert_says_the_same("ngraph-0", attributes, X)


def test_xmos_wherever_its_windows_are_placed():
    X = np.random.default_rng(3).integers(-128, 128, (4, 5, 8), np.int8)
    names = ("Y_h", "Y_w", "K_h", "K_w", "W_r0", "W_c0", "W_vert", "W_hori")
    ranges = ((1, 2), (1, 3), (1, 2), (2, 3), (0, 1), (0, 2), (1, 2), (1, 2))
    said = [
        assert_says_the_same("xmos-maxpool2d", dict(zip(names, values, strict=True)), X)
        for values in itertools.product(*ranges)
    ]
    assert 50 < sum(said) < len(said)


def test_what_no_graph_says():
    X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    openvino = {"kernel": [2, 2], "strides": [2, 2], "pads_begin": [0, 0], "pads_end": [1, 1]}
    for attributes, x, why in (
        ({**openvino, "axis": 2}, X, "numbers the cells of the whole tensor"),
        ({**openvino, "rounding_type": "ceil"}, X, "starts in the end padding"),
        (openvino, X.astype(np.int32), "got int32"),
        ({**openvino, "strides": [0, 1]}, X, "excludes the graph"),
    ):
        with pytest.raises(NotExpressible, match=why):
            translated("openvino-8", attributes, x)


def test_without_indices_it_does_not_matter_how_they_count():
    X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    attributes = {"kernel": [2, 2], "strides": [2, 2], "pads_begin": [0, 0], "pads_end": [1, 1], "axis": 3}
    assert translated("openvino-8", attributes, X, indices=False).steps == (
        "ONNX MaxPool with kernel_shape=[2, 2], strides=[2, 2], dilations=[1, 1], pads=[0, 0, 1, 1], ceil_mode=0",
    )
    document = specification("ort-nhwc-11")
    last = override(document.policies, {"nhwc_index_base": "NHWC-flat"})
    meaning = document.resolve({"kernel_shape": [2, 2]}, "float32", (1, 4, 4, 1), last)
    asked = (document, {"kernel_shape": [2, 2]}, "float32", (1, 4, 4, 1), meaning)
    assert translate(*asked, indices=False)
    with pytest.raises(NotExpressible, match="channels first"):
        translate(*asked, indices=True)


def test_a_case_of_onnx_is_handed_on_as_it_is_right_or_wrong():
    X = np.zeros((1, 1, 2, 2), np.float32)
    for attributes in ({"kernel_shape": [2, 2]}, {"kernel_shape": [0]}, {"kernel": 3}):
        graph = translated("onnx-22", attributes, X)
        assert graph.attributes == attributes
        assert graph.steps == ()


def test_a_channels_last_case_is_transposed_and_its_activation_put_behind():
    X = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    attributes = {"kernel_shape": [2, 2], "activation": "Clip", "activation_params": [0.0, 6.0]}
    graph = translated("ort-nhwc-11", attributes, X)
    assert graph.attributes == {"kernel_shape": [2, 2]}
    assert (graph.input(X) == np.moveaxis(X, -1, 1)).all()
    assert isinstance(meaning_of("ort-nhwc-11", attributes, X), Pooling)
    assert graph.steps == (
        "X transposed to channels first, the outputs back",
        "Clip [0.0, 6.0] as a node behind MaxPool",
    )
    with pytest.raises(NotExpressible, match="activation"):
        translated("ort-nhwc-11", {**attributes, "activation": "Tanh"}, X)


def test_numbers_that_32_bits_cannot_hold_stay_as_they_came():
    X = np.zeros((1, 1, 2, 2), np.float32)
    attributes = {
        "kernel": [2, 2],
        "strides": [1, 1],
        "pads_begin": [0, 0],
        "pads_end": [0, 0],
        "index_element_type": "i32",
    }
    graph = translated("openvino-8", attributes, X)
    assert graph.output("Indices", np.array([[[[-4]]]])).dtype == np.int32
    assert graph.output("Indices", np.array([[[[2**32]]]])).dtype == np.int64


@pytest.mark.parametrize("batches", [0, 2])
def test_an_answer_of_other_than_one_batch_is_no_image(batches):
    X = np.zeros((3, 3, 4), np.int8)
    attributes = {"Y_h": 2, "Y_w": 2, "K_h": 2, "K_w": 2, "W_r0": 0, "W_c0": 0, "W_vert": 1, "W_hori": 1}
    graph = translated("xmos-maxpool2d", attributes, X, indices=False)
    assert graph.output("Y", np.zeros((1, 4, 2, 2), np.int8)).shape == (2, 2, 4)
    assert graph.output("Y", np.zeros((batches, 4, 2, 2), np.int8)).shape == (batches, 4, 2, 2)


def graph(indices=True, dtype="float32", **attributes):
    return attributes, dtype, indices


@pytest.mark.parametrize(
    ("node", "since", "newest", "opset"),
    [
        # The document's own where the runtime loads it.
        (graph(kernel_shape=[2]), 22, 26, 22),
        (graph(kernel_shape=[2]), 11, 26, 11),
        # An older one where it means the same.
        (graph(kernel_shape=[2]), 22, 19, 19),
        (graph(kernel_shape=[2], dtype="int8"), 22, 11, None),
        (graph(kernel_shape=[2]), 22, 9, 9),
        (graph(kernel_shape=[2]), 22, 7, None),
        (graph(kernel_shape=[2], indices=False), 22, 7, 7),
        # None where the clipping matters, or the type is missing.
        (graph(kernel_shape=[1], strides=[2], pads=[0, 1], ceil_mode=1), 22, 19, None),
        (graph(kernel_shape=[2], strides=[2], ceil_mode=1), 22, 19, 19),
        (graph(kernel_shape=[2], dtype="bfloat16"), 22, 19, None),
        # A refusal where it is refused for the same reason.
        (graph(kernel_shape=[9]), 22, 19, 19),
        (graph(kernel_shape=[2], dilations=[0]), 22, 19, 19),
    ],
)
def test_the_operator_set_in_which_a_graph_is_executed(node, since, newest, opset):
    attributes, dtype, indices = node
    graph = Translation(attributes, (1, 1, 4), onnx=specification(f"onnx-{since}"))
    assert opset_for(graph, dtype, Policies(), newest, indices=indices) == opset
