"""Workers and their sessions: outcomes, and what becomes of those that die, hang, lie or harm the tool."""

import base64
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

import maxpool_check
from maxpool_check.reference.dtypes import NAMES, NUMPY
from maxpool_check.results.outcomes import Crashed, Failed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.storage import read
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.targets import process, protocol
from maxpool_check.targets.name import parse
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.protocol import Request, parsed
from maxpool_check.targets.requests import jobs_of
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from maxpool_check.targets.worker.messages import decode, encode
from tests.conftest import MISBEHAVING_WORKERS, ROOT, children, eventually, living, misbehaving, run_record
from tests.misbehaving_workers import UNABLE


@pytest.fixture
def session(kernel_target):
    """The session of a kernel of the tests, or of a target."""
    with contextlib.ExitStack() as stack:

        def start(name, seconds=60.0):
            name = name if ":" in name or name.startswith("onnxruntime") else kernel_target(name)
            return stack.enter_context(TargetSession(Target(parse(name), seconds)))

        yield start


def attributes(stride=1, kernel=1):
    return {
        "kernel_shape": [kernel, kernel], "strides": [stride, stride], "dilations": [1, 1], "pads": [0, 0, 0, 0],
        "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
    }  # fmt: skip


def request(stride=1, *, size=4, excluded=False):
    return Request(np.zeros((1, 1, size, size), np.float32), ("Y",), b"", attributes(stride), excluded=excluded)


X = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
WHOLE = Request(X, ("Y", "Indices"), b"", attributes(kernel=2))
COLUMN = Request(X[..., :1], ("Y", "Indices"), b"", attributes())


def execute(session, *requests):
    """Submit all requests at once; their outcomes."""
    return [session.outcome(number) for number in session.submit(requests)]


def returned(outcome):
    """The outputs as lists; of an outcome of another kind itself."""
    if not isinstance(outcome, Returned):
        return outcome
    return {name: (str(value.dtype), value.tolist()) for name, value in outcome.outputs.items()}


RIGHT = {"Y": ("float32", [[[[3.0]]]]), "Indices": ("int64", [[[[3]]]])}


@pytest.mark.parametrize(("name", "request_", "outcome"), [
    ("right", WHOLE, RIGHT),
    ("dies_always", WHOLE, Crashed("exited with status 7", "")),
    # Words that cannot be written are made so.
    ("speaks_in_surrogates", WHOLE, RefusedByTarget("ValueError", "\\ud800 is half a character")),
    ("gives_nothing", request(), {}),
    ("gives_no_indices", WHOLE, {"Y": RIGHT["Y"]}),
    ("gives_objects", request(), {"Y": ("object", [[[[None] * 4] * 4]])}),
    # A mistake in its code is no refusal.
    ("misspells_a_name", WHOLE, Failed("NameError: name 'attribute' is not defined, at kernels.py:114: return right(X, attribute)  # noqa: F821")),
    ("gives_three", WHOLE, Failed("ValueError: the function returned 3 values; expected (Y, Indices) or Y")),
    ("hangs", COLUMN, TimedOut(2)),
    # A child of theirs holds the pipes open, and sleeps for 600 s.
    ("forks_and_hangs", WHOLE, TimedOut(2)),
    ("forks_and_dies", WHOLE, Crashed("exited with status 3", "")),
])  # fmt: skip
def test_an_outcome(session, name, request_, outcome):
    own, before = session(name, 2 if outcome == TimedOut(2) else 60), children(os.getpid())
    assert own.profile
    assert returned(execute(own, request_)[0]) == outcome
    own.close()
    assert eventually(lambda: children(os.getpid()) <= before)


def test_outputs_of_another_provider_are_an_error_and_no_verdict(session):
    runtime = session("onnxruntime")
    # It falls back to another provider than the one it was started for.
    description = msgspec.structs.replace(runtime.profile.description, provider="CUDAExecutionProvider")
    profile = replace(runtime.profile, description=description)
    (job,) = jobs_of(maxpool_check.case(X, kernel_shape=[2, 2]), [Y_ONLY], profile)
    (outcome,) = execute(runtime, job.request)
    assert job.finished(outcome, 0.0, profile).outcome == Failed(
        "wrong provider: CPUExecutionProvider ran the node, not CUDAExecutionProvider"
    )


def values(*outcomes):
    return [int(outcome.outputs["Y"]) for outcome in outcomes if isinstance(outcome, Returned)]


def test_a_death_costs_the_request_that_was_executed_and_none_behind_it(session):
    strides = (1, 7, 1, 7, 7, 1)
    outcomes = execute(session("says_which_process_it_is"), *map(request, strides))
    assert [outcomes[number] for number in (1, 3, 4)] == [Crashed("exited with status 7", "")] * 3
    assert len({*values(*outcomes)}) == 3


def test_a_process_that_ran_an_excluded_graph_executes_nothing_else(session):
    before, trusted, after, refused, last = execute(
        session("says_which_process_it_is"),
        request(), request(excluded=True), request(), request(0, excluded=True), request(),
    )  # fmt: skip
    assert values(before) == values(trusted) != values(after) == values(last)
    # A refusal harms nobody.
    assert refused == RefusedByTarget("ValueError", "a stride of 0")
    assert len(values(before, trusted, after, last)) == 4


def test_requests_are_executed_in_the_order_of_submission(session):
    """The state of a runtime depends on it, and so may its crashes."""
    counting = session("counts_its_calls")
    first = counting.submit([request(), request(0)])
    second = counting.submit([request(), request()])
    assert values(*map(counting.outcome, second)) == [3, 4]
    assert values(*map(counting.outcome, first)) == [1]


def test_a_crash_that_does_not_come_back_alone_says_so(session):
    outcomes = execute(session(misbehaving("dies_later")), request(), request(), request())
    crash = Crashed("exited with status 7 after other requests; executed alone, it does not crash", "")
    assert outcomes == [NotExecuted("no"), crash, crash]
    first, second, third = execute(session("counts_its_calls"), request(), request(7), request())
    assert second == Crashed("exited with status 7", "")
    assert values(first, third) == [1, 1]


@pytest.mark.parametrize(
    ("name", "mistake"),
    [("closes_stdin", "it closed its stdin"), ("closes_stdout", "it closed its stdout"),
     # A message without a request is no outcome of the next one.
     ("sends_twice", r"'id' is \d+; expected \d+, the id of the request")],
)  # fmt: skip
def test_a_living_process_that_breaks_the_protocol_is_neither_a_crash_nor_a_time_out(session, name, mistake):
    breaking = session(misbehaving(name))
    assert execute(breaking, request()) == [NotExecuted("no")]
    (outcome,) = execute(breaking, request())
    assert isinstance(outcome, Failed)
    assert re.match(f"the worker broke the protocol: {mistake}", outcome.why)
    # A new process begins anew.
    assert execute(breaking, request()) == [NotExecuted("no")]


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("step", ["write", "read"])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_after_an_interruption_no_outcome_is_taken_for_that_of_another_request(session, monkeypatch, step, number):
    counting = session("counts_its_calls")
    original, left = getattr(Worker, step), [number]

    def interrupted(self, *arguments, **named):
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted
        return original(self, *arguments, **named)

    monkeypatch.setattr(Worker, step, interrupted)
    with pytest.raises(Interrupted):
        execute(counting, *[request() for _ in range(5)])
    outcomes = execute(counting, request(0), request(), request(0))
    assert [type(outcome) for outcome in outcomes] == [RefusedByTarget, Returned, RefusedByTarget]


PAUSE = """
import os, signal, time
time.sleep(0.5)
os.kill({pid}, signal.SIGSTOP)
time.sleep(4)
os.kill({pid}, signal.SIGCONT)
"""


def test_while_this_process_is_stopped_no_time_runs_out(session):
    """As when a container is paused: the clock goes on, and nothing could have been returned."""
    slow = session("takes_its_time", seconds=3.0)
    execute(slow, request(1))
    with subprocess.Popen([sys.executable, "-c", PAUSE.format(pid=os.getpid())]):
        (outcome,) = execute(slow, request(15))
    assert isinstance(outcome, Returned)


def test_the_time_of_a_request_begins_with_the_outcome_before_it(session):
    outcomes = execute(session("takes_its_time", seconds=2.0), *[request(3) for _ in range(10)])
    assert all(isinstance(outcome, Returned) for outcome in outcomes), outcomes


def test_only_while_a_request_waits_its_time_runs_out(session):
    slow = session("takes_its_time", seconds=1.0)
    (number,) = slow.submit([request(1)])
    time.sleep(2)
    assert isinstance(slow.outcome(number), Returned)
    first, second = slow.submit([request(100), request(1)])
    outcome, seconds = slow.timed_outcome(first)
    assert outcome == TimedOut(1.0)
    assert seconds >= 1
    assert isinstance(slow.outcome(second), Returned)


def test_a_large_request_waits_for_a_worker_that_takes_long_to_start(session, tmp_path):
    path = tmp_path / "slow.py"
    path.write_text("import time\ntime.sleep(3)\ndef maxpool(X, attributes):\n    return X\n")
    slow = session(f"python:{path}:maxpool", seconds=2.0)
    outcome, seconds = slow.timed_outcome(slow.submit([request(size=256)])[0])
    assert isinstance(outcome, Returned), outcome
    # Those of the start are not counted.
    assert seconds < 3


def test_tensors_larger_than_a_pipe_go_in_and_out_together(session):
    """If each side waited for the other to read, nothing would ever be returned."""
    for outcome in execute(session("right"), *[request(size=512) for _ in range(6)]):
        assert isinstance(outcome, Returned)
        assert outcome.outputs["Y"].shape == (1, 1, 512, 512)
    # One that does not read.
    assert execute(session(misbehaving("deaf"), seconds=1.0), request(size=1024)) == [TimedOut(1.0)]


def test_a_worker_that_cannot_be_started_again_fails_all_that_waits(session, tmp_path):
    program = tmp_path / "kernel"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {MISBEHAVING_WORKERS} dies\n")
    program.chmod(0o755)
    dying = session(f"command:{program}")
    assert dying.profile
    program.unlink()
    first, second, third = execute(dying, request(), request(), request())
    assert first == Crashed("exited with status 9", "")
    assert all(isinstance(outcome, Failed) and outcome.final for outcome in (second, third))
    assert "cannot be run" in second.why
    assert isinstance(dying.failure, CannotStart)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 4)])
def test_a_tensor_comes_back_with_its_dtype_shape_and_bits(name, shape):
    patterns = np.random.default_rng(0).bytes(int(np.prod(shape)) * NUMPY[name].itemsize)
    tensor = np.frombuffer(patterns, NUMPY[name]).reshape(shape)
    received = decode(json.loads(json.dumps(encode(tensor))))
    assert (received.dtype, received.shape, received.tobytes()) == (tensor.dtype, tensor.shape, patterns)
    # Kernels may change it.
    assert received.flags.writeable


def test_sent_tensors_are_row_major_and_little_endian():
    sent = encode(np.array([[1, 2], [3, 4]], ">u2").T)
    assert (sent["dtype"], sent["shape"]) == ("uint16", [2, 2])
    assert base64.b64decode(sent["data"]) == bytes([1, 0, 3, 0, 2, 0, 4, 0])


EXAMPLES = ROOT / "maxpool_check/docs/examples"
PYTHON = f"command:{sys.executable} {EXAMPLES / 'maxpool.py'}"


def test_the_examples_are_right(cli, tmp_path):
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "maxpool", EXAMPLES / "maxpool.c"], check=True)
    c_kernel = f"command:{tmp_path / 'maxpool'}"
    names = ("asymmetric-pads", "dilations", "batches-channels", "strides", "ties-sonnx")
    paths = [f"corpus:edge/{name}.yaml" for name in names]
    done = cli("run", *paths, "-t", c_kernel, "-t", PYTHON, "--known", "none", "--report", "json").check(0)
    for target in done.json["targets"]:
        assert target["summary"]["conforms"] > 10
    # The one in C has all of the operator, on a hundred lines.
    names = ("edge/auto-pad", "edge/ceil-mode", "edge/storage-order", "edge/size-arithmetic", "refusals/attributes")
    paths = [f"corpus:{name}.yaml" for name in names]
    done = cli("run", *paths, "-t", c_kernel, "--known", "none", "--report", "json").check(0)
    assert done.json["summary"]["conforms"] > 90
    assert len((EXAMPLES / "maxpool.c").read_text().splitlines()) <= 100


@pytest.mark.parametrize(("name", "code", "words"), [
    ("another_protocol", 3, "it speaks version 2 of the protocol"),
    ("no_protocol", 3, "does not speak the worker's protocol"),
    ("silent_death", 3, "exited with status 7\\nno library today"),
    ("no_json", 3, "stderr; its line: nonsense; 'maxpool-check docs kernel'"),
    ("true_id", 3, "'id' is true; expected "),
    ("answers_ahead", 3, "'id' is 1; expected "),
    ("no_text", 1, "missing-output"),
    ("too_deep", 3, "a line is nested too deeply"),
    ("no_dtype", 3, "found the text '('"),
    ("endless_nothing", 3, "found the text 'object'"),
    ("nested", 3, "session_options is nested more than 8 deep"),
    ("half_a_line", 3, "it was not ready within 5 s (--timeout): is its first line whole, and flushed?"),
    ("closes_stdout", 3, "it closed its stdout"),
    ("deaf", 1, "no result within 5 s"),
    ("dies", 1, "exited with status 9"),
    ("stops_its_guard", 1, "FAIL: no"),
    ("panics", 1, "panicked: the window is empty\\nxxx"),
    ("raises", 1, "exited with status 1: ZeroDivisionError: division by zero\\nTraceback"),
])  # fmt: skip
def test_a_misbehaving_worker_ends_as_one_clear_outcome_and_the_others_are_executed(
    cli, small, kernel_target, tmp_path, name, code, words
):
    # The folder tells its processes from those of other tests.
    bad, good = f"{misbehaving(name)} {tmp_path}", kernel_target("right")
    done = cli("run", small, "-k", "small:ordinary", "-t", bad, "-t", good, "--timeout", "5", "--report", "json")
    assert done.code == done.json["exit_code"] == code, done.out + done.err
    assert words in json.dumps([done.json["errors"], done.json["faults"]]).replace('\\"', '"'), done.out
    # Of a backtrace, the frames are not shown.
    assert not [frame for frame in ("/somewhere/", "<frozen", "tract::pool", "0x7f01") if frame in done.out]
    summaries = {target["name"]: target["summary"] for target in done.json["targets"]}
    assert summaries[good]["conforms"] == 2
    assert sum(summaries.get(bad, {}).values()) in (0, 2)
    assert eventually(lambda: not [p for p, _, _ in living() if f"{name}\0{tmp_path}" in command_of(p)])


def command_of(process):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().decode()
    return ""


def test_an_endless_line_is_cut_and_a_flood_waits_for_its_reader(monkeypatch, tmp_path):
    for module in (process, protocol):
        monkeypatch.setattr(module, "MOST_BYTES", 2**16)
    worker = Worker([sys.executable, str(MISBEHAVING_WORKERS), "endless"], {}, isolated=False)
    with contextlib.closing(worker), pytest.raises(CannotStart, match="a line of more than 65536 bytes"):
        _ = worker.description
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    worker = Worker([sys.executable, str(MISBEHAVING_WORKERS), "floods"], {}, isolated=False)
    with contextlib.closing(worker):
        assert worker.description["type"] == "ready"
        count = tmp_path / "count"
        assert not eventually(lambda: count.exists() and int(count.read_text() or 0) > 1000, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"\xff\xfe{\x00}\x00\n", r"not UTF-8 \(byte 0xff at position 0\); expected a JSON object"),
     ('{"type": "caf\xe9"}\n'.encode("latin-1"), r"not UTF-8 \(byte 0xe9 at position 13\)"),
     ('{"type": "ready"}'.encode("utf-16-be"), "not JSON")],
)  # fmt: skip
def test_what_is_not_utf_8_is_called_so_and_no_other_encoding_is_guessed(line, message):
    with pytest.raises(ValueError, match=f"^a line is {message}"):
        parsed(line)
    assert parsed(b'\xef\xbb\xbf{"type": "ready"}\n') == {"type": "ready"}


def test_memory_is_limited(cli, small, tmp_path):
    script = tmp_path / "greedy.py"
    script.write_text("import numpy as np\ndef greedy(X, attributes):\n    return np.ones(2**32, np.uint8)[:1]\n")
    target = f"python:{script}:greedy"
    done = cli("run", small, "-k", "small:ordinary", "-t", target, "--report", "json", MAXPOOL_CHECK_MEMORY="2000")
    assert {fault["example"]["verdict"] for fault in done.json["faults"]} <= {"refuses", "crashes"}
    assert "Memory" in done.out


def test_of_a_long_message_the_beginning_and_its_length_are_kept(small):
    for execution in run_record(small, misbehaving("talkative")).executions:
        assert len(execution.message) < 10_000, execution.message[:100]
        assert "... (10000000 characters)" in execution.message
        assert "... (1000000 characters)" in execution.message


def test_what_a_worker_writes_to_stderr_does_not_fill_the_disk():
    with TargetSession(Target(parse(misbehaving("noisy")), seconds=60)) as session:
        (number,) = session.submit([Request(np.zeros((1, 1, 2), np.float32), ("Y",), b"", {})])
        outcome = session.outcome(number)
        files = [file.stat() for file in Path("/proc/self/fd").iterdir() if file.exists()]
    assert isinstance(outcome, Crashed)
    assert outcome.stderr.startswith("it begins here\nxxx")
    assert outcome.stderr.endswith("xxx\nit ends here")
    assert sum(file.st_size for file in files if not file.st_nlink) < 2**20


@pytest.mark.parametrize(
    "field",
    ['"spatial": [1e999]', '"session_options": {"a": NaN}', '"session_options": [[null, 1]]', '"specs": ["\\ud800"]',
     '"session_options": {"a": "\\ud800"}', '"session_options": {"\\udfff": 1}', r'"version": "\u009b\u202e##[x"'],
)  # fmt: skip
def test_a_description_that_no_report_can_hold(cli, small, tmp_path, field):
    report, record = tmp_path / "r.json", tmp_path / "record.jsonl"
    target = f"{misbehaving('replies')} {shlex.quote(json.dumps(UNABLE))} {shlex.quote(f', {field}')}"
    done = cli("run", small, "-k", "ordinary", "-t", target, "--report", f"json={report}", "-o", record)
    assert "internal error" not in done.err
    assert done.code in (1, 3, 4)
    json.loads(report.read_text(), parse_constant=pytest.fail)
    text = cli("report", record, "--report", "json").out + record.read_text()
    assert "##[" not in text
    assert record.read_text().isascii()
    if "version" in field:
        assert json.loads(record.read_text().splitlines()[0])["targets"][0]["version"] == "\x9b\u202e##[x"


@pytest.mark.parametrize(
    ("name", "message"),
    [("says_more", "the worker broke the protocol"), ("says_less_than_nothing", "-1 bytes behind a line"),
     ("says_text", "the worker broke the protocol"), ("dies", "killed by SIGALRM")],
)  # fmt: skip
def test_bytes_that_are_not_as_a_worker_says_are_noticed(cli, small, tmp_path, name, message):
    python, record = tmp_path / name, tmp_path / "record.jsonl"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/tests/lying_workers.py" {name} "$@"\n')
    python.chmod(0o755)
    assert cli("run", small, "-t", f"onnxruntime?python={python}", "--timeout", "2", "-q", "-o", record).code in (1, 3)
    executions = read(record).executions
    assert not any(each.digests for each in executions)
    assert any(message in each.message for each in executions)


def test_where_there_is_a_transcript_all_outputs_are_in_it(cli, tmp_path):
    path = tmp_path / "transcript.jsonl"
    cli("run", "corpus:sonnx/float.yaml", "-k", "float-example-1", "--transcript", path)
    messages = [json.loads(json.loads(line)["line"]) for line in path.read_text().splitlines()]
    results = [message for message in messages if message.get("type") == "result"]
    assert all(isinstance(tensor["data"], str) for each in results for tensor in each["outputs"].values())
    assert len(results) > 2
