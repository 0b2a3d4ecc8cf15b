"""Every language that adapters speak says the same windows as the case."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maxpool_check.reference import geometry
from maxpool_check.reference.geometry import Axis, NoWindow
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS, specification
from maxpool_check.specifications.roles import NotExpressible
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.translation import translate

NAMES = {
    "onnx": ("kernel_shape", "strides", "dilations"),
    "openvino-1": ("kernel", "strides", None),
    "openvino-8": ("kernel", "strides", "dilations"),
    "openvino-14": ("kernel", "strides", "dilations"),
    "ngraph-0": ("window_shape", "window_movement_strides", None),
    "torch": ("kernel_size", "stride", "dilation"),
    "jax": ("window", "strides", "dilation"),
    "ncnn": ("kernel", "stride", None),
    "tensorflow": ("ksize", "strides", None),
}


PADS = {"torch": "padding", "ngraph-0": "padding_below"}


def begins(language, attributes, rank, sizes):
    if language == "tensorflow":
        padding = attributes["padding"]
        if isinstance(padding, list):
            return [low for low, _ in padding[1:-1]]
        return [
            max(0, (-(-n // s) - 1) * s + k - n) // 2 if padding == "SAME" else 0
            for n, k, s in zip(sizes, attributes["ksize"], attributes["strides"], strict=True)
        ]
    if language == "onnx":
        return attributes["pads"][:rank]
    if language == "jax":
        return [low for low, _ in attributes["padding"]]
    if language == "ncnn" and attributes["pad_mode"] >= 2:
        # As make_padding of its src/layer/pooling.cpp computes them, where it is right.
        pads = [
            max(0, k + (n - 1) // s * s - n)
            for n, k, s in zip(sizes, attributes["kernel"], attributes["stride"], strict=True)
        ]
        return [pad // 2 if attributes["pad_mode"] == 2 else pad - pad // 2 for pad in pads]
    return attributes[PADS.get(language, "pads_begin")]


def said(language, graph, rank):
    """For each axis, a function from an output position to the positions on the X of the case."""
    offsets = [part.start for part in graph.crop] or [0] * rank
    sizes = graph.target.sizes(graph.shape)[2:]
    if language == "xmos-maxpool2d":
        a = graph.attributes
        rows = ((a["K_h"], a["W_vert"], 1, -a["W_r0"]), (a["K_w"], a["W_hori"], 1, -a["W_c0"]))
    else:
        attributes = graph.attributes
        if language == "tflite":
            kernel, strides = (
                [attributes[f"{name}_{axis}"] for axis in axes]
                for name, axes in (("filter", ("height", "width")), ("stride", "hw"))
            )
            language, attributes = "tensorflow", {"ksize": kernel, "strides": strides, "padding": attributes["padding"]}
        kernel, stride, dilation = (attributes[name] if name else [1] * rank for name in NAMES[language])
        rows = zip(kernel, stride, dilation, begins(language, attributes, rank, sizes), strict=True)
    for (k, s, d, b), n, offset in zip(rows, sizes, offsets, strict=True):
        yield lambda i, k=k, s=s, d=d, b=b, n=n, offset=offset: [
            p + offset for p in (i * s - b + t * d for t in range(k)) if 0 <= p < n
        ]


ROUNDINGS = [geometry.floor_output, geometry.ceil_output, geometry.clipped_ceil_output]


@st.composite
def axes(draw, *, plain=False):
    """An axis; a plain one has no pads and no dilation."""
    n, k, s = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    if plain:
        d, b, e = 1, 0, 0
    else:
        d, b, e = draw(st.integers(1, 2)), draw(st.integers(-1, 2)), draw(st.integers(-1, 2))
    try:
        return geometry.padded_axis(n, k, s, d, b, e, draw(st.sampled_from(ROUNDINGS)))
    except NoWindow:
        assume(False)


def test_the_windows_are_those_of_the_case():
    spoken = Counter()

    # Some languages need two axes, and are spoken of few with pads or dilation.
    any_axes = st.lists(axes(), min_size=1, max_size=2)
    two_plain_axes = st.lists(axes(plain=True), min_size=2, max_size=2)

    @settings(max_examples=800, deadline=None)
    @given(any_axes | two_plain_axes)
    def holds(geometry_):
        for language in LANGUAGES:
            if len(geometry_) == 2 or language not in ("xmos-maxpool2d", "tflite"):
                spoken[language] += is_spoken(language, geometry_)

    holds()
    assert all(spoken[language] > 5 for language in LANGUAGES), spoken


def is_spoken(language, geometry_):
    """Whether a language can express a geometry; if so, it means the same windows."""
    dtype = "int8" if language == "xmos-maxpool2d" else "float32"
    shape = (1, 4, *[axis.size for axis in geometry_])
    pooling = Pooling(tuple(geometry_), Policies(), indices=False)
    try:
        graph = translate(specification("openvino-8" if language != "openvino-8" else "openvino-14"), {}, dtype, shape,
                          pooling, indices=False, language=language)  # fmt: skip
    except NotExpressible:
        return False
    for axis, window in zip(geometry_, said(language, graph, len(geometry_)), strict=True):
        assert [window(i) for i in range(axis.output)] == [axis.window(i) for i in range(axis.output)], language
    X = np.arange(np.prod(shape)).reshape(shape)
    assert graph.input(X).shape == graph.shape, language
    return True


def of_tensorflow(*axes, indices=False, language="tensorflow"):
    pooling = Pooling(axes, Policies(), indices=indices)
    shape = (1, 1, *[axis.size for axis in axes])
    return translate(
        specification("onnx-22"), {}, "float32", shape, pooling, indices=indices, language=language,
        counted="image-channels-last",
    )  # fmt: skip


def test_tensorflow_names_its_padding_where_it_has_the_same_windows():
    valid = geometry.padded_axis(5, 2, 2, 1, 0, 0, geometry.floor_output)
    same = geometry.padded_axis(5, 2, 2, 1, 0, 1, geometry.floor_output)
    lower = geometry.padded_axis(5, 2, 2, 1, 1, 0, geometry.floor_output)
    assert of_tensorflow(valid, valid).attributes["padding"] == "VALID"
    assert of_tensorflow(same, same).attributes["padding"] == "SAME"
    assert of_tensorflow(valid, same).attributes["padding"] == [[0, 0], [0, 0], [0, 1], [0, 0]]
    assert of_tensorflow(lower).attributes["padding"] == [[0, 0], [1, 0], [0, 0]]
    # Explicit padding is neither in three dimensions, nor with Indices, nor in TFLite.
    for mixed in (
        lambda: of_tensorflow(lower, lower, lower),
        lambda: of_tensorflow(lower, lower, indices=True),
        lambda: of_tensorflow(valid, same, language="tflite"),
    ):
        with pytest.raises(NotExpressible, match="VALID or SAME, with an odd cell at the end"):
            mixed()


def test_tensorflow_has_no_dilation_and_no_window_that_begins_behind_x():
    with pytest.raises(NotExpressible, match="no dilation"):
        of_tensorflow(geometry.padded_axis(5, 2, 1, 2, 0, 0, geometry.floor_output))
    # Rounded up, the second window starts at the end.
    with pytest.raises(NotExpressible, match="explicit where it has it"):
        of_tensorflow(geometry.padded_axis(2, 1, 2, 1, 0, 1, geometry.ceil_output), Axis(4, 2, 1, 1, 0, 0, 2))


def test_numbers_with_the_channels_last_become_those_of_the_whole_tensor():
    shape = (2, 3, 2, 2)
    X = np.arange(24).reshape(2, 2, 2, 3)
    axis = Axis(2, 1, 1, 1, 0, 0, 2)
    asked = (specification("onnx-22"), {}, "float32", shape, Pooling((axis, axis), Policies()))
    for counted, numbers in (("whole-channels-last", X), ("image-channels-last", X % 12)):
        graph = translate(*asked, indices=True, language="tensorflow", counted=counted)
        assert graph.output("Indices", numbers).tolist() == np.arange(24).reshape(shape).tolist()
        # What names no cell still names none.
        assert graph.output("Indices", np.full((2, 2, 2, 3), 99)).min() >= 24


def test_a_case_that_counts_with_the_channels_last_needs_no_conversion():
    axis = Axis(2, 1, 1, 1, 0, 0, 2)
    pooling = Pooling((axis, axis), Policies(), Numbering(layout=Layout.CHANNELS_LAST), Layout.CHANNELS_LAST)
    asked = (specification("ort-nhwc-11"), {}, "float32", (2, 2, 2, 3), pooling)
    graph = translate(*asked, indices=True, language="tensorflow", counted="whole-channels-last")
    numbers = np.arange(24).reshape(2, 2, 2, 3)
    assert graph.output("Indices", numbers).tolist() == numbers.tolist()
    assert not any("Indices" in step for step in graph.steps)
    with pytest.raises(NotExpressible, match="row by row"):
        translate(*asked, indices=True, language="tensorflow", counted="image-channels-last")


def test_indices_that_count_otherwise_are_not_asked_for():
    axis = Axis(4, 2, 1, 1, 0, 0, 3)
    document, shape = specification("onnx-22"), (1, 1, 4, 4)
    for numbering in (Numbering(StorageOrder.COLUMN_MAJOR), Numbering(layout=Layout.CHANNELS_LAST)):
        pooling = Pooling((axis, axis), Policies(), numbering)
        for language in ("torch", "openvino-8"):
            asked = (document, {}, "float32", shape, pooling)
            assert translate(*asked, indices=False, language=language)
            with pytest.raises(NotExpressible, match="row by row"):
                translate(*asked, indices=True, language=language)


def test_openvino_says_the_axis_and_the_width_of_indices():
    axis = Axis(4, 2, 1, 1, 0, 0, 3)
    pooling = Pooling((axis, axis), Policies(), Numbering(axis=2, dtype="int32"))
    graph = translate(
        specification("openvino-8"), {}, "float32", (1, 1, 4, 4), pooling, indices=True, language="openvino-14"
    )
    assert (graph.attributes["axis"], graph.attributes["index_element_type"]) == (2, "i32")


def test_a_case_in_the_language_of_its_own_document_is_handed_on_as_it_is_right_or_wrong():
    for name in ("openvino-1", "openvino-8", "openvino-14"):
        document = SPECIFICATIONS[name]
        for attributes in ({"kernel": [0]}, {"nonsense": "x"}):
            refused = specification("onnx-22")
            graph = translate(document, attributes, "float32", (1, 1, 4), refused, indices=False, language=name)
            assert (graph.attributes, graph.shape, graph.steps) == (attributes, (1, 1, 4), ())


def test_plane_relative_numbers_become_those_of_the_whole_tensor():
    axis = Axis(4, 2, 1, 1, 0, 0, 3)
    pooling = Pooling((axis,), Policies())
    asked = (specification("ngraph-0"), {}, "float32", (2, 3, 4), pooling)
    numbers = np.broadcast_to(np.arange(3), (2, 3, 3)).astype(np.int64)
    whole = translate(*asked, indices=True, language="torch", counted="plane").output("Indices", numbers)
    assert whole.tolist() == (numbers + np.arange(6).reshape(2, 3, 1) * 4).tolist()
    assert (translate(*asked, indices=True, language="torch").output("Indices", numbers) == numbers).all()


def of_torch(axis):
    pooling = Pooling((axis,), Policies(), indices=False)
    shape = (1, 1, axis.size)
    return translate(
        specification("ngraph-0"), {}, "float32", shape, pooling, indices=False, language="torch"
    ).attributes


def test_torch_pads_both_sides_alike_and_by_half_a_kernel_at_most():
    assert of_torch(geometry.padded_axis(5, 3, 1, 1, 1, 1, geometry.floor_output))["padding"] == [1]
    for begin, end in ((1, 0), (2, 2)):
        with pytest.raises(NotExpressible, match="half of the kernel"):
            of_torch(geometry.padded_axis(5, 3, 1, 1, begin, end, geometry.floor_output))


def test_torch_rounds_up_and_drops_a_window_that_starts_in_the_end_padding():
    assert of_torch(geometry.padded_axis(5, 2, 2, 1, 0, 0, geometry.ceil_output))["ceil_mode"] is True
    # n = 4, k = 2, s = 4, pads 1: rounded up, the second window starts at 3 and is kept; with s = 5 it is dropped.
    dropped = geometry.padded_axis(4, 2, 5, 1, 1, 1, geometry.clipped_ceil_output)
    unclipped = geometry.padded_axis(4, 2, 5, 1, 1, 1, geometry.ceil_output)
    assert (dropped.output, unclipped.output) == (1, 2)
    assert of_torch(dropped)["ceil_mode"] is False
    with pytest.raises(NotExpressible, match="no rounding"):
        of_torch(unclipped)


def test_a_batch_is_no_image():
    axis = Axis(2, 1, 1, 1, 0, 0, 2)
    pooling = Pooling((axis, axis), Policies(), indices=False)
    asked = (specification("ngraph-0"), {}, "int8")
    assert translate(*asked, (1, 4, 2, 2), pooling, indices=False, language="xmos-maxpool2d").shape == (2, 2, 4)
    with pytest.raises(NotExpressible, match="not a batch of 2"):
        translate(*asked, (2, 4, 2, 2), pooling, indices=False, language="xmos-maxpool2d")
