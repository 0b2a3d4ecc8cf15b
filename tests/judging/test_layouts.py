"""Outputs in other layouts and numberings: right ones conform, wrong cells are shown in the document's layout."""

import numpy as np
import pytest

from maxpool_check.judging.comparison import compare, wrong_cells
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, variant_named, variants_of
from tests.judging.oracles import BOTH, graph_oracle, outputs_of

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
        # Y alone shows no base, and with one channel both are the same.
        (NHWC, {"Y": NHWC.outputs["Y"]}, set(), {}),
        (nhwc(LAST[..., :1]), nhwc(LAST[..., :1]).outputs, set(), {}),
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


def test_a_mixture_of_bases_is_wrong_and_judged_by_the_nearer_one():
    first, second = (outputs_of(alternative) for alternative in NHWC.alternatives)
    second["Indices"][0, 0, 0, 1] = first["Indices"][0, 0, 0, 1]
    compared = compare(NHWC, second, BOTH)
    assert compared.oracle.pooling.policies.nhwc_index_base.value == "NHWC-flat"
    assert sum(int(wrong.cells.sum()) for wrong in compared.wrong) == 1
    assert compared.interpretations == {}


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
    (cell,) = [cell for cell in wrong_cells(compared.oracle, compared.wrong, outputs) if cell.output == output]
    assert (cell.at, {name: getattr(cell, name) for name in expected}) == (at, expected)


@pytest.mark.parametrize("axis", range(4))
def test_every_cell_that_holds_the_maximum_is_a_tie_however_indices_count(axis):
    X = np.array([5, 1, 5, 1, 1, 1, 5, 1, 5], np.float32).reshape(1, 1, 3, 3).repeat(2, 1)
    oracle = openvino(X, kernel=3, axis=axis)
    outputs = outputs_of(oracle)
    # The last cell of the plane holds the maximum too, the middle one does not.
    outputs["Indices"][0, 1, 0, 0] = 17 % oracle.pooling.numbering.bound(X.shape)
    compared = compare(oracle, outputs, BOTH)
    assert (compared.wrong, {wrong.kind.value for wrong in compared.information}) == ((), {"indices-tie-last"})
    outputs["Indices"][0, 1, 0, 0] = 13 % oracle.pooling.numbering.bound(X.shape)
    assert {wrong.kind.value for wrong in compare(oracle, outputs, BOTH).wrong} == {"indices-in-window-not-maximum"}


def test_a_document_with_a_domain_is_executed_there_too():
    domain = "com.ms.internal.nhwc"
    indices, y_only = (variant_named(f"{name}-in-domain") for name in ("indices", "y-only"))
    assert variants_of(BOTH, domain) == (WITH_INDICES, Y_ONLY, indices, y_only)
    assert variants_of(("Y",), domain) == (Y_ONLY, y_only)
    refused = judge(NHWC, {y_only: RefusedByTarget("FAIL", "no such operator")})[y_only]
    assert (refused.verdict.value, refused.limit) == ("refuses", True)
    # Two results in the domain are compared with each other.
    oracle = nhwc(np.array([-0.0, 0.0, 1.0], np.float32).reshape(1, 3, 1))
    outputs = outputs_of(oracle)
    judgements = judge(
        oracle, {indices: Returned(outputs), y_only: Returned({"Y": outputs["Y"] * np.float32([[[-1], [1]]])})}
    )
    assert [kind.value for kind in judgements[y_only].kinds] == ["y-depends-on-indices"]


def test_a_refusal_where_only_one_window_is_empty_says_nothing():
    oracle = openvino(np.array([[[5, 6]]], np.int8), kernel=1, pad=1)
    assert oracle.pooled.empty.tolist() == [[[True, False, False]]]
    assert judge(oracle, {WITH_INDICES: RefusedByTarget("FAIL", "no")})[WITH_INDICES].verdict == "undefined"
