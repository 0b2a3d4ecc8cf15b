"""What releases show, counted, and in every format."""

import io
import itertools
import json
import re
from dataclasses import replace

import msgspec
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif

from maxpool_check.commands.history import FORMATS
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.results.record import ExitCode, KnownEntry, KnownStatus, Record
from maxpool_check.results.storage import read
from tests.conftest import ROOT
from tests.reporting.test_changes_ci import DEFECT, HEADER, STORED, TARGET, execution

OTHER = KnownEntry(
    id="ORT-NO-FLOAT16", target=TARGET, status=KnownStatus.EXPECTED, kinds=("refuses-valid",), reason="There is no kernel.",
    title="No float16", severity="limit",
)  # fmt: skip


def record(*executions):
    footer = msgspec.structs.replace(STORED.footer, executions=len(executions), known=(OTHER, DEFECT), errors=())
    return Record(HEADER, executions, footer)


def seed(name, **fields):
    return execution(name, "diverges", "indices-sentinel", known="ORT-SEED-KEPT", **fields)


def refused(name):
    return execution(name, "refuses", "refuses-valid", known="ORT-NO-FLOAT16", message="NOT_IMPLEMENTED")


REPORT = HistoryReport(
    "onnxruntime",
    [
        Release("1.0", record(refused("a"), seed("b"), execution("c"))),
        Release("1.1", None, "it has no wheel"),
        Release("1.2", record(refused("a"), execution("b"), execution("c", "diverges", "shape"))),
        Release("1.3", record(refused("a"), seed("b", size=9), seed("c", size=2), seed("c", variant="indices"))),
    ],
)


def rendered(form, report=REPORT):
    file = io.StringIO()
    FORMATS[form](report, file)
    return file.getvalue()


def test_kinds_are_counted_by_case_and_in_the_order_of_the_record():
    record = read(ROOT / "reports/onnxruntime-1.23.2-cpu.jsonl.xz")
    kinds = Release("1.23.2", record).kinds
    pairs = [(kind, execution.case) for execution in record.executions for kind in execution.kinds]
    assert list(kinds) == list(dict.fromkeys(kind for kind, _ in pairs))
    assert len(kinds) > 5
    assert kinds == {kind: len({case for name, case in pairs if name == kind}) for kind in kinds}
    assert sum(kinds.values()) < len(pairs)


def test_a_release_that_was_skipped_shows_nothing():
    assert not Release("0.1", None, "it has no wheel").kinds


def test_what_a_release_shows_is_named_by_its_defect_or_else_by_its_kinds():
    assert REPORT.causes == ["ORT-SEED-KEPT", "ORT-NO-FLOAT16", "shape"]
    newest = REPORT.executed[-1]
    occurrence = newest.occurrences["ORT-SEED-KEPT"]
    # The smallest first, each once, though two variants show it.
    assert occurrence.cases == ["folder/file:c", "folder/file:b"]
    assert (occurrence.smallest.case, occurrence.smallest.variant) == ("folder/file:c", "indices")
    assert newest.defects == {"ORT-NO-FLOAT16": 1, "ORT-SEED-KEPT": 2}
    assert REPORT.since("ORT-NO-FLOAT16", newest) == "1.0"
    assert REPORT.since("ORT-SEED-KEPT", newest) == "1.3"


def test_junit_fails_on_the_release_that_newly_shows_a_defect():
    document = JUnitXml.fromstring(rendered("junit").encode())
    results = {
        suite.name: {test.name: [type(result) for result in test.result] for test in suite} for suite in document
    }
    assert results == {
        "onnxruntime 1.0": {"ORT-SEED-KEPT": [Skipped], "ORT-NO-FLOAT16": [Skipped], "shape": []},
        "onnxruntime 1.1": {"ORT-SEED-KEPT": [Skipped], "ORT-NO-FLOAT16": [Skipped], "shape": [Skipped]},
        "onnxruntime 1.2": {"ORT-SEED-KEPT": [], "ORT-NO-FLOAT16": [Skipped], "shape": [Failure]},
        "onnxruntime 1.3": {"ORT-SEED-KEPT": [Failure], "ORT-NO-FLOAT16": [Skipped], "shape": []},
        "run": {"complete": [Error]},
    }
    tests = {(suite.name, test.name): test for suite in document for test in suite}
    (failure,) = tests["onnxruntime 1.3", "ORT-SEED-KEPT"].result
    assert failure.message == "shown by 2 cases, and by none of 1.2"
    assert "wrong-on-special: The seed is kept" in failure.text
    assert tests["onnxruntime 1.1", "shape"].result[0].message == "it has no wheel"
    assert tests["onnxruntime 1.3", "ORT-NO-FLOAT16"].result[0].message == "shown by 1 case, since 1.0"
    assert (document.tests, document.failures, document.skipped, document.errors) == (13, 2, 7, 1)


def test_sarif_has_a_result_for_what_the_newest_release_shows():
    log = Sarif.model_validate_json(rendered("sarif"))
    (run,) = log.runs
    assert {result.rule_id: result.level.value for result in run.results} == {
        "ORT-SEED-KEPT": "error", "ORT-NO-FLOAT16": "warning",
    }  # fmt: skip
    assert [rule.id for rule in run.tool.driver.rules] == ["ORT-SEED-KEPT", "ORT-NO-FLOAT16"]
    newly = run.results[0]
    assert newly.properties["cases"] == ["folder/file:c", "folder/file:b"]
    assert newly.locations[0].physical_location.artifact_location.uri == "cases/folder/file.yaml"
    # A release was skipped.
    assert run.invocations[0].execution_successful is False


def test_a_release_that_was_skipped_is_an_error_in_every_format():
    assert REPORT.exit_code is ExitCode.INCOMPLETE
    assert json.loads(rendered("json"))["errors"] == [{"message": "1.1 was skipped: it has no wheel"}]
    for form in FORMATS:
        assert "it has no wheel" in rendered(form)


def test_json_names_the_defects_before_and_after():
    (_, last) = json.loads(rendered("json"))["changes"]
    groups = {(group["change"], *group["defects"]): group["cases"] for group in last["groups"]}
    assert groups["regressed", None, "ORT-SEED-KEPT"] == ["folder/file:b"]
    assert groups["changed", None, "ORT-SEED-KEPT"] == ["folder/file:c"]


def test_the_summary_for_github_shows_the_newest_releases():
    releases = [Release(f"1.{number}", record(seed("b") if number > 5 else execution("b"))) for number in range(12)]
    text = rendered("github", HistoryReport("onnxruntime", releases))
    assert "| defect | 1.4 | 1.5 | 1.6 | 1.7 | 1.8 | 1.9 | 1.10 | 1.11 |" in text
    assert "| `ORT-SEED-KEPT` |  |  | 1 | 1 | 1 | 1 | 1 | 1 |" in text
    assert "1.5 to 1.6: 1 regressed" in text


@pytest.mark.parametrize("form", ["markdown", "github"])
def test_markdown_of_many_releases_has_no_long_lines(form):
    stored = [read(ROOT / f"reports/onnxruntime-{version}-cpu.jsonl.xz") for version in ("1.23.2", "1.32.0")]
    records = [replace(each, executions=tuple(itertools.islice(each.executions, 400))) for each in stored]
    for count in (4, 40):
        releases = [Release(f"1.{number}.0.dev20260101", records[number % 2]) for number in range(count)]
        text = rendered(form, HistoryReport("onnxruntime", releases))
        assert max(map(len, text.splitlines())) <= 400
        assert len(text) <= 40_000
        headings = [line for line in text.splitlines() if re.match(r"\| kind \| 1\.", line)]
        shown = [name.strip() for line in headings for name in line.split("|")[2:-1]]
        versions = [release.version for release in releases]
        assert shown == versions[-len(shown) :]
        assert len(shown) >= min(count, 8)
        assert form == "github" or len(shown) >= min(count, 24)
        assert len(shown) == count or f"the newest {len(shown)} of {count} releases" in text
