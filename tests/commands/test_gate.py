"""What blocks a gate: what a user has accepted, severities, several bases and heads, and the documents that are compared."""

import re
from datetime import date, timedelta

import pytest
import yaml

from tests.conftest import CASES, KERNELS, SMALL, command

TOMORROW = date.today() + timedelta(days=1)
ACCEPTED = ("--author", "A. Author", "--reason", "It never gets there", "--expires", TOMORROW)


@pytest.fixture(scope="module")
def gated(tmp_path_factory):
    """The record of a gate that blocks; no test changes it."""
    folder = tmp_path_factory.mktemp("gated")
    cases, record = folder / "corpus", folder / "gate.jsonl"
    cases.mkdir()
    (cases / "small.yaml").write_text(SMALL)
    base, head = (f"python:{KERNELS}:{name}" for name in ("right", "keeps_the_seed"))
    assert command("gate", cases, "--base", base, "--head", head, "-o", record).code == 1
    return record


def compared(cli, record, kernel_target, *arguments):
    return cli(
        "gate", record, record, "--base", kernel_target("right"), "--head", kernel_target("keeps_the_seed"),
        *arguments,
    )  # fmt: skip


def last(done):
    return done.out.rstrip().splitlines()[-1]


def test_accepted_changes_are_to_review_and_stay_visible(cli, gated, kernel_target, tmp_path):
    accepted = tmp_path / "accepted.yaml"
    accepted.write_text("# Reviewed by two.\naccepted: []\n")
    written = cli("gate", "accept", gated, "-o", accepted, *ACCEPTED)
    assert (written.code, written.err) == (0, "")
    assert "2 changes of 1 case accepted" in written.out
    assert accepted.read_text().startswith("# Reviewed by two.\n")
    done = compared(cli, gated, kernel_target, "--accept", accepted, "-v")
    assert (done.code, last(done)) == (0, "REVIEW  2 regressed (accepted) of 12 executions")
    assert f"accepted: It never gets there (A. Author, until {TOMORROW})" in done.out
    document = compared(cli, gated, kernel_target, "--accept", accepted, "--report", "json").json["comparisons"][0]
    (entry, _) = [each["accepted"] for each in document["transitions"] if each["change"] == "regressed"]
    assert entry == {"author": "A. Author", "reason": "It never gets there", "expires": str(TOMORROW)}
    for form in ("markdown", "github", "html", "junit", "sarif"):
        assert "It never gets there" in compared(cli, gated, kernel_target, "--accept", accepted, "--report", form).out
    # There is nothing left to accept.
    assert cli("gate", "accept", gated, "-o", accepted, *ACCEPTED).out.endswith(
        f"nothing blocks that {accepted} does not accept already\n"
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"expires": "2020-01-01"},
            "acceptance expired on 2020-01-01: regressed of small:neg-inf: It never gets there (A. Author)",
        ),
        ({"kinds": ["y-signed-zero"]}, "accepted, but no longer so; remove the entry: regressed of small:neg-inf"),
        ({"change": "newly-refused"}, "accepted, but no longer so; remove the entry: newly-refused of small:neg-inf"),
        ({"cases": ["small:ordinary"]}, "accepted, but no longer so; remove the entry: regressed of small:ordinary"),
        ({"runtime": "onnxruntime"}, ""),
        ({"cases": ["small:neg-imf"]}, ""),
    ],
)
def test_nothing_but_what_was_accepted_is(cli, gated, kernel_target, tmp_path, changed, message):
    accepted = tmp_path / "accepted.yaml"
    cli("gate", "accept", gated, "-o", accepted, *ACCEPTED)
    entries = yaml.safe_load(accepted.read_text())["accepted"]
    accepted.write_text(yaml.safe_dump({"accepted": [{**entry, **changed} for entry in entries]}))
    done = compared(cli, gated, kernel_target, "--accept", accepted)
    assert (done.code, last(done)) == (1, "BLOCK  2 regressed of 12 executions")
    assert message in done.out
    assert message or "accepted" not in done.out


def test_what_is_wrong_in_both_is_listed_and_no_change(cli, small, kernel_target):
    record = cli("run", small, "-t", kernel_target("keeps_the_seed"), "-o", "-", "--known", "none").out
    (small / "record.jsonl").write_text(record)
    both = cli("gate", small / "record.jsonl", small / "record.jsonl")
    assert re.search(
        r"wrong in both, which is no change\n.*\n.*indices-sentinel, y-lowest-for-neg-inf +1 +small:neg-inf", both.out
    )
    assert last(both) == "SAFE  no observable change in 12 executions"


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["neg-imf"], "-k: the record has no case 'neg-imf'"),
        (["ordinary"], "nothing blocks in the cases that -k selects"),
    ],
)
def test_cases_are_chosen_to_be_accepted(cli, gated, tmp_path, patterns, message):
    done = cli("gate", "accept", gated, "-o", tmp_path / "a.yaml", *ACCEPTED, "-k", *patterns)
    assert message in done.out + done.err
    assert not (tmp_path / "a.yaml").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accepted:\n  - change: regresed\n", "accepted.yaml:2:"),
        ("accepted:\n  - {change: regressed, runtime: onnxruntime, cases: [a], author: A, reason: B}\n", "'expires'"),
        (
            "accepted:\n  - {change: regressed, runtime: onnxruntme, cases: [a], author: A, reason: B, expires: 2099-01-01}\n",
            "unknown runtime 'onnxruntme' (did you mean 'onnxruntime'?)",
        ),
        ("acepted: []\n", "unknown key 'acepted' (did you mean 'accepted'?)"),
    ],
)
def test_mistakes_in_a_file_of_accepted_changes_have_their_place(cli, gated, kernel_target, tmp_path, text, message):
    accepted = tmp_path / "accepted.yaml"
    accepted.write_text(text)
    done = compared(cli, gated, kernel_target, "--accept", accepted)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [
        ("wrong-on-finite", 0),
        ("wrong-on-special", 1),
        ("regressed,wrong-on-finite,crash", 0),
        ("newly-refused", 0),
        ("any", 1),
    ],
)
def test_severities_narrow_what_blocks(cli, gated, kernel_target, fail_on, code):
    done = compared(cli, gated, kernel_target, "--fail-on", fail_on)
    assert done.code == code, done.out


WINDOWS = """\
cases:
  - {id: ordinary, title: T, input: {dtype: float32, data: [[[1, 2]]]}, attributes: {kernel_shape: [2]}}
  - {id: large, title: T, input: {dtype: float32, shape: [1, 1, 40], arange: {}}, attributes: {kernel_shape: [40]}}
  - {id: zeros, title: T, input: {dtype: uint8, data: [[[0, 0]]]}, attributes: {kernel_shape: [2]}}
  - {id: lowest-int8, title: T, input: {dtype: int8, data: [[[-128, -128]]]}, attributes: {kernel_shape: [2]}}
  - {id: neg-inf, title: T, input: {dtype: float16, data: [[[-.inf, -.inf]]]}, attributes: {kernel_shape: [2]}}
  - {id: lowest, title: T, input: {dtype: float16, data: [[[lowest, lowest]]]}, attributes: {kernel_shape: [2]}}
  - {id: infinity, title: T, input: {dtype: float32, data: [[[.inf, 1]]]}, attributes: {kernel_shape: [2]}}
  - {id: several, title: T, input: {dtype: float32, data: [[[-.inf, 0, -.inf]]]}, attributes: {kernel_shape: [1]}}
  - {id: nan, title: T, policies: {nan: as-neg-inf}, input: {dtype: float32, data: [[[.nan, 2]]]}, attributes: {kernel_shape: [2]}}
"""


@pytest.mark.parametrize(
    ("kernel", "case", "code"),
    [
        ("gives_nan", "ordinary", 1),
        ("gives_nan", "large", 1),
        ("gives_nan", "infinity", 0),
        ("gives_nan", "nan", 0),
        ("gives_minus_one", "ordinary", 1),
        ("gives_minus_one", "zeros", 1),
        ("gives_minus_one", "neg-inf", 0),
        ("gives_minus_one", "lowest", 0),
        ("keeps_the_seed", "zeros", 1),
        ("keeps_the_seed", "lowest-int8", 1),
        ("keeps_the_seed", "neg-inf", 0),
        ("gives_no_index_at_all", "several", 1),
        ("saturates", "infinity", 0),
    ],
)
def test_nan_and_negative_indices_are_wrong_on_finite_values_unless_the_window_is_special(
    cli, tmp_path, kernel_target, kernel, case, code
):
    (tmp_path / "windows.yaml").write_text(WINDOWS)
    sides = ("--base", kernel_target("right"), "--head", kernel_target(kernel), "-k", case)
    done = cli("gate", tmp_path / "windows.yaml", *sides, "--fail-on", "wrong-on-finite,crash")
    assert done.code == code, done.out
    assert "regressed" in done.out


def test_a_wrong_value_that_is_refused_now_blocks_if_asked_for(cli, small, kernel_target):
    sides = ("--base", kernel_target("keeps_the_seed"), "--head", kernel_target("refuses_everything"), "-k", "neg-inf")
    done = cli("gate", small, *sides)
    assert (done.code, last(done)) == (0, "REVIEW  2 wrong-to-refused of 2 executions")
    assert cli("gate", small, *sides, "--fail-on", "wrong-to-refused").code == 1


def test_each_head_is_compared_with_each_base_and_the_worst_decides(cli, small, kernel_target):
    right, seed, plane = (kernel_target(name) for name in ("right", "keeps_the_seed", "counts_in_the_plane"))
    done = cli("gate", small, "--base", right, "--base", seed, "--head", plane, "--report", "json")
    pairs = [(each["old"]["name"], each["new"]["name"], each["decision"]) for each in done.json["comparisons"]]
    assert pairs == [(right, plane, "BLOCK"), (seed, plane, "BLOCK")]
    assert done.code == 1
    again = cli("gate", small, "--base", right, "--head", plane, "--head", right)
    assert (again.code, "the base and the head are the same" in again.err) == (2, True)


def test_variants_are_compared_too(cli, small, kernel_target):
    sides = ("--base", kernel_target("right"), "--head", kernel_target("alternates"), "-k", "ordinary")
    assert cli("gate", small, *sides, "--variants", "default,twice", MAXPOOL_CHECK_MEMORY="4096").code == 1


def test_by_default_the_documents_are_those_that_the_targets_claim(cli, tmp_path):
    record = tmp_path / "record.jsonl"
    cli("run", CASES / "edge/nan-sonnx.yaml", CASES / "edge/ties.yaml", "-t", "onnxruntime", "-q", "-o", record)
    sides = ("--base", "onnxruntime", "--head", "onnxruntime?sessions=reused", "--report", "json")

    def documents(*arguments):
        done = cli("gate", CASES / "edge/nan-sonnx.yaml", CASES / "edge/ties.yaml", *sides, *arguments)
        assert done.code == 0, done.err
        (comparison,) = done.json["comparisons"]
        assert comparison["decision"] == "SAFE"
        return {each["case"].partition(":")[0] for each in comparison["transitions"]}, done.err

    claimed, notice = documents()
    assert claimed == {"edge/ties"}
    assert "--spec all" in notice
    assert documents("--spec", "all") == ({"edge/ties", "edge/nan-sonnx"}, "")
    assert documents("--spec", "sonnx")[0] == {"edge/nan-sonnx"}
    same = cli("gate", record, record, "--spec", "sonnx", "--report", "json").json["comparisons"][0]
    assert {each["case"].partition(":")[0] for each in same["transitions"]} == {"edge/nan-sonnx"}


def test_a_wrong_result_that_was_not_executed_before_is_no_improvement(cli, small, kernel_target, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    words = ("run", small, "-t", kernel_target("keeps_the_seed"), "-q", "--known", "none")
    cli(*words, "-k", "ordinary", "-o", old)
    cli(*words, "-k", "ordinary", "-k", "neg-inf", "-o", new)
    done = cli("gate", old, new)
    assert "TO REVIEW  added: indices-sentinel, y-lowest-for-neg-inf" in done.out
    assert "BETTER" not in done.out
