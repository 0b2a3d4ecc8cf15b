"""What CI systems read, checked with their own parsers and schemas."""

import io
import json
import re
import time
import xml.etree.ElementTree as ET
from dataclasses import replace as changed
from pathlib import Path

import msgspec
from junitparser import Error, Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.reporting import github, junit, sarif
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import KnownEntry, KnownStatus, Verdict
from maxpool_check.results.storage import read

STORED = read(Path(__file__).parents[1] / "data/golden/record.jsonl")
RECORD = changed(STORED, executions=tuple(STORED.executions))


def with_executions(**fields):
    return changed(RECORD, executions=tuple(msgspec.structs.replace(each, **fields) for each in RECORD.executions))


def rendered(module, record):
    file = io.StringIO()
    module.write(RunReport(record, 1), file)
    return file.getvalue()


def results(record):
    document = JUnitXml.fromstring(rendered(junit, record).encode())
    return {
        (suite.name, f"{test.classname}:{test.name}"): [type(result) for result in test.result]
        for suite in document
        for test in suite
    }


def by_case(record):
    """The executions of each case on each target."""
    cases = {}
    for execution in record.executions:
        cases.setdefault((execution.target, execution.case), []).append(execution)
    return cases


def test_junit_has_one_test_for_each_case_on_each_target():
    tests = results(RECORD)
    stale = [entry for entry in RECORD.footer.known if entry.status == "stale"]
    assert stale
    cases = by_case(RECORD)
    assert len(tests) == len(cases) + len(stale) < len(RECORD.executions)
    assert {"conforms", "new"} <= {each.status or each.verdict for each in RECORD.executions}
    for (target, case), executions in cases.items():
        statuses = {each.status for each in executions}
        conforms = any(each.verdict == "conforms" for each in executions)
        expected = (
            [Failure] if "new" in statuses else [Skipped] if "expected" in statuses or not conforms else []
        )  # fmt: skip
        assert tests[target, case] == expected, case
    document = JUnitXml.fromstring(rendered(junit, RECORD).encode())
    assert document.tests == len(tests)
    new = {(each.target, each.case) for each in RECORD.executions if each.status == "new"}
    assert document.failures == len(stale) + len(new)


def test_a_variant_that_could_not_be_compared_hides_no_other():
    first, second = RECORD.executions[:2]
    assert (first.case, first.verdict) == (second.case, "conforms")
    other = msgspec.structs.replace(second, verdict=Verdict.NOT_EXPRESSIBLE)
    tests = results(changed(RECORD, executions=(first, other)))
    assert tests[first.target, first.case] == []
    alone = results(changed(RECORD, executions=(other,)))
    assert alone[first.target, first.case] == [Skipped]


def test_the_times_of_junit_are_those_of_the_variants():
    seconds = {"indices": 0.25, "y-only": 0.5}
    executions = [msgspec.structs.replace(each, seconds=seconds[each.variant]) for each in RECORD.executions]
    header = msgspec.structs.replace(RECORD.header, started="2026-11-21T10:00:00+00:00")
    footer = msgspec.structs.replace(RECORD.footer, finished="2026-11-21T10:01:30+00:00")
    record = changed(RECORD, header=header, executions=tuple(executions), footer=footer)
    document = JUnitXml.fromstring(rendered(junit, record).encode())
    assert document.time == 90
    for suite in document:
        tests = [test for test in suite if test.classname != "known-divergences"]
        assert {test.time for test in tests} == {0.75}
        assert suite.time == 0.75 * len(tests)
        assert suite.timestamp == header.started
    # A run that did not end, one of less than a second, and a record with times of another form.
    short = msgspec.structs.replace(footer, finished=header.started)
    odd = msgspec.structs.replace(header, started="?")
    for other in (changed(record, footer=None), changed(record, footer=short), changed(record, header=odd)):
        whole = JUnitXml.fromstring(rendered(junit, other).encode())
        assert whole.time == sum(0.75 for _ in by_case(record))


def texts(record):
    document = ET.fromstring(rendered(junit, record))
    suite = document.find("testsuite")
    return {test.get("name"): next(iter(test.findall("*[@message]")), None) for test in suite.findall("testcase")}


def test_the_text_of_a_test_has_each_verdict_and_what_variants_show_alike_once():
    text = texts(RECORD)["neg-inf"].text
    assert text.splitlines()[:5] == [
        "A window of -inf",
        "known as seed: The scan keeps its seed.",
        "indices: diverges: indices-sentinel, y-lowest-for-neg-inf (known as seed)",
        "y-only: diverges: y-lowest-for-neg-inf (known as seed)",
        "float32 X[1, 2, 2, 2]  kernel_shape=[2, 2]",
    ]
    wrong = "Y[0, 0, 0, 0]  rows 0-1, columns 0-1: expected -inf, got -3.4028235e+38  (y-lowest-for-neg-inf)"
    assert text.splitlines().count(wrong) == 1
    assert "\nindices:\n  Indices[0, 0, 0, 0]  rows 0-1, columns 0-1: expected 0, got -3  (indices-sentinel)\n" in text
    assert "\nindices, y-only: crashes: crash\n" in texts(RECORD)["stride-0"].text
    assert "\nindices: conforms\ny-only: diverges: " in texts(RECORD)["nan"].text


def test_long_messages_are_cut_and_the_text_has_more_of_them():
    long = texts(with_executions(message="much " * 3000, cells=(), status="new", verdict=Verdict.REFUSES))["ordinary"]
    assert len(long.get("message")) == 300
    assert 300 < max(map(len, long.text.splitlines())) <= 1000


def test_the_properties_of_a_test_say_which_clauses_defects_and_kinds():
    document = ET.fromstring(rendered(junit, with_executions(clauses=("R1", "R2"))))
    (test,) = document.find("testsuite").findall("testcase[@name='neg-inf']")
    properties = [(each.get("name"), each.get("value")) for each in test.iterfind("properties/property")]
    assert properties == [
        ("spec", "onnx-22"), ("clause", "R1"), ("clause", "R2"), ("defect", "seed"),
        ("kinds", "indices-sentinel, y-lowest-for-neg-inf"),
    ]  # fmt: skip


def test_junit_names_known_divergences_and_fails_stale_entries():
    expected = with_executions(status="expected", known="some-entry", verdict=Verdict.DIVERGES)
    entry = KnownEntry(
        id="some-entry", target=RECORD.header.targets[0].name, status=KnownStatus.STALE, kinds=(), reason="r"
    )
    footer = msgspec.structs.replace(RECORD.footer, known=(entry,), errors=("the target did not start",))
    tests = results(changed(expected, footer=footer))
    assert [Skipped] in tests.values()
    assert tests[entry.target, "known-divergences:some-entry"] == [Failure]
    assert tests["run", "run:complete"] == [Error]
    assert "known as some-entry: r" in rendered(junit, changed(expected, footer=footer))


def test_an_incomplete_run_is_an_error_of_junit():
    assert results(changed(RECORD, footer=None))["run", "run:complete"] == [Error]


def test_junit_takes_the_same_for_each_test_however_many_there_are():
    def seconds(count):
        first = RECORD.executions[0]
        cases = (msgspec.structs.replace(first, case=f"x:{number}") for number in range(count))
        record = changed(RECORD, executions=tuple(cases))
        start = time.process_time()
        assert rendered(junit, record).count("<testcase ") > count
        return time.process_time() - start

    assert seconds(4000) < 24 * seconds(500)


def test_what_xml_cannot_hold_is_left_out():
    odd = "\x00 \ud800 \ufffe \uffff <&> ]]> \x1b[31m"
    nasty = with_executions(verdict=Verdict.ERROR, status="", message=odd, case=f"x/{odd}:{odd}", origin=f"{odd}:1")
    assert [Error] in results(nasty).values()


def test_sarif_is_sarif_with_one_result_for_each_case():
    log = Sarif.model_validate_json(rendered(sarif, RECORD))
    assert len(log.runs) == len(RECORD.header.targets) == 2
    run = log.runs[0]
    target = RECORD.header.targets[0].name
    faults = {
        case: [each for each in executions if each.status]
        for (on, case), executions in by_case(RECORD).items()
        if on == target
    }
    faults = {case: executions for case, executions in faults.items() if executions}
    results = {result.locations[0].logical_locations[0].fully_qualified_name: result for result in run.results}
    assert len(run.results) == len(results)
    assert results.keys() == faults.keys()
    for case, result in results.items():
        path, _, line = faults[case][0].origin.rpartition(":")
        place = result.locations[0].physical_location
        assert (place.artifact_location.uri, place.region.start_line) == (path, int(line))
    assert {rule.id for rule in run.tool.driver.rules} == {result.rule_id for result in run.results}
    assert len({json.dumps(result.partial_fingerprints) for result in run.results}) == len(run.results)


def sarif_run(record):
    return json.loads(rendered(sarif, record))["runs"][0]


def test_the_rule_of_a_result_is_the_defect_or_the_worst_kind():
    run = sarif_run(RECORD)
    results = {result["properties"]["case"]: result for result in run["results"]}
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert results["small:neg-inf"]["ruleId"] == "seed"
    assert rules["seed"]["fullDescription"]["text"] == "The scan keeps its seed."
    assert rules["seed"]["helpUri"] == "https://example.org/1"
    # It also depends on whether Indices are requested, which is no defect of its own.
    nan = results["small:nan"]
    assert (nan["ruleId"], nan["properties"]["kinds"]) == (
        "y-nan-order-dependent", ["y-depends-on-indices", "y-nan-order-dependent"],
    )  # fmt: skip
    assert rules["y-nan-order-dependent"]["help"]["text"] == DESCRIPTIONS[DivergenceKind.Y_NAN_ORDER_DEPENDENT].clause


def test_the_level_of_a_result_is_that_of_its_severity_and_unexpected_ones_come_first():
    run = sarif_run(RECORD)
    levels = {result["properties"]["case"]: result["level"] for result in run["results"]}
    assert levels == {
        "small:stride-0": "error", "small:four-axes": "warning", "small:same-dilated": "error", "small:nan": "error",
        "small:neg-inf": "note",
    }  # fmt: skip
    # It is before the others in the record.
    assert list(levels)[-1] == "small:neg-inf"


def test_a_result_is_suppressed_only_if_all_its_variants_are_expected():
    executions = [
        msgspec.structs.replace(each, status="new", known=None)
        if (each.case, each.variant) == ("small:neg-inf", "y-only")
        else each
        for each in RECORD.executions
    ]
    (result,) = [
        each
        for each in sarif_run(changed(RECORD, executions=tuple(executions)))["results"]
        if each["properties"]["case"] == "small:neg-inf"
    ]
    assert "suppressions" not in result
    assert (result["ruleId"], result["level"]) == ("y-lowest-for-neg-inf", "error")


def test_fingerprints_depend_on_target_case_and_rule_alone():
    def fingerprints(record):
        return [each["partialFingerprints"] for each in sarif_run(record)["results"]]

    moved = with_executions(origin="other.yaml:77", message="another message", title="another title", seconds=3.0)
    assert fingerprints(moved) == fingerprints(RECORD)
    assert fingerprints(with_executions(case="x:other")) != fingerprints(RECORD)


def test_sarif_suppresses_what_is_known_and_tells_a_run_that_failed():
    log = json.loads(rendered(sarif, changed(with_executions(status="expected", known="k"), footer=None)))
    run = log["runs"][0]
    assert {result["level"] for result in run["results"]} == {"note"}
    assert all(result["suppressions"] for result in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is False
    Sarif.model_validate(log)


def test_sarif_names_stale_entries_and_failed_executions_and_quotes_its_paths():
    log = json.loads(rendered(sarif, with_executions(verdict=Verdict.ERROR, status="", origin="my float#1.yaml:3")))
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "old is stale" in invocation["toolConfigurationNotifications"][0]["message"]["text"]
    Sarif.model_validate(log)
    named = json.loads(rendered(sarif, with_executions(origin="my float#1.yaml:3")))
    location = named["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "my%20float%231.yaml"


def test_annotations_are_one_line_each_at_the_line_of_the_case():
    lines = github.workflow_commands(changed(RECORD, footer=None))
    assert lines
    for line in lines:
        assert re.fullmatch(r"::error file=[^,:]+,line=\d+,title=[^:]+::[^\n\r]+", line), line


def test_what_would_end_an_annotation_is_escaped():
    nasty = with_executions(title="50% of\nit", origin="a:b,c.yaml:7")
    line = github.workflow_commands(nasty)[0]
    assert "file=a%3Ab%2Cc.yaml,line=7," in line
    assert "50%25 of%0Ait" in line


def test_no_more_annotations_than_github_takes():
    faults = [each for each in RECORD.executions if each.status == "new"]
    many = tuple(
        msgspec.structs.replace(faults[0], case=f"x:{number}", kinds=(f"kind-{number}",)) for number in range(30)
    )
    lines = github.workflow_commands(changed(RECORD, executions=many, footer=None))
    assert len(lines) == github.MOST_ANNOTATIONS
    assert lines[-1] == "::error::21 more; see the step summary"
