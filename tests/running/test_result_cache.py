"""Results of earlier runs: the same judgements, used only where case, outputs and tool are the same."""

import pytest

from maxpool_check import file_cache
from maxpool_check.judging import verdicts
from maxpool_check.result_cache import MOST, ResultCache
from maxpool_check.results.storage import read
from maxpool_check.running import run as running
from tests.conftest import untimed

CASE = """
cases:
  - id: negative
    input: {dtype: float32, data: [[[-1, -2]]]}
    attributes: {kernel_shape: [2], pads: [1, 1]}
  - id: with-the-same-wrong-outputs
    input: {dtype: float32, data: [[[-1, -1]]]}
    attributes: {kernel_shape: [2], pads: [1, 1]}
"""


@pytest.fixture
def recorded(cli, kernel_target, tmp_path, monkeypatch):
    """Runs the case on a kernel, with a cache of its own; the executions of the record, without times."""
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "x.yaml").write_text(CASE)

    def run(kernel, *more):
        path = tmp_path / "record.jsonl"
        cli("run", folder, "-q", "-o", path, "-t", kernel_target(kernel), *more)
        record = read(path)
        return untimed(record.executions), record.footer and record.footer.contradicted

    return run


@pytest.fixture
def no_judge(monkeypatch):
    """From now on, what is judged anew, or compared with other executions, is an error."""

    def fail(*_):
        raise RuntimeError("judged anew")

    def begin():
        monkeypatch.setattr(verdicts, "_judge_outputs", fail)
        monkeypatch.setattr(running, "contradictions_by_target", fail)

    return begin


WRONG = "pads_with_zero"


def verdicts_of(executions):
    return {each.verdict.value for each in executions}


def test_wrong_outputs_that_were_judged_before_are_not_judged_again(recorded, no_judge):
    first = recorded(WRONG)
    assert "diverges" in verdicts_of(first[0])
    no_judge()
    assert recorded(WRONG) == first


def test_other_outputs_are_judged(recorded):
    wrong, right = recorded(WRONG), recorded("right")
    assert verdicts_of(right[0]) == {"conforms"}
    assert recorded(WRONG) == wrong


@pytest.mark.parametrize("more", ["--no-cache", "--check-references"])
def test_without_the_cache_all_is_judged(recorded, no_judge, more):
    first = recorded(WRONG)
    assert recorded(WRONG, more) == first
    no_judge()
    assert verdicts_of(recorded(WRONG, more)[0]) == {"error"}


@pytest.mark.parametrize("content", [b"", b"\x80", b"{}"])
def test_what_is_damaged_is_not_used_and_is_written_again(recorded, no_judge, content):
    first = recorded(WRONG)
    (path,) = file_cache.folder("results").iterdir()
    path.write_bytes(content)
    assert recorded(WRONG) == first
    no_judge()
    assert recorded(WRONG) == first


def test_very_many_results_take_no_more_memory(monkeypatch, tmp_path):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path))
    results = ResultCache()
    for number in range(MOST + 1):
        results.add(str(number), b"1")
    assert bytes(results.get(str(MOST - 1))) == b"1"
    assert results.get(str(MOST)) is None
    results.save()
    assert bytes(ResultCache().get(str(MOST - 1))) == b"1"


def test_an_error_of_the_judge_is_not_cached(recorded, monkeypatch):
    with monkeypatch.context() as broken:

        def fail(*_):
            raise RuntimeError("a mistake")

        broken.setattr(verdicts, "_judge_outputs", fail)
        assert verdicts_of(recorded(WRONG)[0]) == {"error"}
    assert "diverges" in verdicts_of(recorded(WRONG)[0])
