"""The figures of the changelog: those of the code and of tests, and no others."""

import re

from maxpool_check.reporting.writers import LARGEST
from maxpool_check.targets.protocol import MOST_TEXT
from tests.conftest import ROOT
from tests.reporting import test_memory

MEASURED = test_memory.test_two_records_of_40000_executions_are_compared_in_less_than_200_megabytes.__name__
FIGURE = re.compile(r"(?<![\w.-])(?:\d[\d,]* [kM]i?B|\d{3,}|\d+,\d{3})(?![\w.])")


def test_every_figure_is_that_of_a_constant_or_of_a_test():
    prose = re.sub(r"`[^`]*`", "", (ROOT / "CHANGELOG.md").read_text())
    executions, megabytes = re.findall(r"\d+", MEASURED)
    known = {f"{LARGEST // 1000} kB", str(MOST_TEXT), f"{int(executions):,}", f"{megabytes} MB"}
    assert set(FIGURE.findall(prose)) == known


def test_no_figure_is_hidden_in_words():
    prose = (ROOT / "CHANGELOG.md").read_text()
    assert (
        re.findall(
            r"\b(?:ten|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|dozens?|over \w+ty)\b", prose
        )
        == []
    )
