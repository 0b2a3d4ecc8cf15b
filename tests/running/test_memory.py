"""What a run holds does not grow with what it has done."""

import json
import subprocess
import sys

import pytest

from maxpool_check.running.record import Execution, Kept
from tests.conftest import ROOT, environment
from tests.running.test_runner import many

PEAK = """
import resource, sys
from maxpool_check.commands.main import main
try:
    main(sys.argv[1:])
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def line(number):
    return Execution(
        target="t", case=f"x:{number}", question="indices", verdict="conforms", title="", spec="onnx-22", case_sha256="",
        origin="x.yaml:1",
    )  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_executions_come_back_as_they_went_in_however_many_are_held(count):
    kept, lines = Kept(held=2), [line(number) for number in range(count)]
    for one in lines:
        kept.append(one)
    assert len(kept) == count
    assert list(kept) == lines
    # Read twice at once, as reports do.
    assert list(zip(kept, kept, strict=True)) == list(zip(lines, lines, strict=True))
    if count:
        assert (kept[0], kept[-1]) == (lines[0], lines[-1])
    kept.close()


def test_adding_goes_on_after_reading():
    kept = Kept(held=1)
    for number in range(5):
        kept.append(line(number))
        assert [one.case for one in kept] == [f"x:{n}" for n in range(number + 1)]
    kept.close()


def test_twenty_thousand_cases_take_hardly_more_memory_than_two_thousand(tmp_path, subject):
    def peak(count):
        (tmp_path / str(count)).mkdir()
        folder = many(tmp_path / str(count), count)
        reports = [f"--report={form}={tmp_path / form}" for form in ("json", "markdown", "text", "github", "sarif")]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, "run", str(folder), "-t", subject("right"), "-q", "-o",
             str(tmp_path / "record.jsonl"), *reports],
            capture_output=True, text=True, cwd=ROOT, env=environment(), check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert json.loads((tmp_path / "json").read_text())["summary"]["conforms"] == count
        return int(done.stderr.split()[-1])

    # The cases themselves are held, each a few kilobytes; what became of them is not.
    assert peak(20_000) - peak(2_000) < 18_000 * 5 / 1024 + 20
