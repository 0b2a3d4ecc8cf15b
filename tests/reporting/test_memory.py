"""The memory of reports of a run does not grow with its executions, unless they are faults."""

import gc
import tracemalloc

import pytest

from maxpool_check.commands.report import FORMATS
from maxpool_check.reporting.blocks import Names
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.storage import Recorder
from tests.reporting.test_golden import HEADER, execution


@pytest.fixture(autouse=True, scope="module")
def _what_earlier_tests_have_left():
    """It is neither counted nor looked through each time that memory is collected."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Discarded:
    """A text file that keeps nothing but the length of the longest text written at once."""

    longest = 0

    def write(self, text):
        self.longest = max(self.longest, len(text))

    def writelines(self, lines):
        for line in lines:
            self.write(line)


@pytest.mark.parametrize("form", FORMATS)
def test_ten_times_the_executions_take_no_more_memory_where_they_conform(tmp_path, monkeypatch, form):
    def peak(count):
        """The memory, in bytes, of a report, and the length of the longest text written at once."""
        with Recorder(tmp_path / "record.jsonl") as recorder:
            recorder.write(HEADER)
            for number in range(count):
                recorder.write(execution(f"{number}", variant="indices", interpretations={"tie": ("first",)}))
            record, file = recorder.record, Discarded()
            gc.collect()
            tracemalloc.start()
            FORMATS[form](RunReport(record, 0), file)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return most, file.longest

    # A page lists the names of conforming cases as long as they are few.
    monkeypatch.setattr(Names, "most", 80)
    # The first also imports.
    _, (few, longest), (many, longest_of_many) = (peak(count) for count in (10, 100, 1000))
    # A list of nothing but references to the executions would take more.
    assert many < 1.1 * few
    # A number in it may have a digit more.
    assert longest_of_many <= longest + 10
