"""``explain``: kinds, documents, clauses and words; cases by the reference alone, and beside what a target returns."""

import shlex

import pytest

from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.judging.kinds import DivergenceKind
from tests.conftest import KERNELS, on_a_terminal

SEED, ZERO, PLANE = (f"python:{KERNELS}:{name}" for name in ("keeps_the_seed", "pads_with_zero", "counts_in_the_plane"))
NEG_INF = "cases/edge/neg-inf.yaml:"
CEIL = "cases/edge/ceil-mode.yaml:"
OWN = """\
spec: ort-nhwc-11
cases:
  - {id: two-channels, tags: [documents], input: {dtype: float32, shape: [1, 3, 3, 2], arange: {}},
     attributes: {kernel_shape: [2, 2], strides: [2, 2], auto_pad: VALID, ceil_mode: 1}}
"""
PADDED = """\
spec: {}
cases: [{{id: a, input: {{dtype: float32, data: [[[[5]]]]}}, attributes: {{kernel_shape: [1, 1], pads: [0, 1, 0, 1]{}}}}}]
"""
ALL_SEVEN = ", strides: [1, 1], dilations: [1, 1], auto_pad: NOTSET, ceil_mode: 0, storage_order: 0"


PLANES = """
  [1, 0, 0, 0]  rows 0-1, column 0
    X[1, 0, :, :]
        0  1  2
    0  [1] 7  2
    1 =[6] 3  4
    X[0, 0, :, :]
       0  1  2
    0  1  7  2
    1 !6  3  4
  Indices[1, 0, 0, 0]  rows 0-1, column 0: expected 9, got 3 = X[0, 0, 1, 0]  (indices-outside-window)
"""
CEILS = """
  axis D1: floor((5 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1) = 2 by onnx-22; the target has 3, as ceil gives
  The result equals a MaxPool whose output size is rounded the other way in 3 of 3 cells.
  Y has the shape [1, 1, 3], expected [1, 1, 2]; Indices has the shape [1, 1, 3], expected [1, 1, 2]
  X float32[1, 1, 5]
     1.0   5.0   2.0   4.0   3.0
  Y by the document float32[1, 1, 2]
     5.0   4.0
  Y from the target float32[1, 1, 3]
     5.0   4.0   3.0
"""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("same-ignores-dilation", "Actual Y float32[1, 1, 2, 2]\n     9.0   8.0\n     6.0   5.0\n"),
        ("edge/nan:middle", "Y is 9.0, from X[0, 0, 2, 2], index 10"),
        (f"{NEG_INF}three-axes --at 0,1,0,0,1", "Y[0, 1, 0, 0, 1]  D1 0-1, D2 0-1, D3 1-2"),
        ("sonnx/float:float-example-3", "Y[0, 0, 0, 0]  rows 0-1, columns 0-1\n"),
        ("small:stride-0 -p SMALL", "excludes it (invalid-attribute)"),
        ("small:empty -p SMALL", "no cell of X"),
        ("cases/xmos/examples.yaml:start", "XMOS lib_nn maxpool2d, nothing left open"),
        ("OWN:two-channels", "interpretation valid_ceil: honours, nhwc_index_base: NHWC-flat:"),
        ("OWN:two-channels", "    [0, :, :, 1]\n      1.0    3.0    5.0\n"),
        ("OWN:two-channels --at 0,1,1,1", "Y is 17.0, from X[0, 2, 2, 1]"),
        (f"{CEIL}dilation --at 0,0,0", "Y[0, 0, 0]  positions 0 3"),
        ("cases/xmos/examples.yaml:start", "    [:, :, 1]\n      1    5    9   13   17\n     21   25   29   33   37\n"),
        ("edge/empty-batch:no-channel", "  Y float32[2, 0, 3, 2]\n    (empty)\n"),
        ("cases/xmos/examples.yaml:start --at 1,0,1", "Y[1, 0, 1]  rows 2-3, columns 2-3"),
        ("documents -p OWN", "com.ms.internal.nhwc MaxPool-11  valid_ceil: formula, nhwc_index_base: NHWC-flat"),
        ("sonnx -p cases/documents/sonnx.yaml", "sonnx: SONNX MaxPool\nedition: sonnx@seed"),
        ("ONNX-22-CEIL-CLIP -p cases/edge/valid-ceil.yaml", "violated by: sizes:never_drops_the_last_window"),
        (f"small:neg-inf -p SMALL -t {SEED}", "indices: diverges  indices-sentinel, y-lowest-for-neg-inf"),
        (f"small:neg-inf -p SMALL -t {SEED}", "expected -inf, got -3.4028235e+38  (y-lowest-for-neg-inf)"),
        (f"small:padded -p SMALL -t {ZERO}", "[~]"),
        (f"edge/batches-channels:equal-batches -t {PLANE}", PLANES),
        (f"{CEIL}off -t {kernel_named('sizes:ceils_always').target}", CEILS),
        (f"{CEIL}dilation -t {kernel_named('dilations:ignored').target}", "- 1)/2 + 1) gives (dilation-ignored)"),
        ("ORT-SEED-KEPT", "is repaired in onnxruntime 1.29.0: do not report it, upgrade\nORT-SEED-KEPT: MaxPool"),
        ("stale", "the defect no longer occurs and must be removed"),
        ("REVIEW", "of: gate, model --base; exit code: 0; meaning: changes that do not block, such as fixed:"),
        ("storage_order -p cases/documents/sonnx.yaml", "\nsonnx: an integer: 0; required\n"),
        ("axis -p cases/documents/sonnx.yaml", "  OPENVINO-AXIS-RANGE     axis is in [-R, R - 1]"),
        ("pads_begin -p cases/documents/sonnx.yaml", "other names: pads in onnx-1, onnx-8,"),
        ("padding:zero", "Lets the padding count as 0. Seen: QNN 2.7.0"),
        ("begin_for_the_end", "violates: ONNX-SIZE-PADS,"),
        ("xmos_maxpool:correct", "kernel: correct, to compare others with"),
        ("direct", "the target takes the attributes of the document as they are"),
        ("flows", "values that flow in the model"),
        ("extremes", "infinities, zeros of both signs, subnormal and extreme values"),
        ("in-place", "MaxPool in the model, with the tensors around it"),
        ("y-only", "Y alone is requested"),
        ("indices", "Y and Indices are requested"),
        ("BETTER", "what was wrong or not executed before is right now"),
        ("'CONFORMS ON FINITE VALUES'", "of: model; exit code: 0; meaning: nodes are wrong on special values alone"),
    ],
)
def test_explain(cli, small, arguments, text):
    (small.parent / "own.yaml").write_text(OWN)
    words = arguments.replace("SMALL", str(small)).replace("OWN", str(small.parent / "own.yaml"))
    assert text in cli("explain", *shlex.split(words), COLUMNS="200").check(0, err="").out


def test_json_has_the_reference_and_every_interpretation(cli, small):
    document = cli("explain", "cases/sonnx/float.yaml:float-example-3", "--json").json
    assert document["Y"] == [[[["-inf", "4.56432533"], ["3.46789489", "5.23979851"]]]]
    assert document["Indices"] == [[[[0, 2], [7, 8]]]]
    assert cli("explain", "small:stride-0", "-p", small, "--json").json["refused"]["reason"] == "invalid-attribute"
    assert cli("explain", "small:empty", "-p", small, "--json").json["empty"] == [[[True]]]
    sonnx = cli("explain", "sonnx", "-p", "cases/documents/sonnx.yaml", "--json").json
    assert sonnx["policies"]["nan"] == "as-neg-inf"
    assert {each["page"] for each in cli("explain", "kept", "--json").json["meanings"]} <= {"verdicts", "gate", "model"}
    (small / "nhwc.yaml").write_text(OWN)
    document = cli("explain", f"{small / 'nhwc.yaml'}:two-channels", "--json").json
    assert document["Y"] == [[[["8.0", "9.0"], ["10.0", "11.0"]], [["14.0", "15.0"], ["16.0", "17.0"]]]]
    assert document["Indices"] == [[[[4, 13], [5, 14]], [[7, 16], [8, 17]]]]
    assert document["policies"]["nhwc_index_base"] == "either"
    points = [each["policies"]["valid_ceil"] for each in document["alternatives"]]
    assert points == ["honours", "formula", "formula"]
    assert document["alternatives"][0]["Indices"] == [[[[8, 9], [10, 11]], [[14, 15], [16, 17]]]]
    assert document["alternatives"][1]["shape"] == [1, 1, 1, 2]


@pytest.mark.parametrize(("spec", "more", "Y"), [("onnx-22", "", None), ("sonnx", ALL_SEVEN, "-inf")])
def test_a_window_without_a_result_has_none(cli, tmp_path, spec, more, Y):
    """In SONNX it has the value of the padding, and no index."""
    path = tmp_path / "p.yaml"
    path.write_text(PADDED.format(spec, more))
    lines = [" ".join(line.split()) for line in cli("explain", f"{path}:a").out.splitlines()]
    assert lines[lines.index("Y float32[1, 1, 1, 3]") + 1] == "- 5.0 -".replace("-", Y or "-")
    assert lines[lines.index("Indices int64[1, 1, 1, 3]") + 1] == "- 0 -"
    assert "Y[0, 0, 0, 0] the padding alone" in lines
    document = cli("explain", f"{path}:a", "--json").json
    assert (document["Y"], document["Indices"]) == ([[[[Y, "5.0", Y]]]], [[[[None, 0, None]]]])
    drawn = cli("explain", f"{path}:a", "--at", "0,0,0,0").out
    assert ("the document gives no result" in drawn) == (Y is None)
    assert ("Y is -inf, the value of the padding" in drawn) == (Y == "-inf")


def test_large_tensors_are_shown_around_the_window_or_not_cell_by_cell(cli, tmp_path):
    done = cli("explain", f"{NEG_INF}wide-w33", "--at", "0,0,0,20")
    drawing = done.out[done.out.index("Y[0, 0, 0, 20]") :].splitlines()
    assert drawing[2].split() == [str(column) for column in range(18, 25)]
    assert len(drawing) < 20
    (tmp_path / "kernel.py").write_text("def flat(X, attributes):\n    return X.reshape(-1), X.reshape(-1)\n")
    (tmp_path / "large.yaml").write_text(
        "cases:\n  - id: large\n    input: {dtype: float32, shape: [1, 1, 12, 12], arange: {}}\n"
        "    attributes: {kernel_shape: [2, 2]}\n"
        "  - {id: far, input: {dtype: int8, shape: [1, 2, 30], arange: {}}, attributes: {kernel_shape: [2], strides: [28]}}\n"
    )
    # A cell far from where its number lies in X is drawn with its own surroundings.
    far = cli("explain", f"{tmp_path / 'large.yaml'}:far", "-t", PLANE).out
    assert "  X[0, 0, :]\n     27  28   29\n     27  28  !29\n" in far
    done = cli("explain", f"{tmp_path / 'large.yaml'}:large", "-t", f"python:{tmp_path / 'kernel.py'}:flat")
    assert "Y has the shape [144], expected [1, 1, 11, 11]" in done.out
    assert "X float32[1, 1, 12, 12]: 144 cells are not shown" in done.out
    assert "Y from the target float32[144]: 144 cells are not shown" in done.out


def test_every_kind_is_listed_in_two_columns_on_a_terminal_and_in_one_line_for_a_script(cli):
    lines = on_a_terminal(80, "--color=never", "explain")
    assert max(map(len, lines)) <= 80
    number = lines.index("  y-saturated-infinity     Y is the largest finite value of the dtype instead of")
    assert lines[number + 1] == f"{'':27}infinity."
    whole = cli("explain", COLUMNS="80").out.splitlines()
    assert "  y-saturated-infinity     Y is the largest finite value of the dtype instead of infinity." in whole
    listed = [line.split()[0] for line in whole if line]
    assert [word for word in listed if word in {*DivergenceKind}] == [kind.value for kind in DivergenceKind]


def test_an_attribute_takes_one_screen_and_says_what_documents_and_defects_say(cli):
    lines = on_a_terminal(120, "--color=never", "explain", "ceil_mode")
    assert len([line for line in lines if line]) <= 30
    text = " ".join(" ".join(lines).split())
    assert (
        "8.0 6.0 - in onnx-12, openvino-1, openvino-8, openvino-14, ort-nhwc-11; 8.0 6.0 in onnx-12, onnx-22," in text
    )
    assert "SONNX-R4 The attribute ceil_mode is 0." in text
    whole = cli("explain", "ceil_mode", "-v").out
    assert "(6 of" not in whole
    document = cli("explain", "ceil_mode", "--json").json
    assert document["documents"]["sonnx"] == {"type": "an integer", "values": [0], "default": None}
    assert [name for name in (*document["clauses"], *document["defects"]) if name not in whole] == []
    # One whose title names it, one by its conditions, one that concerns another attribute alone.
    assert ["AIDGE-CEIL" in document["defects"], "OVEP-CEIL" in document["defects"]] == [True, True]
    assert "ACETONE-DILATIONS" not in document["defects"]
    assert document["points"]["Rounding up"]["refused"] == ["sonnx", "sonnx@2026-10"]


def test_a_wrong_kernel_names_cases_that_notice_it_and_a_case_of_its_name_is_a_case(cli, tmp_path):
    kernel = cli("explain", "padding:zero", "--json").json
    (case, *_) = kernel["noticed"]["onnx-22"]
    assert "ONNX-PADDING-EXCLUDED" in kernel["violates"]
    drawn = cli("explain", case, "-t", kernel["target"]).out
    assert "diverges" in drawn
    assert f"maxpool-check explain {case} -t {kernel['target']}" in cli("explain", "padding:zero").out
    (tmp_path / "padding.yaml").write_text(PADDED.format("onnx-22", "").replace("id: a", "id: zero"))
    assert "Y float32[1, 1, 1, 3]" in cli("explain", tmp_path / "padding.yaml:zero").out
    cli("explain", "strides_exchanged").check(2, "is the name of several wrong kernels: axes:strides_exchanged, ")


@pytest.mark.parametrize(("case", "variant", "texts"), [
    ("edge/neg-inf:three-axes", "y-only", ["(1 more plane of the window)"]),
    ("edge/empty-windows:same-upper", "indices", ["Y by the document float32[1, 1, 2]\n     -   4.0"]),
    ("nhwc/attributes:valid-ceil-formula", "y-only", [
        "X float32[1, 3, 2], written with the channels before the positions\n",
        "axis D1: ceil((3 - 1*(2 - 1))/2) = 1 by ort-nhwc-11",
        "The result equals a MaxPool whose output size is rounded the other way in 4 of 4 cells.",
    ]),
    ("refusals/window:two-axes-strided", "y-only", ["truncated-division: A window larger than"]),
])  # fmt: skip
def test_what_a_drawing_leaves_out_is_said_and_what_has_no_value_is_not_written(cli, case, variant, texts):
    done = cli("explain", case, "-t", "onnxruntime", "--variants", variant, COLUMNS="160")
    assert [text for text in texts if text not in done.out] == []
    # A window that is larger than the padded input has one cause, and no others beside it.
    assert ("equals" in done.out) == ("nhwc" in case)
