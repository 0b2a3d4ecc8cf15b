"""``gate``, ``bisect`` and ``history``, as a user types them."""

import itertools
import json

import pytest
from junitparser import JUnitXml

from tests.conftest import CASES

RELEASES = pytest.mark.network


@pytest.mark.parametrize(
    ("base", "head", "code", "line"),
    [
        ("right", "right", 0, "SAFE  no observable change in 12 executions"),
        pytest.param("right", "keeps_the_seed", 1, "BLOCK  2 regressed of 12 executions", marks=pytest.mark.long),
        ("keeps_the_seed", "right", 0, "REVIEW  2 fixed of 12 executions"),
        ("right", "refuses_everything", 1, "BLOCK  10 newly-refused of 12 executions"),
        pytest.param(
            "refuses_everything", "right", 0, "REVIEW  10 newly-accepted of 12 executions", marks=pytest.mark.long
        ),
        pytest.param("right", "dies_of_a_signal", 1, "BLOCK  2 crash-new of 12 executions", marks=pytest.mark.long),
        pytest.param("accepts_everything", "right", 0, "REVIEW  2 fixed of 12 executions", marks=pytest.mark.long),
        ("right", "y_alone", 0, "REVIEW  5 missing of 12 executions"),
    ],
)
def test_the_last_line_of_a_gate(cli, small, kernel_target, tmp_path, base, head, code, line):
    records = [tmp_path / name for name in ("base.jsonl", "head.jsonl")]
    for target, record in zip((base, head), records, strict=True):
        cli("run", small, "-t", kernel_target(target), "--known", "none", "-o", record)
    done = cli("gate", *records)
    assert done.out.rstrip().splitlines()[-1] == line, done.out + done.err
    assert done.code == code


@pytest.mark.parametrize(
    ("change", "shown"),
    [({"tool": "9.9.9"}, "9.9.9 (SHA-256 "), ({"tool_files": {"sha256": "5e" * 32}}, f"(SHA-256 {'5e' * 8})")],
)
def test_records_of_other_versions_of_the_tool_are_named_and_change_no_exit_code(
    cli, small, kernel_target, tmp_path, change, shown
):
    new, old, page, markdown = (tmp_path / name for name in ("new.jsonl", "old.jsonl", "c.html", "c.md"))
    cli("run", small, "-t", kernel_target("right"), "--known", "none", "-o", new)
    header, *rest = new.read_text().splitlines(keepends=True)
    old.write_text(json.dumps({**json.loads(header), **change}) + "\n" + "".join(rest))
    reports = ("--report", f"html={page}", "--report", f"markdown={markdown}")
    done = cli("gate", old, new, *reports)
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("SAFE ")
    for text in (done.out, page.read_text(), markdown.read_text()):
        assert "different versions of maxpool-check" in text
        assert shown in text
    (comparison,) = cli("gate", old, new, "--report", "json").json["comparisons"]
    assert shown in "".join(comparison["tools"])
    same = cli("gate", new, new, "--report", "json")
    assert same.json["comparisons"][0]["tools"] == []


def test_two_targets_are_run_side_by_side(cli, small, kernel_target, tmp_path):
    paths = [tmp_path / name for name in ("r.jsonl", "r.md", "r.json")]
    done = cli(
        "gate", small, "--base", kernel_target("right"), "--head", kernel_target("keeps_the_seed"), "-j", 2,
        "-o", paths[0], "--report", f"markdown={paths[1]}", "--report", f"json={paths[2]}",
    )  # fmt: skip
    assert done.code == 1
    assert "BLOCKS  regressed: conforms -> indices-sentinel, y-lowest-for-neg-inf  1 case" in done.out
    assert "expected -inf, got -3.4028235e+38" in done.out
    assert "**BLOCK** 2 regressed of 12 executions" in paths[1].read_text()
    document = json.loads(paths[2].read_text())
    (comparison,) = document["comparisons"]
    assert document["schema"] == "maxpool-check/gate/1"
    assert (document["exit_code"], comparison["decision"], comparison["compared"]) == (1, "BLOCK", 12)
    assert comparison["summary"] == {
        **dict.fromkeys(comparison["summary"], 0), "regressed": 2, "same": 10,
    }  # fmt: skip
    assert len(comparison["transitions"]) == 12
    (worst, _) = [one for one in comparison["transitions"] if one["change"] == "regressed"]
    assert worst["new"]["kinds"] == ["indices-sentinel", "y-lowest-for-neg-inf"]
    assert worst["new"]["cells"][0]["got"] == "-3.4028235e+38"
    assert worst["old"]["verdict"] == "conforms"
    # The record holds both, and compares the same.
    again = cli(
        "gate", paths[0], paths[0], "--base", kernel_target("right"), "--head", kernel_target("keeps_the_seed"),
    )  # fmt: skip
    assert again.code == 1
    assert again.out == done.out


def test_other_changes_can_block(cli, small, kernel_target):
    asked = ("gate", small, "--base", kernel_target("keeps_the_seed"), "--head", kernel_target("right"))
    assert cli(*asked, "--fail-on", "fixed").out.rstrip().endswith("BLOCK  2 fixed of 12 executions")
    assert cli(*asked, "--fail-on", "any").code == 1
    wrong = cli(*asked, "--fail-on", "fixd")
    assert wrong.code == 2
    assert "did you mean 'fixed'?" in wrong.err


def test_a_gate_whose_target_cannot_start_is_incomplete(cli, small, kernel_target, tmp_path):
    missing = f"python:{tmp_path}/nothing.py:f"
    done = cli("gate", small, "--base", kernel_target("right"), "--head", missing)
    assert done.code == 3
    assert done.out.splitlines()[-1].startswith("INCOMPLETE")
    as_json = cli("gate", small, "--base", kernel_target("right"), "--head", missing, "--report", "json")
    assert as_json.json["exit_code"] == as_json.code == 3


def test_a_gate_where_nothing_can_be_compared(cli, tmp_path, kernel_target):
    (tmp_path / "x.yaml").write_text(
        "spec: openvino-8\ncases:\n  - id: a\n    input: {dtype: int32, shape: [1, 1, 2], fill: 0}\n"
        "    attributes: {kernel: [2], strides: [1], pads_begin: [0], pads_end: [0]}\n"
    )
    done = cli("gate", tmp_path / "x.yaml", "--base", kernel_target("right"), "--head", kernel_target("y_alone"))
    assert (done.code, done.out.rstrip().splitlines()[-1].split()[:2]) == (4, ["NOTHING", "COMPARED"])


def test_records_of_different_cases(cli, small, kernel_target, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    cli("run", small, "-t", kernel_target("right"), "-o", old)
    text = (small / "small.yaml").read_text()
    (small / "small.yaml").write_text(text.replace("arange: {start: -9}", "arange: {start: -8}"))
    cli("run", small, "-t", kernel_target("right"), "-o", new)
    done = cli("gate", old, new)
    assert done.code == 2
    assert "small:padded is not the same case in both" in done.err
    assert "--intersection" in done.err
    left = cli("gate", old, new, "--intersection")
    assert (left.code, left.out.rstrip().splitlines()[-1]) == (
        0,
        "SAFE  no observable change in 10 executions; 1 case left out",
    )


def test_an_incomplete_record_is_compared_and_never_green(cli, small, kernel_target, tmp_path):
    old, cut = tmp_path / "old.jsonl", tmp_path / "cut.jsonl"
    cli("run", small, "-t", kernel_target("right"), "-o", old)
    cut.write_text("\n".join(old.read_text().splitlines()[:-3]) + "\n")
    done = cli("gate", old, cut)
    assert done.code == 3
    assert done.out.rstrip().splitlines()[-1].startswith("INCOMPLETE  the new record is incomplete")
    assert cli("gate", old, tmp_path / "nothing.jsonl").code == 2


def test_values_that_conform_and_differ_are_shown(cli, tmp_path, kernel_target):
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - id: tie\n    input: {dtype: float32, shape: [1, 1, 2, 2], fill: 5}\n"
        "    attributes: {kernel_shape: [2, 2]}\n"
    )
    done = cli(
        "gate", tmp_path / "x.yaml", "--base", kernel_target("right"), "--head", kernel_target("names_the_last_tie")
    )
    assert done.out.rstrip().splitlines()[-1] == "REVIEW  1 conforming-but-different of 2 executions"
    assert "Indices[0, 0, 0, 0]: reference 0, new 3" in done.out


def test_a_gate_in_a_workflow_annotates_what_blocks_and_appends_to_the_summary(cli, small, kernel_target, tmp_path):
    summary, junit = tmp_path / "summary.md", tmp_path / "gate.xml"
    summary.write_text("Of an earlier step.\n")
    gate = ("gate", small, "--base", kernel_target("right"), "--head", kernel_target("keeps_the_seed"))
    written = ("--report", f"github={summary}", "--report", f"junit={junit}")
    workflow = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = cli(*gate, *written, **workflow)
    assert done.code == 1
    # With Indices and for Y alone the kinds are others.
    annotations = [line for line in done.out.splitlines() if line.startswith("::error")]
    assert len(annotations) == 2
    for line in annotations:
        assert ",title=regressed on" in line
        assert "small.yaml,line=" in line
        assert "expected -inf, got -3.4028235e+38" in line
    text = summary.read_text()
    assert text.startswith("Of an earlier step.\n#")
    assert "**BLOCK** 2 regressed of 12 executions" in text
    document = JUnitXml.fromfile(str(junit))
    assert (document.tests, document.failures) == (6, 1)
    # Outside of a workflow, and where another format takes stdout, nothing is annotated.
    assert "::error" not in cli(*gate, *written).out
    assert "::error" not in cli(*gate, *written, "--report", "json", **workflow).out


NEG_INF = "sonnx/float:float-example-3"
SONNX = CASES / "sonnx"


@RELEASES
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([NEG_INF, "--kind", "y-lowest-for-neg-inf"],
         "last 1.28.0 diverges (y-lowest-for-neg-inf), first 1.29.0 conforms"),
        pytest.param([NEG_INF, "--kind", "indices-sentinel"],
                     "last 1.28.0 diverges (indices-sentinel), first 1.29.0 conforms", marks=pytest.mark.long),
        pytest.param(["refusals/attributes:strides-zero-rows"],
                     "last 1.27.0 crashes (crash), first 1.28.0 conforms", marks=pytest.mark.long),
        pytest.param(["refusals/attributes:dilations-zero", "--variant", "y-only"],
                     "last 1.25.1 diverges (accepts-invalid), first 1.26.0 conforms", marks=pytest.mark.long),
        pytest.param(["onnx/version-10:ceil-last-window-in-padding"],
                     "last 1.20.1 undefined, first 1.21.0 diverges (ceil-clip-exchanged)", marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_the_release_where_a_verdict_changes(cli, arguments, line):
    done = cli("bisect", *arguments, "--from", "1.19")
    assert done.code == 0, done.err
    assert done.out.rstrip().splitlines()[-1] == f"CHANGED  {line}"


@RELEASES
@pytest.mark.long
def test_a_bisection_as_json(cli, tmp_path):
    asked = ("bisect", NEG_INF, "--from", "1.28", "--to", "1.30.0")
    done = cli(*asked, "--report", "json", "--report", f"json={tmp_path / 'found.json'}")
    document = done.json
    assert done.code == document["exit_code"] == 0
    assert document == json.loads((tmp_path / "found.json").read_text())
    assert document["releases"] == ["1.28.0", "1.29.0", "1.30.0"]
    (boundary,) = document["boundaries"]
    assert (boundary["last"]["version"], boundary["first"]["version"]) == ("1.28.0", "1.29.0")


@RELEASES
def test_a_verdict_that_does_not_change(cli, tmp_path):
    reports = {form: tmp_path / form for form in ("markdown", "json", "junit", "sarif")}
    done = cli(
        "bisect", "sonnx/float:float-example-1", "--from", "1.29.0", "--to", "1.30.0",
        *itertools.chain.from_iterable(("--report", f"{form}={path}") for form, path in reports.items()),
    )  # fmt: skip
    sentence = "no change from 1.29.0 to 1.30.0: conforms"
    assert (done.code, done.out.rstrip().splitlines()[-1]) == (1, f"UNCHANGED  {sentence}")
    assert f"**UNCHANGED** {sentence}" in reports["markdown"].read_text()
    assert json.loads(reports["json"].read_text())["exit_code"] == 1
    (suite,) = JUnitXml.fromfile(str(reports["junit"]))
    assert [test.name for test in suite] == ["onnxruntime 1.29.0", "onnxruntime 1.30.0"]
    assert suite.failures == 0
    assert json.loads(reports["sarif"].read_text())["runs"][0]["results"] == []


def test_bad_words_to_bisect(cli):
    for arguments, words in (
        (["sonnx/float:float-example-9"], "did you mean"),
        ([NEG_INF, "--kind", "y-lowest"], "unknown kind 'y-lowest'"),
        ([NEG_INF, "--variant", "both"], "has no variant 'both'; it has indices, y-only"),
        ([NEG_INF, "--target", "onnxruntime==1.23.2"], "is one version"),
        ([NEG_INF, "--from", "new"], "Invalid version"),
    ):
        done = cli("bisect", *arguments)
        assert done.code == 2
        assert words in done.err


@RELEASES
def test_no_release_in_the_range(cli):
    done = cli("bisect", NEG_INF, "--from", "999")
    assert done.code == 2
    assert "no release of onnxruntime lies between 999 and the newest" in done.err


@RELEASES
def test_a_history_of_two_releases(cli, tmp_path):
    report, junit = tmp_path / "h.md", tmp_path / "h.xml"
    done = cli(
        "history", SONNX, "--versions", "1.28..1.29.0", "--report", f"markdown={report}", "--report", f"junit={junit}",
        "--report", "json",
    )  # fmt: skip
    document = done.json
    assert done.code == 0
    old, new = document["releases"]
    assert (old["version"], new["version"]) == ("1.28.0", "1.29.0")
    assert old["kinds"]["y-lowest-for-neg-inf"] >= 2
    assert "indices-sentinel" not in new["kinds"]
    (step,) = document["changes"]
    assert step["summary"]["fixed"] > 0
    assert "1.28.0 to 1.29.0: " in report.read_text()
    assert [suite.name for suite in JUnitXml.fromfile(str(junit))] == ["onnxruntime 1.28.0", "onnxruntime 1.29.0"]


def test_bad_versions_of_a_history(cli):
    done = cli("history", SONNX, "--versions", "1.28")
    assert done.code == 2
    assert "is not A..B or A..B,every=minor" in done.err
