"""What the user of a kernel of their own sees of it: its header, its conversation, and its mistakes in the protocol."""

import json
import shlex

import pytest

from maxpool_check.results.storage import read
from tests.conftest import KERNELS, misbehaving, untimed


@pytest.fixture
def record(tmp_path):
    return tmp_path / "record.jsonl"


def header(record):
    with record.open() as lines:
        return json.loads(next(lines))


def test_a_function_has_no_version_and_no_provider(cli, small, kernel_target, record, tmp_path):
    name, reports = (
        kernel_target("right"),
        {form: tmp_path / f"report.{form}" for form in ("markdown", "html", "junit")},
    )
    options = [word for form, path in reports.items() for word in ("--report", f"{form}={path}")]
    done = cli("run", small, "-t", name, "-k", "small:ordinary", "-o", record, *options)
    (target,) = header(record)["targets"]
    assert (target["distribution"], target["version"], target["provider"]) == ("python", "", "")
    assert done.out.splitlines()[0] == f"{name}: Python {target['python']}"
    for path in reports.values():
        assert "CPUExecutionProvider" not in path.read_text(), path
        assert "python 0" not in path.read_text(), path
    site = cli("report", record, "-o", tmp_path / "site")
    assert site.code == 0, site.err
    pages = [path for path in (tmp_path / "site").rglob("*.html") if "docs" not in path.parts]
    assert pages
    assert not [path for path in pages if "CPUExecutionProvider" in path.read_text()]


def test_of_a_program_what_it_says_is_shown_and_nothing_else(cli, small, record):
    for name, about in (("says_its_name", "acme 2.1"), ("says_nothing", "no version named")):
        done = cli("run", small, "-t", misbehaving(name), "-k", "small:ordinary", "-o", record, COLUMNS="400")
        assert done.out.splitlines()[0] == f"{misbehaving(name)}: {about}"
        (target,) = header(record)["targets"]
        assert (target["provider"], target["python"]) == ("", "-")


def test_a_record_of_an_older_version_is_read_and_shown_without_the_version_0(cli, small, kernel_target, record):
    cli("run", small, "-t", kernel_target("right"), "-k", "small:ordinary", "-o", record)
    old = record.read_text().replace('"version":"","provider":""', '"version":"0","provider":"CPUExecutionProvider"')
    assert '"version":"0"' in old
    record.write_text(old)
    done = cli("report", record)
    assert "python 0" not in done.out
    assert f"{kernel_target('right')}: CPUExecutionProvider, Python" in done.out


def test_a_transcript_has_every_line_and_changes_no_execution(cli, small, kernel_target, record, tmp_path):
    transcript, other = tmp_path / "talk.jsonl", tmp_path / "other.jsonl"
    target, command = kernel_target("right"), ("run", small, "-k", "small:padded", "-t", kernel_target("right"))
    done = cli(*command, "-o", record, "--transcript", transcript)
    assert done.code == 0
    assert f"transcript: {transcript}" in done.err
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert {line["target"] for line in lines} == {target}
    seen = [(line["direction"], json.loads(line["line"])) for line in lines]
    assert seen[0] == ("in", {"protocol": 1, "options": seen[0][1]["options"]})
    assert [message["type"] for direction, message in seen if direction == "out"] == ["ready", "result", "result"]
    requests = [message for direction, message in seen if direction == "in"][1:]
    assert [message["outputs"] for message in requests] == [["Y", "Indices"], ["Y"]]
    assert [line["seconds"] for line in lines] == sorted(line["seconds"] for line in lines)
    cli(*command, "-o", other)
    assert untimed(read(record).executions) == untimed(read(other).executions)


def test_a_transcript_shows_garbage_and_the_process_that_follows_a_death(cli, small, tmp_path):
    path = tmp_path / "talk.jsonl"
    cli("run", small, "-k", "small:ordinary", "-t", misbehaving("no_json"), "--transcript", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert ("out", "nonsense") in {(line["direction"], line["line"]) for line in lines}
    assert {line["process"] for line in lines} == {1, 2}


def test_a_transcript_overwrites_no_input_and_needs_one_process(cli, small, kernel_target, tmp_path):
    case, before = small / "small.yaml", (small / "small.yaml").read_text()
    for path in (case, KERNELS):
        done = cli("run", small, "-t", kernel_target("right"), "--transcript", path)
        assert (done.code, "must not be overwritten" in done.err) == (2, True)
    assert case.read_text() == before
    done = cli("run", small, "-t", kernel_target("right"), "-j", "2", "--transcript", tmp_path / "talk.jsonl")
    assert done.code == 2
    assert "without -j and --dask" in done.err


def test_a_mistake_that_leaves_no_window_has_the_name_of_the_mistake(cli, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import numpy as np\n\n\n"
        "def maxpool(X, attributes):\n"
        "    if X.ndim != 4 or any(attributes['pads']) or attributes['ceil_mode']:\n"
        "        raise NotImplementedError('only two axes without pads')\n"
        "    (a, b), (s, t), d = attributes['kernel_shape'], attributes['strides'], attributes['dilations'][0]\n"
        "    rows, columns = (max(0, (n - d * (k - 1) - 1) // step + 1) for n, k, step in zip(X.shape[2:], (a, b), (s, t)))\n"
        "    return np.max([X[:, :, i * d :: s, j * d :: t][:, :, :rows, :columns] for i in range(a) for j in range(b)], 0)\n"
    )
    target = f"python:{kernel}:maxpool"
    done = cli("run", "corpus:edge/dilations", "corpus:edge/kernel-one", "-t", target, "-k", "dtype:float32")
    assert "NEW  dilation-of-first-axis" in done.out
    assert "NEW  shape" not in done.out
    assert "The result has the shape of" not in done.out.split("NEW  dilation-of-first-axis")[0]


def test_a_program_that_is_given_up_is_checked_next_and_a_function_corrected(cli, tmp_path):
    target = misbehaving("dies")
    done = cli("run", "corpus:edge/neg-inf", "-t", target)
    assert done.out.splitlines()[-1] == f"Next: {shlex.join(['maxpool-check', 'targets', 'check', target])}"
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def maxpool(X, attributes):\n    return Y\n")
    done = cli("run", "corpus:edge/neg-inf", "-t", f"python:{kernel}:maxpool")
    assert done.out.splitlines()[-1] == f"Next: correct {kernel} and run again"


def test_a_program_without_its_prefix_or_folder_is_recognised(cli, tmp_path):
    program = tmp_path / "maxpool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for arguments, meant in (
        (["run", "corpus:edge/ties", "-t", "./maxpool"], "command:./maxpool"),
        (["targets", "check", "maxpool"], "command:./maxpool"),
        (["targets", "check", program], f"command:{program}"),
        (["targets", "check", "command:maxpool"], "./maxpool"),
    ):
        done = cli(*arguments, cwd=tmp_path)
        assert f"(did you mean '{meant}'?)" in done.err


@pytest.fixture
def function(tmp_path):
    """A function of a user as a target, and its file."""

    def write(parameters, body):
        file = tmp_path / "kernel.py"
        file.write_text(f"def maxpool({parameters}):\n    {body}\n")
        return f"python:{file}:maxpool"

    return write


@pytest.mark.parametrize(
    ("parameters", "mistake"),
    [
        ("X", "too many positional arguments"),
        ("X, kernel_shape, strides", "missing a required argument: 'strides'"),
        ("X, **attributes", "too many positional arguments"),
        ("X, spec", "multiple values for argument 'spec'"),
        ("X, attributes, *, out", "missing a required"),
    ],
)
def test_a_function_that_cannot_be_called_is_one_error_before_the_first_case(cli, small, function, parameters, mistake):
    done = cli("run", small, "-t", function(parameters, "return X"))
    text = " ".join((done.out + done.err).split())
    assert done.code == 3
    assert "Tested: nothing of" in text
    assert text.count(mistake) == 1
    assert f"maxpool({parameters}) cannot be called as maxpool(X, attributes): {mistake}" in text
    assert "write it as maxpool(X, attributes) or maxpool(X, attributes, spec)" in text


@pytest.mark.parametrize(
    "parameters", ["X, attributes", "X, attributes, spec", "X, attributes, *, spec=None", "*given"]
)
def test_a_function_that_can_be_called_is(cli, small, function, parameters):
    done = cli("run", small, "-t", function(parameters, "raise NotImplementedError('not today')"))
    assert done.code == 1
    assert "NotImplementedError: not today" in " ".join(done.out.split())


@pytest.mark.parametrize("error", ["NotImplementedError", "ValueError", "MemoryError"])
def test_three_exceptions_of_a_function_are_refusals(cli, small, function, record, error):
    cli("run", small, "-t", function("X, attributes", f"raise {error}('no')"), "-o", record)
    assert {str(execution.verdict) for execution in read(record).executions} == {"conforms", "refuses", "undefined"}


@pytest.mark.parametrize(
    "error", ["TypeError", "KeyError", "IndexError", "RuntimeError", "ZeroDivisionError", "Exception"]
)
def test_other_exceptions_of_a_function_are_one_error_and_no_refusals(cli, small, function, record, tmp_path, error):
    target, page = function("X, attributes", f"raise {error}('no')"), tmp_path / "report.html"
    done = cli("run", small, "-t", target, "-o", record, "--report", f"html={page}")
    executions = list(read(record).executions)
    assert {str(execution.verdict) for execution in executions} == {"error"}
    assert done.code == 3
    for text in (done.out, page.read_text()):
        assert text.count(f"{error}: ") == 1
    assert f" in {len(executions)} executions: {error}: " in page.read_text()
