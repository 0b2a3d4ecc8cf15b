"""Targets that run side by side share what they have in common, and each gets the record of a run of its own."""

from contextlib import ExitStack

from maxpool_check.results.storage import Recorder
from maxpool_check.running.run import TargetRecorders
from tests.conftest import misbehaving, untimed
from tests.conftest import run_record as record
from tests.running.test_run import many


def test_each_target_of_a_run_has_the_record_of_a_run_of_its_own(small, kernel_target):
    names = ("right", "pads_with_zero", "y_alone", "names_the_last_tie", "gives_objects", "absent", "keeps_the_seed")
    check(small, [*map(kernel_target, names), "onnxruntime"])


def test_a_target_that_is_given_up_is_so_in_its_own_record_alone(tmp_path, kernel_target):
    check(many(tmp_path, 25), [misbehaving("dies"), kernel_target("right")])


def test_an_error_is_that_of_the_target_that_it_names_and_of_no_other(small):
    # The name of each begins that of the next.
    check(small, ["command:no-such-kernel", "command:no-such-kernel --fast", "command:no-such-kernel --fast x"])


def check(folder, targets):
    with ExitStack() as stack:
        recorders = {target: stack.enter_context(Recorder(None)) for target in targets}
        record(folder, *targets, sink=TargetRecorders(recorders).write)
        for target, recorder in recorders.items():
            alone, own = record(folder, target), recorder.record
            assert untimed(own.executions) == untimed(alone.executions)
            assert own.header.targets == alone.header.targets
            assert own.header.cases_sha256 == alone.header.cases_sha256
            for name in ("executions", "summary", "known", "errors", "contradicted"):
                assert getattr(own.footer, name) == getattr(alone.footer, name), (target, name)
