"""``gate``, ``bisect`` and ``history``: targets, records and releases are compared."""

import json
import re
import signal
from collections import Counter
from datetime import date, timedelta

import pytest
import yaml
from junitparser import JUnitXml

from maxpool_check.results.storage import read
from tests.conftest import CASES, KERNELS, SMALL, command, replying, reports_in

RIGHT, SEED = (f"python:{KERNELS}:{name}" for name in ("right", "keeps_the_seed"))
TOMORROW = date.today() + timedelta(days=1)
ACCEPTED = ("--author", "A. Author", "--reason", "It never gets there", "--expires", TOMORROW)
OTHERS = ("refuses_everything", "y_alone", "dies_of_a_signal")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gated") / "corpus"
    folder.mkdir()
    (folder / "small.yaml").write_text(SMALL)
    return folder


@pytest.fixture(scope="module")
def every(corpus):
    """The record of several kernels; no test changes it."""
    record = corpus.parent / "every.jsonl"
    targets = [word for name in ("right", "keeps_the_seed", *OTHERS) for word in ("-t", f"python:{KERNELS}:{name}")]
    command("run", corpus, *targets, "--known", "none", "-q", "-o", record)
    assert len(read(record).header.targets) == 5
    return record


@pytest.fixture(scope="module")
def gated(corpus):
    """A gate of two targets with its reports, and its record; no test changes it."""
    folder = corpus.parent
    (folder / "github").write_text("Of an earlier step.\n")
    reports = reports_in(folder, "json", "markdown", "github")
    words = ("gate", corpus, "--base", RIGHT, "--head", SEED, "-j", "2", "-o", folder / "gate.jsonl", *reports)
    return command(*words, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(folder / "github")), folder / "gate.jsonl"


def last(done):
    return [line for line in done.out.splitlines() if line and not line.startswith("Next: ")][-1]


def compared(cli, record, *arguments):
    return cli("gate", record, record, "--base", RIGHT, "--head", SEED, *arguments)


@pytest.mark.parametrize(
    ("base", "head", "options", "line"),
    [
        ("right", "right", "", "SAFE  no observable change in 12 executions"),
        ("right", "keeps_the_seed", "", "BLOCK  2 regressed of 12 executions"),
        ("right", "keeps_the_seed", "--fail-on wrong-on-special", "BLOCK  2 regressed of 12 executions"),
        ("right", "keeps_the_seed", "--fail-on wrong-on-finite", "REVIEW  2 regressed of 12 executions"),
        ("keeps_the_seed", "right", "", "REVIEW  2 fixed of 12 executions"),
        ("keeps_the_seed", "right", "--fail-on fixed", "BLOCK  2 fixed of 12 executions"),
        ("right", "refuses_everything", "", "BLOCK  10 newly-refused of 12 executions"),
        ("refuses_everything", "right", "", "REVIEW  10 newly-accepted of 12 executions"),
        ("right", "dies_of_a_signal", "", "BLOCK  2 crash-new of 12 executions"),
        ("right", "y_alone", "", "REVIEW  5 missing of 12 executions"),
    ],
)
def test_the_last_line_of_a_gate(cli, every, base, head, options, line):
    names = (f"python:{KERNELS}:{base}", f"python:{KERNELS}:{head}")
    words = ("gate", every, every, "--base", names[0], "--head", names[1], *options.split())
    done, quiet = cli(*words), cli(*words, "-q")
    assert (last(done), done.code) == (line, int(line.startswith("BLOCK"))), done.out + done.err
    assert (quiet.code, quiet.out, quiet.err) == (done.code, "", f"{line}\n" * done.code)


def test_two_targets_are_run_side_by_side(cli, gated):
    done, record = gated
    blocks = "BLOCKS  regressed: conforms -> indices-sentinel, y-lowest-for-neg-inf  1 case"
    done.check(1, blocks, "expected -inf, got -3.4028235e+38")
    texts = {form: (record.parent / form).read_text() for form in ("json", "markdown", "github")}
    assert "**BLOCK** 2 regressed of 12 executions" in texts["markdown"]
    (comparison,) = json.loads(texts["json"])["comparisons"]
    assert (comparison["decision"], comparison["compared"]) == ("BLOCK", 12)
    # In a workflow, the fault that blocks is annotated, with Indices and for Y alone, and the summary is appended to.
    annotations = [line for line in done.out.splitlines() if line.startswith("::error")]
    assert len(annotations) == 1
    for line in annotations:
        assert ",title=regressed on" in line
        assert "small.yaml,line=" in line
        assert "expected -inf, got -3.4028235e+38" in line
    assert texts["github"].startswith("Of an earlier step.\n#")
    assert "**BLOCK** 2 regressed of 12 executions" in texts["github"]
    # The record holds both, and compares the same. Outside of a workflow, nothing is annotated.
    again = compared(cli, record).check(1)
    lines = [line for line in done.out.splitlines() if line not in annotations]
    assert again.out.splitlines()[:-1] == lines[:-1]
    assert (again.out + lines[-1]).count("Next: maxpool-check defects accept ") == 2


def test_records_of_other_versions_of_the_tool_are_named_and_change_no_exit_code(cli, gated, tmp_path):
    old = tmp_path / "old.jsonl"
    header, *rest = gated[1].read_text().splitlines(keepends=True)
    old.write_text(json.dumps({**json.loads(header), "tool_files": {"sha256": "5e" * 32}}) + "\n" + "".join(rest))
    for form in ("text", "markdown", "html", "json"):
        cli("gate", old, gated[1], "--base", RIGHT, "--head", RIGHT, "--report", form).check(0, f"(SHA-256 {'5e' * 8})")
    assert compared(cli, gated[1], "--report", "json").json["comparisons"][0]["tools"] == []


def test_what_cannot_be_compared_is_never_green(cli, corpus, every, tmp_path):
    missing = ("gate", corpus, "--base", RIGHT, "--head", f"python:{tmp_path}/nothing.py:f")
    done = cli(*missing)
    assert (done.code, last(done).split()[0]) == (3, "INCOMPLETE")
    as_json = cli(*missing, "--report", "json")
    assert as_json.json["exit_code"] == as_json.code == 3
    (tmp_path / "x.yaml").write_text(
        "spec: openvino-8\ncases:\n  - id: a\n    input: {dtype: int32, shape: [1, 1, 2], fill: 0}\n"
        "    attributes: {kernel: [2], strides: [1], pads_begin: [0], pads_end: [0]}\n"
    )
    done = cli("gate", tmp_path / "x.yaml", "--base", RIGHT, "--head", f"python:{KERNELS}:y_alone")
    assert (done.code, last(done).split()[:2]) == (4, ["NOTHING", "COMPARED"])
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join(every.read_text().splitlines()[:-3]) + "\n")
    done = cli("gate", every, cut, "--base", RIGHT, "--head", RIGHT).check(3)
    assert last(done).startswith("INCOMPLETE  the new record is incomplete")


def test_records_of_different_cases(cli, small, every, tmp_path):
    new = tmp_path / "new.jsonl"
    text = (small / "small.yaml").read_text()
    (small / "small.yaml").write_text(text.replace("arange: {start: -9}", "arange: {start: -8}"))
    cli("run", small, "-t", RIGHT, "-q", "-o", new)
    words = ("gate", every, new, "--base", RIGHT, "--head", RIGHT)
    cli(*words).check(2, "small:padded is not the same case in both", "--intersection")
    left = cli(*words, "--intersection")
    assert (left.code, last(left)) == (0, "SAFE  no observable change in 10 executions; 1 case left out")


def test_accepted_changes_are_to_review_and_stay_visible(cli, gated, tmp_path):
    accepted = tmp_path / "accepted.yaml"
    accepted.write_text("# Reviewed by two.\naccepted: []\n")
    assert "nothing blocks in what -k and --kind select" in accept(cli, gated, accepted, "-k", "ordinary").out
    accept(cli, gated, accepted).check(0, "2 changes of 1 case accepted", err="")
    assert accepted.read_text().startswith("# Reviewed by two.\n")
    reason = f"accepted: It never gets there (A. Author, until {TOMORROW})"
    done = compared(cli, gated[1], "--known", accepted, "-v").check(0, reason)
    assert last(done) == "REVIEW  2 regressed (accepted) of 12 executions"
    document = compared(cli, gated[1], "--known", accepted, "--report", "json").json["comparisons"][0]
    (entry,) = [each["accepted"] for each in document["changes"] if each["change"] == "regressed"]
    assert entry == {"author": "A. Author", "reason": "It never gets there", "expires": str(TOMORROW)}
    for form in ("markdown", "github", "html", "junit", "sarif"):
        assert "It never gets there" in compared(cli, gated[1], "--known", accepted, "--report", form).out
    nothing = f"nothing blocks that {accepted} does not accept already\n"
    assert accept(cli, gated, accepted).out.endswith(nothing)


def accept(cli, gated, file, *arguments):
    return cli("defects", "accept", gated[1], "-o", file, *ACCEPTED, *arguments)


EXPIRED = "acceptance expired on 2020-01-01: regressed of small:neg-inf: It never gets there (A. Author)"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"expires": "2020-01-01"}, EXPIRED),
        ({"kinds": ["y-signed-zero"]}, "accepted, but no longer so; remove the entry: regressed of small:neg-inf"),
        ({"cases": ["small:ordinary"]}, "accepted, but no longer so; remove the entry: regressed of small:ordinary"),
        ({"runtime": "onnxruntime"}, ""),
    ],
)
def test_nothing_but_what_was_accepted_is(cli, gated, tmp_path, changed, message):
    accepted = tmp_path / "accepted.yaml"
    accept(cli, gated, accepted)
    entries = yaml.safe_load(accepted.read_text())["accepted"]
    accepted.write_text(yaml.safe_dump({"accepted": [{**entry, **changed} for entry in entries]}))
    done = compared(cli, gated[1], "--known", accepted).check(1, message or None)
    assert last(done) == "BLOCK  2 regressed of 12 executions"
    assert message or "accepted" not in done.out.partition("Next: ")[0]


def test_what_is_wrong_in_both_is_listed_and_no_change(cli, every):
    both = cli("gate", every, every, "--base", SEED, "--head", SEED)
    listed = r"wrong in both, which is no change\n.*\n.*indices-sentinel, y-lowest-for-neg-inf +1 +small:neg-inf"
    assert re.search(listed, both.out)
    assert last(both) == "SAFE  no observable change in 12 executions"


def test_each_head_is_compared_with_each_base_and_the_worst_decides(cli, corpus, kernel_target):
    plane = kernel_target("counts_in_the_plane")
    done = cli("gate", corpus, "--base", RIGHT, "--base", SEED, "--head", plane, "--report", "json")
    pairs = [(each["old"]["name"], each["new"]["name"], each["decision"]) for each in done.json["comparisons"]]
    assert (done.code, pairs) == (1, [(RIGHT, plane, "BLOCK"), (SEED, plane, "BLOCK")])


def test_variants_are_compared_too(cli, corpus, kernel_target):
    sides = ("--base", RIGHT, "--head", kernel_target("alternates"), "-k", "ordinary")
    assert cli("gate", corpus, *sides, "--variants", "default,twice", MAXPOOL_CHECK_MEMORY="4096").code == 1


def test_by_default_the_documents_are_those_that_the_targets_claim(cli, tmp_path):
    record, files = tmp_path / "record.jsonl", (CASES / "edge/nan-sonnx.yaml", CASES / "edge/ties.yaml")
    cli("run", *files, "-t", "onnxruntime", "-q", "-o", record)

    def documents(*arguments):
        done = cli("gate", *arguments, "--report", "json", *reports_in(tmp_path, "text", "junit"))
        (comparison,) = done.json["comparisons"]
        assert comparison["decision"] == "SAFE"
        files = {test.classname for suite in JUnitXml.fromfile(str(tmp_path / "junit")) for test in suite}
        return {file.replace(".", "/") for file in files}, done.err.partition("text: ")[0]

    sides = (*files, "--base", "onnxruntime", "--head", "onnxruntime?disable=ConstantFolding")
    claimed, notice = documents(*sides)
    assert claimed == {"edge/ties"}
    assert "--spec all" in notice
    model = "Next: maxpool-check model my.onnx --base onnxruntime --head 'onnxruntime?disable=ConstantFolding'\n"
    assert (tmp_path / "text").read_text().endswith(model)
    assert documents(*sides, "--spec", "all") == ({"edge/ties", "edge/nan-sonnx"}, "")
    assert documents(*sides, "--spec", "sonnx")[0] == {"edge/nan-sonnx"}
    assert documents(record, record, "--spec", "sonnx")[0] == {"edge/nan-sonnx"}


def test_a_wrong_result_that_was_not_executed_before_is_no_improvement(cli, corpus, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    run = ("run", corpus, "-t", SEED, "-q", "--known", "none", "-k", "ordinary")
    cli(*run, "-o", old)
    cli(*run, "-k", "neg-inf", "-o", new)
    done = cli("gate", old, new, "-v")
    assert "TO REVIEW  added: indices-sentinel, y-lowest-for-neg-inf" in done.out
    assert "BETTER" not in done.out


CRASH, NEG_INF = "refusals/attributes:strides-zero-rows", "sonnx/float:float-example-3"
SONNX = CASES / "sonnx/float.yaml"


@pytest.mark.parametrize(
    ("case", "words", "line"),
    [
        (
            NEG_INF,
            "1.19 --kind y-lowest-for-neg-inf",
            "last 1.28.0 diverges (y-lowest-for-neg-inf), first 1.29.0 conforms",
        ),
        pytest.param(CRASH, "1.19", "last 1.27.0 crashes (crash), first 1.28.0 conforms", marks=pytest.mark.long),
        ("sonnx/float:float-example-1", "1.29.0 --to 1.30.0", "no change from 1.29.0 to 1.30.0: conforms"),
    ],
)
@pytest.mark.network
def test_the_release_where_a_verdict_changes(cli, tmp_path, case, words, line):
    done = cli("bisect", case, "--from", *words.split(), *reports_in(tmp_path, "markdown"))
    code = int(line.startswith("no"))
    label = ("CHANGED", "UNCHANGED")[code]
    assert (done.code, last(done)) == (code, f"{label}  {line}")
    assert f"**{label}** {line}" in (tmp_path / "markdown").read_text().replace("`", "")


@pytest.mark.network
def test_a_history_of_two_releases(cli):
    document = cli("history", SONNX, "--versions", "1.28..1.29.0", "--report", "json").check(0).json
    old, new = document["releases"]
    assert (old["version"], new["version"]) == ("1.28.0", "1.29.0")
    assert old["kinds"]["y-lowest-for-neg-inf"] == 2
    assert "indices-sentinel" not in new["kinds"]
    (step,) = document["changes"]
    assert step["summary"]["fixed"] > 0


@pytest.mark.network
def test_releases_that_cannot_be_started_are_listed_with_the_reason(cli, tmp_path):
    target = "onnxruntime@CUDAExecutionProvider"
    versions = ("--versions", "1.31..1.31.1,every=minor")
    done = cli("history", SONNX, "-t", target, *versions, "--report", "text", *reports_in(tmp_path, "markdown")).check(
        3
    )
    assert "1.31.1: onnxruntime==1.31.1@CUDAExecutionProvider cannot be started: " in done.err
    bisected = cli("bisect", NEG_INF, "-t", target, "--from", "1.31", "--to", "1.31.1").check(3)
    for shown in (done.out, (tmp_path / "markdown").read_text(), bisected.out):
        assert "cannot be started" in " ".join(shown.split())
        # What to remove from the cache of this machine is nothing for a report.
        assert "environments" not in shown + done.err + bisected.err


@pytest.mark.network
def test_no_release_in_the_range(cli):
    cli("bisect", NEG_INF, "--from", "999").check(2, "no release of onnxruntime lies between 999 and the newest")


@pytest.mark.network
def test_an_interrupted_history_shows_what_was_tested(begun, tmp_path):
    report = tmp_path / "history.md"
    process = begun("history", "cases/sonnx", "--versions", "1.28..1.31", "--report", f"markdown={report}")
    assert process.stderr.readline().startswith("1.28.0: ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    for text in (out, report.read_text()):
        assert "1.28.0" in text
        assert "1.31.1 was skipped: interrupted" in text


ACCEPTS, REFUSES = {"type": "accepted"}, {"type": "refusal", "status": "INVALID_ARGUMENT", "message": "no"}


@pytest.mark.parametrize(
    ("replies", "decides", "line"),
    [
        ((ACCEPTS, REFUSES), "acceptance", "BLOCK  10 newly-refused, 2 fixed of 12 executions"),
        ((REFUSES, ACCEPTS), "acceptance", "BLOCK  2 regressed, 10 newly-accepted of 12 executions"),
        ((ACCEPTS, ACCEPTS), "acceptance", "SAFE  no observable change in 12 executions"),
    ],
)
def test_targets_that_decide_acceptance_alone_are_right_where_they_accept(cli, corpus, replies, decides, line):
    # Two programs of the same name are the same target.
    base, head = (replying(reply, decides=decides, version=str(number)) for number, reply in enumerate(replies))
    assert last(cli("gate", corpus, "--base", base, "--head", head)) == line


def test_changes_of_a_program_are_accepted_whatever_it_calls_its_version(cli, corpus, tmp_path):
    record, accepted = tmp_path / "gate.jsonl", tmp_path / "accepted.yaml"
    base, head = (
        replying(reply, decides="acceptance", version=version)
        for reply, version in ((ACCEPTS, "crashy"), (REFUSES, "x y"))
    )
    sides = ("--base", base, "--head", head)
    cli("gate", corpus, *sides, "-o", record).check(1)
    cli("defects", "accept", record, *sides[:2], "-o", accepted, *ACCEPTED).check(0)
    assert cli("gate", record, record, *sides, "--known", accepted).code == 0


def test_records_of_runs_that_did_not_complete_are_not_safe(cli, corpus, tmp_path):
    first, other, model = (tmp_path / f"{name}.jsonl" for name in ("first", "other", "model"))
    cli("run", corpus, "-t", SEED, "-q", "-o", first)
    header, *lines, footer = map(json.loads, first.read_text().splitlines())
    cases = list(dict.fromkeys(each["case"] for each in lines if each["type"] == "execution"))
    kept = [each for each in lines if each.get("case") not in cases[3:]]
    executions = [each for each in kept if each["type"] == "execution"]
    counts = Counter(each["verdict"] for each in executions)
    footer |= {"executions": len(executions), "summary": {SEED: counts}}
    first.write_text("".join(f"{json.dumps(each)}\n" for each in (header, *kept, footer)))
    assert "INCOMPLETE  the old record has 3 of 6 cases on" in cli("gate", first, first).check(3).out
    # The errors of a run concern the targets that they do not name.
    cli("run", corpus, "-t", RIGHT, "-q", "-o", other).check(0)
    lines = other.read_text().splitlines()
    footer = json.loads(lines[-1])
    for errors, code in (
        (["a process was lost"], 3),
        (["x.py cannot be started: no"], 0),
        ([f"{RIGHT} was given up: x"], 3),
    ):
        changed = {**footer, "errors": errors, "exit_code": 3}
        other.write_text("".join(f"{line}\n" for line in (*lines[:-1], json.dumps(changed))))
        assert cli("gate", other, other).code == code, errors
    footer["conclusion"] = {"exit_code": 3, "reason": "1 node is not tested", "decision": "INCOMPLETE"}
    model.write_text("".join(f"{line}\n" for line in (*lines[:-1], json.dumps(footer))))
    cli("gate", model, model).check(3, "INCOMPLETE  1 node is not tested")
    # What no run writes is not compared.
    del footer["conclusion"]
    footer["summary"] = {}
    model.write_text("".join(f"{line}\n" for line in (*lines[:-1], json.dumps(footer))))
    cli("gate", model, model).check(3)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        # A right cell of every output that became wrong.
        ("has_one_wrong_value", "forgets_its_shape", "BLOCK  1 regressed of 1 execution"),
        # Y was right.
        ("narrows_its_indices", "has_one_wrong_value", "BLOCK  1 regressed of 1 execution"),
        ("flattens_its_indices", "has_one_wrong_value", "BLOCK  1 regressed of 1 execution"),
        # Indices were right.
        ("has_one_wrong_value", "narrows_its_indices", "BLOCK  1 regressed of 1 execution"),
        ("has_one_wrong_value", "narrows_its_indices_beside_a_wrong_value", "BLOCK  1 regressed of 1 execution"),
        ("narrows_its_indices_beside_a_wrong_value", "has_one_wrong_value", "REVIEW  1 improved of 1 execution"),
        # Which values were wrong, the old record does not say.
        ("narrows_its_indices_beside_a_wrong_value", "has_another_wrong_value", "REVIEW  1 changed of 1 execution"),
        ("narrows_its_indices_beside_a_wrong_value", "narrows_its_indices", "REVIEW  1 improved of 1 execution"),
        ("flattens_its_indices", "narrows_its_indices", "REVIEW  1 changed of 1 execution"),
    ],
)
@pytest.mark.parametrize("is_one_run", [True, False])
def test_outputs_that_can_be_compared_are_where_another_is_wrong_as_a_whole(
    cli, corpus, tmp_path, before, after, line, is_one_run
):
    names = [f"python:{KERNELS}:{name}" for name in (before, after)]
    chosen = ("-k", "*:ordinary", "--variants", "indices")
    if is_one_run:
        done = cli("gate", corpus, "--base", names[0], "--head", names[1], *chosen)
    else:
        for name, target in zip(("old", "new"), names, strict=True):
            cli("run", corpus, "-t", target, *chosen, "-q", "-o", tmp_path / f"{name}.jsonl")
        done = cli("gate", tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert last(done) == line
    assert done.code == line.startswith("BLOCK")
