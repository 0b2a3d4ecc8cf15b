"""The conditions of a defect: each holds for what it names and not for what it does not."""

from dataclasses import replace

import numpy as np
import pytest

import maxpool_check
from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.features import GEOMETRY, GRAPH, VALUES
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.judging.defects import Conditions, Defect, Severity
from maxpool_check.judging.explaining import meets_as_variant
from maxpool_check.results.variants import variant_named
from tests.conftest import CASES


def case(*sizes, dtype=np.float32, spec="onnx-22", k=2, refused=False, values=None, **attributes):
    """A case; ``sizes`` are those of X, by default one plane of 5 by 5."""
    X = np.ones(sizes or (1, 1, 5, 5), dtype)
    if values:
        X.reshape(-1)[: len(values)] = values
    expect = {"expect": {"refuse": "invalid-attribute"}} if refused else {}
    return maxpool_check.case(X, spec=spec, kernel_shape=k, **attributes, **expect)


def planes(channels, *sizes, **attributes):
    """A case of planes whose last axis has 5 cells."""
    return case(1, channels, *sizes, 5, **attributes)


def same(*sizes, **attributes):
    return case(*sizes, auto_pad="SAME_UPPER", **attributes)


WINDOWS = {
    "padding": (case(pads=1), case()),
    "dilation": (case(dilations=[2, 1]), case(dilations=1)),
    "some given-dilation >= 2147483648": (case(dilations=2**31, k=1), case(dilations=2**31 - 1, k=1)),
    "no-dilation": (case(), case(dilations=[2, 1])),
    "strides": (case(strides=[1, 2]), case(strides=1)),
    "strides-and-dilations-of-1": (case(strides=1, dilations=1, pads=1), case(dilations=[2, 1])),
    "same": (same(), case(auto_pad="VALID")),
    "same-of-dilated-kernel": (same(dilations=2), same(dilations=[2, 1], k=[1, 2])),
    "same-crops": (same(1, 1, 8, 5, strides=4), same(strides=2)),
    "some begin != cells-before-middle": (same(1, 1, 6, 5, strides=2, k=3), same(k=3)),
    "unequal-pads": (case(pads=[1, 0, 0, 0]), case(pads=[1, 0, 1, 0])),
    "several-images": (case(2, 1, 5, 5), case(1, 2, 5, 5)),
    "stride-over-31-bits": (case(strides=[2**31, 1]), case(strides=[2**31 - 1, 1])),
    "same-lower": (case(auto_pad="SAME_LOWER"), same()),
    "valid": (case(auto_pad="VALID"), case()),
    "ceil": (case(ceil_mode=1), case(ceil_mode=0)),
    "row-major": (case(storage_order=0), case(storage_order=1)),
    "column-major": (case(storage_order=1), case()),
    "explicit-pads": (case(pads=0), case()),
    "some given-auto-pad != explicit": (same(), case(pads=1)),
    "(some given-auto-pad != explicit or some given-rounding != floor)": (
        case(ceil_mode=2, refused=True),
        case(storage_order=2, ceil_mode=0, auto_pad="NOTSET", refused=True),
    ),
    "some given-storage-order != row-major": (case(storage_order=2, refused=True), case(storage_order=0)),
    "some given-storage-order != column-major": (case(storage_order=2, refused=True), case(storage_order=1)),
    "(some given-stride < 0 or some given-dilation < 1)": (
        case(dilations=0, refused=True),
        case(strides=0, refused=True),
    ),
    "(stride-over-31-bits or some given-dilation >= 2147483648)": (case(dilations=2**31, k=1), case(strides=2**31 - 1)),
    "(no-window or no-cells)": (case(k=7, strides=3), case()),
    "pads-beside-auto-pad": (case(pads=[1, 0, 0, 0], auto_pad="VALID"), case(pads=0, auto_pad="VALID")),
    "window-beginning-in-end-padding": (case(ceil_mode=1, strides=3, pads=[0, 0, 1, 1]), case(ceil_mode=1, strides=2)),
    "pads-not-smaller-than-kernel": (case(pads=2), case(pads=1)),
    "empty-window": (case(pads=2), case(pads=1)),
    "no-window": (case(k=7, strides=3), case(k=5)),
    "no-cells": (case(0, 1, 5, 5), case()),
    "some stride-of-axis-of-size-0 > 1": (case(k=6, strides=3), case(k=5, strides=3)),
    "no-channels": (case(1, 0, 5, 5), case(0, 1, 5, 5)),
    "rows-padded-or-stride-above-2": (case(pads=[0, 1, 0, 0]), case(pads=[1, 0, 0, 0], strides=[3, 2])),
    "some tensor-axes == 4": (case(), case(1, 1, 5)),
    "(every kernel == 2 or every kernel == 3)": (case(k=3), case(k=[2, 3])),
    "(rows-padded-or-stride-above-2 or global)": (case(k=5), case(k=[5, 4])),
    "some row-stride > 2": (case(k=3, strides=[1, 3]), case(k=3, strides=[3, 2])),
    "global": (case(k=5), case(k=[5, 4])),
    "some kernel > 1": (case(k=[1, 2]), case(k=1)),
    "blocks-of-16-channels": (planes(32, 5), planes(15, 5)),
    "no-blocks-of-16-channels": (planes(16, 5, 5), planes(16, 5)),
    "blocks-of-8-channels": (planes(24, 5), planes(12, 5)),
    "no-blocks-of-8-channels": (planes(4, 5), planes(8, 5)),
    "stride-0": (case(strides=[0, 1], refused=True), case(strides=1)),
    "(explicit-pads or some given-stride != 0 or some given-dilation != 0)": (case(pads=0), case()),
    "(some given-storage-order != row-major or some given-rounding != floor)": (
        case(storage_order=1),
        case(ceil_mode=0, storage_order=0),
    ),
    "(some given-storage-order != row-major or some given-rounding != floor or some given-auto-pad != explicit)": (
        case(ceil_mode=1),
        case(auto_pad="NOTSET"),
    ),
    "some given-stride < 0": (case(strides=[-1, 1], refused=True), case(strides=[0, 1], refused=True)),
    "some given-dilation < 1": (case(dilations=[0, 1], refused=True), case(dilations=[2, 1])),
    "negative-pads": (case(pads=[-1, 0, 0, 0], refused=True), case(pads=1)),
}
SPECIAL = {
    "neg-inf": ([-np.inf, 1], [np.inf, np.nan]),
    "pos-inf": ([np.inf, 1], [-np.inf, np.nan]),
    "nan": ([np.nan, 1], [np.inf, -np.inf]),
    "lowest": ([np.finfo(np.float32).min, 1], [-np.inf, -1]),
    "negative": ([-1, 1], [0, 1]),
    "subnormal": ([-1e-40, 1], [0, np.finfo(np.float32).tiny]),
    "zeros-of-both-signs": ([-0.0, 0.0], [0.0, 0.0]),
}
OF_VALUES = {flag: (case(values=having), case(values=other)) for flag, (having, other) in SPECIAL.items()}
OF_VALUES["some empty-window"] = (case(pads=2), case(pads=1))


def graph(*before, after=(), dtype=np.float32, inside=None, dimensions=None, **attributes):
    """A case with these nodes around MaxPool."""
    context = Context(22, before, tuple(after), dimensions=dimensions, inside=inside)
    return replace(case(dtype=dtype, **attributes), context=context)


def pad(pads=(0, 0, 1, 0, 0, 0, 0, 1), constants="initializer", **fields):
    """A Pad of one row in front and one column behind, unless told otherwise."""
    return Node("Pad", {"pads": list(pads), **fields}, constants)


CAST, BACK = Node("Cast", {"to": "float16"}), Node("Cast", {"to": "float32"})
RELU, LEAKY = Node("Relu"), Node("LeakyRelu")
QUANTIZE = Node("QuantizeLinear", {"y_scale": 0.5, "y_zero_point": {"dtype": "uint8", "data": 1}})
REVERSED = Node("QuantizeLinear", {"y_scale": -0.5})
DEQUANTIZE = Node("DequantizeLinear", {"x_scale": 0.5, "x_zero_point": 1})
WITHOUT_ZERO, NEGATIVE = (Node("DequantizeLinear", {"x_scale": scale}) for scale in (0.5, -0.5))
CROP, CROP_BEHIND = pad((0, 0, -1, 0, 0, 0, 0, 1)), pad((0, 0, 0, 0, 0, 0, 0, -1))
UNSQUEEZE, UNSQUEEZE_INPUT = Node("Unsqueeze", {"axes": [0]}), Node("Unsqueeze", {"axes": [0]}, "input")
LARGE = pad((0, 0, 2, 0, 0, 0, 0, 0))

GRAPHS = {
    "small-zero-pad-in-front": (
        [graph(pad()), graph(RELU, pad(constant_value=0)), graph(pad(mode="constant"), pads=[0, 1, 0, 0])],
        [
            graph(), graph(pad(), RELU), graph(RELU), graph(pad(mode="edge")), graph(pad(constant_value=1)), graph(CROP),
            graph(pad((0, 1, 1, 0, 0, 0, 0, 1))), graph(pad([0] * 8)), graph(pad(constants="input")), graph(LARGE),
            graph(pad(), pads=[1, 0, 0, 0]), graph(pad(), CAST),
        ],
    ),
    "some cells-of-zero-pad-beyond-kernel >= 0": ([graph(LARGE), graph(pad(), pads=[1, 0, 0, 0])], [graph(), graph(pad())]),
    "some zero-pad-of-cast": ([graph(pad(), CAST)], [graph(pad()), graph(CAST), graph(pad(), CAST, BACK)]),
    "no cells-of-zero-pad-of-cast-beyond-kernel >= 0": ([graph(pad(), CAST), graph(LARGE)], [graph(LARGE, CAST)]),
    "some first-behind == QuantizeLinear": ([graph(after=[QUANTIZE])], [graph(), graph(after=[RELU, QUANTIZE])]),
    "no first-behind == QuantizeLinear": ([graph(), graph(after=[RELU, QUANTIZE])], [graph(after=[QUANTIZE])]),
    "some last-in-front == Cast": ([graph(CAST)], [graph(CAST, RELU), graph(after=[CAST])]),
    "some first-behind == Cast": ([graph(after=[CAST])], [graph(after=[RELU, CAST]), graph(CAST)]),
    "some second-behind == Cast": ([graph(after=[CAST, BACK])], [graph(after=[CAST]), graph(CAST, after=[BACK])]),
    "some dtype-of-zero-point-in-front == int8": (
        [graph(DEQUANTIZE, dtype=np.int8)],
        [graph(DEQUANTIZE, dtype=np.uint8), graph(WITHOUT_ZERO, dtype=np.int8), graph()],
    ),
    "some scale-behind < 0": ([graph(after=[RELU, REVERSED])], [graph(after=[QUANTIZE]), graph()]),
    "some mode-of-pad == wrap": ([graph(pad(mode="wrap"), RELU)], [graph(pad(mode="edge")), graph()]),
    "some pad-with-axes": ([graph(pad([1, 1], axes=[2]))], [graph(pad())]),
    "some infinity-of-pad": ([graph(pad(constant_value=float("-inf")))], [graph(pad(constant_value=-1)), graph()]),
    "pad-that-crops": ([graph(CROP), graph(after=[CROP_BEHIND])], [graph(pad()), graph()]),
    "some cast-behind == int64": ([graph(after=[RELU, Node("Cast", {"to": "int64"})])], [graph(after=[CAST]), graph()]),
    "no inside == If": ([graph(inside="Loop"), graph()], [graph(inside="If")]),
    "some inside == Loop": ([graph(inside="Loop")], [graph(inside="If"), graph()]),
    "some operator == Cast": ([graph(CAST, RELU), graph(after=[CAST])], [graph(RELU)]),
    "some operator == DequantizeLinear": ([graph(DEQUANTIZE, dtype=np.int8)], [graph(after=[QUANTIZE])]),
    "some operator == LeakyRelu": ([graph(LEAKY), graph(after=[LEAKY])], [graph(RELU)]),
    "some constants-of-unsqueeze == input": ([graph(UNSQUEEZE_INPUT)], [graph(UNSQUEEZE), graph()]),
    "dynamic-sizes": ([graph(dimensions=("N", 1, "H", 5))], [graph()]),
    "function": ([graph(inside="function")], [graph(), graph(inside="If")]),
    "some scale-in-front < 0": ([graph(NEGATIVE, dtype=np.int8)], [graph(DEQUANTIZE, dtype=np.int8), graph()]),
}  # fmt: skip

EXAMPLES = [
    *(("geometry", flag, [having], [other]) for flag, (having, other) in WINDOWS.items()),
    *(("values", flag, [having], [other]) for flag, (having, other) in OF_VALUES.items()),
    *(("graph", flag, having, others) for flag, (having, others) in GRAPHS.items()),
]


def stated_by_defects(*forms):
    """The flags and rules that the conditions of the defects of the corpus state, by their text."""
    every = [
        conditions
        for defect in read_all_defects(defect_files(CASES))
        for conditions in (each.conditions for each in (defect, *defect.effects, *defect.remedies))
    ]
    return {str(stated): stated for conditions in every for form in forms for stated in getattr(conditions, form)}


STATED = {
    "geometry": stated_by_defects("geometry"),
    "values": stated_by_defects("values", "any_values"),
    "graph": stated_by_defects("graph"),
}


@pytest.mark.parametrize(
    ("form", "flags", "examples"),
    [("geometry", GEOMETRY, WINDOWS), ("values", VALUES, OF_VALUES), ("graph", GRAPH, GRAPHS)],
)
def test_every_flag_and_every_rule_of_a_defect_has_an_example_here(form, flags, examples):
    assert {*examples} == {*flags, *STATED[form]}


@pytest.mark.parametrize(("form", "flag", "having", "others"), EXAMPLES, ids=[flag for _, flag, _, _ in EXAMPLES])
def test_a_flag_or_a_rule(form, flag, having, others):
    conditions = Conditions(**{form: (STATED[form].get(flag, flag),)})
    assert [CaseFeatures(each).meets(conditions) for each in having] == [True] * len(having)
    assert [CaseFeatures(each).meets(conditions) for each in others] == [False] * len(others)


@pytest.mark.parametrize(
    ("conditions", "tested", "expected"),
    [
        (Conditions(dtypes=("float32", "int8")), case(dtype=np.int8), True),
        (Conditions(dtypes=("float32",)), case(dtype=np.int8), False),
        (Conditions(spatial=(2,)), case(1, 1, 3), False),
        (Conditions(channels_multiple_of=16), case(1, 17, 3), False),
        (Conditions(before=("Pad",)), case(), False),
        (Conditions(opset="<8"), case(), True),
        (Conditions(opset=">22"), case(), False),
        (Conditions(refused="invalid-attribute"), case(), False),
        (Conditions(geometry=("dilation", "same")), same(dilations=2), True),
        (Conditions(geometry=("dilation", "same")), case(dilations=2), False),
    ],
)
def test_all_conditions_must_hold(conditions, tested, expected):
    assert CaseFeatures(tested).meets(conditions) is expected


def test_the_variant_and_the_documents():
    for conditions, variant, expected in (
        (Conditions(indices=True), "y-only", False),
        (Conditions(indices=False), "y-only-optimization-off", True),
        (Conditions(optimization=("basic", "all")), "y-only-optimization-off", False),
        (Conditions(optimization=("off",)), "y-only-optimization-off", True),
    ):
        assert meets_as_variant(conditions, variant_named(variant)) is expected
    for documents, expected in {("onnx",): True, ("sonnx", "onnx-12"): True, ("sonnx", "openvino"): False}.items():
        defect = Defect("D", "onnxruntime", "t", Severity.CRASH, "m", (), documents=documents)
        assert CaseFeatures(case(spec="onnx-12")).is_of(defect) is expected
