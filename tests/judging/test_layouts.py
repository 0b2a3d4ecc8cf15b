"""Outputs in other layouts and numberings: right ones conform, wrong cells are shown in the document's layout."""

import numpy as np
import pytest

from maxpool_check.graphs.context import MAX_POOL_ALONE, MaxPoolGraph
from maxpool_check.judging.comparison import compare, wrong_cells
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, variant_named, variants_of
from maxpool_check.specifications import specification

BOTH = ("Y", "Indices")
LAST = np.random.default_rng(5).permutation(72).astype(np.float32).reshape(2, 3, 4, 3)


def oracle_for(spec, X, **attributes):
    document = specification(spec)
    return GraphOracle.of(MaxPoolGraph(X, MAX_POOL_ALONE, document, attributes, document.policies))


NHWC = oracle_for("ort-nhwc-11", LAST, kernel_shape=[2, 2])
OPENVINO = {"kernel": [2, 2], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}


def outputs_of(oracle):
    pooled = oracle.pooled.arranged(oracle.pooling.layout)
    return {"Y": pooled.Y.copy(), "Indices": pooled.Indices.copy()}


@pytest.mark.parametrize(("number", "base"), [(0, "NCHW-flat"), (1, "NHWC-flat")])
def test_either_index_base_conforms_and_is_reported(number, base):
    compared = compare(NHWC, outputs_of(NHWC.alternatives[number]), BOTH)
    assert compared.wrong == ()
    assert compared.interpretations == {"nhwc_index_base": (base,)}


def test_a_mixture_of_bases_is_wrong_and_judged_by_the_nearer_one():
    first, second = (outputs_of(alternative) for alternative in NHWC.alternatives)
    second["Indices"][0, 0, 0, 1] = first["Indices"][0, 0, 0, 1]
    compared = compare(NHWC, second, BOTH)
    assert compared.oracle.pooling.policies.nhwc_index_base.value == "NHWC-flat"
    assert sum(int(wrong.cells.sum()) for wrong in compared.wrong) == 1
    assert compared.interpretations == {}


def test_y_alone_shows_no_index_base():
    assert compare(NHWC, {"Y": outputs_of(NHWC)["Y"]}, ("Y",)).interpretations == {}


def test_with_one_channel_the_bases_are_the_same():
    oracle = oracle_for("ort-nhwc-11", LAST[..., :1], kernel_shape=[2, 2])
    assert compare(oracle, outputs_of(oracle), BOTH).interpretations == {}


def test_a_wrong_cell_is_shown_in_the_layout_of_the_document():
    outputs = outputs_of(NHWC)
    outputs["Y"][1, 0, 2, 1] = -1
    compared = compare(NHWC, outputs, BOTH)
    (cell,) = [cell for cell in wrong_cells(compared.oracle, compared.wrong, outputs) if cell.output == "Y"]
    assert cell.at == (1, 0, 2, 1)
    assert cell.got == "-1.0"
    assert cell.expected == str(LAST[1, 0:2, 2:4, 1].max())
    assert cell.window == ((0, 1), (2, 3))


def test_the_cell_of_a_wrong_index_is_shown_in_the_layout_of_the_document():
    outputs = outputs_of(NHWC.alternatives[1])
    outputs["Indices"][0, 0, 0, 0] = np.ravel_multi_index((0, 2, 3, 2), LAST.shape)
    compared = compare(NHWC, outputs, BOTH)
    (cell,) = wrong_cells(compared.oracle, compared.wrong, outputs)
    assert cell.got_cell == (0, 2, 3, 2)
    assert cell.kind == "indices-outside-window"


def test_channels_first_outputs_have_the_wrong_shape():
    compared = compare(NHWC, {name: np.moveaxis(value, -1, 1) for name, value in outputs_of(NHWC).items()}, BOTH)
    assert {wrong.kind.value for wrong in compared.wrong} == {"shape"}


def test_an_image_without_a_batch():
    X = np.arange(-64, 64, dtype=np.int8).reshape(4, 4, 8)
    placed = {"Y_h": 2, "Y_w": 1, "K_h": 2, "K_w": 2, "W_r0": 0, "W_c0": 1, "W_vert": 2, "W_hori": 1}
    oracle = oracle_for("xmos-maxpool2d", X, **placed)
    Y = outputs_of(oracle)["Y"]
    assert compare(oracle, {"Y": Y}, ("Y",)).wrong == ()
    Y[1, 0, 3] -= 1
    compared = compare(oracle, {"Y": Y}, ("Y",))
    (cell,) = wrong_cells(oracle, compared.wrong, {"Y": Y})
    assert (cell.at, cell.window) == ((1, 0, 3), ((2, 3), (1, 2)))


@pytest.mark.parametrize("axis", range(4))
def test_every_cell_that_holds_the_maximum_is_a_tie_however_indices_count(axis):
    X = np.array([5, 1, 5, 1, 1, 1, 5, 1, 5], np.float32).reshape(1, 1, 3, 3).repeat(2, 1)
    oracle = oracle_for("openvino-8", X, axis=axis, **OPENVINO)
    outputs = outputs_of(oracle)
    assert compare(oracle, outputs, BOTH).wrong == ()
    other = oracle_for("openvino-8", X, axis=axis, kernel=[3, 3], strides=[1, 1], pads_begin=[0, 0], pads_end=[0, 0])
    outputs = outputs_of(other)
    # The last cell of the plane holds the maximum too.
    outputs["Indices"][0, 1, 0, 0] = 17 % other.pooling.numbering.bound(X.shape)
    compared = compare(other, outputs, BOTH)
    assert compared.wrong == ()
    assert {wrong.kind.value for wrong in compared.information} == {"indices-tie-last"}
    outputs["Indices"][0, 1, 0, 0] = 13 % other.pooling.numbering.bound(X.shape)
    kinds = {wrong.kind.value for wrong in compare(other, outputs, BOTH).wrong}
    # From the last axis on, 1 is the middle of every row, and none of the middles holds the maximum.
    assert kinds == {"indices-in-window-not-maximum"}


def test_the_whole_number_where_a_part_is_required():
    X = LAST.reshape(2, 3, 4, 3)
    outputs = outputs_of(oracle_for("openvino-8", X, axis=0, **OPENVINO))
    compared = compare(oracle_for("openvino-8", X, axis=2, **OPENVINO), outputs, BOTH)
    assert [kind.value for kind in compared.kinds] == ["indices-modulo-axis"]


def test_indices_of_the_wrong_width():
    oracle = oracle_for("openvino-8", LAST, index_element_type="i32", **OPENVINO)
    outputs = outputs_of(oracle)
    assert compare(oracle, outputs, BOTH).wrong == ()
    outputs["Indices"] = outputs["Indices"].astype(np.int64)
    judgement = judge(oracle, {WITH_INDICES: Returned(outputs)})[WITH_INDICES]
    assert judgement.message == "Indices is int64, expected int32"


def test_an_activation_is_part_of_the_output():
    oracle = oracle_for("ort-nhwc-11", LAST - 40, kernel_shape=[2, 2], activation="Relu")
    outputs = outputs_of(oracle)
    assert compare(oracle, outputs, BOTH).wrong == ()
    plain = outputs_of(oracle_for("ort-nhwc-11", LAST - 40, kernel_shape=[2, 2]))
    compared = compare(oracle, plain, BOTH)
    assert {wrong.kind.value for wrong in compared.wrong} == {"y-not-in-input"}
    zeros = np.where(outputs["Y"] == 0, np.float32(-0.0), outputs["Y"])
    assert compare(oracle, {**outputs, "Y": zeros}, BOTH).wrong == ()


def test_a_document_with_a_domain_is_executed_there_too():
    assert [variant.name for variant in variants_of(BOTH, "com.ms.internal.nhwc")] == [
        "indices", "y-only", "indices-in-domain", "y-only-in-domain",
    ]  # fmt: skip
    assert variants_of(("Y",), "com.ms.internal.nhwc") == (Y_ONLY, variant_named("y-only-in-domain"))


def test_a_refusal_in_the_domain_is_a_limit():
    outcomes = {variant_named("y-only-in-domain"): RefusedByTarget("FAIL", "no such operator")}
    judgement = judge(NHWC, outcomes)[variant_named("y-only-in-domain")]
    assert (judgement.verdict.value, judgement.limit) == ("refuses", True)


def test_two_results_in_the_domain_are_compared_with_each_other():
    zero = np.array([-0.0, 0.0, 1.0], np.float32).reshape(1, 3, 1)
    oracle = oracle_for("ort-nhwc-11", zero, kernel_shape=[2])
    outputs = outputs_of(oracle)
    other = outputs["Y"].copy()
    other[0, 0, 0] = -other[0, 0, 0]
    judgements = judge(
        oracle,
        {
            variant_named("indices-in-domain"): Returned(outputs),
            variant_named("y-only-in-domain"): Returned({"Y": other}),
        },
    )
    assert [kind.value for kind in judgements[variant_named("y-only-in-domain")].kinds] == ["y-depends-on-indices"]


def test_a_refusal_where_only_one_window_is_empty_says_nothing():
    X = np.array([[[5, 6]]], np.int8)
    oracle = oracle_for("openvino-8", X, kernel=[1], strides=[1], pads_begin=[1], pads_end=[0])
    assert oracle.pooled.empty.tolist() == [[[True, False, False]]]
    judgement = judge(oracle, {WITH_INDICES: RefusedByTarget("FAIL", "no")})[WITH_INDICES]
    assert judgement.verdict.value == "undefined"


def test_a_nan_ties_with_minus_infinity_where_the_document_leaves_it_open():
    X = np.array([[[-np.inf, np.nan]]], np.float32)
    oracle = oracle_for("openvino-8", X, kernel=[2], strides=[1], pads_begin=[0], pads_end=[0])
    for number in (0, 1):
        outputs = {"Y": np.array([[[-np.inf]]], np.float32), "Indices": np.array([[[number]]])}
        assert compare(oracle, outputs, BOTH).wrong == (), number


def test_an_index_of_several_possible_rows_refers_to_no_cell():
    oracle = oracle_for("openvino-8", LAST, axis=3, **OPENVINO)
    outputs = outputs_of(oracle)
    outputs["Y"][0, 0, 0, 0] = -5
    outputs["Indices"][0, 0, 0, 0] = 2
    compared = compare(oracle, outputs, BOTH)
    (cell,) = [cell for cell in wrong_cells(compared.oracle, compared.wrong, outputs) if cell.output == "Indices"]
    assert cell.got_cell is None
