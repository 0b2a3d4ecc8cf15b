"""What a run holds does not grow with what it has done."""

import contextlib
import itertools
import tracemalloc

import msgspec
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.reporting import findings, github, json, junit, markdown, sarif, text
from maxpool_check.results.record import Cell, Execution, Record
from maxpool_check.results.storage import Kept, Writer, opened, read
from maxpool_check.running.asker import Asker, Order
from maxpool_check.targets.name import parse
from tests.conftest import ROOT
from tests.running.test_runner import many as many_cases

GOLDEN = ROOT / "tests/data/golden/record.jsonl"


def line(number, **changed):
    return Execution(
        **{
            "target": "t", "case": f"x:{number}", "variant": "indices", "verdict": "conforms", "title": "",
            "spec": "onnx-22", "case_sha256": "", "origin": "x.yaml:1", **changed,
        }
    )  # fmt: skip


def wrong(number):
    """One with a long proof."""
    cell = {"output": "Y", "expected": "1.5", "got": "2.5", "kind": "y-wrong", "values": ("1.5",), "got_cell": None}
    cells = tuple(Cell(at=(0, 0, at), window=((at,),), **cell) for at in range(20))
    kinds = ("y-wrong",)
    target = read(GOLDEN).header.targets[0].name
    return line(
        number, target=target, verdict="diverges", status="new", kinds=kinds, cells=cells, counts={"y-wrong": 20}
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_executions_come_back_as_they_went_in_however_many_are_held(count):
    kept, lines = Kept(held=2), [line(number) for number in range(count)]
    for one in lines:
        kept.append(one)
    assert len(kept) == count
    assert list(kept) == lines
    # Read twice at once, as reports do.
    assert list(zip(kept, kept, strict=True)) == list(zip(lines, lines, strict=True))
    assert [kept[at] for at in range(-count, count)] == lines + lines
    assert kept[1:-1] == lines[1:-1]
    for outside in (count, -count - 1):
        with pytest.raises(IndexError):
            _ = kept[outside]
    kept.close()


def test_adding_goes_on_after_reading():
    kept = Kept(held=1)
    for number in range(5):
        kept.append(line(number))
        assert [one.case for one in kept] == [f"x:{n}" for n in range(number + 1)]
        assert kept[number] == line(number)
    kept.close()


def could_not_be_asked(number):
    return line(number, target=read(GOLDEN).header.targets[0].name, verdict="error", message="It was not there. " * 10)


def peak(count):
    """The memory, in bytes, that so many executions take with all reports made of them."""
    header = read(GOLDEN).header
    tracemalloc.start()
    kept = Kept(held=500)
    for number in range(count):
        kept.append(line(number))
    record = Record(header, kept, None)
    for part in itertools.chain(json.parts(record, 0), sarif.parts(record)):
        assert len(part) < 2**16
    for render in (markdown.render, github.render):
        assert render(record, 0)
    assert text.render(record, 0, width=80, color=False)
    for part in junit.parts(record):
        assert len(part) < 2**16
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept.close()
    return most


def test_ten_times_the_executions_take_no_more_memory_where_they_conform():
    peak(1_000)
    few, many = peak(1_000), peak(10_000)
    assert many < 1.5 * few


def test_the_proof_of_a_fault_stays_in_the_record_until_it_is_shown():
    def held(count):
        kept = Kept(held=10)
        for number in range(count):
            kept.append(wrong(number))
        tracemalloc.start()
        (found,) = findings.findings(Record(read(GOLDEN).header, kept, None))
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert [found.execution(fault) for fault in found.faults] == sorted(kept, key=lambda one: one.case)
        kept.close()
        return held

    held(10)
    # A line of the record takes several times as much, and what is read from it more than that.
    assert (held(1_000) - held(200)) / 800 < len(msgspec.json.encode(wrong(0))) / 3


@pytest.mark.parametrize("found", [wrong, could_not_be_asked])
def test_what_is_written_as_a_stream_is_one_whatever_was_found(found):
    kept = Kept(held=10)
    for number in range(1_000):
        kept.append(found(number))
    record = Record(read(GOLDEN).header, kept, None)
    for part in itertools.chain(json.parts(record, 0), sarif.parts(record), junit.parts(record)):
        assert len(part) < 2**14
    kept.close()


@pytest.mark.parametrize("name", ["record.jsonl", "record.jsonl.gz"])
def test_a_record_is_read_without_having_it_all_in_memory(tmp_path, name):
    def peak_of_reading(count):
        path = tmp_path / name
        with opened(path) as file:
            writer = Writer(file)
            writer.write(read(GOLDEN).header)
            for number in range(count):
                writer.write(line(number))
        tracemalloc.start()
        executions = read(path).executions
        assert (len(executions), executions[0]) == (count, line(0))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        executions.close()
        return most

    # Ten thousand of them are held.
    assert peak_of_reading(36_000) < 1.2 * peak_of_reading(12_000)


def test_a_run_takes_its_answers_one_by_one(tmp_path, subject):
    """Nothing is asked far ahead of what has been taken."""
    corpus = collect([many_cases(tmp_path, 40)])
    asker = Asker(Order((parse(subject("right")),)))
    taken = []

    def cases():
        for case in corpus.cases:
            taken.append(case)
            yield case

    with contextlib.closing(asker):
        for number, _ in enumerate(asker.answers(cases(), tuple), 1):
            assert len(taken) - number < 4
    assert len(taken) == number == 40
