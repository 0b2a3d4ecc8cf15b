"""The memory of reports does not grow with the executions of a run, unless they are faults."""

import gc
import tracemalloc

import pytest

from maxpool_check.commands.report import FORMATS
from maxpool_check.reporting.html.views import MOST_NAMES
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.results.storage import Recorder, read
from tests.conftest import ROOT

HEADER = read(ROOT / "tests/data/golden/record.jsonl").header


class Discarded:
    """A text file that keeps nothing but the length of the longest text written at once."""

    longest = 0

    def write(self, text):
        self.longest = max(self.longest, len(text))

    def writelines(self, lines):
        for line in lines:
            self.write(line)


def peak(path, count, form):
    """The memory, in bytes, of one report of so many executions, and the length of the longest text written at once."""
    with Recorder(path) as recorder:
        recorder.write(HEADER)
        for number in range(count):
            recorder.write(
                Execution(
                    target=HEADER.targets[0].name, case=f"x:{number}", variant="indices", verdict=Verdict.CONFORMS, title="",
                    spec="onnx-22", case_sha256="", origin="x.yaml:1", interpretations={"tie": ("first",)},
                )
            )  # fmt: skip
        record, file = recorder.record, Discarded()
        # What earlier tests have left is not counted.
        gc.collect()
        gc.freeze()
        tracemalloc.start()
        FORMATS[form](RunReport(record, 0), file)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        gc.unfreeze()
    return most, file.longest


@pytest.mark.parametrize("form", FORMATS)
def test_ten_times_the_executions_take_no_more_memory_where_they_conform(tmp_path, form):
    peak(tmp_path / "record.jsonl", 10, form)
    # A page lists the names of conforming cases as long as they are few.
    size = MOST_NAMES + 100 if form == "html" else 500
    few, longest = peak(tmp_path / "record.jsonl", size, form)
    many, longest_of_many = peak(tmp_path / "record.jsonl", 10 * size, form)
    assert many < 1.3 * few
    # A number in it may have a digit more.
    assert longest_of_many <= longest + 10
