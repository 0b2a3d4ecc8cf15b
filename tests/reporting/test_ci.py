"""What CI systems read, checked with their own parsers and schemas."""

import io
import json
import re
import time
from dataclasses import replace as changed
from pathlib import Path

import msgspec
import pytest
import yaml
from junitparser import Error, Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reporting import github, junit, sarif
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import KnownEntry, KnownStatus, Verdict
from maxpool_check.results.storage import read
from tests.conftest import ROOT

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


def test_junit_counts_every_execution_once():
    tests = results(RECORD)
    stale = [entry for entry in RECORD.footer.known if entry.status == "stale"]
    assert stale
    assert len(tests) == len(RECORD.executions) + len(stale)
    kinds = {each.status or each.verdict for each in RECORD.executions}
    assert {"conforms", "new"} <= kinds
    for execution in RECORD.executions:
        file, _, name = execution.case.rpartition(":")
        result = tests[execution.target, f"{file.replace('/', '.')}:{name} [{execution.variant}]"]
        passed = execution.verdict == "conforms"
        expected = [] if passed else [Skipped] if execution.status in ("", "expected") else [Failure]
        assert result == expected, execution.case
    document = JUnitXml.fromstring(rendered(junit, RECORD).encode())
    assert document.tests == len(tests)
    assert document.failures == len(stale) + sum(each.status in ("new", "changed") for each in RECORD.executions)


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
        record = changed(RECORD, executions=RECORD.executions[:1] * count)
        start = time.process_time()
        assert rendered(junit, record).count("<testcase ") > count
        return time.process_time() - start

    assert seconds(4000) < 24 * seconds(500)


def test_what_xml_cannot_hold_is_left_out():
    odd = "\x00 \ud800 \ufffe \uffff <&> ]]> \x1b[31m"
    nasty = with_executions(verdict=Verdict.ERROR, status="", message=odd, case=f"x/{odd}:{odd}", origin=f"{odd}:1")
    assert [Error] in results(nasty).values()


def test_sarif_is_sarif():
    log = Sarif.model_validate_json(rendered(sarif, RECORD))
    assert len(log.runs) == len(RECORD.header.targets) == 2
    run = log.runs[0]
    faults = [each for each in RECORD.executions if each.status and each.target == RECORD.header.targets[0].name]
    assert len(run.results) == sum(len(fault.kinds) for fault in faults)
    assert {rule.id for rule in run.tool.driver.rules} == {kind.value for kind in DivergenceKind}
    assert {result.rule_id for result in run.results} <= {kind.value for kind in DivergenceKind}
    first = run.results[0].locations[0].physical_location
    path, _, line = faults[0].origin.rpartition(":")
    assert (first.artifact_location.uri, first.region.start_line) == (path, int(line))
    assert len({json.dumps(result.partial_fingerprints) for result in run.results}) == len(run.results)


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


@pytest.mark.parametrize(("language", "schema"), [("github", "github-workflows"), ("gitlab", "gitlab-ci")])
def test_the_recipes_of_the_readme_are_what_their_systems_read(tmp_path, language, schema):
    from check_jsonschema.builtin_schemas import get_builtin_schema
    from jsonschema import validators

    blocks = re.findall(rf"<!-- {language} -->\n```yaml\n((?:.*\n)*?)```", (ROOT / "README.md").read_text())
    assert blocks
    for block in blocks:
        document = yaml.load(block, yaml.BaseLoader) if language == "github" else yaml.safe_load(block)
        rules = get_builtin_schema(f"vendor.{schema}")
        if language == "github":
            document = yaml.safe_load(block.replace("\non:", '\n"on":'))
        validators.validator_for(rules)(rules).validate(document)
