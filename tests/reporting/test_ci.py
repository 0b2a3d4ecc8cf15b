"""What CI systems read, held to their own parsers and schemas."""

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
    return changed(RECORD, executions=tuple(msgspec.structs.replace(one, **fields) for one in RECORD.executions))


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
    found = results(RECORD)
    stale = [entry for entry in RECORD.footer.known if entry.status == "stale"]
    assert stale
    assert len(found) == len(RECORD.executions) + len(stale)
    kinds = {one.status or one.verdict for one in RECORD.executions}
    assert {"conforms", "new"} <= kinds
    for one in RECORD.executions:
        file, _, name = one.case.rpartition(":")
        result = found[one.target, f"{file.replace('/', '.')}:{name} [{one.variant}]"]
        passed = one.verdict == "conforms"
        expected = [] if passed else [Skipped] if one.status in ("", "expected") else [Failure]
        assert result == expected, one.case
    document = JUnitXml.fromstring(rendered(junit, RECORD).encode())
    assert document.tests == len(found)
    assert document.failures == len(stale) + sum(one.status in ("new", "changed") for one in RECORD.executions)


def test_junit_says_what_a_known_divergence_is_known_as_and_fails_a_stale_one():
    expected = with_executions(status="expected", known="some-entry", verdict=Verdict.DIVERGES)
    entry = KnownEntry(
        id="some-entry", target=RECORD.header.targets[0].name, status=KnownStatus.STALE, kinds=(), reason="r"
    )
    footer = msgspec.structs.replace(RECORD.footer, known=(entry,), errors=("it was given up",))
    found = results(changed(expected, footer=footer))
    assert [Skipped] in found.values()
    assert found[entry.target, "known-divergences:some-entry"] == [Failure]
    assert found["run", "run:complete"] == [Error]
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
    faults = [one for one in RECORD.executions if one.status and one.target == RECORD.header.targets[0].name]
    assert len(run.results) == sum(len(one.kinds) for one in faults)
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


def test_sarif_tells_what_is_stale_and_what_could_not_be_asked_and_quotes_its_paths():
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
    faults = [one for one in RECORD.executions if one.status == "new"]
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
