"""Workers: what they answer, and what becomes of those that do not."""

import sys
from pathlib import Path

import numpy as np
import pytest

from maxpool_check.outcome import Answered, Crashed, RefusedByTarget, TimedOut
from maxpool_check.targets.name import parse
from maxpool_check.targets.onnx_model import build
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.target import Target

SUBJECTS = Path(__file__).parents[1] / "subjects.py"
X = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
ATTRIBUTES = {
    "kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0],
    "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
}  # fmt: skip


@pytest.fixture
def subject():
    workers = []

    def start(function):
        worker = Worker(sys.executable, "python", {"function": [str(SUBJECTS), function]}, isolated=False)
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        worker.close()


def ask(worker, x=X, seconds=20.0, **attributes):
    return worker.ask(x, ("Y", "Indices"), b"", {**ATTRIBUTES, **attributes}, seconds)


def assert_answered(outcome):
    assert isinstance(outcome, Answered), outcome
    assert outcome.outputs["Y"].tolist() == [[[[3.0]]]]
    assert outcome.outputs["Indices"].tolist() == [[[[3]]]]


def test_an_answer(subject):
    outcome = ask(subject("right"))
    assert_answered(outcome)
    assert outcome.outputs["Y"].dtype == np.float32


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int8", "uint8"])
def test_tensors_travel_bit_by_bit(subject, name):
    from maxpool_check.reference.dtypes import NUMPY, bits

    pattern = np.arange(256, dtype=f"u{NUMPY[name].itemsize}") << (8 * NUMPY[name].itemsize - 8)
    x = pattern.view(NUMPY[name]).reshape(1, 1, 16, 16)
    outcome = ask(subject("right"), x, kernel_shape=[1, 1])
    assert isinstance(outcome, Answered)
    number = ~np.isnan(x) if name not in ("int8", "uint8") else np.ones(x.shape, bool)
    assert (bits(outcome.outputs["Y"]) == bits(x))[number].all()
    assert outcome.outputs["Y"].dtype == x.dtype


def test_empty_tensors_travel(subject):
    outcome = ask(subject("right"), np.zeros((0, 1, 2, 2), np.float32))
    assert isinstance(outcome, Answered)
    assert outcome.outputs["Y"].shape == (0, 1, 1, 1)


def test_an_exception_is_a_refusal(subject):
    outcome = ask(subject("refuses_everything"))
    assert outcome == RefusedByTarget("NotImplementedError", "not today")


def test_a_signal_is_a_crash_with_its_name_and_last_words(subject):
    worker = subject("dies_of_a_signal")
    assert_answered(ask(worker))
    assert ask(worker, strides=[0, 1]) == Crashed("killed by SIGFPE", "about to divide")
    assert not worker.alive


def test_an_exit_is_a_crash_with_its_status(subject):
    assert ask(subject("dies_always")) == Crashed("exited with status 7", "")


def test_a_hang_is_ended_after_the_time(subject):
    worker = subject("hangs")
    assert_answered(ask(worker))
    assert ask(worker, np.zeros((1, 1, 2, 1), np.float32), seconds=0.5, kernel_shape=[1, 1]) == TimedOut(0.5)
    assert not worker.alive


def test_what_a_kernel_prints_cannot_be_mistaken_for_an_answer(subject):
    worker = subject("talks")
    for _ in range(3):
        assert_answered(ask(worker))


def test_a_kernel_that_writes_into_its_input_harms_nobody(subject):
    worker = subject("changes_its_input")
    for _ in range(2):
        assert_answered(ask(worker))


def test_one_output_where_two_were_asked(subject):
    outcome = ask(subject("y_alone"))
    assert isinstance(outcome, Answered)
    assert list(outcome.outputs) == ["Y"]


def test_what_cannot_be_started():
    with pytest.raises(CannotStart, match="no file"):
        Worker(sys.executable, "python", {"function": ["absent.py", "f"]}, isolated=False)
    with pytest.raises(CannotStart, match="no attribute 'absent'"):
        Worker(sys.executable, "python", {"function": [str(SUBJECTS), "absent"]}, isolated=False)
    with pytest.raises(CannotStart, match="cannot be started: .*NoSuchProvider"):
        Target(parse("onnxruntime@NoSuchProvider"))
    with pytest.raises(CannotStart, match="cannot be started"):
        Target(parse("onnxruntime?python=/no/such/python"))


def test_onnx_runtime_answers_refuses_and_names_its_provider():
    target = Target(parse("onnxruntime"))
    worker = target.worker()
    try:
        model = build(12, {"kernel_shape": [2, 2]}, {}, "float32", X.shape, ("Y", "Indices"))
        outcome = worker.ask(X, ("Y", "Indices"), model, {}, 20)
        assert_answered(outcome)
        assert outcome.provider == "CPUExecutionProvider"
        unknown = build(12, {"kernel_shape": [2, 2], "foo": 1}, {}, "float32", X.shape, ("Y",))
        refused = worker.ask(X, ("Y",), unknown, {}, 20)
        assert isinstance(refused, RefusedByTarget)
        assert refused.status == "INVALID_GRAPH"
        bfloat16 = build(22, {"kernel_shape": [2, 2]}, {}, "bfloat16", X.shape, ("Y",))
        from maxpool_check.reference.dtypes import NUMPY

        refused = worker.ask(X.astype(NUMPY["bfloat16"]), ("Y",), bfloat16, {}, 20)
        assert isinstance(refused, RefusedByTarget)
        assert refused.status == "NOT_IMPLEMENTED"
    finally:
        worker.close()
    described = target.description
    assert described.newest_opset >= 22
    assert described.session_options["intra_op_num_threads"] == 1
