"""Whole reports, as they must come out of one record.

The record is a real run over a small corpus, its times and machine replaced. After a change that is meant:
``python -m tests.reporting.test_golden`` writes the reports again, to be read before they are committed.
"""

import io
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from maxpool_check.commands.report import FORMATS
from maxpool_check.reporting.findings import findings
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.storage import read

GOLDEN = Path(__file__).parents[1] / "data/golden"
REPORTS = {
    "report.md": ("markdown", {}),
    "report-cases.md": ("markdown", {"cases": True}),
    "report.json": ("json", {}),
    "report.txt": ("text", {}),
    "report-verbose.txt": ("text", {"width": 72, "verbose": True}),
    "report-color.txt": ("text", {"color": True}),
    "report.xml": ("junit", {}),
    "report-github.md": ("github", {}),
    "report.sarif": ("sarif", {}),
}


def rendered(name):
    record = read(GOLDEN / "record.jsonl")
    form, display = REPORTS[name]
    file = io.StringIO()
    FORMATS[form](RunReport(record, record.footer.exit_code, **display), file)
    return file.getvalue()


@pytest.mark.parametrize("name", REPORTS)
def test_report(name):
    assert rendered(name) == (GOLDEN / name).read_text()


def test_what_belongs_to_no_target_of_the_header_is_no_finding():
    whole = read(GOLDEN / "record.jsonl")
    first, _ = whole.header.targets
    record = replace(whole, header=msgspec.structs.replace(whole.header, targets=(first,)))
    assert {finding.target for finding in findings(whole)} == {target.name for target in whole.header.targets}
    assert {finding.target for finding in findings(record)} == {first.name}


if __name__ == "__main__":
    for name in REPORTS:
        (GOLDEN / name).write_text(rendered(name))
