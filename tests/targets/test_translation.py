"""A translated case says the same: ONNX's own answer to the graph, brought back, and the windows of each language."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import maxpool_check
from maxpool_check.reference import geometry
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import Axis, NoWindow, ceil_output, clipped_ceil_output, floor_output
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS, specification
from maxpool_check.specifications.roles import NotExpressible
from maxpool_check.specifications.specification import Refused, override
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.translation import Translation, opset_for, translate


def translated(spec, attributes, X, *, indices=True):
    document = specification(spec)
    meaning = document.resolve(attributes, X.dtype.name, X.shape)
    return translate(document, attributes, X.dtype.name, X.shape, meaning, indices=indices)


def assert_says_the_same(spec, attributes, X):
    """False if no graph says it."""
    meaning = specification(spec).resolve(attributes, X.dtype.name, X.shape)
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


OPENVINO = st.fixed_dictionaries(
    {"kernel": small(1, 3), "strides": small(1, 3), "pads_begin": small(0, 3), "pads_end": small(0, 3)},
    optional={
        "rounding_type": st.sampled_from(["floor", "ceil", "ceil_torch"]),
        "auto_pad": st.sampled_from(["explicit", "valid", "same_upper", "same_lower"]),
        "dilations": small(1, 2),
        "index_element_type": st.sampled_from(["i32", "i64"]),
        "axis": st.integers(-4, 3),
    },
)
NGRAPH = st.fixed_dictionaries(
    {"window_shape": small(1, 3)},
    optional={"window_movement_strides": small(1, 3), "padding_below": small(0, 2), "padding_above": small(0, 2)},
)


@settings(max_examples=400, deadline=None)
@given(
    st.tuples(st.sampled_from(["openvino-1", "openvino-8", "openvino-14"]), OPENVINO)
    | st.tuples(st.just("ngraph-0"), NGRAPH),
    small(1, 5),
)
def test_openvino_and_ngraph(case, sizes):
    X = np.random.default_rng(1).permutation(4 * sizes[0] * sizes[1]).astype(np.float32).reshape(2, 2, *sizes)
    assert_says_the_same(*case, X)


def test_xmos_wherever_its_windows_are_placed():
    X = np.random.default_rng(3).integers(-128, 128, (4, 5, 8), np.int8)
    names = ("Y_h", "Y_w", "K_h", "K_w", "W_r0", "W_c0", "W_vert", "W_hori")
    ranges = ((1, 2), (1, 3), (1, 2), (2, 3), (0, 1), (0, 2), (1, 2), (1, 2))
    cases = (dict(zip(names, values, strict=True)) for values in itertools.product(*ranges))
    said = [assert_says_the_same("xmos-maxpool2d", attributes, X) for attributes in cases]
    assert 50 < sum(said) < len(said)


PLANE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
PADDED = {"kernel": [2, 2], "strides": [2, 2], "pads_begin": [0, 0], "pads_end": [1, 1]}


@pytest.mark.parametrize(("spec", "attributes", "dtype", "why"), [
    ("openvino-8", {**PADDED, "axis": 2}, "float32", "numbers the cells of the whole tensor"),
    ("openvino-8", {**PADDED, "rounding_type": "ceil"}, "float32", "starts in the end padding"),
    ("openvino-8", PADDED, "int32", "got int32"),
    ("openvino-8", {**PADDED, "strides": [0, 1]}, "float32", "excludes the graph"),
    ("ort-nhwc-11", {"kernel_shape": [1, 1], "activation": "Tanh"}, "float32", "activation"),
])  # fmt: skip
def test_what_no_graph_says(spec, attributes, dtype, why):
    with pytest.raises(NotExpressible, match=why):
        translated(spec, attributes, PLANE.astype(dtype))


def test_without_indices_it_does_not_matter_how_they_count():
    assert translated("openvino-8", {**PADDED, "axis": 3}, PLANE, indices=False).steps == (
        "ONNX MaxPool with kernel_shape=[2, 2], strides=[2, 2], dilations=[1, 1], pads=[0, 0, 1, 1], ceil_mode=0",
    )
    document = specification("ort-nhwc-11")
    last = override(document.policies, {"nhwc_index_base": "NHWC-flat"})
    case = ({"kernel_shape": [2, 2]}, "float32", (1, 4, 4, 1))
    meaning = document.resolve(*case, last)
    assert translate(document, *case, meaning, indices=False)
    with pytest.raises(NotExpressible, match="channels first"):
        translate(document, *case, meaning, indices=True)
    axis = padded(4, 2)
    for numbering in (Numbering(StorageOrder.COLUMN_MAJOR), Numbering(layout=Layout.CHANNELS_LAST)):
        for language in ("torch", "openvino-8"):
            assert said_in(language, axis, axis, numbering=numbering)
            with pytest.raises(NotExpressible, match="row by row"):
                said_in(language, axis, axis, numbering=numbering, indices=True)


def test_a_case_in_the_language_of_its_own_document_is_handed_on_as_it_is_right_or_wrong():
    wrong = ({"kernel_shape": [0]}, {"kernel": 3}, {"kernel": [0]}, {"nonsense": "x"})
    for spec, attributes in itertools.product(("onnx-22", "openvino-1", "openvino-8", "openvino-14"), wrong):
        refused = specification(spec).resolve(attributes, "float32", (1, 1, 2, 2))
        case = (specification(spec), attributes, "float32", (1, 1, 2, 2), refused)
        graph = translate(*case, indices=False, language="onnx" if spec == "onnx-22" else spec)
        assert (graph.attributes, graph.shape, graph.steps) == (attributes, (1, 1, 2, 2), ())


def test_what_comes_back_in_another_form_stays_as_it_is():
    # Numbers that 32 bits cannot hold.
    graph = translated("openvino-8", {**PADDED, "index_element_type": "i32"}, PLANE)
    assert graph.output("Indices", np.array([[[[-4]]]])).dtype == np.int32
    assert graph.output("Indices", np.array([[[[2**32]]]])).dtype == np.int64
    # An answer of other than one batch is no image.
    attributes = {"Y_h": 2, "Y_w": 2, "K_h": 2, "K_w": 2, "W_r0": 0, "W_c0": 0, "W_vert": 1, "W_hori": 1}
    graph = translated("xmos-maxpool2d", attributes, np.zeros((3, 3, 4), np.int8), indices=False)
    assert graph.output("Y", np.zeros((1, 4, 2, 2), np.int8)).shape == (2, 2, 4)
    for batches in (0, 2):
        assert graph.output("Y", np.zeros((batches, 4, 2, 2), np.int8)).shape == (batches, 4, 2, 2)


def graph(indices=True, dtype="float32", **attributes):
    return attributes, dtype, indices


@pytest.mark.parametrize(("node", "since", "newest", "opset"), [
    # The document's own where the runtime loads it.
    (graph(kernel_shape=[2]), 22, 26, 22),
    # An older one where it means the same.
    (graph(kernel_shape=[2]), 22, 19, 19),
    (graph(kernel_shape=[2]), 22, 7, None),
    (graph(kernel_shape=[2], indices=False), 22, 7, 7),
    # None where the clipping matters, or the type is missing.
    (graph(kernel_shape=[1], strides=[2], pads=[0, 1], ceil_mode=1), 22, 19, None),
    (graph(kernel_shape=[2], strides=[2], ceil_mode=1), 22, 19, 19),
    (graph(kernel_shape=[2], dtype="bfloat16"), 22, 19, None),
    # A refusal where it is refused for the same reason.
    (graph(kernel_shape=[9]), 22, 19, 19),
    (graph(kernel_shape=[2], dilations=[0]), 22, 19, 19),
])  # fmt: skip
def test_the_operator_set_in_which_a_graph_is_executed(node, since, newest, opset):
    attributes, dtype, indices = node
    graph = Translation(attributes, (1, 1, 4), onnx=specification(f"onnx-{since}"))
    assert opset_for(graph, dtype, Policies(), newest, indices=indices) == opset


def padded(n, k, s=1, d=1, b=0, e=0, rounding=floor_output):
    return geometry.padded_axis(n, k, s, d, b, e, rounding)


def said_in(language, *axes, batch=1, channels=1, dtype="float32", numbering=None, indices=False, **more):
    """A Pooling of any document, in a language."""
    shape = (batch, channels, *[axis.size for axis in axes])
    pooling = Pooling(axes, Policies(), numbering or Numbering(), indices=indices)
    other = specification("openvino-14" if language == "openvino-8" else "openvino-8")
    return translate(other, {}, dtype, shape, pooling, indices=indices, language=language, **more)


VALID, SAME, LOWER = padded(5, 2, 2), padded(5, 2, 2, e=1), padded(5, 2, 2, b=1)
ROUNDED_UP = [padded(2, 1, 2, e=1, rounding=ceil_output), Axis(4, 2, 1, 1, 0, 0, 2)]
TENSORFLOW_PADDING = "VALID or SAME, with an odd cell at the end"


@pytest.mark.parametrize(("language", "axes", "more", "expected"), [
    # TensorFlow names its padding where it has the same windows.
    ("tensorflow", [VALID, VALID], {}, {"padding": "VALID"}),
    ("tensorflow", [SAME, SAME], {}, {"padding": "SAME"}),
    ("tensorflow", [VALID, SAME], {}, {"padding": [[0, 0], [0, 0], [0, 1], [0, 0]]}),
    ("tensorflow", [LOWER], {}, {"padding": [[0, 0], [1, 0], [0, 0]]}),
    # Explicit padding is neither in three dimensions, nor with Indices, nor in TFLite.
    ("tensorflow", [LOWER] * 3, {}, TENSORFLOW_PADDING),
    ("tensorflow", [LOWER] * 2, {"indices": True, "counted": "image-channels-last"}, TENSORFLOW_PADDING),
    ("tflite", [VALID, SAME], {}, TENSORFLOW_PADDING),
    ("tensorflow", [padded(5, 2, d=2)], {}, "no dilation"),
    # Rounded up, the second window starts at the end.
    ("tensorflow", ROUNDED_UP, {}, "explicit where it"),
    # PyTorch pads both sides alike, rounds up, and drops a window that starts in the end padding.
    ("torch", [padded(5, 3, b=1, e=1)], {}, {"padding": [1]}),
    ("torch", [padded(5, 3, b=1)], {}, "half of the kernel"),
    ("torch", [padded(5, 3, b=2, e=2)], {}, "half of the kernel"),
    ("torch", [padded(5, 2, 2, rounding=ceil_output)], {}, {"ceil_mode": True}),
    ("torch", [padded(4, 2, 5, b=1, e=1, rounding=clipped_ceil_output)], {}, {"ceil_mode": False}),
    ("torch", [padded(4, 2, 5, b=1, e=1, rounding=ceil_output)], {}, "no rounding"),
    ("xmos-maxpool2d", [padded(2, 1)] * 2, {"batch": 2, "channels": 4, "dtype": "int8"}, "not a batch of 2"),
])  # fmt: skip
def test_what_a_language_has(language, axes, more, expected):
    if isinstance(expected, str):
        with pytest.raises(NotExpressible, match=expected):
            said_in(language, *axes, **more)
    else:
        assert expected.items() <= said_in(language, *axes, **more).attributes.items()


def test_numbers_that_count_otherwise_become_those_of_the_whole_tensor():
    axis, whole = padded(2, 1), np.arange(24).reshape(2, 3, 2, 2)
    X = np.arange(24).reshape(2, 2, 2, 3)
    for counted, numbers in (("whole-channels-last", X), ("image-channels-last", X % 12)):
        graph = said_in("tensorflow", axis, axis, batch=2, channels=3, indices=True, counted=counted)
        assert graph.output("Indices", numbers).tolist() == whole.tolist()
        # What names no cell still names none.
        assert graph.output("Indices", np.full((2, 2, 2, 3), 99)).min() >= 24
    graph = said_in("torch", axis, axis, batch=2, channels=3, indices=True, counted="plane")
    assert graph.output("Indices", whole % 4).tolist() == whole.tolist()
    graph = said_in("torch", axis, axis, batch=2, channels=3, indices=True)
    assert graph.output("Indices", whole).tolist() == whole.tolist()
    # A case that counts with the channels last needs no conversion.
    pooling = Pooling((axis, axis), Policies(), Numbering(layout=Layout.CHANNELS_LAST), Layout.CHANNELS_LAST)
    case = (specification("ort-nhwc-11"), {}, "float32", (2, 2, 2, 3), pooling)
    graph = translate(*case, indices=True, language="tensorflow", counted="whole-channels-last")
    assert graph.output("Indices", X).tolist() == X.tolist()
    assert not any("Indices" in step for step in graph.steps)
    with pytest.raises(NotExpressible, match="row by row"):
        translate(*case, indices=True, language="tensorflow", counted="image-channels-last")
    attributes = said_in(
        "openvino-14", padded(4, 2), padded(4, 2), numbering=Numbering(axis=2, dtype="int32"), indices=True
    ).attributes
    assert (attributes["axis"], attributes["index_element_type"]) == (2, "i32")


def same_begins(sizes, kernel, strides, *, lower=False):
    """How many cells SAME pads in front of X along each axis."""
    pads = [max(0, (n - 1) // s * s + k - n) for n, k, s in zip(sizes, kernel, strides, strict=True)]
    return [pad - pad // 2 if lower else pad // 2 for pad in pads]


def tensorflow(kernel, strides, padding, sizes):
    if isinstance(padding, list):
        return kernel, strides, ONES, [low for low, _ in padding[1:-1]]
    return kernel, strides, ONES, same_begins(sizes, kernel, strides) if padding == "SAME" else (0, 0)


def ncnn(a, sizes):
    # As make_padding of its src/layer/pooling.cpp computes them, where it is right.
    same = a["pad_mode"] >= 2
    begins = same_begins(sizes, a["kernel"], a["stride"], lower=a["pad_mode"] == 3) if same else a["pads_begin"]
    return a["kernel"], a["stride"], ONES, begins


ONES = (1, 1)
WINDOWS = {
    "torch": lambda a, n: (a["kernel_size"], a["stride"], a["dilation"], a["padding"]),
    "jax": lambda a, n: (a["window"], a["strides"], a["dilation"], [low for low, _ in a["padding"]]),
    "ncnn": ncnn,
    "tensorflow": lambda a, n: tensorflow(a["ksize"], a["strides"], a["padding"], n),
    "tflite": lambda a, n: tensorflow(
        [a["filter_height"], a["filter_width"]], [a["stride_h"], a["stride_w"]], a["padding"], n
    ),
}
"""By language: the kernel, strides, dilations and cells in front of X that attributes name, with X of these sizes."""


def windows(language, graph, axes):
    """The positions on the X of the case, for each axis and output position."""
    offsets, sizes = [part.start for part in graph.crop] or [0, 0], graph.target.sizes(graph.shape)[2:]
    named = zip(*WINDOWS[language](graph.attributes, sizes), strict=False)
    for (k, s, d, b), n, offset, axis in zip(named, sizes, offsets, axes, strict=False):
        starts = [i * s - b for i in range(axis.output)]
        yield [[p + offset for p in range(start, start + k * d, d) if 0 <= p < n] for start in starts]


@st.composite
def any_axis(draw, *, plain=False):
    """An axis; a plain one has no pads and no dilation."""
    n, k, s = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    d = 1 if plain else draw(st.integers(1, 2))
    b, e = (0, 0) if plain else (draw(st.integers(-1, 2)), draw(st.integers(-1, 2)))
    try:
        return padded(n, k, s, d, b, e, draw(st.sampled_from([floor_output, ceil_output, clipped_ceil_output])))
    except NoWindow:
        assume(False)


def test_the_windows_are_those_of_the_case():
    spoken = Counter()

    # Some languages need two axes, and are spoken of few with pads or dilation.
    @settings(max_examples=500, deadline=None)
    @given(st.lists(any_axis(), min_size=1, max_size=2) | st.lists(any_axis(plain=True), min_size=2, max_size=2))
    def holds(axes):
        for language in WINDOWS:
            if len(axes) == 2 or language != "tflite":
                spoken[language] += is_spoken(language, axes)

    holds()
    assert all(spoken[language] > 5 for language in WINDOWS), spoken
    assert {*WINDOWS, *SPECIFICATIONS, "onnx"} >= {*LANGUAGES}


def is_spoken(language, axes):
    """Whether a language can express a geometry; if so, it means the same windows."""
    try:
        graph = said_in(language, *axes)
    except NotExpressible:
        return False
    expected = [[list(axis.window(i)) for i in range(axis.output)] for axis in axes]
    assert [[*map(list, each)] for each in windows(language, graph, axes)] == expected, language
    X = np.zeros((1, 1, *[axis.size for axis in axes]))
    assert graph.input(X).shape == graph.shape, language
    return True
