"""Workers of the tool compare their outputs with the permitted ones: what is matched, and what a wrong worker comes to."""

import contextlib
import json
import sys

import numpy as np
import pytest

from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.storage import read
from maxpool_check.targets.launching import adapter
from maxpool_check.targets.process import Worker
from maxpool_check.targets.protocol import Request
from tests.conftest import KERNELS, ROOT

CASES = """\
cases:
  - id: $dtype-$kernel-$stride
    matrix: {dtype: [float32, float64, int8, uint8], kernel: [1, 2, 3], stride: [1, 2, 3, 4]}
    input: {dtype: $dtype, shape: [1, 1, 6, 6], random: {seed: $kernel, values: distinct}}
    attributes: {kernel_shape: [$kernel, $kernel], strides: [$stride, $stride]}
"""


@pytest.fixture
def executions(tmp_path, cli):
    """The exit code of a run, and its executions that are executed."""
    (tmp_path / "cases.yaml").write_text(CASES)

    def run(target):
        done = cli("run", tmp_path, "-t", target, "-o", tmp_path / "record.jsonl", "-q", cwd=tmp_path)
        stored = read(tmp_path / "record.jsonl").executions
        return done.code, [each for each in stored if each.verdict is not Verdict.NOT_EXPRESSIBLE]

    return run


@pytest.fixture
def liar(tmp_path):
    """The target of ONNX Runtime whose worker lies; of the same name in each run, by which cases are compared in full."""

    def target(name):
        python = tmp_path / name
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/tests/lying_workers.py" {name} "$@"\n')
        python.chmod(0o755)
        return f"onnxruntime?python=./{name}"

    return target


def test_most_outputs_are_matched_and_some_compared_in_full(executions):
    code, executed = executions("onnxruntime")
    in_full = [each for each in executed if not each.matched]
    assert code == 0
    assert {each.verdict for each in executed} == {Verdict.CONFORMS}
    assert 0 < len(in_full) < len(executed) / 5
    # By case, target and version, so that it is the same each time.
    assert [(each.case, each.matched) for each in executions("onnxruntime")[1]] == [
        (each.case, each.matched) for each in executed
    ]


def test_outputs_of_the_users_own_kernels_are_compared_in_full(executions, kernel_target):
    code, executed = executions(kernel_target("right"))
    assert code == 0
    assert not any(each.matched for each in executed)


def test_a_worker_that_always_says_match_breaks_the_protocol(executions, liar):
    code, executed = executions(liar("says_match"))
    errors = [each for each in executed if each.verdict is Verdict.ERROR]
    assert code == 3
    assert errors
    assert all("the worker broke the protocol" in each.message for each in errors)


def test_a_worker_that_hashes_other_bytes_than_it_returns_diverges(executions, liar):
    code, executed = executions(liar("hashes_other_bytes"))
    wrong = [each for each in executed if not each.matched]
    assert code == 1
    assert wrong
    assert {each.verdict for each in wrong} == {Verdict.DIVERGES}


def test_a_worker_that_dies_between_two_results_costs_one_request_each_time(executions, liar):
    code, executed = executions(liar("dies_between_results"))
    crashes = [each for each in executed if each.verdict is Verdict.CRASHES]
    assert code == 1
    assert len(crashes) > len(executed) / 10
    assert {each.verdict for each in executed if each not in crashes} == {Verdict.CONFORMS}


def test_where_there_is_a_transcript_all_outputs_are_in_it(cli, tmp_path):
    path = tmp_path / "transcript.jsonl"
    words = ("run", "corpus:sonnx/float.yaml", "-k", "float-example-1", "-o")
    cli(*words, tmp_path / "record.jsonl", "--transcript", path)
    cli(*words, tmp_path / "other.jsonl")
    messages = [json.loads(json.loads(line)["line"]) for line in path.read_text().splitlines()]
    results = [message for message in messages if message.get("type") == "result"]
    assert all(isinstance(tensor["data"], str) for each in results for tensor in each["outputs"].values())
    assert len(results) > 2
    with_lines, matched = (
        [{**json.loads(line), "seconds": 0} for line in (tmp_path / name).read_text().splitlines()][1:-1]
        for name in ("record.jsonl", "other.jsonl")
    )
    assert [each.pop("matched", False) for each in with_lines] == [False] * len(with_lines)
    for each in matched:
        each.pop("matched", None)
    assert with_lines == matched != []


X = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
ATTRIBUTES = {
    "kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0],
    "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["right", "refuses_everything", "y_alone", "gives_objects", "gives_nothing", "dies_always"]
)
def test_a_request_has_the_same_outcome_with_bytes_and_as_a_line(name):
    outcomes = []
    for encoded in (Request.line, Request.line_and_bytes):
        worker = Worker(adapter(sys.executable, "python"), {"function": [str(KERNELS), name]}, isolated=False)
        with contextlib.closing(worker):
            worker.write(encoded(Request(X, ("Y", "Indices"), b"", ATTRIBUTES), 1))
            outcomes.append(worker.read(1, 20.0))
    by_line, by_bytes = outcomes
    if isinstance(by_line, Returned):
        assert {key: (value.dtype, value.tolist()) for key, value in by_line.outputs.items()} == {
            key: (value.dtype, value.tolist()) for key, value in by_bytes.outputs.items()
        }
    else:
        assert by_line == by_bytes
