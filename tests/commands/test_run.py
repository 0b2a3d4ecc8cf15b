"""``maxpool-check run``, as a user types it."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from maxpool_check.evidence.kernels import kernel_named
from tests.conftest import KERNELS, ROOT, SMALL, all_end, children, command, environment, eventually


def test_as_expected(process, small, kernel_target):
    done = process("run", small, "-t", kernel_target("right"))
    assert done.code == 0
    assert "CONFORMS  0 unexpected; 10 of 10 compared executions conform" in done.out
    assert done.err == ""


def test_a_divergence_in_the_terminal(process, small, kernel_target):
    done = process("run", small, "-t", kernel_target("keeps_the_seed"))
    assert done.code == 1
    for words in (
        "NEW  indices-sentinel, y-lowest-for-neg-inf  1 case",
        "Example small:neg-inf: A window of -inf",
        "[-inf] [-inf]",
        "Y[0, 0, 0, 0]  rows 0-1, columns 0-1: expected -inf, got -3.4028235e+38  (y-lowest-for-neg-inf)",
        "Indices[0, 0, 0, 0]  rows 0-1, columns 0-1: expected 0, got -3  (indices-sentinel)",
        "UNEXPECTED  2 unexpected results in 1 case",
        "-k small:neg-inf",
    ):
        assert words in done.out, done.out


def test_json_is_one_document_with_everything_a_script_needs(cli, small, kernel_target):
    done = cli("run", small, "-t", kernel_target("keeps_the_seed"), "--report", "json")
    document = done.json
    assert done.code == document["exit_code"] == 1
    assert document["schema"] == "maxpool-check/run/1"
    assert document["errors"] == []
    assert {name: count for name, count in document["summary"].items() if count} == {
        "cases": 6, "executions": 12, "conforms": 8, "diverges": 2, "undefined": 2,
    }  # fmt: skip
    (first, second) = [result for result in document["results"] if result["verdict"] == "diverges"]
    assert (first["case"], first["variant"], second["variant"]) == ("small:neg-inf", "indices", "y-only")
    assert first["kinds"] == ["indices-sentinel", "y-lowest-for-neg-inf"]
    assert (first["known"], first["unexpected"]) == (None, True)
    cell = first["cells"][0]
    assert (cell["at"], cell["output"], cell["expected"], cell["got"], cell["kind"]) == (
        [0, 0, 0, 0], "Y", "-inf", "-3.4028235e+38", "y-lowest-for-neg-inf",
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{small}", "-t", "nope", "--report", "json"],
        ["run", "absent", "--report", "json"],
        ["run", "{broken}", "--report", "json"],
        ["run", "{small}", "--nonsense", "--report", "json"],
    ],
)
def test_json_is_one_document_also_on_failure(cli, small, tmp_path, arguments):
    broken = tmp_path / "broken.yaml"
    broken.write_text("cases: 3\n")
    done = cli(*[argument.format(small=small, broken=broken) for argument in arguments])
    assert done.code == done.json["exit_code"] == 2
    assert done.json["errors"]
    assert done.json["results"] == []
    assert done.err


def test_a_broken_file_is_told_on_stderr_with_its_place_and_nothing_is_run(cli, small, kernel_target, tmp_path):
    (small / "broken.yaml").write_text("cases:\n  - id: a\n    input: {dtype: int9}\n")
    done = cli("run", small, "-t", kernel_target("right"), "-o", tmp_path / "record.jsonl")
    assert (done.code, done.out) == (2, "")
    assert f"{small}/broken.yaml:3:20: expected one of float16" in done.err
    assert "nothing was run" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "record.jsonl").exists()


def test_a_case_that_contradicts_the_reference_is_a_bad_file(cli, small, kernel_target):
    (small / "wrong.yaml").write_text(
        "cases:\n  - id: a\n    input: {dtype: int8, data: [[[1, 2]]]}\n    attributes: {kernel_shape: [2]}\n    expect: {Y: [[[1]]]}\n"
    )
    done = cli("run", small, "-t", kernel_target("right"))
    assert done.code == 2
    assert "wrong.yaml:2:5: wrong:a Y[0, 0, 0]: your file expects 1, the reference has 2" in done.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-t", "{right}"], 0),
        (["-t", "{seed}"], 1),
        (["-t", "{absent}"], 3),
        (["-t", "{right}", "-k", "nothing*"], 2),
        (["-t", "{right}", "-k", "small:empty"], 4),
        (["-t", "{right}", "-t", "{right}"], 2),
        (["-t", "{right}", "--known", "absent.yaml"], 2),
        (["-t", "{right}", "--report", "pdf=x"], 2),
        (["-t", "{right}", "-j", "0"], 2),
        (["-t", "{right}", "--timeout", "inf"], 2),
        (["-t", "{right}", "--timeout", "nan"], 2),
        (["-t", "{right}", "--known", "x", "--known", "none"], 2),
        (["-t", "{right}", "--report", "markdown=/proc/x.md"], 2),
        (["-t", "{right}", "-o", "/proc/x.jsonl"], 2),
        (["-t", "{right}", "-o", "/dev/full"], 3),
    ],
)
def test_exit_codes(cli, small, kernel_target, arguments, code):
    names = {
        "right": kernel_target("right"),
        "seed": kernel_target("keeps_the_seed"),
        "absent": kernel_target("absent"),
    }
    done = cli("run", small, *[argument.format(**names) for argument in arguments])
    assert done.code == code, done.out + done.err


KNOWN = """\
known:
  - id: seed
    when: python
    cases: ["small:neg-inf"]
    kinds: [y-lowest-for-neg-inf, indices-sentinel]
    reason: The scan keeps its seed.
"""


def test_known_divergences_beside_the_cases(cli, small, kernel_target):
    (small / "known-divergences.yaml").write_text(KNOWN)
    seed = kernel_target("keeps_the_seed")
    expected = cli("run", small, "-t", seed)
    assert expected.code == 0
    assert "KNOWN DEFECTS" in expected.out
    assert "seed" in expected.out
    assert cli("run", small, "-t", seed, "--known", "none").code == 1
    repaired = cli("run", small, "-t", kernel_target("right"))
    assert repaired.code == 1
    assert "STALE" in repaired.out
    results = cli("run", small, "-t", seed, "--report", "json").json["results"]
    assert {(r["known"], r["unexpected"]) for r in results if r["kinds"]} == {("seed", False)}


def test_known_divergences_of_another_file(cli, small, kernel_target, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(KNOWN)
    assert cli("run", small, "-t", kernel_target("keeps_the_seed"), "--known", other).code == 0


def test_reports_and_the_record_are_written(cli, small, kernel_target, tmp_path):
    names = {kind: tmp_path / "made" / f"report.{kind}" for kind in ("text", "markdown", "json")}
    reports = [part for kind, path in names.items() for part in ("--report", f"{kind}={path}")]
    record = tmp_path / "made/record.jsonl"
    done = cli("run", small, "-t", kernel_target("keeps_the_seed"), *reports, "-o", record)
    assert done.code == 1
    assert json.loads(names["json"].read_text())["exit_code"] == 1
    assert names["markdown"].read_text().startswith("# MaxPool on python:")
    assert "NEW  indices-sentinel" in names["text"].read_text()
    for path in (*names.values(), record):
        assert str(path) in done.err
    again = cli("report", record, "--report", "markdown")
    assert (again.code, again.out) == (0, names["markdown"].read_text())


def test_selection_by_tag_and_glob(cli, small, kernel_target):
    def cases(*selected):
        done = cli("run", small, "-t", kernel_target("right"), "--report", "json", *selected)
        return [result["case"] for result in done.json["results"][::2]]

    assert cases("-k", "tag:neg-inf") == ["small:neg-inf"]
    assert cases("-k", "small:o*") == ["small:ordinary", "small:one-column"]
    assert cases("-k", "tag:neg-inf", "-k", "ordinary") == ["small:ordinary", "small:neg-inf"]


@pytest.mark.parametrize(
    ("variables", "colored"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1"}, False)]
)
def test_colour_is_for_terminals_and_those_who_ask(cli, small, kernel_target, variables, colored):
    run = ("run", small, "-t", kernel_target("right"), "-k", "ordinary")
    done = cli(*run, **variables)
    assert ("\x1b[" in done.out) is colored
    # The one that contradicts what is so without the option.
    asked = cli("--color", "never" if colored else "always", *run, **variables)
    assert ("\x1b[" in asked.out) is not colored


@pytest.fixture(scope="module")
def record_of_two(tmp_path_factory):
    """The record of a right target and a wrong one."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "small.yaml").write_text(SMALL)
    targets = ("-t", "onnxruntime", "-t", f"python:{KERNELS}:keeps_the_seed")
    assert command("run", folder / "small.yaml", *targets, "-q", "-o", folder / "record.jsonl").code == 1
    return folder / "record.jsonl"


@pytest.mark.parametrize("width", [40, 60, 200])
def test_prose_and_tables_fit_the_width(cli, record_of_two, width):
    # What a run prints is the report of its record.
    done = cli("report", record_of_two, COLUMNS=str(width))
    numbers = re.split(r"\n *(?:NEW|UNEXPECTED)  ", done.out.split("\nTested: ")[1])[0]
    assert max(map(len, numbers.splitlines())) <= width
    for word in (
        "conforms",
        "diverges",
        "severity" if width > 40 else "wrong-on-special",
        "defects",
        "executions",
        "cases",
    ):
        assert word in numbers


def test_quiet_prints_nothing_but_the_exit_code(cli, small, kernel_target):
    done = cli("run", small, "-t", kernel_target("keeps_the_seed"), "-q")
    assert (done.code, done.out, done.err) == (1, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_a_record_without_a_footer_and_no_worker(cli, begun, small, kernel_target, tmp_path, number):
    path = tmp_path / "record.jsonl"
    arguments = ["run", small, "-t", kernel_target("hangs"), "-o", path, "--timeout", "300"]
    process = begun(*arguments)
    assert eventually(lambda: path.exists() and path.read_text().count("\n") >= 5)
    workers = children(process.pid)
    assert workers
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "interrupted after" in err
    assert "Traceback" not in err
    assert all_end(workers)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["type"] for line in lines[:2]] == ["header", "execution"]
    assert all(line["type"] != "footer" for line in lines)
    report = cli("report", path)
    assert report.code == 3
    assert "INCOMPLETE" in report.out


def test_a_progress_bar_on_a_terminal_only(small, kernel_target):
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "maxpool_check", "run", str(small), "-t", kernel_target("right")],
        stdout=subprocess.DEVNULL, stderr=follower, cwd=ROOT, env=environment(TERM="xterm"),
    )  # fmt: skip
    assert process.wait(300) == 0
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk
    except OSError:
        pass
    os.close(leader)
    assert b"cases" in shown
    assert b"6/6" in shown


def test_a_reader_who_leaves_early_is_no_error(small, kernel_target):
    line = f"{sys.executable} -m maxpool_check run {small} -t {kernel_target('keeps_the_seed')} -v | head -n 1"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=ROOT, env=environment(), check=False
    )
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m maxpool_check cases list cases/sonnx | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, cwd=ROOT, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 141


def test_ctrl_c_before_anything_is_asked_leaves_what_was_there(begun, small, tmp_path, kernel_target):
    path = tmp_path / "record.jsonl"
    path.write_text("what was there")
    target = kernel_target("slow_to_start")
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


def test_two_files_of_known_divergences_with_the_same_id(cli, small, kernel_target, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(KNOWN)
    done = cli(
        "run", small, "-t", kernel_target("right"), "--known", tmp_path / "a.yaml", "--known", tmp_path / "b.yaml"
    )
    assert done.code == 2
    assert "the id 'seed' is also used in" in done.err


TIES = """\
cases:
  - id: ties
    title: Equal maxima in every window
    input: {dtype: float32, shape: [1, 2, 3, 4], fill: 5}
    attributes: {kernel_shape: [2, 2]}
"""
INCONSISTENCY = """\
known:
  - id: ties
    when: python
    cases: ["ties:ties"]
    kinds: [indices-depend-on-channels]
    variants: [indices-channels-permuted]
    reason: Its first channel names the last of equal maxima.
"""


def test_an_inconsistency_is_counted_apart_and_fails_a_strict_run(cli, kernel_target, tmp_path):
    """No document decides between equal maxima, but a kernel should."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/ties.yaml").write_text(TIES)
    files = {form: tmp_path / f"report.{form}" for form in ("json", "junit", "sarif", "github", "markdown")}
    reports = [word for form, path in files.items() for word in ("--report", f"{form}={path}")]
    arguments = ["run", tmp_path / "cases", "-t", kernel_target("knows_its_first_channel")]
    arguments += ["--variants", "channels-permuted"]
    done = cli(*arguments, *reports, "-o", tmp_path / "record.jsonl")
    assert done.code == 0, done.out
    assert "CONFORMS  0 unexpected; 1 inconsistency in 1 defect; 3 of 4 compared executions conform" in done.out
    assert "\nInconsistencies\n" in done.out
    document = json.loads(files["json"].read_text())
    assert document["summary"]["inconsistent"] == 1
    (result,) = [each for each in document["results"] if each["verdict"] == "inconsistent"]
    assert (result["kinds"], result["status"], result["unexpected"]) == (
        ["indices-depend-on-channels"], "inconsistent", False,
    )  # fmt: skip
    assert '<skipped message="Indices[0, 0, 0, 0] is' in files["junit"].read_text()
    assert 'type="inconsistent"' in files["junit"].read_text()
    (finding,) = json.loads(files["sarif"].read_text())["runs"][0]["results"]
    assert (finding["level"], finding["properties"]["verdict"]) == ("warning", "inconsistent")
    assert "indices-depend-on-channels" in files["github"].read_text()
    assert "## Inconsistencies\n" in files["markdown"].read_text()

    strict = cli(*arguments, "--strict")
    assert (strict.code, "1 inconsistency in 1 defect" in " ".join(strict.out.split())) == (1, True)

    # An entry expects it as any other kind, and is stale where it no longer occurs.
    (tmp_path / "cases/known-divergences.yaml").write_text(INCONSISTENCY)
    known = cli(*arguments, "--report", "json").json
    (result,) = [each for each in known["results"] if each["verdict"] == "inconsistent"]
    assert (known["exit_code"], result["status"], result["known"]) == (0, "expected", "ties")
    assert "inconsistent result" not in cli(*arguments, "--strict").out
    right = cli("run", tmp_path / "cases", "-t", kernel_target("right"), "--variants", "channels-permuted")
    assert (right.code, "STALE" in right.out) == (1, True)


def test_a_new_inconsistency_is_reviewed_and_blocks_if_it_is_named(cli, kernel_target, tmp_path):
    (tmp_path / "ties.yaml").write_text(TIES)
    for name in ("right", "knows_its_first_channel"):
        variants = ("--variants", "channels-permuted")
        cli("run", tmp_path / "ties.yaml", "-t", kernel_target(name), *variants, "-o", tmp_path / f"{name}.jsonl")
    arguments = ("gate", tmp_path / "right.jsonl", tmp_path / "knows_its_first_channel.jsonl")
    done = cli(*arguments)
    assert done.code == 0
    assert "REVIEW  1 newly-inconsistent, 1 conforming-but-different of 4 executions" in done.out
    assert cli(*arguments, "--fail-on", "newly-inconsistent").code == 1


def test_a_wrong_shape_is_shown_with_the_axis_and_the_formulas(cli):
    done = cli("run", "cases/edge/ceil-mode.yaml", "-k", "off", "-t", kernel_named("sizes:ceils_always").target)
    assert done.code == 1
    assert (
        """
      Y has the shape [1, 1, 3], expected [1, 1, 2]; Indices has the shape [1, 1, 3], expected [1, 1, 2]
      axis D1: floor((5 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1) = 2 by onnx-22; the target has 3, as ceil gives
"""
        in done.out
    )


OWN = """\
cases:
  - id: masked
    title: A plane of -inf in blocks of channels
    outputs: [Y]
    input: {dtype: float32, shape: [1, 16, 2, 2], fill: -.inf}
    attributes: {kernel_shape: [2, 2]}
"""


def test_a_known_defect_explains_what_a_corpus_of_the_users_own_shows_and_excuses_nothing(cli, tmp_path):
    (tmp_path / "own.yaml").write_text(OWN)
    record = tmp_path / "record.jsonl"
    done = cli("run", tmp_path, "-t", "onnxruntime", "-o", record)
    assert done.code == 1
    assert "UNEXPECTED  ORT-LOWEST-BLOCKED: " in done.out
    assert " on onnxruntime (wrong-on-special) " in " ".join(done.out.split())
    assert "Known of the runtime, and expected by no file of this corpus." in done.out
    assert "NEW  y-lowest-for-neg-inf" in cli("run", tmp_path, "-t", "onnxruntime", "--known", "none").out
    for form in ("markdown", "html", "json", "junit", "sarif", "github"):
        assert "ORT-LOWEST-BLOCKED" in cli("report", record, "--report", form).out
    # Once the user has accepted it, it is expected.
    assert cli("defects", "accept", record, "--reason", "Seen").code == 0
    accepted = cli("run", tmp_path, "-t", "onnxruntime")
    assert (accepted.code, accepted.out.count("UNEXPECTED")) == (0, 0)
