"""The faults of a record are the same, and as many, wherever they are shown."""

import json
from collections import Counter

import pytest
from junitparser import JUnitXml, Properties

from maxpool_check.commands import report
from maxpool_check.comparing.gate import compare_targets
from maxpool_check.judging.faults import by_name, cases_of, faults
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.storage import read
from tests.conftest import CASES, KERNELS, ROOT, run_record
from tests.reporting.test_golden import written

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


def test_a_run_has_the_same_faults_in_json_junit_and_sarif(record):
    made = RunReport(record, record.exit_code)
    expected = {
        target.name: shown({same[0].name: cases_of(same) for same in by_name(own)})
        for target in record.header.targets
        if (own := [fault for fault in made.faults if fault.target == target.name])
    }
    listed = {name: Counter() for name in expected}
    for each in json.loads(written("json", made, report))["faults"]:
        listed[each["target"]][each["name"]] += each["cases"]
    assert listed == expected
    alerts = {
        run["automationDetails"]["id"].split("/", 1)[1].rstrip("/"): {
            rule["id"]: {each["properties"]["case"] for each in run["results"] if each["ruleId"] == rule["id"]}
            for rule in run["tool"]["driver"]["rules"]
        }
        for run in json.loads(written("sarif", made, report))["runs"]
    }
    assert {name: shown(rules) for name, rules in alerts.items()} == expected
    tests = {}
    for suite in JUnitXml.fromstring(written("junit", made, report).encode()):
        numbers = Counter()
        for test in suite:
            numbers.update(each.value for each in test.child(Properties) or () if each.name == "fault")
        tests |= {suite.name: numbers} if numbers else {}
    assert tests == expected
