"""``explain``: kinds, and cases drawn."""

from maxpool_check.judging.kinds import DivergenceKind

NEG_INF = "cases/edge/neg-inf.yaml:"


def test_every_kind_is_listed_and_explained(cli):
    done = cli("explain")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines() if line.startswith("  ")] == [
        kind.value for kind in DivergenceKind
    ]
    done = cli("explain", "same-ignores-dilation")
    assert done.code == 0
    assert "K = (k - 1) * d + 1" in done.out
    assert "Actual Y float32[1, 1, 2, 2]\n     9.0   8.0\n     6.0   5.0\n" in done.out


def test_what_is_neither_a_kind_nor_a_case_is_refused(cli):
    done = cli("explain", "y-lowest-for-inf")
    assert done.code == 2
    assert "'y-lowest-for-inf' is neither a kind (did you mean 'y-lowest-for-neg-inf'?) nor a case" in done.err
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
    assert "which is no cell of X  (indices-sentinel)" in done.out
    assert "Y: expected -inf, got -3.4028235e+38  (y-lowest-for-neg-inf)" in done.out


def test_padding_is_shown_as_outside(cli, small, kernel_target):
    done = cli("explain", f"{small / 'small.yaml'}:padded", "-t", kernel_target("pads_with_zero"), "--color", "never")
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
    assert drawing[1].split() == [str(column) for column in range(18, 25)]
    assert len(drawing) < 20


def test_a_target_that_cannot_be_started_is_exit_code_3(cli):
    done = cli("explain", NEG_INF + "three-axes", "-t", "torch?python=/nowhere")
    assert done.code == 3


def test_colour_where_it_is_wanted(cli, small, kernel_target):
    arguments = ["explain", f"{small / 'small.yaml'}:neg-inf", "-t", kernel_target("keeps_the_seed")]
    assert "\x1b[" in cli(*arguments, "--color", "always").out
    assert "\x1b[" not in cli(*arguments).out
