"""``explain``: kinds, and cases drawn."""

import pytest

from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.judging.kinds import DivergenceKind
from tests.conftest import on_a_terminal

NEG_INF = "cases/edge/neg-inf.yaml:"


def test_every_kind_is_listed_and_explained(cli):
    done = cli("explain")
    assert done.code == 0
    listed = [line.split()[0] for line in done.out.splitlines() if line]
    assert [word for word in listed if word in {*DivergenceKind}] == [kind.value for kind in DivergenceKind]
    done = cli("explain", "same-ignores-dilation")
    assert done.code == 0
    assert "K = (k - 1) * d + 1" in done.out
    assert "Actual Y float32[1, 1, 2, 2]\n     9.0   8.0\n     6.0   5.0\n" in done.out


def test_what_is_neither_a_kind_nor_a_case_is_refused(cli):
    done = cli("explain", "y-lowest-for-inf")
    assert done.code == 2
    assert "'y-lowest-for-inf' is neither a case, FILE.yaml:ID or a full id, nor a kind" in done.err
    assert "(did you mean 'y-lowest-for-neg-inf'?)" in done.err
    done = cli("explain", "sonnx/float:none")
    assert done.code == 2
    assert "no case 'sonnx/float:none'" in done.err


def test_a_case_alone_shows_what_the_reference_chooses(cli):
    done = cli("explain", "edge/nan:middle")
    assert done.code == 0
    assert "[5.0]" in done.out
    assert "Y is 9.0, from X[0, 0, 2, 2], index 10" in done.out
    assert "=[9.0]" in done.out


def test_a_wrong_answer_is_drawn_with_both_choices(cli, small, kernel_target):
    case = f"{small / 'small.yaml'}:neg-inf"
    done = cli("explain", case, "-t", kernel_target("keeps_the_seed"))
    assert done.code == 0
    assert "indices: diverges  indices-sentinel, y-lowest-for-neg-inf" in done.out
    assert "=[-inf]" in done.out
    assert "(indices-sentinel)" in done.out
    assert "Y[0, 0, 0, 0]  rows 0-1, columns 0-1: expected -inf, got -3.4028235e+38  (y-lowest-for-neg-inf)" in done.out


def test_padding_is_shown_as_outside(cli, small, kernel_target):
    done = cli("explain", f"{small / 'small.yaml'}:padded", "-t", kernel_target("pads_with_zero"))
    assert done.code == 0
    assert "[~]" in done.out
    assert "y-pad-value-leak" in done.out


def test_one_window_can_be_asked_for(cli):
    done = cli("explain", NEG_INF + "three-axes", "--at", "0,1,0,0,1")
    assert done.code == 0
    assert done.out.count("X[0, 1, ") == 3
    assert "Y[0, 1, 0, 0, 1]" in done.out
    done = cli("explain", NEG_INF + "three-axes", "--at", "0,1")
    assert done.code == 2
    assert "Y has the shape [1, 2, 1, 1, 2], its first cell is 0,0,0,0,0" in done.err


def test_a_large_tensor_is_shown_around_the_window(cli):
    done = cli("explain", NEG_INF + "wide-w33", "--at", "0,0,0,20")
    assert done.code == 0
    drawing = done.out[done.out.index("Y[0, 0, 0, 20]") :].splitlines()
    assert drawing[2].split() == [str(column) for column in range(18, 25)]
    assert len(drawing) < 20


def test_a_target_that_cannot_be_started_is_exit_code_3(cli):
    done = cli("explain", NEG_INF + "three-axes", "-t", "torch?python=/nowhere")
    assert done.code == 3


def test_colour_where_it_is_wanted(cli, small, kernel_target):
    arguments = ["explain", f"{small / 'small.yaml'}:neg-inf", "-t", kernel_target("keeps_the_seed")]
    assert "\x1b[" in cli("--color", "always", *arguments).out
    assert "\x1b[" not in cli(*arguments).out


def test_a_wrong_shape_is_explained_by_the_axis_that_differs_and_its_formula(cli):
    done = cli("explain", "cases/edge/ceil-mode.yaml:off", "-t", kernel_named("sizes:ceils_always").target)
    assert done.code == 0
    assert (
        """
  axis D1: floor((5 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1) = 2 by onnx-22; the target has 3, as ceil gives
  The result equals a MaxPool with the other ceil_mode in 3 of 3 cells.
  Y has the shape [1, 1, 3], expected [1, 1, 2]; Indices has the shape [1, 1, 3], expected [1, 1, 2]
  X float32[1, 1, 5]
     1.0   5.0   2.0   4.0   3.0
  Y by the document float32[1, 1, 2]
     5.0   4.0
  Y from the target float32[1, 1, 3]
     5.0   4.0   3.0
"""
        in done.out
    )


def test_a_mistake_in_other_numbers_than_the_rounding_has_its_own_formula(cli):
    done = cli("explain", "cases/edge/ceil-mode.yaml:dilation", "-t", kernel_named("dilations:ignored").target)
    assert (
        """
  axis D1: ceil((7 + 0 + 0 - 3*(2 - 1) - 1)/2 + 1) = 3 by onnx-22;
           the target has 4, as ceil((7 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1) gives (dilation-ignored)
"""
        in done.out
    )


def test_both_outputs_of_a_wrong_shape_are_written(cli):
    target = kernel_named("axes:strides_exchanged").target
    done = cli("explain", "cases/edge/ceil-mode.yaml:dropped-on-one-axis", "-t", target)
    assert "  Y by the document float32[1, 1, 1, 2]\n     5.0   6.0\n" in done.out
    assert "  Y from the target float32[1, 1, 2, 1]\n     5.0\n     8.0\n" in done.out


def test_large_tensors_of_a_wrong_shape_are_not_written_cell_by_cell(cli, tmp_path):
    (tmp_path / "kernel.py").write_text("def flat(X, attributes):\n    return X.reshape(-1), X.reshape(-1)\n")
    (tmp_path / "large.yaml").write_text(
        "cases:\n  - id: large\n    input: {dtype: float32, shape: [1, 1, 12, 12], arange: {}}\n"
        "    attributes: {kernel_shape: [2, 2]}\n"
    )
    done = cli("explain", f"{tmp_path / 'large.yaml'}:large", "-t", f"python:{tmp_path / 'kernel.py'}:flat")
    assert done.code == 0
    assert "Y has the shape [144], expected [1, 1, 11, 11]" in done.out
    assert "X float32[1, 1, 12, 12]: 144 cells are not shown" in done.out
    assert "Y from the target float32[144]: 144 cells are not shown" in done.out


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_gets_lines_folded_between_words_but_whole_commands(columns, kernel_target):
    target = kernel_target("keeps_the_seed")
    lines = on_a_terminal(
        columns, "--color=never", "explain", "cases/edge/neg-inf.yaml:first-plane-float64", "-t", target
    )
    assert lines[-1] == f"Next: maxpool-check repro cases/edge/neg-inf.yaml:first-plane-float64 -t {target} -o repro"
    assert max(map(len, lines[:-1])) <= columns
    assert "indices-sentinel: Index is negative or the start value of the scan" in " ".join(" ".join(lines).split())
    assert "    0 =[-inf] [-inf] 4.0" in lines


def test_the_list_of_kinds_stays_in_two_columns_on_a_terminal_that_has_room(cli):
    lines = on_a_terminal(80, "--color=never", "explain")
    assert max(map(len, lines)) <= 80
    number = lines.index("  y-saturated-infinity     Y is the largest finite value of the dtype instead of")
    assert lines[number + 1] == f"{'':27}infinity."
    # A script reads one line for each kind.
    whole = cli("explain", COLUMNS="80").out.splitlines()
    assert "  y-saturated-infinity     Y is the largest finite value of the dtype instead of infinity." in whole


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("diverges", "the outputs contradict the document"),
        ("REVIEW", "of an upgrade: nothing changes, or something does, and not for the worse"),
        ("newly-refused", "it returned right outputs and is refused"),
        ("valid_ceil", "the output size is rounded up"),
        ("kept", "those of a NaN of the window"),
        ("stale", "a known defect that no longer occurs"),
    ],
)
def test_a_word_of_a_report_is_explained_by_the_documentation(cli, word, text):
    done = cli("explain", word)
    assert done.code == 0, done.err
    assert text in " ".join(done.out.split())
    assert {each["page"] for each in cli("explain", word, "--json").json["meanings"]} <= {"verdicts", "gate", "model"}


def test_defects_that_come_with_the_tool_are_known_beside_those_of_a_corpus(cli, tmp_path):
    shipped = cli("explain", "ORT-PAD-FOLDED", "--json", cwd=tmp_path).json
    (tmp_path / "cases/defects").mkdir(parents=True)
    (tmp_path / "cases/defects/own.yaml").write_text("known: []\n")
    (tmp_path / "cases/defects/versions.json").write_text('{"onnxruntime": {"1.31.1": []}}\n')
    done = cli("explain", "ORT-PAD-FOLDED", "--json", cwd=tmp_path)
    assert (done.code, done.json) == (0, shipped), done.err
    assert "ORT-PAD-FOLDED" in cli("defects", "list", "onnxruntime", cwd=tmp_path).out
