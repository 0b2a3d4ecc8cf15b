"""What a run and a record hold in memory does not grow with the number of executions."""

import contextlib
import gc
import tracemalloc

import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.judging.oracle import Oracle
from maxpool_check.results.record import Execution
from maxpool_check.results.storage import Recorder, read
from maxpool_check.running.executors import CASES_AHEAD, ExecutionConfig, LocalExecutor
from maxpool_check.targets.name import parse
from tests.conftest import ROOT, shipped
from tests.running.test_run import many

GOLDEN = ROOT / "tests/data/golden/record.jsonl"


def execution(number):
    return Execution(
        target="t", case=f"x:{number}", variant="indices", verdict="conforms", title="", spec="onnx-22",
        case_sha256="", origin="x.yaml:1",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["record.jsonl", "record.jsonl.gz"])
def test_of_a_record_no_more_than_a_part_is_held(tmp_path, name):
    header = read(GOLDEN).header

    def peak(count):
        tracemalloc.start()
        with Recorder(tmp_path / name) as recorder:
            recorder.write(header)
            for number in range(count):
                recorder.write(execution(number))
        stored = read(tmp_path / name).executions
        assert len(stored) == sum(1 for _ in stored) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(44_000) < 1.5 * peak(22_000)


def test_oracles_need_no_garbage_collection():
    cases = [case for case in shipped().cases if case.id.startswith(("edge/", "contexts/"))][::5]
    gc.collect()
    # As while case files are read.
    gc.disable()
    try:
        for case in cases:
            oracle = case.oracle()
            if isinstance(oracle, Oracle):
                _ = oracle.expected
        assert gc.collect() < len(cases)
    finally:
        gc.enable()


def test_cases_are_not_executed_far_ahead_of_what_is_judged(tmp_path, kernel_target):
    corpus = collect([many(tmp_path, 40)])
    taken = []

    def cases():
        for case in corpus.cases:
            taken.append(case)
            yield case

    with contextlib.closing(LocalExecutor(ExecutionConfig((parse(kernel_target("right")),)))) as executor:
        for number, _ in enumerate(executor.results(cases()), 1):
            assert len(taken) - number <= CASES_AHEAD
    assert len(taken) == number == 40
