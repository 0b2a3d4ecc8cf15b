"""Whole reports, as they must come out of one record.

The record is a real run over a small corpus, its times and machine replaced. After a change that is meant:
``python -m tests.reporting.test_golden`` writes the reports again, to be read before they are committed.
"""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from maxpool_check.reporting import github, json, junit, markdown, sarif, text
from maxpool_check.reporting.findings import findings
from maxpool_check.results.storage import read

GOLDEN = Path(__file__).parents[1] / "data/golden"


def rendered(name):
    record = read(GOLDEN / "record.jsonl")
    code = record.footer.exit_code
    return {
        "report.md": lambda: markdown.render(record, code),
        "report.json": lambda: json.render(record, code) + "\n",
        "report.txt": lambda: text.render(record, code, width=100, color=False),
        "report-verbose.txt": lambda: text.render(record, code, width=72, color=False, verbose=True),
        "report-color.txt": lambda: text.render(record, code, width=100, color=True),
        "report.xml": lambda: junit.render(record),
        "report-github.md": lambda: github.render(record, code),
        "report.sarif": lambda: sarif.render(record) + "\n",
    }[name]()


NAMES = (
    "report.md", "report.json", "report.txt", "report-verbose.txt", "report-color.txt", "report.xml", "report-github.md",
    "report.sarif",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_report(name):
    assert rendered(name) == (GOLDEN / name).read_text()


def test_what_belongs_to_no_target_of_the_header_is_no_finding():
    whole = read(GOLDEN / "record.jsonl")
    first, _ = whole.header.targets
    record = replace(whole, header=msgspec.structs.replace(whole.header, targets=(first,)))
    assert {one.target for one in findings(whole)} == {target.name for target in whole.header.targets}
    assert {one.target for one in findings(record)} == {first.name}


if __name__ == "__main__":
    for name in NAMES:
        (GOLDEN / name).write_text(rendered(name))
