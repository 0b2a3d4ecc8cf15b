"""Whole reports, as they must come out of one record.

The record is a real run over a small corpus, its times and machine replaced. After a change that is meant:
``python -m tests.reporting.test_golden`` writes the reports again, to be read before they are committed.
"""

from pathlib import Path

import pytest

from maxpool_check.reporting import github, json, junit, markdown, sarif, text
from maxpool_check.running.record import read

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


if __name__ == "__main__":
    for name in NAMES:
        (GOLDEN / name).write_text(rendered(name))
