"""What who has written a kernel sees of it: what it is called, its conversation, its mistakes, and ``targets``."""

import json
import shlex
import shutil
import subprocess
import sys

import pytest

from maxpool_check.results.storage import read
from tests.conftest import CASES, KERNELS, command, misbehaving, reports_in, untimed

RIGHT = f"python:{KERNELS}:right"


@pytest.fixture
def record(tmp_path):
    return tmp_path / "record.jsonl"


def test_a_kernel_is_called_what_it_says_and_has_no_provider_of_another(cli, small, record, tmp_path):
    forms = ("markdown", "html", "junit")
    for target, about in (
        (misbehaving("says_its_name"), "acme 2.1"),
        (misbehaving("says_nothing"), "no version named"),
        (RIGHT, "Python "),
    ):
        run = ("run", small, "-t", target, "-k", "small:ordinary", "-o", record, *reports_in(tmp_path, *forms))
        assert cli(*run, COLUMNS="400").out.startswith(f"{target}: {about}")
        (described,) = read(record).header.targets
        assert (described.provider, described.python == "-") == ("", target != RIGHT)
    assert (described.distribution, described.version) == ("python", "")
    for path in (tmp_path / form for form in forms):
        assert not {text for text in ("CPUExecutionProvider", "python 0") if text in path.read_text()}, path


def test_a_transcript_has_every_line_and_changes_no_execution(cli, small, record, tmp_path):
    transcript, other, run = tmp_path / "talk.jsonl", tmp_path / "other.jsonl", ("run", small, "-k", "small:padded")
    cli(*run, "-t", RIGHT, "-o", record, "--transcript", transcript).check(0, err=f"transcript: {transcript}")
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert {line["target"] for line in lines} == {RIGHT}
    seen = [(line["direction"], json.loads(line["line"])) for line in lines]
    assert seen[0] == ("in", {"protocol": 1, "options": seen[0][1]["options"]})
    assert [message["type"] for direction, message in seen if direction == "out"] == ["ready", "result", "result"]
    requests = [message for direction, message in seen if direction == "in"][1:]
    assert [message["outputs"] for message in requests] == [["Y", "Indices"], ["Y"]]
    assert [line["seconds"] for line in lines] == sorted(line["seconds"] for line in lines)
    cli(*run, "-t", RIGHT, "-o", other)
    assert untimed(read(record).executions) == untimed(read(other).executions)
    # Garbage, and the process that follows a death.
    cli(*run, "-t", misbehaving("no_json"), "--transcript", transcript)
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert {(1, "nonsense"), (2, "nonsense")} <= {(line["process"], line["line"]) for line in lines}
    cli(*run, "-t", RIGHT, "-j", "2", "--transcript", transcript).check(2, "without -j and --dask")


def test_a_program_without_its_prefix_or_folder_is_recognised(cli, tmp_path):
    program = tmp_path / "maxpool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for arguments, meant in (
        (["run", "corpus:edge/ties", "-t", "./maxpool"], "command:./maxpool"),
        (["targets", "check", "maxpool"], "command:./maxpool"),
        (["targets", "check", program], f"command:{program}"),
        (["targets", "check", "command:maxpool"], "./maxpool"),
        (["targets", "check", "python3 kernel.py"], "command:python3 kernel.py"),
    ):
        assert f"(did you mean '{meant}'?)" in cli(*arguments, cwd=tmp_path).err


@pytest.mark.parametrize(
    ("parameters", "body", "code", "message"),
    [
        ("X", "return X", 3, "too many positional arguments"),
        ("X, spec", "return X", 3, "multiple values for argument 'spec'"),
        ("X, attributes, *, out", "return X", 3, "missing a required"),
        ("X, attributes, spec", "raise ValueError('not today')", 1, "refuses-valid"),
        ("X, attributes, *, spec=None", "raise MemoryError('not today')", 1, "refuses-valid"),
        ("X, attributes", "return Y", 3, "NameError: "),
        ("X, attributes", "raise TypeError('no')", 3, "TypeError: "),
    ],
)
def test_how_a_function_is_called_and_what_its_exceptions_mean(
    cli, small, record, tmp_path, parameters, body, code, message
):
    file, page = tmp_path / "kernel.py", tmp_path / "page.html"
    file.write_text(f"def maxpool({parameters}):\n    {body}\n")
    done = cli("run", small, "-t", f"python:{file}:maxpool", "-o", record, "--report", f"html={page}")
    text, executions = " ".join((done.out + done.err).split()), list(read(record).executions)
    verdicts = {str(each.verdict) for each in executions}
    assert done.code == code
    if code == 1:
        assert verdicts == {"conforms", "refuses", "undefined"}
        assert message in text
    elif "raise" in body or body == "return Y":
        # One error, and no refusals.
        assert verdicts == {"error"}
        assert done.out.count(message) == page.read_text().count(message) == 1
        assert f"{len(executions)} executions failed: {message}" in page.read_text()
    else:
        # One error before the first case.
        assert (verdicts, text.count(message)) == (set(), 1)
        assert f"maxpool({parameters}) cannot be called as maxpool(X, attributes): {message}" in text
        assert "write it as maxpool(X, attributes) or maxpool(X, attributes, spec)" in text


def test_what_to_do_with_a_target_that_was_given_up(cli, tmp_path):
    (tmp_path / "kernel.py").write_text("def maxpool(X, attributes):\n    return Y\n")
    checked = f"Next: {shlex.join(['maxpool-check', 'targets', 'check', misbehaving('dies')])}"
    corrected = f"Next: correct {tmp_path}/kernel.py and run again"
    for target, line in ((misbehaving("dies"), checked), (f"python:{tmp_path}/kernel.py:maxpool", corrected)):
        assert cli("run", "corpus:edge/neg-inf", "-t", target).out.splitlines()[-1] == line


def test_the_targets_that_there_are(cli):
    openvino = "openvino                 OpenVINO itself, ?opset=1, 8 or 14, or ?frontend=onnx (not installed: pip"
    program = "command:PROGRAM ARG...   a program that speaks the protocol"
    cli("targets", "list").check(0, openvino, program, "provider CPUExecutionProvider")
    named = cli("targets", "list", "onnxruntime", RIGHT, f"python:{KERNELS}:absent")
    named.check(3, "provider CPUExecutionProvider", "does not start")
    (checked,) = cli("targets", "check", "onnxruntime", "--json").json["targets"]
    assert (checked["starts"], checked["newest_opset"] >= 22, checked["executes"]) == (True, True, True)


@pytest.mark.parametrize(
    ("target", "code", "text"),
    [
        (f"python:{KERNELS}:refuses_everything", 3, "does not execute a plain case: refuses: ValueError: not"),
        ("command:/nowhere/none", 3, "cannot be run: No such file"),
        (misbehaving("dies"), 1, "exited with status 9"),
    ],
)
def test_a_target_that_does_not_pass_its_check(cli, target, code, text):
    done = cli("targets", "check", target)
    assert (done.code, text in done.out + done.err) == (code, True)


def test_a_check_tries_what_the_program_has_and_says_ok_only_of_a_case_that_was_executed(cli, tmp_path):
    example = cli("targets", "example", "python").out
    for fields, code in (
        ('"dtypes": ["int8"], "spatial": [3]', 0),
        ('"dtypes": ["uint8"], "spatial": [1], "specs": ["onnx-1", "onnx-22"]', 0),
        ('"dtypes": ["uint8"], "spatial": [1], "specs": ["onnx-1"]', 3),
        ('"dtypes": ["bfloat16"], "specs": ["xmos-maxpool2d"]', 3),
    ):
        path = tmp_path / "program.py"
        path.write_text(example.replace('"dtypes": DTYPES', fields))
        done = cli("targets", "check", f"command:{sys.executable} {path}")
        assert (done.code, "\nOK " in done.out) == (code, code == 0), done.out


def test_a_program_does_not_choose_the_defects_that_excuse_it(cli, tmp_path):
    words = (CASES / "edge/neg-inf.yaml", "-k", "edge/neg-inf:first-plane-float32", "--variants", "indices")
    transcript, outputs = tmp_path / "talk.jsonl", tmp_path / "board.jsonl"
    release = "onnxruntime==1.23.2"
    cli("run", *words, "-t", release, "--transcript", transcript).check(0, "DEVIATES AS KNOWN")
    said = [
        json.loads(each["line"])
        for each in map(json.loads, transcript.read_text().splitlines())
        if each["direction"] == "out"
    ]
    result = next(each for each in said if each.get("type") == "result" and "Indices" in each["outputs"])
    ready = {
        "type": "ready",
        "protocol": 1,
        "distribution": "onnxruntime",
        "version": "1.23.2",
        "provider": "CPUExecutionProvider",
    }
    line = {
        "case": "edge/neg-inf:first-plane-float32",
        "variant": "indices",
        "type": "result",
        "outputs": result["outputs"],
    }
    outputs.write_text(f"{json.dumps(ready)}\n{json.dumps(line)}\n")
    cli("run", *words, "-t", f"outputs:{outputs}").check(1, "UNEXPECTED")


READ = """\
import json, sys
def send(message):
    print(json.dumps(message), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def check(cli, tmp_path):
    """Check the Python program with this text, or the example with a part of it replaced."""

    def check(text="", old="", new="", seconds=60):
        path = tmp_path / "program.py"
        example = cli("targets", "example", "python").out
        assert old in example
        path.write_text(READ + text if text else example.replace(old, new))
        done = cli("targets", "check", f"command:{sys.executable} {path}", "--json", MAXPOOL_CHECK_TIMEOUT=str(seconds))
        (target,) = done.json["targets"]
        return done.code, {step["name"]: step for step in target["protocol"] if step["state"] != "ok"}

    return check


def test_the_examples_pass(cli, check, tmp_path):
    (tmp_path / "maxpool.c").write_text(command("targets", "example", "c").out)
    subprocess.run([shutil.which("cc"), "-o", tmp_path / "maxpool", tmp_path / "maxpool.c"], check=True)
    cli("targets", "check", f"command:{tmp_path / 'maxpool'}").check(0, "float32 over 2 spatial axes, Y and Indices")
    assert check() == (0, {})


LEAST, LOADED = "min([*kernel, *strides, *dilations]) < 1", "request = json.loads(line)"
ID = '{"id": request["id"], **message}'
FLUSH, STRIDES_0 = "**message}), flush=True)", "a request to refuse, with strides of 0"
Y, BOTH, VALUES = (f"float32 over 2 spatial axes, {each}" for each in ("Y", "Y and Indices", "values (indices)"))


@pytest.mark.parametrize(
    ("old", "new", "step", "words", "fix"),
    [
        ('"version": "1.0"', '"version": "1.0", "dtype": ["int8"]', "ready: 'dtype'", "'dtypes' meant", ""),
        ('"dtypes": DTYPES', '"dtypes": ["float32", "bfloat16"]', "bfloat16 over 2 spatial axes, Y", "no outputs", ""),
        ("tensor.tobytes()", "tensor.byteswap().tobytes()", VALUES, "little-endian", ""),
        ("np.int64", "np.int32", BOTH, "expected int64[1, 1, 2, 3]", ""),
        ('for name in request["outputs"]:', 'for name in ["Y"]:', BOTH, '"indices": null', ""),
        (LEAST, "(strides := [1] * len(kernel)) is None", STRIDES_0, "excludes the graph", ""),
        (LOADED, f"{LOADED}; assert 'more' not in request", "an unknown key in a request", "ignore keys", ""),
        # The same mistake in every line has the same fix in every step.
        (FLUSH, '**message}) + "\\nbye", flush=True)', Y, "column 1: Expecting value, at 'bye'", "after the answer be"),
        (FLUSH, "**message})[:-1], flush=True)", Y, "it ends too early, after", "left open"),
        (ID, '{"id": 1, **message}', Y, "'id' is 1", "the id of its request"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_how_to_fix_it(check, old, new, step, words, fix):
    code, steps = check(old=old, new=new)
    assert code == 1
    assert words in json.dumps(steps[step]).replace('\\"', '"')
    assert steps[step]["fix"]
    if fix:
        wrong = [each for each in steps.values() if each["state"] == "wrong"]
        assert len(wrong) > 2
        assert all(words in each["message"] and fix in each["fix"] for each in wrong[1:]), wrong


@pytest.mark.parametrize(
    ("program", "seconds", "words"),
    [
        ({"text": "import time; time.sleep(60)"}, 2, "no line within 2 s"),
        ({"text": "sys.exit('no library')"}, 60, "no library"),
        ({"text": 'send({"type": "ready", "protocol": 2})'}, 60, "'protocol': expected one of 1, found the number 2"),
        ({"old": "    main()", "new": "    main()\n    import time\n    time.sleep(60)"}, 10, "ends when stdin ends"),
    ],
)
def test_a_program_that_does_not_begin_or_end_as_it_must(check, program, seconds, words):
    code, steps = check(**program, seconds=seconds)
    assert code == 1
    assert words in json.dumps(steps if "old" in program else steps["ready line"])
    assert len(steps) == 1 or "text" in program
