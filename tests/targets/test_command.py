"""``command:`` targets: the two examples, and programs that misbehave."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from maxpool_check.results.outcomes import Crashed
from maxpool_check.targets import process, protocol
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.targets.protocol import Request, parsed
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import MISBEHAVING_WORKERS, ROOT, eventually, living, misbehaving, run_record

EXAMPLES = ROOT / "maxpool_check/docs/examples"
PYTHON = f"command:{sys.executable} {EXAMPLES / 'maxpool.py'}"


@pytest.fixture(scope="module")
def c_kernel(tmp_path_factory):
    program = tmp_path_factory.mktemp("c") / "maxpool"
    compiler = shutil.which("cc")
    assert compiler, "the C example needs a C compiler"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", program, EXAMPLES / "maxpool.c"], check=True)
    return f"command:{program}"


def verdicts(done):
    return {name: count for name, count in done.json["summary"].items() if count}


def test_the_example_in_c_executes_what_it_can_express(cli, small, c_kernel):
    done = cli("run", small, "-t", c_kernel, "--report", "json")
    assert done.code == 0, done.out
    assert verdicts(done) == {"cases": 6, "executions": 12, "conforms": 10, "undefined": 2}
    (target,) = done.json["targets"]
    assert (target["distribution"], target["version"], target["speaks"]) == ("example-c", "1.0", "attributes")


def test_the_example_in_python_executes_more(cli, small):
    done = cli("run", small, "-t", PYTHON, "--report", "json")
    assert done.code == 0, done.out
    assert verdicts(done) == {"cases": 6, "executions": 12, "conforms": 10, "undefined": 2}


@pytest.mark.parametrize("path", ["edge/asymmetric-pads.yaml", "edge/dilations.yaml", "edge/batches-channels.yaml",
                                  "edge/strides.yaml", "edge/ties-sonnx.yaml"])  # fmt: skip
def test_the_examples_are_right(cli, c_kernel, path):
    done = cli("run", ROOT / "cases" / path, "-t", c_kernel, "-t", PYTHON, "--known", "none", "--report", "json")
    assert not any(target["summary"]["diverges"] for target in done.json["targets"]), done.out
    assert all(target["summary"]["conforms"] for target in done.json["targets"])


def test_the_example_in_c_has_all_of_the_operator_on_a_hundred_lines(cli, c_kernel):
    paths = [ROOT / "cases" / f"{name}.yaml" for name in ("edge/auto-pad", "edge/ceil-mode", "edge/storage-order",
                                                          "edge/size-arithmetic", "refusals/attributes")]  # fmt: skip
    done = cli("run", *paths, "-t", c_kernel, "--known", "none", "--report", "json")
    assert done.code == 0, done.out
    assert verdicts(done)["conforms"] > 90
    assert len((EXAMPLES / "maxpool.c").read_text().splitlines()) <= 100


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("another_protocol", 3, "it speaks version 2 of the protocol"),
        ("no_protocol", 3, "does not speak the worker's protocol"),
        ("silent_death", 3, "exited with status 7"),
        ("poet", 3, "'wants': expected one of attributes | model | openvino-1"),
        ("no_json", 3, "stderr; its line: nonsense; 'maxpool-check docs kernel'"),
        ("no_object", 3, "a line is not a JSON object"),
        ("another_id", 3, "'id' is 99; expected 1, the id of the request"),
        ("true_id", 3, "'id' is true; expected 1, the id of the request"),
        ("short_data", 3, "'data' has 3 bytes; float32 of the shape [9] has 36"),
        ("unknown_dtype", 3, "'outputs.Y.dtype': expected one of float16 | bfloat16"),
        ("unknown_type", 3, "expected result"),
        ("no_outputs", 3, "'outputs': expected a map, found a list"),
        ("too_deep", 3, "a line is nested too deeply"),
        ("no_dtype", 3, "found the text '('"),
        ("negative_shape", 3, "'outputs.Y.shape[0]': expected 0 or more, found the number -1"),
        ("endless_nothing", 3, "found the text 'object'"),
        ("providers_by_number", 3, "'providers': expected a list, found the number 5"),
        ("closes_stdout", 3, "it closed its stdout"),
        ("deaf", 1, "no result within 5 s"),
        ("dies", 1, "exited with status 9"),
    ],
)
def test_a_misbehaving_worker_ends_as_one_clear_outcome_and_the_others_are_executed(
    cli, small, kernel_target, tmp_path, name, code, words
):
    # The folder tells its processes from those of other tests.
    bad, good = f"{misbehaving(name)} {tmp_path}", kernel_target("right")
    done = cli("run", small, "-k", "small:ordinary", "-t", bad, "-t", good, "--timeout", "5", "--report", "json")
    assert done.code == done.json["exit_code"] == code, done.out + done.err
    assert words in done.out.replace("\\", "")
    summaries = {target["name"]: target["summary"] for target in done.json["targets"]}
    assert summaries[good]["conforms"] == 2
    assert sum(summaries.get(bad, {}).values()) in (0, 2)
    assert eventually(lambda: not [p for p, _, _ in living() if f"{name}\0{tmp_path}" in command_of(p)])


@pytest.mark.parametrize("name", ["half_a_line", "never_ready"])
def test_a_program_that_is_not_ready_within_the_timeout_is_ended(cli, small, tmp_path, name):
    done = cli("run", small, "-t", f"{misbehaving(name)} {tmp_path}", "--timeout", "1", "--report", "json")
    assert done.code == done.json["exit_code"] == 3
    (error,) = done.json["errors"]
    assert (
        "cannot be started: it was not ready within 1 s (--timeout): is its first line whole, and flushed?"
        in error["message"]
    )
    assert eventually(lambda: not [p for p, _, _ in living() if f"{name}\0{tmp_path}" in command_of(p)])


def command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode()
    except OSError:
        return ""


def test_an_endless_line_is_cut(monkeypatch):
    monkeypatch.setattr(protocol, "MOST_BYTES", 2**16)
    worker = process.Worker([sys.executable, str(MISBEHAVING_WORKERS), "endless"], {}, isolated=False)
    with contextlib.closing(worker), pytest.raises(process.CannotStart, match="a line of more than 65536 bytes"):
        _ = worker.description


@pytest.mark.parametrize(
    ("line", "byte"),
    [(b"\xff\xfe{\x00}\x00\n", "0xff at position 0"), ('{"type": "caf\xe9"}\n'.encode("latin-1"), "0xe9 at position 13"),
     (b"\x00\x01\x90\n", "0x90 at position 2")],
)  # fmt: skip
def test_what_is_not_utf_8_is_called_so_and_no_other_encoding_is_guessed(line, byte):
    with pytest.raises(ValueError, match=rf"^a line is not UTF-8 \(byte {byte}\); expected a JSON object"):
        parsed(line)


def test_a_line_may_begin_with_a_byte_order_mark_and_with_no_other_bytes():
    assert parsed(b'\xef\xbb\xbf{"type": "ready"}\n') == {"type": "ready"}
    with pytest.raises(ValueError, match="a line is not JSON"):
        parsed('{"type": "ready"}'.encode("utf-16-be"))


def test_what_a_program_said_before_it_died_is_shown_without_the_frames_of_a_backtrace(cli, small):
    done = cli("run", small, "-k", "small:ordinary", "-t", misbehaving("panics"), "--report", "json")
    message = done.json["results"][0]["message"]
    assert "panicked: the window is empty" in message
    assert "note: that is all" in message
    assert "/somewhere/" not in message
    assert len(message) < 1000


def test_memory_is_limited(cli, small, tmp_path):
    script = tmp_path / "greedy.py"
    script.write_text("import numpy as np\ndef greedy(X, attributes):\n    return np.ones(2**32, np.uint8)[:1]\n")
    target = f"python:{script}:greedy"
    done = cli("run", small, "-k", "small:ordinary", "-t", target, "--report", "json", MAXPOOL_CHECK_MEMORY="2000")
    assert {result["verdict"] for result in done.json["results"]} <= {"refuses", "crashes"}
    assert "Memory" in done.out


def test_words_of_a_command_are_split_as_a_shell_does():
    assert parse("command:'/a b/k' -x 1").program == ("/a b/k", "-x", "1")
    for text in ("command:", "command:'a"):
        with pytest.raises(BadTarget, match="command:PROGRAM"):
            parse(text)


def test_a_target_whose_description_is_nested_too_deeply_is_lost_alone(cli, small, c_kernel):
    done = cli("run", small, "-t", misbehaving("nested"), "-t", c_kernel, "--report", "json")
    assert done.code == 3
    assert done.json["summary"]["conforms"] == 10
    (error,) = done.json["errors"]
    assert "session_options is nested more than 8 deep" in str(error)


def test_of_a_long_message_the_beginning_and_its_length_are_kept(small):
    record = run_record(small, misbehaving("talkative"))
    for execution in record.executions:
        assert len(execution.message) < 10_000, execution.message[:100]
        assert "... (10000000 characters)" in execution.message
        assert "... (1000000 characters)" in execution.message


def test_what_a_worker_writes_to_stderr_does_not_fill_the_disk():
    with TargetSession(Target(parse(misbehaving("noisy")), seconds=60)) as session:
        (number,) = session.submit([Request(np.zeros((1, 1, 2), np.float32), ("Y",), b"", {})])
        outcome = session.outcome(number)
        files = [status for fd in range(1024) if (status := status_of(fd)) and not status.st_nlink]
    assert isinstance(outcome, Crashed)
    assert outcome.stderr.startswith("it begins here\nxxx")
    assert outcome.stderr.endswith("xxx\nit ends here")
    assert sum(status.st_size for status in files) < 2**20


def status_of(fd):
    """What is known of the open file of a number; None if there is none."""
    with contextlib.suppress(OSError):
        return os.fstat(fd)
    return None


def test_a_request_has_one_blank_after_each_colon_and_comma_so_that_a_program_needs_no_parser():
    X = np.arange(2, dtype=np.float32).reshape(1, 1, 2)
    request = Request(X, ("Y", "Indices"), b"", {"kernel_shape": [2], "auto_pad": "NOTSET"}, spec="onnx-22")
    assert request.line(7) == (
        b'{"id": 7, "model": "", "attributes": {"kernel_shape": [2], "auto_pad": "NOTSET"}, '
        b'"inputs": {"X": {"dtype": "float32", "shape": [1, 1, 2], "data": "AAAAAAAAgD8="}}, '
        b'"outputs": ["Y", "Indices"], "spec": "onnx-22"}\n'
    )
