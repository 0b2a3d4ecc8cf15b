"""The reports of ``gate`` and ``compare`` that CI systems read, checked with their own parsers and schemas."""

import io
import json
import re

import msgspec
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif

from maxpool_check.commands.gate import FORMATS
from maxpool_check.comparing.gate import GatePolicy, compare_targets
from maxpool_check.comparing.transitions import Change
from maxpool_check.reporting.changes import ComparisonReport, workflow_commands
from maxpool_check.reporting.github import MOST_ANNOTATIONS
from maxpool_check.results.details import AllowedDifference, Cell
from maxpool_check.results.record import Execution, ExitCode, KnownEntry, KnownStatus, Record, Verdict
from maxpool_check.results.storage import read
from tests.conftest import ROOT
from tests.test_inert import check_markdown

STORED = read(ROOT / "tests/data/golden/record.jsonl")
HEADER = msgspec.structs.replace(STORED.header, targets=STORED.header.targets[:1])
TARGET = HEADER.targets[0].name


def execution(name, verdict="conforms", *kinds, variant="y-only", digest="a", known=None, **fields):
    digests = {"Y": digest} if verdict in ("conforms", "diverges", "inconsistent") else {}
    return Execution(
        **{
            "target": TARGET, "case": f"folder/file:{name}", "variant": variant, "verdict": Verdict(verdict), "title": f"About {name}",
            "spec": "onnx-22", "case_sha256": "1", "origin": f"cases/folder/file.yaml:{len(name)}", "kinds": kinds,
            "known": known, "digests": digests, **fields,
        }
    )  # fmt: skip


DEFECT = KnownEntry(
    id="ORT-SEED-KEPT", target=TARGET, status=KnownStatus.EXPECTED, kinds=("indices-sentinel",), reason="It keeps its seed.",
    title="The seed is kept", severity="wrong-on-special",
)  # fmt: skip
CELL = Cell(
    at=(0, 0),
    output="Y",
    expected="-inf",
    got="-1.0",
    kind="y-not-in-input",
    window=((0,),),
    values=None,
    got_cell=None,
)


def record(*executions):
    footer = msgspec.structs.replace(STORED.footer, executions=len(executions), known=(DEFECT,), errors=())
    return Record(HEADER, executions, footer)


OLD = (
    execution("same"), execution("same", variant="indices"), execution("worse"), execution("worse", variant="indices"),
    execution("fixed", "diverges", "y-not-in-input"), execution("gone"), execution("never", "not-expressible"),
    execution("mixed"), execution("mixed", "diverges", "indices-sentinel", variant="indices"),
)  # fmt: skip
NEW = (
    execution("same"), execution("same", variant="indices"),
    execution("worse", "diverges", "y-not-in-input", cells=(CELL,), digest="b"),
    execution("worse", "diverges", "indices-sentinel", variant="indices", known="ORT-SEED-KEPT", digest="b"),
    execution("fixed", digest="b"), execution("never", "not-expressible"),
    execution("mixed", "crashes", "crash", message="it died of a signal"), execution("mixed", variant="indices", digest="b"),
)  # fmt: skip


def report(old=OLD, new=NEW, **options):
    comparison = compare_targets(record(*old), record(*new), (TARGET, TARGET), **options)
    return ComparisonReport("gate", [comparison])


def rendered(form, made):
    file = io.StringIO()
    FORMATS[form](made, file)
    return file.getvalue()


def junit_of(made):
    document = JUnitXml.fromstring(rendered("junit", made).encode())
    return document, {test.name: test for suite in document for test in suite}


def test_junit_has_one_test_for_each_case_which_fails_where_the_change_blocks():
    document, tests = junit_of(report())
    assert {name: [type(result) for result in test.result] for name, test in tests.items()} == {
        "same": [], "worse": [Failure], "fixed": [], "gone": [Skipped], "never": [Skipped], "mixed": [Failure],
    }  # fmt: skip
    assert (document.tests, document.failures, document.skipped, document.errors) == (6, 2, 2, 0)
    (failure,) = tests["worse"].result
    assert failure.type == "regressed"
    assert failure.message == (
        "regressed: conforms -> y-not-in-input (y-only); regressed: conforms -> ORT-SEED-KEPT (indices)"
    )
    assert "expected -inf, got -1.0" in failure.text
    assert "ORT-SEED-KEPT (wrong-on-special): The seed is kept" in failure.text
    assert (tests["worse"].classname, tests["worse"]._elem.get("line")) == ("folder.file", "5")


def test_junit_shows_changes_that_do_not_block_as_output():
    _, tests = junit_of(report())
    assert "fixed: y-not-in-input -> conforms (y-only)" in tests["fixed"].system_out
    # Beside the crash of another variant.
    assert "fixed: indices-sentinel -> conforms (indices)" in tests["mixed"].system_out
    assert tests["same"].system_out is None
    (skipped,) = tests["gone"].result
    assert skipped.message == "missing: conforms (y-only)"


def test_junit_names_both_targets_their_cases_and_the_decision():
    (suite,) = junit_of(report())[0]
    properties = {each.name: each.value for each in suite.properties()}
    assert (properties["old"], properties["new"], properties["decision"]) == (TARGET, TARGET, "BLOCK")
    assert properties["new_cases_sha256"] == HEADER.cases_sha256


def test_what_blocks_is_what_the_user_says():
    _, tests = junit_of(report(policy=GatePolicy([Change.FIXED])))
    assert {name for name, test in tests.items() if Failure in map(type, test.result)} == {"fixed", "mixed"}
    assert "regressed" in tests["worse"].system_out


def test_a_case_that_differs_between_the_records_is_skipped_and_no_test_occurs_twice():
    other = msgspec.structs.replace(execution("worse"), case_sha256="2")
    made = report(OLD, (*NEW[:2], other, *NEW[4:], execution("worse", variant="indices")), intersection=True)
    document, tests = junit_of(made)
    assert [type(result) for result in tests["worse"].result] == [Skipped]
    assert "differs between the records" in tests["worse"].result[0].message
    assert len(tests) == document.tests == sum(len(list(suite)) for suite in document) == 6


def test_sarif_has_one_result_for_each_case_whose_change_can_be_observed():
    log = Sarif.model_validate_json(rendered("sarif", report()))
    (run,) = log.runs
    results = {result.properties["case"].rpartition(":")[2]: result for result in run.results}
    assert len(results) == len(run.results)
    levels = {name: (result.rule_id, result.level.value) for name, result in results.items()}
    assert levels == {
        "worse": ("regressed", "error"), "fixed": ("fixed", "note"), "gone": ("missing", "warning"),
        "mixed": ("crash-new", "error"),
    }  # fmt: skip
    assert {result.rule_id for result in run.results} <= {rule.id for rule in run.tool.driver.rules}
    assert "conforms -> ORT-SEED-KEPT (indices)" in results["worse"].message.text
    assert "expected -inf, got -1.0" in results["worse"].message.text
    place = results["worse"].locations[0].physical_location
    assert (place.artifact_location.uri, place.region.start_line) == ("cases/folder/file.yaml", 5)
    assert len({json.dumps(result.partial_fingerprints) for result in run.results}) == len(run.results)


def test_a_comparison_that_was_not_made_or_is_incomplete_is_an_error_everywhere():
    undecided = ComparisonReport("gate", [], problems=["it did not\nstart"], undecided=ExitCode.INCOMPLETE)
    comparison = compare_targets(Record(HEADER, OLD, None), record(*NEW), (TARGET, TARGET))
    for made, words in (
        (undecided, "it did not"),
        (ComparisonReport("compare", [comparison]), "the old record is incomplete"),
    ):
        document, tests = junit_of(made)
        assert [type(result) for result in tests["complete"].result] == [Error]
        assert document.errors == 1
        (run,) = json.loads(rendered("sarif", made))["runs"]
        assert run["invocations"][0]["executionSuccessful"] is False
        Sarif.model_validate_json(rendered("sarif", made))
        assert json.loads(rendered("json", made))["exit_code"] == ExitCode.INCOMPLETE
        for form in ("text", "markdown", "github"):
            assert "INCOMPLETE" in rendered(form, made)
        for form in FORMATS:
            assert words in rendered(form, made)
        assert any(words in line for line in workflow_commands(made))


def test_the_annotations_of_a_gate_are_one_line_for_each_group_that_blocks():
    lines = workflow_commands(report())
    assert len(lines) == 3
    for line in lines:
        assert re.fullmatch(r"::error file=cases/folder/file.yaml,line=\d+,title=[^:]+::[^\n\r]+", line), line
    assert "%0A" in lines[0]
    assert any("line=5,title=regressed on" in line and "folder/file:worse" in line for line in lines)
    many = [execution(f"case-{number}", "diverges", f"kind-{number}") for number in range(30)]
    lines = workflow_commands(report([execution(f"case-{number}") for number in range(30)], many))
    assert len(lines) == MOST_ANNOTATIONS
    assert lines[-1] == "::error::21 more; see the step summary"


NASTY = "\x00 \x1b[31m ::error::x <b>&</b> |a| ]]> `` ##[error]"


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_runtime_or_a_case_says_is_no_command(form):
    old = execution(NASTY, title=NASTY)
    new = execution(NASTY, "refuses", "refuses-valid", message=f"{NASTY}\n{NASTY}", title=NASTY)
    made = report((old,), (new,))
    text = rendered(form, made)
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "##[" not in text
    assert not re.search(r"^\s*::", text, re.MULTILINE)
    if form in ("markdown", "github"):
        check_markdown(text, form)
    if form == "junit":
        assert len(junit_of(made)[1]) == 1
    if form in ("json", "sarif"):
        json.loads(text)
    (line,) = workflow_commands(made)
    assert "\n" not in line


def many(verdict, *kinds):
    return [execution(f"case-{number:03}", verdict, *kinds, size=number) for number in range(25)]


def test_a_group_that_blocks_names_its_cases():
    old, new = many("conforms"), many("refuses", "refuses-valid")
    for form in ("text", "markdown", "github"):
        text = rendered(form, report(old, new))
        assert "folder/file:case-009" in text
        assert "folder/file:case-010" not in text
        assert "and 15 more" in text
    verbose = rendered("text", ComparisonReport("gate", report(old, new).comparisons, verbose=True))
    assert "case-024" in verbose
    # A group that does not block is short.
    assert "folder/file:case-009" not in rendered("text", report(new, old))


def test_every_group_that_blocks_names_its_cases_and_not_the_first_ones_alone():
    old = [execution(f"case-{number:03}") for number in range(30)]
    new = [execution(f"case-{number:03}", "diverges", f"kind-{number % 15}") for number in range(30)]
    text = rendered("text", report(old, new))
    assert {each.case for each in old} <= {line.strip() for line in text.splitlines()}


def test_conforming_results_that_differ_show_what_each_side_returned():
    def cell(at, got):
        return AllowedDifference(at=at, output="Y", reference="0.0", got=got)

    old = execution("tie", digest="a", differences=(cell((0, 1), "-0.0"), cell((0, 2), "-0.0")))
    new = execution("tie", digest="b", differences=(cell((0, 1), "-0.0"), cell((0, 3), "-0.0")))
    text = rendered("text", report([old], [new]))
    assert "Y[0, 2]: reference 0.0, old -0.0" in text
    assert "Y[0, 3]: reference 0.0, new -0.0" in text
    assert "Y[0, 1]" not in text


def test_markdown_of_the_releases_is_readable():
    stored = [read(ROOT / f"reports/onnxruntime-{version}-cpu.jsonl.xz") for version in ("1.23.2", "1.32.0")]
    for old, new in (stored, stored[::-1]):
        names = (old.header.targets[0].name, new.header.targets[0].name)
        made = ComparisonReport("gate", [compare_targets(old, new, names)])
        for form in ("markdown", "github"):
            text = rendered(form, made)
            assert len(text) <= 40_000
            assert max(map(len, text.splitlines())) <= 400
            assert text.splitlines()[2].startswith("**BLOCK")


def test_markdown_stays_short_where_texts_are_long():
    old = [execution(f"{'long-' * 200}{number}", title="word " * 500) for number in range(300)]
    new = [
        execution(f"{'long-' * 200}{number}", "refuses", f"kind-{number}", message="reason " * 500, title="word " * 500)
        for number in range(300)
    ]
    for form in ("markdown", "github"):
        assert max(map(len, rendered(form, report(old, new)).splitlines())) <= 400
