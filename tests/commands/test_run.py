"""``maxpool-check run``, as a user types it, and ``report`` of what it has recorded."""

import json
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tests.conftest import (
    KERNELS,
    ROOT,
    all_end,
    children,
    environment,
    eventually,
    known_defect,
    on_a_terminal,
    reports_in,
)

RIGHT, SEED, UNDECIDED = (f"python:{KERNELS}:{name}" for name in ("right", "keeps_the_seed", "ignores_nan_at_first"))


def test_a_divergence_in_the_terminal(process, cli, small):
    process("run", small, "-t", SEED).check(
        1, "1 new fault, 0 known; 8 of 10 comparisons conform",
        "NEW  indices-sentinel, y-lowest-for-neg-inf  wrong-on-special\n    1 case: small:neg-inf, in 2 executions on",
        "Y[0, 0, 0, 0]  rows 0-1, columns 0-1: expected -inf, got -3.4028235e+38  (and 3 more)",
        "\nUNEXPECTED  1 new\nNext: maxpool-check explain ", err="",
    )  # fmt: skip
    cli("run", small, "-t", RIGHT).check(0, "CONFORMS  10 of 10 comparisons conform", err="")
    quiet = cli("run", small, "-t", SEED, "-q").check(1, out="")
    assert (quiet.err.count("\n"), quiet.err[:10]) == (1, "UNEXPECTED")
    everything = cli("run", small, "-t", SEED, "-v")
    everything.check(1, "Indices[0, 0, 0, 0]  rows 0-1, columns 0-1: expected 0, got -3  (indices-sentinel)")


def test_reports_and_the_record_have_everything_a_script_needs(cli, small, tmp_path):
    made, names = tmp_path / "made", ("text", "markdown", "json")
    done = cli("run", small, "-t", SEED, *reports_in(made, *names), "-o", made / "record").check(1)
    for name in (*names, "record"):
        assert str(made / name) in done.err
    assert "NEW  indices-sentinel" in (made / "text").read_text()
    assert cli("report", made / "record", "--report", "markdown").check(0).out == (made / "markdown").read_text()
    assert json.loads((made / "json").read_text())["exit_code"] == 1


@pytest.mark.parametrize("words", ["SMALL -t nope", "absent", "BROKEN", "SMALL --nonsense"])
def test_json_is_one_document_also_on_failure(cli, small, tmp_path, words):
    broken = tmp_path / "broken.yaml"
    broken.write_text("cases: 3\n")
    line = words.replace("SMALL", str(small)).replace("BROKEN", str(broken))
    done = cli("run", *line.split(), "--report", "json")
    assert done.code == done.json["exit_code"] == 2
    assert done.json["errors"]
    assert done.json["faults"] == []
    assert done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (f"-t python:{KERNELS}:absent", 3),
        (f"-t {RIGHT} -k small:empty", 4),
        (f"-t {RIGHT} -k neg-inf -k nothing*", 2),
        (f"-t {RIGHT} -t {RIGHT}", 2),
        (f"-t {RIGHT} --report pdf=x", 2),
        (f"-t {RIGHT} -j 0", 2),
        (f"-t {RIGHT} --timeout inf", 2),
        (f"-t {RIGHT} --report markdown=/proc/x.md", 2),
        (f"-t {RIGHT} -o /proc/x.jsonl", 2),
        ("-t onnxruntime-rocm", 3),
    ],
)
def test_exit_codes(cli, small, words, code):
    # No distribution of this name can be installed beside the one for the CPU.
    advice = "Install it with pip install onnxruntime-rocm, or name a release, onnxruntime-rocm==VERSION"
    absent = ("onnxruntime-rocm is not installed in this environment", advice)
    cli("run", small, *words.split()).check(code, *(absent if "rocm" in words else ()))


@pytest.mark.parametrize(
    ("variables", "colored"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1"}, False)]
)
def test_colour_is_for_terminals_and_those_who_ask(cli, small, variables, colored):
    run = ("run", small, "-t", RIGHT, "-k", "ordinary")
    assert ("\x1b[" in cli(*run, **variables).out) is colored
    # The one that contradicts what is so without the option.
    asked = cli("--color", "never" if colored else "always", *run, **variables)
    assert ("\x1b[" in asked.out) is not colored


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_a_record_without_a_footer_and_no_worker(cli, begun, small, kernel_target, tmp_path, number):
    path = tmp_path / "record.jsonl"
    process = begun("run", small, "-t", kernel_target("hangs"), "-o", path, "--timeout", "300")
    assert eventually(lambda: path.exists() and path.read_text().count("\n") >= 5)
    workers = children(process.pid)
    assert workers
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "interrupted after" in err
    assert "Traceback" not in err
    assert all_end(workers)
    lines = [json.loads(line)["type"] for line in path.read_text().splitlines()]
    assert lines[:2] == ["header", "execution"]
    assert "footer" not in lines
    cli("report", path).check(3, "INCOMPLETE")


def test_ctrl_c_before_all_cases_are_read_leaves_what_was_there(begun, tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_text("what was there")
    process = begun("run", ROOT / "cases", "-o", path)
    assert eventually(lambda: children(process.pid))
    # It imports the rest first, and reads for twice as long.
    time.sleep(1)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, path.read_text()) == (130, "what was there")
    assert "interrupted before all cases were read; nothing was recorded" in err
    assert all_end(workers)


def test_ctrl_c_before_anything_is_asked_leaves_what_was_there(begun, small, tmp_path, kernel_target):
    path, target = tmp_path / "record.jsonl", kernel_target("slow_to_start")
    path.write_text("what was there")
    process = begun("run", small, "-t", target, "-o", path, "--report", "json", SLOW_TO_START="1")
    assert eventually(lambda: children(process.pid))
    time.sleep(1)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == json.loads(out)["exit_code"] == 130
    # Nor is the target left behind that hangs in its import.
    assert all_end(workers)
    assert path.read_text() == "what was there"


def test_a_mistake_in_the_last_file_leaves_what_was_there(cli, small, tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_text("old")
    (small / "z.yaml").write_text("cases: [{id: a}]\n")
    cli("run", small, "-o", record).check(2, "z.yaml:1:9", "there are no results", out="")
    assert record.read_text() == "old"


def test_a_progress_bar_on_a_terminal_only(small):
    shown = "".join(on_a_terminal(80, "run", small, "-t", RIGHT, stream="stderr", TERM="xterm"))
    assert "cases" in shown
    assert "6/6" in shown


def test_a_reader_who_leaves_early_is_no_error(small):
    program = f"{sys.executable} -m maxpool_check"
    for line, code in ((f"run {small} -t {SEED} -v | head -n 1", 0), ("cases list cases/sonnx | true", 141)):
        script = f"{program} {line}; exit {'${PIPESTATUS[0]}' if code else 0}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, env=environment())
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr


@pytest.mark.parametrize("words", ["run x.yaml", "gate x.yaml --base onnxruntime --head onnxruntime", "model x.onnx"])
def test_json_of_a_mistake_follows_the_schema_too(cli, words):
    done = cli(*words.split(), "--report", "json")
    assert (done.code, done.json["exit_code"], len(done.json["errors"])) == (2, 2, 1)
    schema = cli("docs", f"schema-{words.split()[0]}").json
    assert [error.message for error in Draft202012Validator(schema).iter_errors(done.json)] == []


def test_a_fault_in_json_has_all_that_a_program_needs_to_look_at_it(cli, tmp_path):
    """A kernel that pads with zero, on the whole corpus: a few faults, each with an execution that shows it, and its command."""
    path = tmp_path / "run.json"
    cli(
        "run", "corpus", "-t", f"python:{KERNELS}:pads_with_zero", "--known", "none", "-q", "--report", f"json={path}"
    ).check(1)
    assert path.stat().st_size < 50_000
    faults = json.loads(path.read_text())["faults"]
    (fault,) = [each for each in faults if each["name"] == "y-pad-value-leak"]
    assert (fault["severity"], fault["defect"], fault["cases"] > 100) == ("wrong-on-finite", None, True)
    example = fault["example"]
    X = np.array(example["input"]["values"], float).reshape(example["input"]["shape"])
    Y = np.array(example["got"]["Y"]["values"], float).reshape(example["got"]["Y"]["shape"])
    for cell in (each for each in example["cells"] if each["output"] == "Y"):
        window = X[(*cell["at"][:2], *np.ix_(*cell["window"]))]
        assert (window.max(), Y[tuple(cell["at"])]) == (float(cell["expected"]), float(cell["got"]))
    # What it names is what the command shows.
    again = cli(*shlex.split(fault["command"])[1:], "--report", "json").check(1).json
    assert example in [each["example"] for each in again["faults"]]


NAN = "input: {dtype: float32, data: [[[[1, .nan, 3, 3]]]]}, attributes: {kernel_shape: [1, 2], strides: [1, 2]}"


def test_an_inconsistency_is_counted_apart_and_fails_a_strict_run(cli, tmp_path):
    """ONNX does not define the maximum of a window with NaN, but a kernel should."""
    cases, record, right = tmp_path / "cases", tmp_path / "record.jsonl", tmp_path / "right.jsonl"
    cases.mkdir()
    (cases / "nan.yaml").write_text(f"cases: [{{id: nan, {NAN}}}]\n")
    forms, run = ("json", "junit", "sarif"), ("run", cases, "-t")
    done = cli(*run, UNDECIDED, *reports_in(tmp_path, *forms), "-o", record).check(0)
    assert "0 new, 1 inconsistency; 1 of 2 comparisons conform" in done.out
    assert "\nCONFORMS  1 inconsistency" in done.out
    texts = {form: (tmp_path / form).read_text() for form in forms}
    (fault,) = json.loads(texts["json"])["faults"]
    assert (fault["kinds"], fault["status"]) == (["y-depends-on-indices"], "inconsistent")
    assert fault["example"]["verdict"] == "inconsistent"
    assert '<skipped message="Y[0, 0, 0, 0] is' in texts["junit"]
    (fault,) = json.loads(texts["sarif"])["runs"][0]["results"]
    assert (fault["level"], fault["properties"]["verdict"]) == ("warning", "inconsistent")
    cli(*run, UNDECIDED, "--strict").check(1, "the documents allow, 1 inconsistency")
    # An upgrade to it is reviewed, and blocks if that is asked for.
    cli(*run, RIGHT, "-o", right)
    cli("gate", right, record).check(0, "REVIEW  1 newly-inconsistent, 1 conforming-but-different of 2 executions")
    assert cli("gate", right, record, "--fail-on", "newly-inconsistent").code == 1
    # An entry expects it as any other kind, and is stale where it no longer occurs.
    entry = known_defect("nan", ["nan:nan"], ["y-depends-on-indices"], variants=["y-only"])
    (cases / "known-divergences.yaml").write_text(entry)
    known = cli(*run, UNDECIDED, "--report", "json").json
    (fault,) = known["faults"]
    assert (known["exit_code"], fault["status"], fault["defect"]) == (0, "expected", "nan")
    assert "inconsistent result" not in cli(*run, UNDECIDED, "--strict").out
    cli(*run, RIGHT).check(1, "STALE")
