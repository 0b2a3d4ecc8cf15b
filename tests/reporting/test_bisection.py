"""The releases where a result changes, in every format."""

import io
import json
from dataclasses import replace

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif

from maxpool_check.commands.bisect import FORMATS
from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.reporting.bisection import BisectionReport
from maxpool_check.results.record import ExitCode
from tests.reporting.test_changes_ci import CELL, NASTY, execution
from tests.test_inert import check_report

RIGHT = Observation("right", execution("a"))
WRONG = Observation("wrong", execution("a", "diverges", "y-not-in-input", cells=(CELL,)))
REPORT = BisectionReport(
    case="folder/file:a", case_sha256="1", origin="cases/folder/file.yaml:7", title="About a", target="onnxruntime",
    variant="y-only", kind=None, versions=("1.0", "1.1", "1.2", "1.3", "1.4"), tested={0: RIGHT, 1: RIGHT, 3: WRONG, 4: WRONG},
    boundaries=(Boundary(1, 3),), skipped={"1.2": "it has no wheel"},
)  # fmt: skip
SENTENCE = "last 1.1 conforms, first 1.3 diverges (y-not-in-input)"


def rendered(form, report=REPORT):
    file = io.StringIO()
    FORMATS[form](report, file)
    return file.getvalue()


def test_text_ends_with_the_change():
    assert [line.strip() for line in rendered("text").splitlines() if line] == [
        "4 of 5 releases tested, variant y-only", "1.2 skipped: it has no wheel", f"CHANGED  {SENTENCE}",
    ]  # fmt: skip


def test_markdown_begins_with_the_change_and_shows_the_wrong_side():
    for form in ("markdown", "github"):
        text = rendered(form)
        assert text.splitlines()[2] == f"**CHANGED** {SENTENCE}"
        assert "| `1.3` | diverges (y-not-in-input) | changes |" in text
        assert "expected -inf, got -1.0" in text
        assert "1.2 skipped: it has no wheel" in text


def test_junit_has_a_test_for_each_release_which_fails_where_it_shows_the_fault():
    document = JUnitXml.fromstring(rendered("junit").encode())
    (suite,) = document
    tests = {test.name: test for test in suite}
    assert {name: [type(result) for result in test.result] for name, test in tests.items()} == {
        "onnxruntime 1.0": [], "onnxruntime 1.1": [], "onnxruntime 1.2": [Skipped], "onnxruntime 1.3": [Failure],
        "onnxruntime 1.4": [Failure],
    }  # fmt: skip
    assert (document.tests, document.failures, document.skipped) == (5, 2, 1)
    assert tests["onnxruntime 1.3"].system_out == SENTENCE
    assert tests["onnxruntime 1.4"].system_out is None
    assert "expected -inf, got -1.0" in tests["onnxruntime 1.3"].result[0].text
    assert tests["onnxruntime 1.3"]._elem.get("line") == "7"


@pytest.mark.parametrize(
    ("old", "new", "rule", "level"),
    [
        (RIGHT, WRONG, "introduced", "error"),
        (WRONG, RIGHT, "fixed", "note"),
        (WRONG, Observation("other", execution("a", "refuses", "refuses-valid")), "changed", "warning"),
    ],
)
def test_sarif_has_a_result_for_each_change(old, new, rule, level):
    report = replace(REPORT, tested={0: old, 1: old, 3: new, 4: new})
    (run,) = Sarif.model_validate_json(rendered("sarif", report)).runs
    (result,) = run.results
    assert (result.rule_id, result.level.value) == (rule, level)
    assert report.sentence(report.boundaries[0]) in result.message.text
    assert "expected -inf, got -1.0" in result.message.text
    assert result.locations[0].physical_location.region.start_line == 7


def test_of_one_kind_alone_only_this_kind_is_a_fault():
    other = execution("a", "diverges", "shape")
    both = execution("a", "diverges", "shape", "y-not-in-input")
    report = replace(
        REPORT, kind="y-not-in-input", versions=("1.0", "1.1"), skipped={}, boundaries=(Boundary(0, 1),),
        tested={0: Observation(False, other, "y-not-in-input"), 1: Observation(True, both, "y-not-in-input")},
    )  # fmt: skip
    (suite,) = JUnitXml.fromstring(rendered("junit", report).encode())
    assert [[type(result) for result in test.result] for test in suite] == [[], [Failure]]
    assert report.results == ["last 1.0 diverges (shape), first 1.1 diverges (y-not-in-input)"]
    assert json.loads(rendered("json", report))["tested"][1]["kinds"] == ["y-not-in-input"]


def test_too_few_releases_are_an_error_in_every_format():
    report = replace(REPORT, tested={0: RIGHT}, boundaries=())
    assert report.exit_code is ExitCode.INCOMPLETE
    for form in FORMATS:
        assert "fewer than two releases could be tested" in rendered(form, report)
    *_, run = JUnitXml.fromstring(rendered("junit", report).encode())
    assert [type(result) for test in run for result in test.result] == [Error]
    assert json.loads(rendered("sarif", report))["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_no_change_is_said():
    report = replace(REPORT, tested={0: RIGHT, 4: RIGHT}, boundaries=(), skipped={})
    assert report.exit_code is ExitCode.UNEXPECTED
    for form in ("text", "markdown", "github", "junit"):
        assert "no change from 1.0 to 1.4: conforms" in rendered(form, report)


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_runtime_or_a_case_says_is_no_command(form):
    hostile = Observation("wrong", execution(NASTY, "refuses", NASTY, message=f"{NASTY}\n{NASTY}", title=NASTY))
    report = replace(
        REPORT, case=NASTY, title=NASTY, target=NASTY, tested={0: RIGHT, 1: RIGHT, 3: hostile, 4: hostile},
        skipped={"1.2": f"{NASTY}\n{NASTY}"},
    )  # fmt: skip
    check_report(form, rendered(form, report), form)
