"""Frames: the messages between the tool and its own workers, whose tensors are bytes."""

import contextlib
import json
import sys
import tracemalloc

import numpy as np
import pytest

from maxpool_check.results.outcomes import Failed, Returned, TimedOut
from maxpool_check.targets.launching import adapter
from maxpool_check.targets.name import parse
from maxpool_check.targets.process import Worker
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import KERNELS, MISBEHAVING_WORKERS, misbehaving

X = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
ATTRIBUTES = {
    "kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0],
    "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
}  # fmt: skip


def outcome_of(name, seconds=20.0):
    """What comes of a request to a worker that misbehaves where the tool takes it for its own; and whether it lives."""
    worker = Worker([sys.executable, "-S", str(MISBEHAVING_WORKERS), name], {}, isolated=False, frames=True)
    with contextlib.closing(worker):
        worker.write(Request(X, ("Y",), b"", {}).line(1), seconds)
        return worker.read(1, seconds), worker.alive


@pytest.mark.parametrize("name", ["frame", "line_for_a_frame"])
def test_a_frame_and_a_line_have_the_same_outcome(name):
    outcome, _ = outcome_of(name)
    assert isinstance(outcome, Returned), outcome
    assert np.array_equal(outcome.outputs["Y"], np.ones((1, 1, 2, 2), np.float32))
    assert outcome.outputs["Y"].flags.writeable


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("frame_that_ends_early", "a frame ends too early, after 4 of 16 bytes"),
        ("frame_with_bytes_of_no_tensor", "a frame with 4 bytes that no tensor has"),
        ("frame_with_too_few_bytes", "a tensor of 16 bytes in a frame that has 8 more"),
        ("frame_of_another_shape", "'data' has 12 bytes; float32 of the shape [1, 1, 2, 2] has 16"),
        ("frame_without_bytes", "a tensor of 16 bytes in a frame that has 0 more"),
        ("frame_of_a_negative_size", "a tensor of -16 bytes in a frame that has 16 more"),
        ("frame_of_a_size_in_words", "a tensor of many bytes in a frame that has 16 more"),
        ("frame_that_claims_too_much", "a frame of more than 1073741824 bytes"),
        ("frame_of_nonsense", "a line is not JSON (column 15: Expecting property name"),
        ("frame_of_a_list", "a frame without outputs that say how many bytes each has"),
    ],
)
def test_a_wrong_frame_ends_the_worker_and_says_what_is_wrong(name, message):
    outcome, alive = outcome_of(name)
    assert isinstance(outcome, Failed), outcome
    assert outcome.why.startswith("the worker broke the protocol: ")
    assert message in outcome.why
    assert '; its line: {"bytes": ' in outcome.why
    assert "\\x00" not in outcome.why
    assert not alive


def test_a_frame_takes_no_memory_before_it_comes():
    tracemalloc.start()
    outcome, _ = outcome_of("frame_that_claims_much", seconds=1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcome == TimedOut(1.0)
    assert peak < 2**24


def test_a_program_of_others_gets_lines_and_may_send_no_frames():
    target = Target(parse(misbehaving("frame")))
    assert not target.frames
    with TargetSession(target) as session:
        # The worker reads lines of JSON alone.
        (number,) = session.submit([Request(X, ("Y",), b"", {})])
        outcome = session.outcome(number)
    assert isinstance(outcome, Failed)
    assert "'outputs.Y.data': expected text, found the number 16" in outcome.why


def test_a_worker_of_the_tool_gets_frames_but_lines_where_there_is_a_transcript(cli, tmp_path):
    assert Target(parse("onnxruntime")).frames
    path = tmp_path / "transcript.jsonl"
    cli(
        "run", "corpus:sonnx/float.yaml", "-k", "float-example-1", "-o", tmp_path / "record.jsonl", "--transcript", path
    )
    cli("run", "corpus:sonnx/float.yaml", "-k", "float-example-1", "-o", tmp_path / "other.jsonl")
    messages = [json.loads(json.loads(line)["line"]) for line in path.read_text().splitlines()]
    assert all("bytes" not in message for message in messages)
    results = [message for message in messages if message.get("type") == "result"]
    assert all(isinstance(tensor["data"], str) for each in results for tensor in each["outputs"].values())
    assert len(results) > 2
    with_lines, with_frames = (
        [{**json.loads(line), "seconds": 0} for line in (tmp_path / name).read_text().splitlines()][1:-1]
        for name in ("record.jsonl", "other.jsonl")
    )
    assert with_lines == with_frames != []


@pytest.mark.parametrize(
    "name", ["right", "refuses_everything", "y_alone", "gives_objects", "gives_nothing", "dies_always"]
)
def test_a_request_has_the_same_outcome_as_a_frame_and_as_a_line(name):
    outcomes = []
    for encoded in (Request.line, Request.frame):
        program = adapter(sys.executable, "python")
        worker = Worker(program, {"function": [str(KERNELS), name]}, isolated=False, frames=True)
        with contextlib.closing(worker):
            worker.write(encoded(Request(X, ("Y", "Indices"), b"", ATTRIBUTES), 1), 20.0)
            outcomes.append(worker.read(1, 20.0))
    by_line, by_frame = outcomes
    if isinstance(by_line, Returned):
        assert {key: (value.dtype, value.tolist()) for key, value in by_line.outputs.items()} == {
            key: (value.dtype, value.tolist()) for key, value in by_frame.outputs.items()
        }
    else:
        assert by_line == by_frame
