"""Which interpretations of open points agree with some outputs, and outputs in other layouts and numberings."""

from dataclasses import replace

import numpy as np
import pytest

from maxpool_check.judging.comparison import compare
from maxpool_check.judging.judge import judge
from maxpool_check.judging.wrong_cells import WrongCells
from maxpool_check.reference.policies import Tie, ZeroSign
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, variant_named, variants_of
from tests.judging.oracles import BOTH, INF, NAN, OPEN, STRICT, graph_oracle, oracle_for

FAMILY = np.array([[[NAN, 3, 2, 0.5], [3, NAN, 2, 0.5], [3, 2, NAN, 0.5], [3, 2, 0.5, NAN]]], np.float32)
TWO_NANS = np.full((1, 1, 2), NAN, np.float32)
TIES = np.array([[1, 5, 1], [5, 5, 1], [1, 1, 5]], np.int8)[np.newaxis, np.newaxis]
ONES = np.ones((1, 1, 2, 2), np.float32)
ZEROS = np.array([[[-0.0, 0.0, -0.0]]])


@pytest.mark.parametrize(
    ("X", "Y", "Indices", "expected"),
    [
        # What a NaN does at each place of a window.
        (FAMILY, [3, 3, 3, 3], None, {"nan": ("ignored", "as-neg-inf")}),
        (FAMILY, [NAN, NAN, NAN, NAN], None, {"nan": ("propagates",)}),
        (FAMILY, [NAN, 3, 3, 3], None, {"nan": ("first-sticks",)}),
        (FAMILY, [3, 3, 3, NAN], None, {"nan": ("mixed",)}),
        (TWO_NANS, [-INF], None, {"nan": ("as-neg-inf",)}),
        (TWO_NANS, [NAN], None, {"nan": ("ignored", "propagates", "first-sticks")}),
        # Which of equal maxima is chosen shows in Indices alone.
        (TIES, [5], [1], {"tie": ("first",)}),
        (TIES, [5], [8], {"tie": ("last",)}),
        (TIES, [5], [3], {"tie": ("column-first",)}),
        (TIES, [5], [4], {"tie": ("mixed",)}),
        (ONES, [1], [0], {"tie": ("first", "column-first")}),
        (ONES, [1], None, {}),
        # The sign of a zero.
        (ZEROS, [0.0], None, {"zero_sign": ("positive",)}),
        (ZEROS, [-0.0], None, {"zero_sign": ("first", "last", "negative")}),
        # Points that a case does not touch are left out.
        (np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), [3], [3], {}),
    ],
)
def test_the_interpretations_that_agree_with_outputs(X, Y, Indices, expected):
    oracle = oracle_for(X, OPEN, kernel_shape=list(X.shape[2:]))
    outputs = {"Y": np.array(Y, X.dtype).reshape(oracle.shape)}
    if Indices is not None:
        outputs["Indices"] = np.array(Indices).reshape(oracle.shape)
    actual = compare(oracle, outputs, tuple(outputs)).interpretations
    assert {point: names for point, names in actual.items() if point != "nan_bits"} == expected


PAYLOADS = np.array([[[0x7FC00001, 0x3F800000, 0xFFC00002, 0x40000000]]], np.uint32).view(np.float32)
USUAL = np.array([[[NAN, 1.0, NAN, 1.0]]], np.float32)


@pytest.mark.parametrize(
    ("X", "patterns", "names"),
    [
        (PAYLOADS, [0x7FC00001, 0xFFC00002], ("kept",)),
        (PAYLOADS, [0x7FC00000, 0x7FC00000], ("changed",)),
        (PAYLOADS, [0x7FC00001, 0x7FC00000], ("mixed",)),
        # Numbers; and the usual NaN, which has no bits to lose.
        (PAYLOADS, [0x3F800000, 0x40000000], None),
        (USUAL, [0x7FC00000, 0x7FC00000], None),
    ],
)
def test_which_bits_a_nan_has(X, patterns, names):
    """No document decides on payload and sign: both conform, and a runtime that canonicalises NaN is named."""
    oracle = oracle_for(X, OPEN, strides=[2])
    Y = np.array([[patterns]], np.uint32).view(np.float32)
    assert compare(oracle, {"Y": Y}, ("Y",)).interpretations.get("nan_bits") == names


LAST = np.random.default_rng(5).permutation(72).astype(np.float32).reshape(2, 3, 4, 3)


def nhwc(X=LAST, **attributes):
    return graph_oracle(X, "ort-nhwc-11", **{"kernel_shape": [2] * (X.ndim - 2), **attributes})


def openvino(X=LAST, kernel=2, pad=0, **attributes):
    axes = X.ndim - 2
    lists = {"kernel": [kernel] * axes, "strides": [1] * axes, "pads_begin": [pad] * axes, "pads_end": [0] * axes}
    return graph_oracle(X, "openvino-8", **lists, **attributes)


NHWC = nhwc()
RELU = nhwc(LAST - 40, activation="Relu")
NAN_AND_INF = openvino(np.array([[[-np.inf, np.nan]]], np.float32))
CHANNELS_FIRST = {name: np.moveaxis(value, -1, 1) for name, value in NHWC.outputs.items()}


@pytest.mark.parametrize(
    ("oracle", "outputs", "kinds", "interpretations"),
    [
        (NHWC, NHWC.alternatives[0].outputs, set(), {"nhwc_index_base": ("NCHW-flat",)}),
        (NHWC, NHWC.alternatives[1].outputs, set(), {"nhwc_index_base": ("NHWC-flat",)}),
        # Y alone shows no base.
        (NHWC, {"Y": NHWC.outputs["Y"]}, set(), {}),
        (NHWC, CHANNELS_FIRST, {"shape"}, {}),
        # An activation is part of the output, and may give either zero.
        (RELU, RELU.outputs, set(), {"nhwc_index_base": ("NCHW-flat",)}),
        (RELU, {"Y": np.where(RELU.outputs["Y"] == 0, np.float32(-0.0), RELU.outputs["Y"])}, set(), {}),
        (openvino(index_element_type="i32"), openvino().outputs, {"dtype"}, {}),
        (RELU, {"Y": nhwc(LAST - 40).outputs["Y"]}, {"y-not-in-input"}, {}),
        # The whole number where a part is required.
        (openvino(axis=2), openvino(axis=0).outputs, {"indices-modulo-axis"}, {}),
        # A NaN ties with -inf where the document leaves it open.
        (NAN_AND_INF, {"Y": np.full((1, 1, 1), -np.inf, np.float32), "Indices": np.array([[[1]]])}, set(), None),
    ],
)
def test_outputs(oracle, outputs, kinds, interpretations):
    compared = compare(oracle, outputs, tuple(outputs))
    assert {kind.value for kind in compared.kinds} == kinds
    assert interpretations in (None, compared.interpretations)


XMOS = graph_oracle(
    np.arange(-64, 64, dtype=np.int8).reshape(4, 4, 8), "xmos-maxpool2d",
    Y_h=2, Y_w=1, K_h=2, K_w=2, W_r0=0, W_c0=1, W_vert=2, W_hori=1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("oracle", "outputs", "output", "at", "value", "expected"),
    [
        (NHWC, NHWC.outputs, "Y", (1, 0, 2, 1), -1, {
            "got": "-1.0", "expected": str(LAST[1, 0:2, 2:4, 1].max()), "window": ((0, 1), (2, 3)),
        }),
        (NHWC, NHWC.alternatives[1].outputs, "Indices", (0, 0, 0, 0), np.ravel_multi_index((0, 2, 3, 2), LAST.shape), {
            "got_cell": (0, 2, 3, 2), "kind": "indices-outside-window",
        }),
        # An image without a batch.
        (XMOS, {"Y": XMOS.outputs["Y"]}, "Y", (1, 0, 3), -100, {"window": ((2, 3), (1, 2))}),
        # An index of several possible rows refers to no cell.
        (openvino(axis=3), openvino(axis=3).outputs, "Indices", (0, 0, 0, 0), 2, {"got_cell": None}),
    ],
)  # fmt: skip
def test_a_wrong_cell_is_shown_in_the_layout_of_the_document(oracle, outputs, output, at, value, expected):
    outputs = {name: tensor.copy() for name, tensor in outputs.items()}
    assert compare(oracle, outputs, tuple(outputs)).wrong == ()
    outputs[output][at] = value
    compared = compare(oracle, outputs, tuple(outputs))
    (cell,) = [cell for cell in WrongCells(compared.oracle, compared.wrong, outputs).shown if cell.output == output]
    assert (cell.at, {name: getattr(cell, name) for name in expected}) == (at, expected)


@pytest.mark.parametrize(
    ("oracle", "expected"),
    [
        (NHWC, {"nhwc_index_base": ("NCHW-flat",)}),
        (graph_oracle(FAMILY, kernel_shape=[4]), {"nan": ("ignored", "as-neg-inf")}),
        (graph_oracle(TIES, policies=replace(STRICT, tie=Tie.ANY), kernel_shape=[3, 3]), {"tie": ("first",)}),
        (
            graph_oracle(ZEROS, policies=replace(STRICT, zero_sign=ZeroSign.EITHER), kernel_shape=[3]),
            {"zero_sign": ("first", "last", "negative")},
        ),
        (graph_oracle(TIES, policies=STRICT, kernel_shape=[3, 3]), {}),
    ],
)
def test_the_outputs_of_the_reference_show_what_is_open(oracle, expected):
    judgement = judge(oracle, {WITH_INDICES: Returned(oracle.outputs)})[WITH_INDICES]
    assert (judgement.verdict.value, judgement.interpretations) == ("conforms", expected)


def test_a_document_with_a_domain_is_executed_there_too():
    domain = "com.ms.internal.nhwc"
    indices, y_only = (variant_named(f"{name}-in-domain") for name in ("indices", "y-only"))
    assert variants_of(BOTH, domain) == (WITH_INDICES, Y_ONLY, indices, y_only)
    assert variants_of(("Y",), domain) == (Y_ONLY, y_only)
    refused = judge(NHWC, {y_only: RefusedByTarget("FAIL", "no such operator")})[y_only]
    assert (refused.verdict.value, refused.limit) == ("refuses", True)


def rules(window):
    """What each rule for NaN makes of a window; the last is that of a scan that keeps a NaN in its first cell alone."""
    numbers = window[~np.isnan(window)]
    ignored = numbers.max() if numbers.size else NAN
    return [
        ignored,
        numbers.max(initial=-INF),
        NAN if len(numbers) < len(window) else ignored,
        NAN if np.isnan(window[0]) else ignored,
    ]


@pytest.mark.parametrize("seed", range(20))
def test_an_output_that_no_single_rule_for_nan_explains_is_inconsistent(seed):
    """Whether the rule changes from channel to channel, or from place to place; by loops of its own, without the reference."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 50, (1, 3, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = NAN
    X[0, :, 2] = NAN
    by_rule = np.array([[rules(plane[at : at + 2]) for at in range(5)] for plane in X[0]], np.float32).transpose(
        2, 0, 1
    )
    by_channel = rng.integers(0, 4, (1, 3, 1))
    by_cell = rng.integers(0, 4, (1, 3, 5))
    oracle = graph_oracle(X, policies=OPEN, kernel_shape=[2])
    verdicts = set()
    for choice in (by_channel, by_cell, *(np.full((1, 1, 1), rule) for rule in range(4))):
        Y = np.take_along_axis(by_rule, np.broadcast_to(choice, (1, 3, 5)), 0)
        judgement = judge(oracle, {Y_ONLY: Returned({"Y": Y})})[Y_ONLY]
        is_one_rule = any(np.array_equal(Y[0], each, equal_nan=True) for each in by_rule)
        assert (judgement.verdict == "conforms") == is_one_rule
        assert (judgement.verdict == "inconsistent", judgement.kinds) == (
            not is_one_rule,
            () if is_one_rule else ("y-nan-mixed",),
        )
        verdicts.add(judgement.verdict.value)
    assert verdicts == {"conforms", "inconsistent"}
