"""The Markdown report of a run: what it draws, counts and leaves out."""

from dataclasses import replace

from maxpool_check.reporting.run_view import MOST_REASONS
from maxpool_check.reporting.writers import LARGEST
from maxpool_check.results.record import ExitCode, KnownEntry, KnownStatus, Verdict
from tests.reporting.test_run_report import KNOWN, execution, markdown_of, report_of


def refusals(count, message="the runtime has no kernel", **changes):
    """Refusals of so many cases that a known defect expects."""
    return [
        execution(Verdict.REFUSES, case=f"many:{number}", message=message, known=None, limit=True, **changes)
        for number in range(count)
    ]


def divergences(count):
    """So many known defects with an execution each, and their entries."""
    entries = [
        KnownEntry(
            id=f"D-{number}", target=KNOWN.target, status=KnownStatus.EXPECTED, kinds=(), severity="wrong-on-finite",
            title=f"Values are wrong in the way {number}", reason="The kernel reads the wrong cells. " * 20,
        )
        for number in range(count)
    ]  # fmt: skip
    executions = [
        execution(Verdict.DIVERGES, case=f"many:{entry.id}", known=entry.id, status="expected", severity=entry.severity)
        for entry in entries
    ]
    return executions, entries


def test_refusals_for_one_reason_are_a_row():
    page = markdown_of(report_of(refusals(300), exit_code=ExitCode.UNEXPECTED))
    section = page.split("## Refused, not executed")[1].split("\n## ")[0]
    assert [line for line in section.splitlines() if "the runtime has no kernel" in line] == [
        "| limit | the runtime has no kernel | 300 | 300 | `many:0` |"
    ]


def test_rare_reasons_are_counted_together_unless_everything_is_asked_for():
    executions = [
        refusal
        for number in range(MOST_REASONS + 5)
        for refusal in refusals(30 - number, f"reason {number}", spec=f"spec-{number}")
    ]
    report = report_of(executions, exit_code=ExitCode.UNEXPECTED)
    page, whole = markdown_of(report), markdown_of(replace(report, cases=True))
    numbers = [30 - number for number in range(MOST_REASONS, MOST_REASONS + 5)]
    assert f"| limit | reason {MOST_REASONS - 1} |" in page
    assert f"| limit | reason {MOST_REASONS} |" not in page
    assert (
        f"|  | 5 rarer reasons, which maxpool-check report RECORD --report markdown --cases lists | {sum(numbers)} |"
        in page
    )
    assert all(f"| limit | reason {number} |" in whole for number in range(MOST_REASONS + 5))


def test_what_was_not_expressible_is_told_from_refusals():
    apart = execution(Verdict.UNDEFINED, verdict=Verdict.NOT_EXPRESSIBLE, case="x:none", message="no such attribute")
    page = markdown_of(report_of([*refusals(2), apart], exit_code=ExitCode.UNEXPECTED))
    reasons = [line for line in page.splitlines() if "no such attribute" in line or "no kernel | 2" in line]
    assert reasons == [
        "| limit | the runtime has no kernel | 2 | 2 | `many:0` |",
        "| not-expressible | no such attribute | 1 | 1 | `x:none` |",
    ]


def test_the_first_findings_are_in_full_and_the_others_rows_unless_everything_is_asked_for():
    report = report_of(*divergences(50))
    page, whole = markdown_of(report), markdown_of(replace(report, cases=True))
    assert len(page.encode()) <= LARGEST
    drawn = page.count("\n### `D-")
    assert 0 < drawn < 50
    assert f"50 findings: 50 in the table, {drawn} in full; " in page.replace("\n", " ")
    assert page.count("| wrong-on-finite | ") == 51  # The table of severities has one, too.
    assert (whole.count("\n### `D-"), "in the table" in whole) == (50, False)


def test_findings_that_no_table_has_are_counted():
    page = markdown_of(report_of(*divergences(80))).replace("\n", " ")
    rows = page.count("| wrong-on-finite | ") - 1
    assert rows < 80
    assert f"80 findings: {rows} in the table" in page


def test_cases_are_listed_only_if_they_are_asked_for():
    fault = {"known": "ours", "status": "expected"}
    executions = [execution(Verdict.DIVERGES, case=f"many:c-{number}", **fault) for number in range(9)]
    report = report_of(executions, [KNOWN])
    assert "c-7" not in markdown_of(report)
    assert "<summary>9 cases</summary>" in (whole := markdown_of(replace(report, cases=True)))
    assert "c-7" in whole


def test_long_texts_are_whole_only_if_everything_is_asked_for():
    long = "word " * 300 + "last-word"
    report = report_of([execution(Verdict.DIVERGES, title=long, message=long, cells=(), erratum=long)])
    page, whole = markdown_of(report), markdown_of(replace(report, cases=True))
    assert page.count("last-word") == 0
    assert max(map(len, page.splitlines())) <= 400
    assert whole.count("last-word") == 3
