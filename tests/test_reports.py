"""The committed reports and the shipped defects: a report is what its record says, a record holds for all cases that have not changed
since, and shows what is expected of its runtime.

No report is bound to the corpus as a whole: a new case needs no new report. ``make reports`` makes them again.
"""

import io
import json
import lzma
from collections import defaultdict
from functools import cache
from types import SimpleNamespace

import pytest

from maxpool_check.comparing.defects import statuses
from maxpool_check.comparing.observing import observed
from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.conditions import CasesOfEffects
from maxpool_check.corpus.defect_file import read_all_defects, read_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.corpus.observed import is_observed_file, read_observations
from maxpool_check.evidence.bundling.record_check import Verification, check_record
from maxpool_check.judging.defects import WRONG, Severity
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reporting.run_items import case_results
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.run_view import document
from maxpool_check.reporting.writers import markdown
from maxpool_check.reporting.writers.markdown import LARGEST
from maxpool_check.results.storage import name_of
from maxpool_check.results.variants import GRAPH_VARIANTS
from maxpool_check.specifications import documents
from maxpool_check.targets.name import parse
from tests import make_reports
from tests.conftest import CASES, ROOT, shipped
from tests.report_matrix import RECORDS, REPORTS, record_at, with_matrix

LONGEST_LINE = 400
SMALLEST = min(RECORDS, key=lambda path: path.stat().st_size)


@cache
def defects():
    return read_all_defects(shipped().known_files)


@cache
def about():
    return CasesOfEffects(defects(), shipped().cases)


def page_of(path):
    return path.with_name(f"{name_of(path)}.md").read_text()


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_a_committed_record_has_its_report_holds_and_shows_what_is_expected_and_nothing_else(path):
    record, written, cases = record_at(path), io.StringIO(), shipped().cases
    markdown.write(document(RunReport(record, record.footer.exit_code)), written)
    page = page_of(path)
    assert page == written.getvalue(), "make reports"
    assert len(page.encode()) <= LARGEST * len(record.header.targets)
    assert max(map(len, page.splitlines())) <= LONGEST_LINE
    assert {each.known for each in record.executions if each.known and f"`{each.known}`" not in page} == set()

    recorded = {execution.case: execution.case_sha256 for execution in record.executions}
    changed = {case.id for case in cases if recorded.get(case.id, case.sha256) != case.sha256}
    unchanged = {case.id: case for case in cases if case.id not in changed}
    contents = SimpleNamespace(
        cases=unchanged,
        corpus=cases,
        defects=defects(),
        known_sha256="",
        versions=read_versions(CASES),
        records=[record],
    )
    verification = Verification()
    check_record("record", record, contents, verification, lzma.decompress(path.read_bytes()))
    # A record that does not say which variants its run had was made of those that it holds.
    variants = {each.variant for each in record.executions}
    # One node in its own operator set has been executed without optimization since the tool of most records.
    single = {case.id for case in cases if not (case.context.is_alone or case.context.has_nodes)}
    held = {(each.case, each.variant) for each in record.executions}
    of_cases = tuple(
        f"record: {name} ({variant})"
        for name in unchanged
        for variant in variants
        if (name, variant) in held or not (name in single and variant in map(str, GRAPH_VARIANTS))
    )
    assert [
        problem for problem in verification.problems if problem[0].startswith(of_cases) or problem[0] == "record"
    ] == []
    assert len(changed) < record.header.corpus.cases / 2, "make reports"

    # A new case needs no new record.
    found = statuses(record, defects(), about())
    assert [each.case for status in found for each in status.unexpected if each.case not in changed] == []
    assert [(each.defect.id, each.problem) for status in found for each in status.defects if each.problem] == []


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_accepting_a_committed_record_again_changes_no_observation(path):
    files = [file for file in defect_files(CASES) if is_observed_file(file)]
    before = [line for file in files for line in read_observations(file)]
    described = [defect for file in defect_files(CASES) if file not in files for defect in read_defects(file)]
    after = observed(record_at(path), described, before, about(), read_versions(CASES))
    assert (after.added, after.removed, after.unexplained) == ({}, {}, [])
    assert {*map(repr, after.observations)} == {*map(repr, before)}


def test_report_makes_the_page_of_a_record(cli, tmp_path):
    page = tmp_path / "page.md"
    cli("report", SMALLEST, "--report", f"markdown={page}").check(0)
    assert page.read_text() == page_of(SMALLEST)


def test_the_table_of_reports_has_the_committed_ones_with_targets_and_cases_that_exist_and_a_link_to_each():
    files = {file.name for _, _, file in make_reports.commands(1)}
    assert {f"{name}.xz" for name in files} == {path.name for path in REPORTS.glob("*.xz")}
    for run in make_reports.TABLE["runs"].values():
        assert all(map(parse, run["targets"]))
        assert all((ROOT / path).exists() for path in make_reports.TABLE["parts"].get(run.get("part"), ()))
    readme = (REPORTS / "README.md").read_text()
    assert [path for path in REPORTS.glob("*-*.md") if f"({path.name})" not in readme] == []
    sizes = [[path.stat().st_size for path in folder.rglob("*") if path.is_file()] for folder in (REPORTS, CASES)]
    assert max(map(max, sizes)) < 2**20
    assert (len(sizes[0]) <= 60, sum(sizes[0]) <= 4 * 10**6, sum(map(sum, sizes)) < 10**7) == (True, True, True)


def test_the_matrix_and_the_index_of_defects_are_made_from_records_and_defects():
    assert (make_reports.DEFECTS / "README.md").read_text() == make_reports.index(), "make reports NAMES=pages"
    text = (REPORTS / "README.md").read_text()
    assert with_matrix(text) == text, "make reports NAMES=pages"
    assert max(map(len, text.splitlines())) <= LONGEST_LINE


def test_the_documents_are_compared_at_every_point_where_they_differ(cli):
    page = cli("explain", "documents", "-p", CASES / "documents").out
    for heading in (
        "A NaN in the window", "The value of the padding", "What Indices count", "Rounding up", "VALID, and rounding up",
        "SAME, the odd cell at the end", "A window without a cell of X",
    ):  # fmt: skip
        section = page.split(f"\n{heading}\n")[1].split("\n\n")[0]
        for title in ("ONNX MaxPool-22", "SONNX", "OpenVINO MaxPool-8", "com.ms.internal.nhwc", "nGraph", "XMOS"):
            assert f"  {title}" in section, (heading, title)


def test_a_history_is_of_one_corpus_and_minor_versions_and_its_page_has_each_release():
    histories = {}
    for path in REPORTS.glob("*-history.json.xz"):
        name = path.name.partition("-history")[0]
        histories[name] = history = json.loads(lzma.decompress(path.read_bytes()))
        tested = [release for release in history["releases"] if "skipped" not in release]
        assert len({release["cases_sha256"] for release in tested}) == 1
        versions = [release["version"] for release in history["releases"]]
        assert len({tuple(version.split(".")[:2]) for version in versions}) == len(versions) >= 5
        page = (REPORTS / f"{name}-history.md").read_text()
        assert [each["version"] for each in tested if f" {each['version']} |" not in page] == []
    repaired = next(step for step in histories["onnxruntime"]["changes"] if step["to"].startswith("1.29."))
    assert repaired["summary"]["fixed"] >= 90


def test_a_known_defect_is_worse_where_windows_hold_ordinary_values():
    record = record_at(REPORTS / "onnxruntime-cpu.jsonl.xz")
    severities = defaultdict(set)
    for case in case_results(record.executions):
        if case.worst.known == "ORT-SEED-KEPT" and "indices-sentinel" in case.worst.kinds:
            severities[case.worst.input.pooled.dtype].add(case.severity)
    for types, expected in (("int", Severity.WRONG_ON_FINITE), ("float", Severity.WRONG_ON_SPECIAL)):
        assert {severity for dtype, own in severities.items() if types in dtype for severity in own} == {expected}


def test_a_defect_that_is_wrong_is_as_bad_as_some_execution_that_shows_it():
    shown = defaultdict(set)
    for execution in (each for path in RECORDS for each in record_at(path).executions):
        if execution.known is not None and execution.status == "expected":
            shown[execution.known].add(execution.severity)
    about = {each.id: (each.severity.value, shown[each.id]) for each in defects() if each.severity in WRONG}
    assert {name: both for name, both in about.items() if both[1] and both[0] not in both[1]} == {}


def test_a_defect_says_what_a_maintainer_needs():
    versions, deadly = read_versions(CASES), {DivergenceKind.CRASH, DivergenceKind.TIMEOUT}
    worst = (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL, Severity.CRASH)
    for defect in defects():
        assert defect.id == defect.id.upper()
        assert 20 < len(defect.title) < 200, defect.id
        assert not defect.title.endswith("."), defect.id
        assert defect.established, (defect.id, "how is the mechanism known?")
        assert defect.documents, (defect.id, "which documents does it violate?")
        assert all(documents(name) for name in defect.documents), defect.id
        assert (defect.severity is Severity.CRASH) == bool(defect.kinds & deadly), defect.id
        assert defect.example or defect.severity not in worst or not versions.is_live(defect), defect.id


def test_some_live_defects_of_values_have_the_text_of_an_issue_with_its_script():
    versions, wrong = read_versions(CASES), (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL)
    worst = {each.id: each for each in defects() if each.severity in wrong and versions.is_live(each)}
    pages = {path.stem: path.read_text() for path in make_reports.DEFECTS.glob("*.md") if path.stem != "README"}
    assert set(pages) == set(make_reports.WITH_ISSUES) <= set(worst)
    for name, text in pages.items():
        assert (worst[name].short or worst[name].title) in text.splitlines()[0].replace("\\", "")
        script = text.partition("```python\n")[2].partition("\n```")[0]
        compile(script, name, "exec")
        assert "Exit code 1: the defect is there" in script
