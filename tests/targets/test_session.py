"""Requests to a target whose worker is busy, dies, or must not be trusted any more."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from maxpool_check.results.outcomes import Crashed, Failed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.targets.name import parse
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import MISBEHAVING_WORKERS, misbehaving


@pytest.fixture
def session(kernel_target):
    """The session of a kernel of the tests, or of a program."""
    sessions = []

    def start(name, seconds=60.0):
        sessions.append(TargetSession(Target(parse(name if ":" in name else kernel_target(name)), seconds)))
        return sessions[-1]

    yield start
    for each in sessions:
        each.close()


def request(stride=1, *, size=4, excluded=False):
    attributes = {
        "kernel_shape": [1, 1], "strides": [stride, stride], "dilations": [1, 1], "pads": [0, 0, 0, 0],
        "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
    }  # fmt: skip
    return Request(np.zeros((1, 1, size, size), np.float32), ("Y",), b"", attributes, excluded=excluded)


def execute(session, *requests):
    """Submit all requests at once; their outcomes."""
    return [session.outcome(number) for number in session.submit(requests)]


def process(outcome):
    assert isinstance(outcome, Returned), outcome
    return int(outcome.outputs["Y"])


def calls(outcomes):
    return [int(outcome.outputs["Y"]) for outcome in outcomes if isinstance(outcome, Returned)]


def test_a_death_costs_the_request_that_was_executed_and_none_behind_it(session):
    outcomes = execute(
        session("says_which_process_it_is"), request(), request(7), request(), request(7), request(7), request()
    )
    died = Crashed("exited with status 7", "")
    assert [outcomes[1], outcomes[3], outcomes[4]] == [died] * 3
    processes = [process(outcomes[number]) for number in (0, 2, 5)]
    assert len(set(processes)) == 3


def test_a_process_that_ran_an_excluded_graph_executes_nothing_else(session):
    before, trusted, after, refused, last = execute(
        session("says_which_process_it_is"),
        request(), request(excluded=True), request(), request(0, excluded=True), request(),
    )  # fmt: skip
    assert process(before) == process(trusted)
    assert process(after) != process(trusted)
    # A refusal harms nobody.
    assert refused == RefusedByTarget("ValueError", "a stride of 0")
    assert process(last) == process(after)


def test_requests_are_executed_in_the_order_of_submission(session):
    """The state of a runtime depends on it, and so may its crashes."""
    counting = session("counts_its_calls")
    first = counting.submit([request(), request(0)])
    second = counting.submit([request(), request()])
    assert calls(counting.outcome(number) for number in second) == [3, 4]
    assert calls(counting.outcome(number) for number in first) == [1]


def test_a_crash_that_does_not_come_back_alone_says_so(session):
    outcomes = execute(session(misbehaving("dies_later")), request(), request(), request())
    crash = Crashed("exited with status 7 after other requests; executed alone, it does not crash", "")
    assert outcomes == [NotExecuted("no"), crash, crash]


def test_a_crash_that_comes_back_alone_is_an_ordinary_crash(session):
    first, second, third = execute(session("counts_its_calls"), request(), request(7), request())
    assert calls([first]) == [1]
    assert second == Crashed("exited with status 7", "")
    assert calls([third]) == [1]


@pytest.mark.parametrize("name", ["closes_stdin", "closes_stdout"])
def test_a_pipe_that_a_living_process_closes_is_neither_a_crash_nor_a_time_out(session, name):
    closing = session(misbehaving(name))
    assert execute(closing, request()) == [NotExecuted("no")]
    (outcome,) = execute(closing, request())
    assert outcome == Failed(f"the worker broke the protocol: it closed its {name.removeprefix('closes_')}")
    assert execute(closing, request()) == [NotExecuted("no")]


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("step", ["write", "read"])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_after_an_interruption_no_outcome_is_taken_for_that_of_another_request(session, monkeypatch, step, number):
    counting = session("counts_its_calls")
    original, left = getattr(Worker, step), [number]

    def interrupted(self, *arguments):
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted
        return original(self, *arguments)

    monkeypatch.setattr(Worker, step, interrupted)
    with pytest.raises(Interrupted):
        execute(counting, *[request() for _ in range(5)])
    outcomes = execute(counting, request(0), request(), request(0))
    assert [type(outcome) for outcome in outcomes] == [RefusedByTarget, Returned, RefusedByTarget]


PAUSE = """
import os, signal, time
time.sleep(0.5)
os.kill({pid}, signal.SIGSTOP)
time.sleep({seconds})
os.kill({pid}, signal.SIGCONT)
"""


def test_while_this_process_is_stopped_no_time_runs_out(session):
    """As when a container is paused: the clock goes on, and nothing could have been returned."""
    slow = session("takes_its_time", seconds=6.0)
    execute(slow, request(1))
    pid = os.getpid()
    with subprocess.Popen([sys.executable, "-c", PAUSE.format(pid=pid, seconds=8)]):
        (outcome,) = execute(slow, request(15))
    assert isinstance(outcome, Returned)


def test_the_time_of_a_request_begins_with_the_outcome_before_it(session):
    outcomes = execute(session("takes_its_time", seconds=4.0), *[request(5) for _ in range(10)])
    assert all(isinstance(outcome, Returned) for outcome in outcomes), outcomes


def test_the_seconds_of_a_request_are_its_own_and_not_those_before_it(session):
    slow = session("takes_its_time")
    execute(slow, request(1))
    started = time.monotonic()
    timed = [slow.timed_outcome(number) for number in slow.submit([request(3), request(2), request(1)])]
    elapsed = time.monotonic() - started
    assert all(isinstance(outcome, Returned) for outcome, _ in timed)
    seconds = [each for _, each in timed]
    assert seconds[0] >= 0.3
    # Those of a request that waits for another would be counted twice.
    assert 0.6 <= sum(seconds) <= elapsed


def test_the_seconds_of_a_request_end_with_its_outcome_however_late_that_is_read(session):
    slow = session("takes_its_time")
    first, second = slow.submit([request(1), request(1)])
    slow.outcome(first)
    time.sleep(5)
    _, seconds = slow.timed_outcome(second)
    assert 0 < seconds < 5


def test_the_seconds_of_a_request_that_ran_out_of_time_are_its_limit(session):
    slow = session("takes_its_time", seconds=0.5)
    outcome, seconds = slow.timed_outcome(slow.submit([request(50)])[0])
    assert outcome == TimedOut(0.5)
    assert seconds >= 0.5


def test_no_time_runs_out_while_nothing_waits(session):
    slow = session("takes_its_time", seconds=4.0)
    (number,) = slow.submit([request(1)])
    time.sleep(6)
    assert isinstance(slow.outcome(number), Returned)


def test_a_slow_request_runs_out_of_time_and_the_next_one_does_not(session):
    first, second = execute(session("takes_its_time", seconds=4.0), request(300), request(1))
    assert first == TimedOut(4.0)
    assert isinstance(second, Returned)


def test_a_large_request_waits_for_a_worker_that_takes_long_to_start(session, tmp_path):
    path = tmp_path / "slow.py"
    path.write_text("import time\ntime.sleep(6)\ndef maxpool(X, attributes):\n    return X\n")
    slow = session(f"python:{path}:maxpool", seconds=4.0)
    outcome, seconds = slow.timed_outcome(slow.submit([request(size=256)])[0])
    assert isinstance(outcome, Returned), outcome
    # Those of the start are not counted.
    assert seconds < 6


def test_tensors_larger_than_a_pipe_go_in_and_out_together(session):
    """If each side waited for the other to read, nothing would ever be returned."""
    outcomes = execute(session("right"), *[request(size=512) for _ in range(6)])
    for outcome in outcomes:
        assert isinstance(outcome, Returned)
        assert outcome.outputs["Y"].shape == (1, 1, 512, 512)


def test_a_large_request_to_a_worker_that_does_not_read_runs_out_of_time(session):
    deaf = session(misbehaving("deaf"), seconds=3.0)
    started = time.monotonic()
    (outcome,) = execute(deaf, request(size=1024))
    assert outcome == TimedOut(3.0)
    # It sleeps for 600 s.
    assert time.monotonic() - started < 300


def test_a_message_without_a_request_is_no_outcome_of_the_next_request(session):
    talking = session(misbehaving("sends_twice"))
    assert execute(talking, request()) == [NotExecuted("no")]
    (outcome,) = execute(talking, request())
    assert isinstance(outcome, Failed)
    assert "'id' is 1; expected 2, the id of the request" in outcome.why
    # A new process begins anew.
    assert execute(talking, request()) == [NotExecuted("no")]


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


def test_nothing_is_executed_after_the_end(session):
    ended = session("right")
    execute(ended, request())
    ended.end()
    (outcome,) = execute(ended, request())
    assert isinstance(outcome, (Failed, Crashed))
