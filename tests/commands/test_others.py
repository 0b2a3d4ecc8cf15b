"""The other commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

from maxpool_check.results.storage import Recorder, read
from tests.conftest import CASES, ROOT


def last_line(code):
    """The last line that a new interpreter prints."""
    return subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).splitlines()[-1]


CALL = """\
import os, sys
from maxpool_check.commands.main import main
try: main({arguments})
except SystemExit: pass
"""
SLOW = ["numpy", "onnx", "onnxruntime", "rich", "jsonschema_rs", "yaml", "msgspec"]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_and_version_do_not_wait_for_numpy_or_a_runtime(arguments):
    assert last_line(CALL.format(arguments=arguments) + f"print({{*{SLOW}}} & {{*sys.modules}})") == "set()"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="on one core there is one thread anyway")
def test_numpy_starts_no_threads_unless_it_is_told_to(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    code = CALL.format(arguments=["docs", "schema-case"])
    code += "print('numpy' in sys.modules, len(os.listdir('/proc/self/task')))"
    assert last_line(code) == "True 1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert last_line(code) == "True 2"


def test_completion_does_not_wait_either():
    code = (
        "import atexit, os, sys\n"
        "atexit.register(lambda: print({'numpy', 'onnx', 'onnxruntime'} & set(sys.modules)))\n"
        "os.environ.update(_MAXPOOL_CHECK_COMPLETE='bash_complete', COMP_WORDS='maxpool-check r', COMP_CWORD='1')\n"
        "from maxpool_check.commands.main import main\n"
        "main([])"
    )
    # The first time after a change of the package, it imports the commands and keeps what they offer.
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "plain,run" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"


def test_an_unknown_command_suggests_the_nearest(cli):
    done = cli("rnu")
    assert done.code == 2
    assert "did you mean 'run'?" in done.err


def test_lint_of_cases_that_correct_what_a_document_prints(cli):
    # `make check` has the whole corpus.
    done = cli("cases", "lint", CASES / "sonnx")
    assert (done.code, done.err) == (0, "")
    assert "sonnx/int:int-example-4 Indices[0, 0, 1, 0] is printed as 3, the reference has 0 (" in done.out
    assert "no problems" in done.out


def test_lint_tells_everything_that_is_wrong(cli, small):
    (small / "wrong.yaml").write_text(
        "cases:\n  - id: a\n    input: {dtype: int8, data: [[[1, 2]]]}\n    attributes: {kernel_shape: [2]}\n    expect: {Y: [[[1]]]}\n"
    )
    (small / "known-divergences.yaml").write_text(
        "known:\n  - id: e\n    when: onnxruntime\n    cases: ['small:none']\n    kinds: [shape]\n    reason: r\n"
    )
    done = cli("cases", "lint", small)
    assert done.code == 2
    assert "wrong.yaml:2:5: wrong:a Y[0, 0, 0]: your file expects 1" in done.err
    assert "known-divergences.yaml:4:13: 'small:none' names no case" in done.err
    assert "2 problems" in done.err


def test_list(cli, small):
    done = cli("cases", "list", small)
    assert [line.split()[0] for line in done.out.splitlines()][:2] == ["small:ordinary", "small:padded"]
    assert "Nothing special" in done.out
    listed = cli("cases", "list", small, "-k", "tag:neg-inf", "--json").json
    (case,) = listed["cases"]
    assert (case["id"], case["shape"], case["dtype"]) == ("small:neg-inf", [1, 2, 2, 2], "float32")


def test_reference(cli):
    done = cli("explain", "sonnx/float:float-example-3")
    assert done.code == 0
    assert "Y[0, 0, 0, 0]  rows 0-1, columns 0-1\n" in done.out
    assert "Y is -inf, from X[0, 0, 0, 0], index 0" in done.out
    assert "SONNX MaxPool, nan: as-neg-inf" in done.out
    document = cli("explain", "cases/sonnx/float.yaml:float-example-3", "--json").json
    assert document["Y"] == [[[["-inf", "4.56432533"], ["3.46789489", "5.23979851"]]]]
    assert document["Indices"] == [[[[0, 2], [7, 8]]]]


def test_reference_of_what_is_refused_or_empty(cli, small):
    assert "excludes it (invalid-attribute)" in cli("explain", "small:stride-0", "-p", small).out
    assert cli("explain", "small:stride-0", "-p", small, "--json").json["refused"]["reason"] == "invalid-attribute"
    assert "no cell of X" in cli("explain", "small:empty", "-p", small).out
    document = cli("explain", "small:empty", "-p", small, "--json").json
    assert document["empty"] == [[[True]]]


PADDED = """\
    title: Windows of padding alone at both ends
    input: {{dtype: float32, data: [[[[5]]]]}}
    attributes: {{kernel_shape: [1, 1], pads: [0, 1, 0, 1]{}}}
"""
ALL_SEVEN = ", strides: [1, 1], dilations: [1, 1], auto_pad: NOTSET, ceil_mode: 0, storage_order: 0"


@pytest.mark.parametrize(("spec", "more", "Y"), [("onnx-22", "", "-"), ("sonnx", ALL_SEVEN, "-inf")])
def test_a_window_without_a_result_has_none(cli, tmp_path, spec, more, Y):
    """In SONNX it has the value of the padding, and no index."""
    path = tmp_path / "p.yaml"
    path.write_text(f"spec: {spec}\ncases:\n  - id: a\n{PADDED.format(more)}")
    lines = [" ".join(line.split()) for line in cli("explain", f"{path}:a").out.splitlines()]
    assert lines[lines.index("Y float32[1, 1, 1, 3]") + 1] == f"{Y} 5.0 {Y}"
    assert lines[lines.index("Indices int64[1, 1, 1, 3]") + 1] == "- 0 -"
    assert "Y[0, 0, 0, 0] the padding alone" in lines
    document = cli("explain", f"{path}:a", "--json").json
    assert document["Y"] == [[[[None if Y == "-" else Y, "5.0", None if Y == "-" else Y]]]]
    assert document["Indices"] == [[[[None, 0, None]]]]
    drawn = cli("explain", f"{path}:a", "--at", "0,0,0,0").out
    assert ("the document gives no result" in drawn) == (Y == "-")
    assert ("Y is -inf, the value of the padding" in drawn) == (Y == "-inf")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sonnx/float:float-exampel-3"], "did you mean 'sonnx/float:float-example-3'"),
        (["a:b", "-p", "absent"], "'absent' not found"),
        (["absent.yaml:b"], "'absent.yaml' not found"),
    ],
)
def test_a_case_that_is_not_there(cli, arguments, words):
    done = cli("explain", *arguments)
    assert done.code == 2
    assert words in done.err


def test_a_runtime_that_is_not_installed_says_how_to_get_it(cli, small):
    # No distribution of this name can be installed beside the one for the CPU.
    done = cli("run", small, "-t", "onnxruntime-rocm")
    text = " ".join(done.out.split())
    assert done.code == 3
    assert "onnxruntime-rocm is not installed in this environment" in text
    assert "Install it with pip install onnxruntime-rocm, or name a release, onnxruntime-rocm==VERSION" in text


def test_targets(cli, kernel_target):
    known = cli("targets", "list")
    assert known.code == 0
    assert (
        "openvino                 OpenVINO itself, ?opset=1, 8 or 14, or ?frontend=onnx (not installed: pip install"
        in known.out
    )
    assert "command:PROGRAM ARG...   a program that speaks the protocol" in known.out
    assert "provider CPUExecutionProvider" in known.out
    done = cli("targets", "list", "onnxruntime", kernel_target("right"), kernel_target("absent"))
    assert done.code == 3
    assert "provider CPUExecutionProvider" in done.out
    assert "does not start" in done.out
    checked = cli("targets", "check", "--json").json
    assert checked["targets"][0]["starts"]
    assert checked["targets"][0]["newest_opset"] >= 22
    assert checked["targets"][0]["executes"]
    wrong = cli("targets", "check", kernel_target("refuses_everything"))
    assert wrong.code == 3
    assert "does not execute a plain case: refuses: NotImplementedError: not today" in wrong.out


@pytest.mark.parametrize("what", ["case", "defects", "record"])
def test_schemas_are_schemas(cli, what):
    jsonschema.Draft202012Validator.check_schema(cli("docs", f"schema-{what}").json)


def test_report_of_what_is_no_record(cli, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("hello\n")
    for name, words in ((path, "not a line of a record"), (tmp_path / "absent", "not found"), (tmp_path, "directory")):
        done = cli("report", name)
        assert done.code == 2
        assert words in done.err
        assert "Traceback" not in done.err


def test_report_of_two_records_as_json_is_refused(cli, tmp_path):
    assert cli("report", tmp_path, tmp_path, "--report", "json").code == 2


@pytest.mark.parametrize(
    ("form", "listed"), [("text", "    many: c-0, c-1, c-2\n"), ("markdown", "- `many`: c-0, c-1, c-2\n")]
)
def test_report_lists_the_cases_of_a_defect_if_it_is_told_to(cli, tmp_path, form, listed):
    record = read(ROOT / "tests/data/golden/record.jsonl")
    first = next(each for each in record.executions if each.known == "seed")
    executions = [msgspec.structs.replace(first, case=f"many:c-{number}") for number in range(3)]
    path = tmp_path / "record.jsonl"
    with Recorder(path) as recorder:
        for line in (record.header, *executions, record.footer):
            recorder.write(line)
    command = ("report", path, "--report", form)
    assert listed not in cli(*command).out
    assert listed in cli(*command, "--cases").out


def test_an_internal_error_is_said_to_be_one(monkeypatch, capsys):
    from maxpool_check.commands import main as module

    def broken(*arguments, **options):
        raise RuntimeError("oops")

    monkeypatch.setattr(module.cli, "main", broken)
    with pytest.raises(SystemExit) as left:
        module.main(["run", "x", "--report", "json"])
    shown = capsys.readouterr()
    assert left.value.code == 3
    assert "defect of maxpool-check" in shown.err
    assert "Traceback" not in shown.err
    assert json.loads(shown.out)["exit_code"] == 3
    with pytest.raises(SystemExit):
        module.main(["run", "-vv"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("columns", "width"), [("40", 50), ("60", 58), ("200", 78), ("", 78), ("many", 78)])
def test_help_is_as_wide_as_click_makes_it(cli, columns, width):
    done = cli("run", "--help", COLUMNS=columns)
    assert done.code == 0
    # An option and its metavar are never broken, and examples are pasted.
    unbroken = ("-", "maxpool-check")
    longest = max(len(line) for line in done.out.splitlines() if not line.lstrip().startswith(unbroken))
    assert width - 5 <= longest <= width
