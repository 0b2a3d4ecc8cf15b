"""Variants on their way to a worker that is busy, that dies, or that must not be trusted any more."""

import contextlib
import sys
import time

import numpy as np
import pytest

from maxpool_check.results.outcomes import Crashed, Failed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.running.slot import Pending, Slot, settled
from maxpool_check.targets.dialogue import Reply
from maxpool_check.targets.name import parse
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import Target
from tests.conftest import ROOT

X = np.zeros((1, 1, 4, 4), np.float32)


@pytest.fixture
def slot(subject):
    """The slot of a function of the tests, or of a program."""
    with contextlib.ExitStack() as stack:

        def made(name, seconds=10.0):
            return stack.enter_context(contextlib.closing(Slot(Target(parse(name), seconds))))

        yield lambda name, **options: made(name if ":" in name else subject(name), **options)


def variant(stride=1, *, size=4, **kind):
    attributes = {
        "kernel_shape": [1, 1], "strides": [stride, stride], "dilations": [1, 1], "pads": [0, 0, 0, 0],
        "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
    }  # fmt: skip
    X = np.zeros((1, 1, size, size), np.float32)
    return (yield Request(X, ("Y",), b"", attributes, **kind))


def put(slot, *dialogues):
    """Put all of them at once; what came of each."""

    def whole(dialogue):
        return Reply((yield from dialogue))

    pending = {number: Pending(whole(dialogue)) for number, dialogue in enumerate(dialogues)}
    slot.put(pending.values())
    return [reply.outcome for reply in settled(pending, [slot]).values()]


def process(outcome):
    assert isinstance(outcome, Returned), outcome
    return int(outcome.outputs["Y"])


def test_a_death_costs_the_question_that_was_worked_on_and_none_that_waited(slot):
    outcomes = put(
        slot("says_which_process_it_is"), variant(), variant(7), variant(), variant(7), variant(7), variant()
    )
    died = Crashed("exited with status 7", "")
    assert [outcomes[1], outcomes[3], outcomes[4]] == [died] * 3
    processes = [process(outcomes[number]) for number in (0, 2, 5)]
    assert len(set(processes)) == 3


def test_a_process_that_answered_what_is_excluded_answers_nothing_else(slot):
    outcomes = put(
        slot("says_which_process_it_is"),
        variant(), variant(excluded=True), variant(), variant(0, excluded=True), variant(),
    )  # fmt: skip
    before, trusted, after, refused, last = outcomes
    assert process(before) == process(trusted)
    assert process(after) != process(trusted)
    # A refusal harms nobody.
    assert refused == RefusedByTarget("ValueError", "a stride of 0")
    assert process(last) == process(after)


def test_a_dialogue_of_several_requests_is_carried_to_its_end(slot):
    def three():
        outcomes = []
        for stride in (1, 0, 7):
            outcomes.append((yield from variant(stride, followed=True)))
        return outcomes

    (first, second, third), other = put(slot("says_which_process_it_is"), three(), variant())
    # Nothing comes in between.
    assert process(first) != process(other)
    assert second == RefusedByTarget("ValueError", "a stride of 0")
    assert third == Crashed("exited with status 7", "")


def calls(outcomes):
    return [int(outcome.outputs["Y"]) for outcome in outcomes if isinstance(outcome, Returned)]


def test_what_is_asked_comes_in_one_order_whatever_the_timing(slot):
    """The state of a runtime depends on it, and so may its crashes."""

    def several(*strides):
        outcomes = []
        for stride in strides:
            outcomes.append((yield from variant(stride, followed=True)))
        return outcomes

    first, second, third, fourth, fifth = put(
        slot("counts_its_calls"), several(1, 0, 1), variant(), several(1, 1), several(0), variant()
    )
    assert calls(first) == [1, 3]
    assert calls([second]) == [4]
    assert calls(third) == [5, 6]
    assert fourth == [RefusedByTarget("ValueError", "a stride of 0")]
    assert calls([fifth]) == [8]


def test_who_lives_alone_and_died_behind_others_is_a_crash_that_says_so(slot):
    asked = slot(f"command:{sys.executable} {ROOT / 'tests/neighbours.py'} dies_later")
    outcomes = put(asked, variant(), variant(), variant())
    told = Crashed("exited with status 7 after other variants; asked alone, it does not die", "")
    assert outcomes == [NotExecuted("no"), told, told]


def test_who_died_behind_others_and_dies_alone_is_an_ordinary_crash(slot):
    first, second, third = put(slot("counts_its_calls"), variant(), variant(7), variant())
    assert calls([first]) == [1]
    assert second == Crashed("exited with status 7", "")
    assert calls([third]) == [1]


@pytest.mark.parametrize("name", ["closes_stdin", "closes_stdout"])
def test_a_pipe_that_is_closed_by_the_living_is_no_crash_and_no_time_out(slot, name):
    asked = slot(f"command:{sys.executable} {ROOT / 'tests/neighbours.py'} {name}")
    assert put(asked, variant()) == [NotExecuted("no")]
    time.sleep(0.5)
    (outcome,) = put(asked, variant())
    assert outcome == Failed(f"the worker broke the protocol: it closed its {name.removeprefix('closes_')}")
    assert put(asked, variant()) == [NotExecuted("no")]


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("step", ["_proceed", "_may_hand", "_living", "attend"])
@pytest.mark.parametrize("when", [1, 2, 4])
def test_after_an_interruption_nothing_is_taken_for_the_answer_to_something_else(slot, monkeypatch, step, when):
    asked = slot("counts_its_calls")
    whole, left = getattr(Slot, step), [when]

    def interrupted(self, *arguments):
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted
        return whole(self, *arguments)

    monkeypatch.setattr(Slot, step, interrupted)
    with contextlib.suppress(Interrupted):
        while left[0] > 0:
            put(asked, variant(), variant(), variant())
    kinds = [type(one) for one in put(asked, variant(0), variant(), variant(0))]
    assert kinds == [RefusedByTarget, Returned, RefusedByTarget]


def test_while_everything_is_stopped_nobody_runs_out_of_time(slot, monkeypatch):
    """As when a container is paused: the clock goes on, and nobody could have answered."""
    clock, jumps = time.monotonic, iter([0, 100])
    passed = [0]

    def monotonic():
        passed[0] += next(jumps, 0)
        return clock() + passed[0]

    asked = slot("takes_its_time", seconds=2.0)
    put(asked, variant(1))
    monkeypatch.setattr("maxpool_check.targets.process.time.monotonic", monotonic)
    (outcome,) = put(asked, variant(5))
    assert isinstance(outcome, Returned)
    assert passed == [100]


def test_the_time_of_a_question_begins_with_the_answer_before_it(slot):
    outcomes = put(slot("takes_its_time", seconds=1.0), *[variant(5) for _ in range(4)])
    assert all(isinstance(outcome, Returned) for outcome in outcomes), outcomes


def test_no_time_runs_out_while_nobody_listens(slot):
    asked = slot("takes_its_time", seconds=0.5)
    pending = {0: Pending(variant(1))}
    asked.put(pending.values())
    time.sleep(1.5)
    assert isinstance(settled(pending, [asked])[0], Returned)


def test_who_is_slow_runs_out_of_time_and_the_next_one_does_not(slot):
    first, second = put(slot("takes_its_time", seconds=0.5), variant(50), variant(1))
    assert first == TimedOut(0.5)
    assert isinstance(second, Returned)


def test_tensors_larger_than_a_pipe_go_in_and_out_together(slot):
    """Were either side to wait for the other to read, nothing would ever come."""
    outcomes = put(slot("right"), *[variant(size=512) for _ in range(6)])
    for outcome in outcomes:
        assert isinstance(outcome, Returned)
        assert outcome.outputs["Y"].shape == (1, 1, 512, 512)


def test_what_is_said_unasked_is_no_answer_to_the_next_variant(slot):
    asked = slot(f"command:{sys.executable} {ROOT / 'tests/neighbours.py'} talks_too_much")
    assert put(asked, variant()) == [NotExecuted("no")]
    (outcome,) = put(asked, variant())
    assert isinstance(outcome, Failed)
    assert "the answer to variant 2 has the id 1" in outcome.why
    # A new process begins anew.
    assert put(asked, variant()) == [NotExecuted("no")]


def test_a_worker_that_cannot_be_started_again_is_told_for_all_that_waits(slot, monkeypatch):
    asked = slot("dies_always")
    monkeypatch.setattr(asked.target, "_python", "/no/such/python")
    outcomes = put(asked, variant(), variant())
    assert all(isinstance(outcome, Failed) and outcome.final for outcome in outcomes)
    assert "/no/such/python cannot be run" in outcomes[0].why
    assert asked.failure is not None


def test_a_death_is_told_also_where_nobody_can_be_asked_again(slot, monkeypatch):
    asked = slot("counts_its_calls")
    put(asked, variant())
    monkeypatch.setattr(asked.target, "_python", "/no/such/python")
    first, second, third = put(asked, variant(), variant(7), variant())
    assert isinstance(first, Returned)
    assert second == Crashed("exited with status 7", "")
    assert isinstance(third, Failed)
    assert third.final


def test_nothing_is_asked_after_the_end(slot):
    asked = slot("right")
    put(asked, variant())
    asked.end()
    (outcome,) = put(asked, variant())
    assert isinstance(outcome, (Failed, Crashed))
    assert asked.worker is None or not asked.worker.alive
