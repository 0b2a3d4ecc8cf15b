"""Records: written as the run goes, read whole or in part."""

import json
import lzma

import jsonschema
import msgspec
import numpy as np
import pytest

from maxpool_check.results.record import Line, Verdict
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


def test_a_record_is_a_header_executions_and_a_footer(path, kernel_target):
    record = read(path)
    assert [line["type"] for line in map(json.loads, path.read_text().splitlines())] == [
        "header", *["execution"] * 4, "output", "output", *["execution"] * 6, "output", *["execution"] * 2, "footer",
    ]  # fmt: skip
    header = record.header
    assert header.schema == "maxpool-check/record/1"
    assert [target.name for target in header.targets] == [kernel_target("keeps_the_seed")]
    assert header.profile == {"onnx-22": header.profile["onnx-22"]}
    assert header.profile["onnx-22"]["nan"] == "unspecified"
    assert (header.cases, len(header.cases_sha256), header.known_sha256) == (6, 64, None)
    assert {"numpy", "onnx"} <= header.libraries.keys()
    assert record.footer.executions == len(record.executions) == 12
    (wrong, _) = [execution for execution in record.executions if execution.kinds]
    assert wrong.input.values == ("-inf",) * 8
    assert wrong.cells[0].expected == "-inf"
    assert wrong.digests.keys() == {"Y", "Indices"}


def test_a_record_holds_the_outputs_that_differ_and_no_others(path):
    record = read(path)
    named = {sha256 for execution in record.executions for sha256 in execution.digests.values()}
    wrong = [execution for execution in record.executions if execution.verdict is Verdict.DIVERGES]
    assert set(record.outputs) <= named
    assert {execution.digests["Y"] for execution in wrong} <= record.outputs.keys()
    Y = record.outputs[wrong[0].digests["Y"]].tensor()
    assert (Y.dtype, Y.shape, str(Y.flat[0])) == (np.float32, (1, 2, 1, 1), wrong[0].cells[0].got)
    right = [each for each in record.executions if each.verdict is Verdict.CONFORMS and not each.differences]
    assert right
    assert not any(record.outputs.keys() & execution.digests.values() for execution in right)
    assert record.footer.outputs_left_out == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": 16 * "0"}, "another digest"),
        ({"data": "0000"}, "not one of the shape"),
        ({"data": "!"}, "not a line of a record"),
        ({"shape": [1, 2, 1, 2]}, "not one of the shape"),
        ({"shape": [-1, -2, 1, 1]}, "not one of the shape"),
        ({"dtype": "object"}, "unknown dtype"),
    ],
)
def test_an_output_that_is_not_that_of_its_digest_is_no_line_of_a_record(path, change, words):
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = changed(lines[5], **change)
    path.write_bytes(b"".join(lines))
    with pytest.raises(BadRecord, match=f"jsonl:6: .*{words}"):
        read(path)


def test_large_outputs_are_in_a_record_by_their_digest_alone(tmp_path):
    (tmp_path / "large.yaml").write_text(
        "cases:\n  - id: large\n    input: {dtype: float64, shape: [1, 1, 2048, 512], fill: 2}\n"
        "    attributes: {kernel_shape: [1, 1]}\n"
    )
    target = f"python:{KERNELS}:gives_nan"
    command("run", tmp_path, "-t", target, "-o", tmp_path / "record.jsonl", "-q")
    record = read(tmp_path / "record.jsonl")
    assert {execution.verdict for execution in record.executions} == {Verdict.DIVERGES}
    # Y has 8 MB, and so have the Indices, which are right.
    assert (len(record.outputs), record.footer.outputs_left_out) == (0, 1)


def test_every_line_is_of_the_published_schema(path):
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    for line in path.read_text().splitlines():
        validator.validate(json.loads(line))
    assert not validator.is_valid({"type": "execution"})


def test_the_same_answer_has_the_same_digest_and_another_a_different_one(path):
    by_case = {}
    for execution in read(path).executions:
        by_case.setdefault(execution.case, []).append(execution.digests.get("Y"))
    assert all(len(set(digests)) == 1 for digests in by_case.values())
    assert len({digests[0] for digests in by_case.values()}) > 3


@pytest.mark.parametrize("keep", [1, 5, 16])
def test_a_record_that_is_cut_off_is_incomplete_and_readable(path, keep):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:keep]) + lines[keep][:10])
    record = read(path)
    assert record.footer is None
    assert len(record.executions) + len(record.outputs) == keep - 1


def test_a_footer_that_counts_other_executions_is_no_footer(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], lines[-1]]))
    assert read(path).footer is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cut off"),
        (b"{", "cut off"),
        (b"hello\n", ":1: not a line"),
        (b'{"type": "footer"}\n', ":1: not a line"),
        (b"\xff\xfe\n", ":1: not a line"),
    ],
)
def test_what_is_not_a_record(tmp_path, content, words):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadRecord, match=words):
        read(path)


def changed(line, **fields):
    return json.dumps({**json.loads(line), **fields}).encode() + b"\n"


@pytest.mark.parametrize(
    ("change", "number", "mistake"),
    [
        (lambda lines: [*lines[:3], lines[0], *lines[3:]], 4, "a second header"),
        (lambda lines: [*lines, lines[-1]], 18, "a line behind the footer"),
        (lambda lines: [*lines[:-2], lines[-1], lines[-2]], 17, "a line behind the footer"),
        (lambda lines: [*lines[:-1], changed(lines[-1], exit_code=99)], 17, "'exit_code' is not 1, which follows"),
        (lambda lines: [*lines[:-1], changed(lines[-1], exit_code=0)], 17, "'exit_code' is not 1, which follows"),
        (lambda lines: [*lines[:-1], changed(lines[-1], summary={})], 17, "'summary' does not count the executions"),
        (lambda lines: [*lines[:-1], changed(lines[-1], finished="later")], 17, "'finished' is no time"),
        (lambda lines: [changed(lines[0], started="not a date"), *lines[1:]], 1, "'started' is no time"),
        (lambda lines: [*lines[:4], changed(lines[4], size=10**30), *lines[5:]], 5, "'size' is not that of a tensor"),
        (lambda lines: [*lines[:4], changed(lines[4], size=-1), *lines[5:]], 5, "'size' is not that of a tensor"),
    ],
)
def test_a_report_names_what_no_run_writes_and_its_line(path, change, number, mistake):
    assert command("report", path).code == 0
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    done = command("report", path)
    assert f"warning: {path}:{number}: {mistake}" in done.err
    assert "inconsistent" in done.err
    assert done.code == 3


def test_a_report_names_a_few_of_many_mistakes(path):
    head, *executions, footer = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([head, *(changed(line, size=-1) for line in executions), footer]))
    done = command("report", path)
    assert done.code == 3
    assert 3 <= done.err.count("warning: ") < len(executions)


@pytest.mark.parametrize("file", sorted((ROOT / "reports").glob("*.jsonl.xz")), ids=lambda file: file.name)
def test_no_record_of_a_run_has_such_a_mistake(file):
    assert read(file).mistakes == ()


def test_a_record_of_another_schema(path):
    path.write_text(path.read_text().replace("maxpool-check/record/1", "maxpool-check/record/9", 1))
    with pytest.raises(BadRecord, match="record/9"):
        read(path)


def same(*records):
    first, second = ((record.header, tuple(record.executions), record.footer) for record in records)
    return first == second


def test_a_record_made_of_lines_is_the_one_that_they_were_read_from(path):
    record = read(path)
    assert same(record_of([record.header, *record.executions, record.footer]), record)


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", None])
def test_what_is_recorded_can_be_read_while_it_is_written(tmp_path, path, name):
    stored = read(path)
    executions = list(stored.executions)
    with Recorder(tmp_path / name if name else None) as recorder:
        assert recorder.record is None
        recorder.write(stored.header)
        for number, execution in enumerate(executions, 1):
            recorder.write(execution)
            assert list(recorder.record.executions) == executions[:number]
            assert len(recorder.record.executions) == number
        # Two reports may read it at once.
        twice = zip(recorder.record.executions, recorder.record.executions, strict=True)
        assert list(twice) == [(execution, execution) for execution in executions]
        assert recorder.record.footer is None
        recorder.write(stored.footer)
        assert same(recorder.record, stored)
    assert name is None or same(read(tmp_path / name), stored)


def test_an_interruption_before_the_first_line_leaves_the_old_record(path):
    before = path.read_bytes()
    with Recorder(path):
        pass
    assert path.read_bytes() == before


def test_a_record_may_be_compressed_and_is_read_as_far_as_it_goes(tmp_path):
    path = tmp_path / "record.jsonl.gz"
    plain = (ROOT / "tests/data/golden/record.jsonl").read_bytes()
    lines = [msgspec.json.decode(line, type=Line) for line in plain.splitlines()]
    with Recorder(path) as recorder:
        for line in lines:
            recorder.write(line)
    whole = path.read_bytes()
    assert len(whole) < len(plain) / 2
    assert read(path).footer is not None
    path.write_bytes(whole[:-40])
    cut = read(path)
    assert cut.footer is None
    assert 0 < len(cut.executions) <= len(lines) - 2
    path.write_bytes(whole[:100] + b"nonsense" + whole[108:])
    with pytest.raises(BadRecord):
        read(path)


def test_a_record_that_xz_compressed_is_read_as_far_as_it_goes(tmp_path):
    plain = ROOT / "tests/data/golden/record.jsonl"
    whole = lzma.compress(plain.read_bytes())
    path = tmp_path / "record.jsonl.xz"
    path.write_bytes(whole)
    assert same(read(path), read(plain))
    path.write_bytes(whole[:-40])
    cut = read(path)
    assert cut.footer is None
    assert list(cut.executions) == list(read(plain).executions)[: len(cut.executions)] != []
    path.write_bytes(whole[:100] + b"nonsense" + whole[108:])
    with pytest.raises(BadRecord):
        read(path)


def test_a_record_is_not_written_in_xz(tmp_path):
    process = command("run", ROOT / "cases/sonnx", "-o", tmp_path / "record.jsonl.xz")
    assert process.code == 2
    assert "record.jsonl, and then: xz -9" in " ".join(process.err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seconds", [-1, 1e999])
def test_seconds_that_are_no_time_are_no_record(path, seconds):
    header, execution, *rest = path.read_text().splitlines()
    broken = json.dumps({**json.loads(execution), "seconds": seconds}).replace("Infinity", "1e999")
    path.write_text("\n".join([header, broken, *rest]) + "\n")
    with pytest.raises(BadRecord, match=":2: not a line of a record"):
        read(path)
