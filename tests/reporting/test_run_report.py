"""The numbers and the words that all reports of a run share."""

import io
from dataclasses import replace

import msgspec
import pytest

from maxpool_check.judging.defects import Severity
from maxpool_check.reporting.findings import findings
from maxpool_check.reporting.run_report import ResultGroup, RunReport, Tally
from maxpool_check.reporting.writers import write_markdown
from maxpool_check.results.record import ExitCode, KnownEntry, KnownStatus, Verdict
from maxpool_check.results.storage import read
from tests.conftest import CASES
from tests.report_matrix import RECORDS, name_of, record_at
from tests.reporting.test_golden import GOLDEN

KNOWN = KnownEntry(id="ours", target="onnxruntime==1.23.2", status=KnownStatus.EXPECTED, kinds=(), reason="")


def report_of(executions, known=(), exit_code=ExitCode.AS_EXPECTED):
    """The report of some executions of the golden record, on its first target."""
    record = read(GOLDEN / "record.jsonl")
    header = msgspec.structs.replace(record.header, targets=record.header.targets[:1], cases=len(executions))
    footer = msgspec.structs.replace(record.footer, known=known, errors=(), exit_code=exit_code)
    return RunReport(replace(record, header=header, executions=tuple(executions), footer=footer), exit_code)


def execution(verdict, /, **changes):
    """An execution of the golden record's first target that has this verdict, changed."""
    every = read(GOLDEN / "record.jsonl").executions
    first = next(each for each in every if each.verdict is verdict and each.target == KNOWN.target)
    return msgspec.structs.replace(first, **changes)


def markdown_of(report):
    """The report in Markdown."""
    file = io.StringIO()
    write_markdown(report, file)
    return file.getvalue()


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_the_numbers_of_a_committed_record_add_up(path):
    record = record_at(path)
    report = RunReport(record, record.footer.exit_code)
    assert report.compared == report.conforming + sum(tally.executions for tally in report.groups.values())
    assert sum(tally.defects for tally in report.severities.values()) == len(report.findings)
    assert sum(tally.new for tally in report.severities.values()) == len(report.unexpected)
    for tallies in (report.severities, report.groups):
        assert sum(tally.executions for tally in tallies.values()) == report.compared - report.conforming
        assert list(tallies) == [key for key in type(next(iter(tallies))) if key in tallies]


def test_known_wrong_values_are_no_success_without_a_word():
    report = report_of(
        [execution(Verdict.CONFORMS), execution(Verdict.DIVERGES, known="ours", status="expected")], [KNOWN]
    )
    assert report.result == (
        "KNOWN DEFECTS", "0 unexpected; 1 known divergence in 1 defect; 1 of 2 compared executions conforms",
    )  # fmt: skip


def test_special_values_alone_do_not_make_a_model_conform():
    report = report_of([execution(Verdict.DIVERGES, status="special")])
    assert report.result == (
        "SPECIAL VALUES", "0 unexpected; 1 special-value divergence in 1 defect; 0 of 1 compared execution conforms",
    )  # fmt: skip


def test_a_run_without_faults_conforms():
    report = report_of([execution(Verdict.CONFORMS), execution(Verdict.UNDEFINED)])
    assert report.result == ("CONFORMS", "0 unexpected; 1 of 1 compared execution conforms, 1 undefined")
    assert (report.groups, report.severities) == ({}, {})


def test_limits_are_counted_apart_from_other_refusals():
    refused = [execution(Verdict.REFUSES, limit=limit) for limit in (True, True, False)]
    report = report_of(refused, exit_code=ExitCode.UNEXPECTED)
    assert report.groups == {ResultGroup.REFUSAL: Tally(1, 1, 1, 1), ResultGroup.LIMIT: Tally(1, 1, 2, 1)}
    assert report.severities == {Severity.REFUSES_VALID: Tally(1, 1, 1, 1), Severity.LIMIT: Tally(1, 1, 2, 1)}
    assert report.result == (
        "UNEXPECTED",
        "3 unexpected results in 1 case: 1 refusal in 1 defect, 2 limits in 1 defect; 0 of 3 compared executions conform",
    )  # fmt: skip


def test_a_defect_that_shows_itself_in_two_groups_is_counted_in_both_and_once_by_severity():
    fault = {"known": "ours", "status": "expected"}
    report = report_of([execution(Verdict.CRASHES, **fault), execution(Verdict.REFUSES, **fault)], [KNOWN])
    assert report.groups == {ResultGroup.CRASH: Tally(1, 0, 1, 1), ResultGroup.REFUSAL: Tally(1, 0, 1, 1)}
    assert list(report.severities.values()) == [Tally(1, 0, 2, 2)]


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_the_example_of_a_finding_shows_all_kinds_that_it_is_called_by(path):
    # Known defects are called by their id, so that none is known here.
    record = record_at(path)
    new = [msgspec.structs.replace(each, known=None, status="new") for each in record.executions]
    report = RunReport(replace(record, executions=tuple(new)), ExitCode.UNEXPECTED)
    for finding in report.findings:
        shown = {*finding.smallest.kinds, *finding.smallest.counts, *(cause.kind for cause in finding.smallest.causes)}
        assert list(finding.kinds) == [kind for kind in finding.kinds if kind in shown]


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_the_example_of_a_known_defect_shows_the_kinds_that_a_report_names_with_it(path):
    report = RunReport(record_at(path), ExitCode.AS_EXPECTED)
    for finding in report.findings:
        assert finding.example_kinds
        assert set(finding.example_kinds) <= set(finding.kinds)


def test_a_run_without_executions_says_that_nothing_was_tested():
    assert replace(report_of([]), exit_code=ExitCode.INCOMPLETE).tested.startswith("nothing of 0 cases")
    assert report_of([execution(Verdict.CONFORMS)]).tested == "1 case in 1 execution"


FROM_ZERO = """
import numpy as np
from maxpool_check.evidence.wrong_kernels.scan import scan

def from_zero(X, attributes, index):
    Y, Indices = scan(X, attributes)
    planes = np.arange(X.shape[0] * X.shape[1]).reshape(*X.shape[:2], *[1] * (X.ndim - 2)) * np.prod(X.shape[2:])
    return np.where(Y <= 0, 0, Y).astype(Y.dtype), np.where(Y <= 0, planes + index, Indices)

def nothing_found(X, attributes):
    return from_zero(X, attributes, -1)

def first_of_the_plane(X, attributes):
    return from_zero(X, attributes, 0)
"""


@pytest.mark.parametrize("kernel", ["nothing_found", "first_of_the_plane"])
def test_a_kernel_that_starts_from_zero_is_one_finding_with_its_symptoms(cli, tmp_path, kernel):
    (tmp_path / "kernel.py").write_text(FROM_ZERO)
    record = tmp_path / "record.jsonl"
    assert (
        cli("run", CASES, "-t", f"python:{tmp_path}/kernel.py:{kernel}", "--known", "none", "-q", "-o", record).code
        == 1
    )
    (finding,) = findings(read(record))
    assert finding.kinds == ("scan-starts-at-zero",)
    assert len(finding.cases) > 500
    # Results of few wrong cells have the kinds of these cells.
    assert {"y-pad-value-leak", "y-not-in-input"} <= {kind for each in finding.executions for kind in each.kinds}
    assert "Symptoms of it" in finding.explanation
