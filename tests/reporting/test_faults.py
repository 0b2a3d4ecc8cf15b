"""The faults of a record are the same, and as many, wherever they are shown."""

from collections import Counter

import pytest

from maxpool_check.comparing.gate import compare_targets
from maxpool_check.judging.faults import by_name, cases_of, faults
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.results.storage import read
from tests.conftest import CASES, KERNELS, ROOT, run_record

COMMITTED = ("iree-3.13.0", "onnx-reference-and-tract", "emx-onnx-cgen-1.4.0")


@pytest.fixture(params=[*COMMITTED, "pads_with_zero"])
def record(request):
    if request.param in COMMITTED:
        return read(ROOT / f"reports/{request.param}.jsonl.xz")
    return run_record(CASES / "edge", f"python:{KERNELS}:{request.param}")


def shown(groups):
    """How many cases groups of a name have."""
    return Counter({name: len(cases) for name, cases in groups.items()})


def test_one_record_has_the_same_faults_in_a_run_a_gate_and_a_history(record):
    for target in (each.name for each in record.header.targets):
        own = [fault for fault in faults(record) if fault.target == target]
        assert own
        expected = shown({alike[0].name: cases_of(alike) for alike in by_name(own)})
        unchanged = compare_targets(record, record, (target, target)).summary.unchanged
        # What is inconsistent is not wrong, in a gate as well.
        wrong = [fault for fault in own if not fault.is_inconsistency]
        assert Counter(group.faults[0].name for group in unchanged) == Counter(fault.name for fault in wrong)
        release = Release("1.0", record)
        if len(record.header.targets) == 1:
            assert shown({name: cases_of(alike) for name, alike in release.faults.items()}) == expected
            assert {*HistoryReport(target, [release]).causes} == expected.keys()
