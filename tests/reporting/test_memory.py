"""The memory of reports of a run does not grow with its executions, unless they are faults, nor does that of comparisons, unless they change."""

import functools
import gc
import itertools
import subprocess
import sys
import tracemalloc

import msgspec
import pytest

from maxpool_check.commands.gate import FORMATS as COMPARISON_FORMATS
from maxpool_check.commands.report import FORMATS
from maxpool_check.comparing.gate import compare_targets
from maxpool_check.reporting.blocks import Names
from maxpool_check.reporting.changes import ComparisonReport
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.results.storage import Recorder, read
from tests.conftest import ROOT

HEADER = read(ROOT / "tests/data/golden/record.jsonl").header


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
        gc.collect()
        tracemalloc.start()
        FORMATS[form](RunReport(record, 0), file)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most, file.longest


@pytest.mark.parametrize("form", FORMATS)
def test_ten_times_the_executions_take_no_more_memory_where_they_conform(tmp_path, monkeypatch, form):
    # A page lists the names of conforming cases as long as they are few.
    monkeypatch.setattr(Names, "most", 80)
    peak(tmp_path / "record.jsonl", 10, form)
    size = 100
    few, longest = peak(tmp_path / "record.jsonl", size, form)
    many, longest_of_many = peak(tmp_path / "record.jsonl", 10 * size, form)
    # A list of nothing but references to the executions would take more.
    assert many < 1.1 * few
    # A number in it may have a digit more.
    assert longest_of_many <= longest + 10


def repeated(source, path, count):
    """A record of so many executions, those of a committed one under more and more ids."""
    with Recorder(path) as recorder:
        recorder.write(source.header)
        rounds = (zip(itertools.repeat(number), source.executions) for number in itertools.count())
        for number, each in itertools.islice(itertools.chain.from_iterable(rounds), count):
            recorder.write(msgspec.structs.replace(each, case=f"{each.case}-{number}"))
        recorder.write(msgspec.structs.replace(source.footer, executions=count))
    return read(path)


RELEASES = ("1.23.2", "1.32.0")


@pytest.fixture(scope="module")
def two_records(tmp_path_factory):
    """The records of two releases, repeated up to so many executions; written once."""

    @functools.cache
    def written(count):
        folder = tmp_path_factory.mktemp("records")
        return [
            repeated(read(ROOT / f"reports/onnxruntime-{release}-cpu.jsonl.xz"), folder / f"{release}.jsonl", count)
            for release in RELEASES
        ]

    return written


def peak_of_comparison(old, new, form):
    """The memory, in bytes, of comparing two records."""
    gc.collect()
    tracemalloc.start()
    targets = (old.header.targets[0].name, new.header.targets[0].name)
    COMPARISON_FORMATS[form](ComparisonReport("gate", [compare_targets(old, new, targets)]), Discarded())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize(
    "form",
    [
        "json",
        "html",
        *(pytest.param(form, marks=pytest.mark.long) for form in COMPARISON_FORMATS if form not in ("json", "html")),
    ],
)
def test_a_comparison_keeps_the_names_of_executions_and_not_what_they_hold(two_records, form):
    # The first also imports.
    _, few, many = (peak_of_comparison(*two_records(count), form) for count in (10, 500, 1_500))
    # Two executions of these records take 4,400 bytes or more.
    assert (many - few) / 1_000 < 2_000


@pytest.mark.long
@pytest.mark.parametrize("form", COMPARISON_FORMATS)
def test_two_records_of_40000_executions_are_compared_in_less_than_200_megabytes(tmp_path, form):
    for release in RELEASES:
        stored = read(ROOT / f"reports/onnxruntime-{release}-cpu.jsonl.xz")
        repeated(stored, tmp_path / f"{release}.jsonl", 40_000)
    # Of the process alone: the usage that the system reports of a child begins with that of its parent.
    program = (
        "import re, sys\nfrom pathlib import Path\nfrom maxpool_check.commands.main import main\ntry:\n    main(sys.argv[1:])\n"
        "finally:\n    status = Path('/proc/self/status').read_text()\n"
        "    print(re.search(r'VmHWM:\\s+(\\d+) kB', status)[1], file=sys.stderr)\n"
    )
    records = [tmp_path / f"{release}.jsonl" for release in RELEASES]
    command = [sys.executable, "-c", program, "gate", *records, "--report", form]
    done = subprocess.run(command, capture_output=True, check=False, text=True, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert len(done.stdout) > 1000
    # In kilobytes.
    assert int(done.stderr.split()[-1]) < 200_000
