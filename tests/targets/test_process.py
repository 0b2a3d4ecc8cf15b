"""Workers: their outcomes, and what becomes of those that die or hang."""

import contextlib
import sys
import time
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import maxpool_model
from maxpool_check.results.outcomes import Crashed, Failed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.targets.launching import adapter, shown
from maxpool_check.targets.name import parse
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.requests import plan
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import KERNELS, eventually, living

X = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
ATTRIBUTES = {
    "kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0],
    "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
}  # fmt: skip


@pytest.fixture
def kernel_target():
    workers = []

    def start(function):
        worker = Worker(adapter(sys.executable, "python"), {"function": [str(KERNELS), function]}, isolated=False)
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        worker.close()


def send(worker, request, seconds=20.0):
    worker.write(request.line(1))
    return worker.read(1, seconds)


def start_target(target):
    with TargetSession(target) as session:
        return session.profile


def execute(worker, x=X, seconds=20.0, **attributes):
    return send(worker, Request(x, ("Y", "Indices"), b"", {**ATTRIBUTES, **attributes}), seconds)


def assert_returned(outcome):
    assert isinstance(outcome, Returned), outcome
    assert outcome.outputs["Y"].tolist() == [[[[3.0]]]]
    assert outcome.outputs["Indices"].tolist() == [[[[3]]]]


def test_outputs_are_returned(kernel_target):
    outcome = execute(kernel_target("right"))
    assert_returned(outcome)
    assert outcome.outputs["Y"].dtype == np.float32


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int8", "uint8"])
def test_tensors_travel_bit_by_bit(kernel_target, name):
    from maxpool_check.reference.dtypes import NUMPY, bits

    pattern = np.arange(256, dtype=f"u{NUMPY[name].itemsize}") << (8 * NUMPY[name].itemsize - 8)
    x = pattern.view(NUMPY[name]).reshape(1, 1, 16, 16)
    outcome = execute(kernel_target("right"), x, kernel_shape=[1, 1])
    assert isinstance(outcome, Returned)
    number = ~np.isnan(x) if name not in ("int8", "uint8") else np.ones(x.shape, bool)
    assert (bits(outcome.outputs["Y"]) == bits(x))[number].all()
    assert outcome.outputs["Y"].dtype == x.dtype


def test_empty_tensors_travel(kernel_target):
    outcome = execute(kernel_target("right"), np.zeros((0, 1, 2, 2), np.float32))
    assert isinstance(outcome, Returned)
    assert outcome.outputs["Y"].shape == (0, 1, 1, 1)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("refuses_everything", RefusedByTarget("NotImplementedError", "not today")),
        ("dies_always", Crashed("exited with status 7", "")),
        ("y_alone", NotExecuted("the function returns Y only")),
        # Words that cannot be written are made so.
        ("speaks_in_surrogates", RefusedByTarget("ValueError", "\\ud800 is half a character")),
    ],
)
def test_what_is_no_answer_has_an_outcome(kernel_target, name, outcome):
    assert execute(kernel_target(name)) == outcome


def test_a_signal_is_a_crash_with_its_name_and_stderr(kernel_target):
    worker = kernel_target("dies_of_a_signal")
    assert_returned(execute(worker))
    assert execute(worker, strides=[0, 1]) == Crashed("killed by SIGFPE", "about to divide")
    assert not worker.alive


def test_a_hang_is_ended_after_the_time(kernel_target):
    worker = kernel_target("hangs")
    assert_returned(execute(worker))
    assert execute(worker, np.zeros((1, 1, 2, 1), np.float32), seconds=0.5, kernel_shape=[1, 1]) == TimedOut(0.5)
    assert not worker.alive


@pytest.mark.parametrize("name", ["talks", "changes_its_input"])
def test_a_kernel_that_prints_or_writes_into_its_input_harms_nobody(kernel_target, name):
    worker = kernel_target(name)
    for _ in range(3):
        assert_returned(execute(worker))


def test_what_cannot_be_started():
    def start(*function):
        worker = Worker(adapter(sys.executable, "python"), {"function": function}, isolated=False)
        with contextlib.closing(worker):
            return worker.description

    with pytest.raises(CannotStart, match="no file"):
        start("absent.py", "f")
    with pytest.raises(CannotStart, match="no function 'absent'"):
        start(str(KERNELS), "absent")
    with pytest.raises(CannotStart, match="cannot be started: .*NoSuchProvider"):
        start_target(Target(parse("onnxruntime@NoSuchProvider")))
    with pytest.raises(CannotStart, match="cannot be started"):
        start_target(Target(parse("onnxruntime?python=/no/such/python")))


def test_onnx_runtime_returns_refuses_and_names_its_provider():
    target = Target(parse("onnxruntime"))
    worker = target.worker()
    try:
        model = maxpool_model(12, {"kernel_shape": [2, 2]}, "float32", X.shape, ("Y", "Indices"))
        outcome = send(worker, Request(X, ("Y", "Indices"), model, {}))
        assert_returned(outcome)
        assert outcome.provider == "CPUExecutionProvider"
        unknown = maxpool_model(12, {"kernel_shape": [2, 2], "foo": 1}, "float32", X.shape, ("Y",))
        refused = send(worker, Request(X, ("Y",), unknown, {}))
        assert isinstance(refused, RefusedByTarget)
        assert refused.status == "INVALID_GRAPH"
        bfloat16 = maxpool_model(22, {"kernel_shape": [2, 2]}, "bfloat16", X.shape, ("Y",))
        from maxpool_check.reference.dtypes import NUMPY

        refused = send(worker, Request(X.astype(NUMPY["bfloat16"]), ("Y",), bfloat16, {}))
        assert isinstance(refused, RefusedByTarget)
        assert refused.status == "NOT_IMPLEMENTED"
    finally:
        worker.close()
    with TargetSession(target) as session:
        described = session.profile.description
    assert described.newest_opset >= 22
    assert described.session_options["intra_op_num_threads"] == 1


@pytest.mark.parametrize("name", ["forks_and_hangs", "forks_and_dies"])
def test_a_child_that_holds_the_pipes_open_holds_up_nobody(kernel_target, name):
    worker = kernel_target(name)
    started = time.monotonic()
    outcome = execute(worker, seconds=2)
    # The child sleeps for 600 s.
    assert time.monotonic() - started < 300
    assert outcome == (TimedOut(2) if name == "forks_and_hangs" else Crashed("exited with status 3", ""))
    worker.close()
    assert eventually(lambda: worker.pid not in {group for _, _, group in living()})


def test_an_output_that_is_no_tensor_has_another_type(kernel_target):
    outcome = send(kernel_target("gives_objects"), Request(X, ("Y",), b"", ATTRIBUTES))
    assert isinstance(outcome, Returned)
    assert outcome.outputs["Y"].dtype == object


@pytest.mark.parametrize(
    ("name", "requested", "returned"), [("gives_nothing", ("Y",), []), ("gives_no_indices", ("Y", "Indices"), ["Y"])]
)
def test_an_output_that_is_none_is_absent(kernel_target, name, requested, returned):
    outcome = send(kernel_target(name), Request(X, requested, b"", ATTRIBUTES))
    assert isinstance(outcome, Returned)
    assert list(outcome.outputs) == returned


def test_a_value_too_many_is_an_error_and_no_refusal(kernel_target):
    outcome = execute(kernel_target("gives_three"))
    assert outcome == Failed("ValueError: the function returned 3 values; expected (Y, Indices) or Y")


def test_a_mistake_in_the_code_of_a_kernel_is_an_error_and_no_refusal(kernel_target):
    outcome = execute(kernel_target("misspells_a_name"))
    assert isinstance(outcome, Failed)
    assert outcome.why.startswith("NameError: name 'attribute' is not defined")


def test_a_program_that_does_not_speak_the_protocol_cannot_be_started(tmp_path):
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\necho hello\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    with pytest.raises(CannotStart, match="does not speak"):
        start_target(Target(parse(f"onnxruntime?python={wrapper}")))


def test_the_stderr_of_a_worker_that_dies_while_starting_is_shown(tmp_path):
    wrapper = tmp_path / "python"
    wrapper.write_text("#!/bin/sh\necho no library today >&2\nexit 4\n")
    wrapper.chmod(0o755)
    with pytest.raises(CannotStart, match="(?s)exited with status 4.*no library today"):
        start_target(Target(parse(f"onnxruntime?python={wrapper}")))


def test_outputs_of_another_provider_are_an_error_and_no_verdict(tmp_path):
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - id: a\n    input: {dtype: float32, shape: [1, 1, 2], fill: 0}\n    attributes: {kernel_shape: [2]}\n"
    )
    (case,) = collect([tmp_path]).cases
    with TargetSession(Target(parse("onnxruntime"))) as session:
        # A runtime that falls back to another provider than the one it was started for.
        description = msgspec.structs.replace(session.profile.description, provider="CUDAExecutionProvider")
        profile = replace(session.profile, description=description)
        (each,) = plan(case, [Y_ONLY], profile)
        outcomes = [session.outcome(number) for number in session.submit(each.requests)]
        outcome = each.result(outcomes, profile).outcome
    assert outcome == Failed("wrong provider: CPUExecutionProvider ran the node, not CUDAExecutionProvider")


def test_stack_frames_of_this_machine_are_not_shown():
    frames = b"""fatal: no such window
  /home/me/maxpool_check/targets/worker/__main__.py:71:4 [<module>]
  <frozen runpy>:88:4 [_run_code]
   3: tract::pool
             at /home/me/lib.rs:3:1
      @     0x7f01  tensorflow::Abort
the end [of 2 lines]: 1"""
    assert shown(frames) == "fatal: no such window\nthe end [of 2 lines]: 1"
