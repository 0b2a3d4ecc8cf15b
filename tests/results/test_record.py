"""Records: written as the run goes, read whole or in part."""

import gzip
import json
import lzma

import jsonschema
import numpy as np
import pytest

from maxpool_check.results.record import Verdict
from maxpool_check.results.storage import BadRecord, Recorder, read, record_of, schema
from tests.conftest import KERNELS, ROOT, SMALL, command


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "small.yaml").write_text(SMALL)
    command("run", folder, "-t", f"python:{KERNELS}:keeps_the_seed", "-o", folder / "record.jsonl", "-q")
    return (folder / "record.jsonl").read_bytes()


@pytest.fixture
def path(recorded, tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_bytes(recorded)
    return path


def edit(path, change):
    """Replace the lines of a record by what ``change`` makes of them."""
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def with_fields(number, **fields):
    """Gives a line other fields."""

    def change(lines):
        lines[number] = json.dumps({**json.loads(lines[number]), **fields}).encode() + b"\n"
        return lines

    return change


def only(content):
    """Leaves nothing but this."""
    return lambda lines: [content]


def same(*records):
    first, second = ((record.header, tuple(record.executions), record.footer) for record in records)
    return first == second


def test_a_record_is_a_header_executions_with_the_outputs_that_differ_and_a_footer(path, kernel_target):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    types = ["header", *["execution"] * 4, *["output"] * 2, *["execution"] * 6, "output", *["execution"] * 2, "footer"]
    assert [line["type"] for line in lines] == types
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    assert all(validator.is_valid(line) for line in lines)
    assert not validator.is_valid({"type": "execution"})
    record = read(path)
    header = record.header
    assert (header.schema, header.profile["onnx-22"]["nan"]) == ("maxpool-check/record/1", "unspecified")
    assert [target.name for target in header.targets] == [kernel_target("keeps_the_seed")]
    assert (header.cases, len(header.cases_sha256), header.known_sha256) == (6, 64, None)
    assert {"numpy", "onnx"} <= header.libraries.keys()
    assert record.footer.executions == len(record.executions) == 12
    assert record.footer.outputs_left_out == 0
    wrong = [execution for execution in record.executions if execution.verdict is Verdict.DIVERGES]
    right = [each for each in record.executions if each.verdict is Verdict.CONFORMS and not each.differences]
    assert (wrong[0].input.values, wrong[0].cells[0].expected) == (("-inf",) * 8, "-inf")
    assert wrong[0].digests.keys() == {"Y", "Indices"}
    Y = record.outputs[wrong[0].digests["Y"]].tensor()
    assert (Y.dtype, Y.shape, str(Y.flat[0])) == (np.float32, (1, 2, 1, 1), wrong[0].cells[0].got)
    assert {execution.digests["Y"] for execution in wrong} <= record.outputs.keys()
    assert set(record.outputs) <= {sha256 for execution in record.executions for sha256 in execution.digests.values()}
    assert right
    assert not any(record.outputs.keys() & execution.digests.values() for execution in right)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *((only(content), "cut off") for content in (b"", b"{")),
        *((only(content), ":1: not a line") for content in (b"hello\n", b'{"type": "footer"}\n', b"\xff\xfe\n")),
        # Seconds that are no time, and an output that is not that of its digest.
        (with_fields(1, seconds=-1), "not a line of a record"),
        (with_fields(5, data=16 * "0"), "another digest"),
        (with_fields(5, shape=[-1, -2, 1, 1]), "not one of the shape"),
        (with_fields(5, dtype="object"), "unknown dtype"),
        (with_fields(0, schema="maxpool-check/record/9"), "record/9"),
    ],
)
def test_what_is_not_a_record(path, change, words):
    edit(path, change)
    with pytest.raises(BadRecord, match=words):
        read(path)


@pytest.mark.parametrize(
    ("change", "number", "mistake"),
    [
        (lambda lines: [*lines[:3], lines[0], *lines[3:]], 4, "a second header"),
        (lambda lines: [*lines, lines[-1]], 18, "a line behind the footer"),
        (with_fields(-1, exit_code=0), 17, "'exit_code' is not 1, which follows"),
        (with_fields(-1, summary={}), 17, "'summary' does not count the executions"),
        (with_fields(0, started="not a date"), 1, "'started' is no time"),
        (with_fields(4, size=10**30), 5, "'size' is not that of a tensor"),
    ],
)
def test_a_report_names_what_no_run_writes_and_its_line(path, change, number, mistake):
    edit(path, change)
    done = command("report", path).check(3, err=f"warning: {path}:{number}: {mistake}")
    assert "inconsistent" in done.err


@pytest.mark.parametrize("keep", [1, 16])
def test_a_record_that_is_cut_off_is_incomplete_and_readable(path, keep):
    edit(path, lambda lines: [*lines[:keep], lines[keep][:10]])
    record = read(path)
    assert record.footer is None
    assert len(record.executions) + len(record.outputs) == keep - 1


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", None])
def test_what_is_recorded_can_be_read_while_it_is_written(tmp_path, path, name):
    stored = read(path)
    executions = list(stored.executions)
    assert same(record_of([stored.header, *executions, stored.footer]), stored)
    with Recorder(tmp_path / name if name else None) as recorder:
        assert recorder.record is None
        recorder.write(stored.header)
        for output in stored.outputs.values():
            recorder.write(output)
        assert recorder.record.outputs == stored.outputs != {}
        for number, execution in enumerate(executions, 1):
            recorder.write(execution)
            assert list(recorder.record.executions) == executions[:number]
            assert len(recorder.record.executions) == number
        # Two reports may read it at once.
        *_, last = zip(recorder.record.executions, recorder.record.executions, strict=True)
        assert last == (executions[-1],) * 2
        assert recorder.record.footer is None
        recorder.write(stored.footer)
        assert same(recorder.record, stored)
    assert name is None or same(read(tmp_path / name), stored)


def test_an_interruption_before_the_first_line_leaves_the_old_record(path, recorded):
    with Recorder(path):
        pass
    assert path.read_bytes() == recorded


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_compressed_record_is_read_as_far_as_it_goes(tmp_path, ending, compress):
    plain = ROOT / "tests/data/golden/record.jsonl"
    whole, path = compress(plain.read_bytes()), tmp_path / f"record.jsonl.{ending}"
    path.write_bytes(whole)
    assert same(read(path), read(plain))
    path.write_bytes(whole[:-40])
    cut = read(path)
    assert cut.footer is None
    assert list(cut.executions) == list(read(plain).executions)[: len(cut.executions)] != []
    path.write_bytes(whole[:100] + b"nonsense" + whole[108:])
    with pytest.raises(BadRecord):
        read(path)


def test_a_record_is_not_written_in_xz(cli, tmp_path):
    cli("run", ROOT / "cases/sonnx", "-o", tmp_path / "record.jsonl.xz").check(2, "record.jsonl, and then: xz -9")
    assert list(tmp_path.iterdir()) == []
