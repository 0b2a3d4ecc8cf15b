"""The shipped defects: what they expect is what the committed records show, and what they say of themselves is whole."""

from collections import defaultdict

import pytest

from maxpool_check.comparing.defects import completeness, statuses
from maxpool_check.corpus.conditions import with_cases
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.judging.defects import WRONG, Severity
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reporting.case_results import case_results
from maxpool_check.specifications import documents
from tests import report_defects
from tests.conftest import CASES, shipped
from tests.report_matrix import RECORDS, name_of, record_at

CORPUS = shipped()
DEFECTS = read_all_defects(CORPUS.known_files)


@pytest.fixture(scope="module")
def resolved():
    return with_cases(DEFECTS, CORPUS.cases)


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_a_committed_record_shows_what_is_expected_and_nothing_else(path, resolved):
    record = record_at(path)
    digests = {case.id: case.sha256 for case in CORPUS.cases}
    old = {each.case for each in record.executions if digests.get(each.case) != each.case_sha256}
    is_complete = completeness(record, [case.id for case in CORPUS.cases])
    # A new case needs no new record.
    for status in statuses(record, resolved, lambda entry: is_complete(entry) and not old.intersection(entry.cases)):
        unexpected = [
            f"{each.case} ({each.variant}): {each.kinds}" for each in status.unexpected if each.case not in old
        ]
        assert unexpected == []
        assert [(each.defect.id, each.problem) for each in status.defects if each.problem] == []


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.id)
def test_a_defect_says_what_a_maintainer_needs(defect):
    assert defect.id == defect.id.upper()
    assert 20 < len(defect.title) < 200
    assert not defect.title.endswith(".")
    assert defect.established, "how is the mechanism known?"
    assert defect.documents, "which documents does it violate?"
    assert all(documents(name) for name in defect.documents)
    deadly = {DivergenceKind.CRASH, DivergenceKind.TIMEOUT}
    assert (defect.severity is Severity.CRASH) == bool(defect.kinds & deadly)


def test_a_defect_that_is_wrong_is_as_bad_as_some_execution_that_shows_it():
    shown = defaultdict(set)
    for path in RECORDS:
        for execution in record_at(path).executions:
            if execution.known is not None and execution.status == "expected":
                shown[execution.known].add(execution.severity)
    about = {defect.id: defect.severity for defect in DEFECTS if defect.severity in WRONG}
    assert {
        name: shown[name] for name, severity in about.items() if shown[name] and severity.value not in shown[name]
    } == {}


def test_a_known_defect_is_worse_where_windows_hold_ordinary_values():
    (path,) = [path for path in RECORDS if path.name == "onnxruntime-1.23.2-cpu.jsonl.xz"]
    record = record_at(path)
    severities = defaultdict(set)
    for case in case_results(record.executions):
        if case.worst.known == "ORT-SEED-KEPT" and "indices-sentinel" in case.worst.kinds:
            severities[case.worst.input.pooled.dtype].add(case.severity)
    special, ordinary = {Severity.WRONG_ON_SPECIAL}, {Severity.WRONG_ON_FINITE}
    floats = dict.fromkeys(("float16", "float32", "float64"), special)
    assert severities == {**floats, "int8": ordinary, "uint8": ordinary}


def test_live_defects_of_the_worst_kinds_have_an_example():
    versions = read_versions(CASES)
    worst = (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL, Severity.CRASH)
    assert [
        defect.id for defect in DEFECTS if versions.is_live(defect) and defect.severity in worst and not defect.example
    ] == []


def test_the_index_is_made_from_the_defects():
    assert report_defects.INDEX.read_text() == report_defects.page(), "make reports NAMES=pages"


def test_ten_live_defects_of_ordinary_values_have_the_text_of_an_issue_with_its_script():
    versions, worst = (
        read_versions(CASES),
        {each.id: each for each in DEFECTS if each.severity is Severity.WRONG_ON_FINITE},
    )
    pages = {path.stem: path.read_text() for path in report_defects.FOLDER.glob("*.md") if path.stem != "README"}
    assert set(pages) == set(report_defects.TEN) <= set(worst)
    for name, text in pages.items():
        assert versions.is_live(worst[name]), name
        assert worst[name].title in text.splitlines()[0]
        script = text.partition("```python\n")[2].partition("\n```")[0]
        compile(script, name, "exec")
        assert "Exit code 1: the defect is there" in script
