"""Files that cannot be read or written, hostile ones, and outputs that are inputs: a message, and the right exit code."""

import gzip
import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from maxpool_check.results import storage
from tests.conftest import KERNELS, ROOT, SMALL, environment, known_defect

KERNEL = f"python:{KERNELS}:keeps_the_seed"
DATA = ROOT / "tests/data/testgenonnx/MaxPool_int8_BD-011_T4.json"


@pytest.fixture
def record(small):
    """A copy of a record."""
    path = small.parent / "record.jsonl"
    path.write_bytes((ROOT / "tests/data/golden/record.jsonl").read_bytes())
    return path


RUN = f"run SMALL -t {KERNEL}"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("arguments", "streams", "code", "err"),
    [
        (f"{RUN} --report json", "> /dev/full", 3, "error: stdout: No space left on device\n"),
        (f"{RUN} -q -o /dev/full", "", 3, "error: /dev/full: No space left on device\n"),
        ("cases list absent", "2> /dev/full", 3, ""),
        (RUN, ">&-", 2, "error: stdout is closed\n"),
        (RUN, ">&- 2>&-", 2, ""),
        ("cases list 'cases\udcff'", "", 2, "Error: the argument 'cases\\udcff' is not UTF-8\n"),
    ],
)
def test_a_stream_or_an_argument_that_cannot_be_used(small, arguments, streams, code, err):
    program = f"{sys.executable} -m maxpool_check {arguments.replace('SMALL', str(small))} {streams}"
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, cwd=ROOT, env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (code, "", err)


CASE = "cases: [{{id: a, input: {{{}}}, attributes: {{kernel_shape: [1]}}}}]\n"
WRONG = CASE.format("dtype: int8, data: [[[2]]]").replace("}]", ", expect: {Y: [[[1]]]}}]")
HUGE = "9" * 100_000
TEST = json.loads(DATA.read_text())
BAD_FILES = {
    "a huge fill": ("c.yaml", CASE.format(f"shape: [1, 1, 2], fill: '0x{HUGE}', dtype: int8"), "1:49: int8 holds -128"),
    "a huge version": (
        "known-divergences.yaml",
        known_defect("e", ["small:*"], ["shape"], versions=f"=={HUGE}"),
        "2:151: ",
    ),
    "a list as id": ("known-divergences.yaml", known_defect("[a]", ["small:*"], ["shape"]), "2:10: expected "),
    "no UTF-8 in its name": ("a\udcff.yaml", "cases: []\n", "1:1: the name of the file is not UTF-8"),
    "sizes of 1e30": ("t.json", json.dumps(TEST | {"input": {"shape": [1e30, 0], "values": []}}), "1:1: "),
    "surrogates in its class": ("t.json", json.dumps(TEST | {"class": "\ud800"}), "1:1: "),
    "another result": ("c.yaml", WRONG, "1:9: c:a Y[0, 0, 0]: your file expects 1, the reference has 2"),
}


@pytest.mark.parametrize("command", [["cases", "lint"], ["run", "-t", KERNEL]], ids=["lint", "run"])
@pytest.mark.parametrize(("name", "text", "message"), BAD_FILES.values(), ids=list(BAD_FILES))
def test_a_bad_file_is_named_with_its_place(cli, small, command, name, text, message):
    (small / name).write_text(text)
    words = f"{name}:{message}".encode("ascii", "backslashreplace").decode()
    done = cli(*command, small / name if name == "t.json" else small).check(2, words, out="")
    assert len(done.err) < 1000
    assert "Traceback" not in done.err


def tampered(change):
    """Changes a record: its first execution that has cells."""

    def changed(lines):
        executions = [json.loads(line) for line in lines]
        number = next(n for n, line in enumerate(executions) if line.get("cells") and line["input"]["values"])
        change(executions[number])
        return [json.dumps(line).encode() for line in executions], number + 1

    return changed


def cell(**fields):
    return tampered(lambda execution: execution["cells"][0].update(fields))


def entered(**fields):
    return tampered(lambda execution: execution["input"].update(fields))


def inserted(line):
    return lambda lines: ([lines[0], line, *lines[1:]], 2)


TAMPERED = {
    "a long line": (tampered(lambda execution: execution.update(origin=f"a:{'9' * 5000}")), "origin"),
    "out of range": (cell(at=[9, 9, 9, 9]), "cells"),
    "a huge window": (cell(window=[[0, 10**12], [0, 1]]), "cells"),
    "a huge shape": (entered(shape=[1, 1, 10**30, 1]), "shape"),
    "too few values": (entered(values=["1"]), "input"),
    "surrogates": (tampered(lambda execution: execution.update(title="\ud800")), ""),
    "deep attributes": (entered(attributes=json.loads('{"a":' * 900 + "1" + "}" * 900)), ""),
    "no UTF-8": (inserted(b'{"type":"execution","title":"\xe9"}'), ""),
    "deep lists": (inserted(b"[" * 100_000), ""),
    "no JSON": (inserted(b"hello"), ""),
}


@pytest.mark.parametrize(("change", "words"), TAMPERED.values(), ids=list(TAMPERED))
def test_a_tampered_record_is_named_with_its_line(cli, record, change, words):
    lines, number = change(record.read_bytes().splitlines())
    record.write_bytes(b"\n".join(lines) + b"\n")
    cli("report", record, "--report", "json").check(2, f"{record}:{number}: not a line of a record (", words)


@pytest.mark.parametrize("compressed", [False, True])
def test_the_length_of_a_line_is_limited(cli, record, monkeypatch, compressed):
    monkeypatch.setattr(storage, "MAX_LINE", 10_000)
    content = record.read_bytes().splitlines(keepends=True)[0] + b" " * 20_000 + b"\n"
    record.write_bytes(gzip.compress(content) if compressed else content)
    cli("report", record).check(2, f"{record}:2: the line is longer than 10000 bytes")


def special_files(folder):
    """Paths that are no regular files."""
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(folder)
        server.bind("socket")
    return [Path("/dev/zero"), Path("/proc/self/status"), folder / "fifo", folder / "folder", folder / "socket"]


READERS = {
    "a case file": ("c.yaml", "cases lint c.yaml"),
    "a model": ("model.onnx", "cases list model.onnx"),
    "a test to import": ("t.json", "cases import testgenonnx t.json -o imported"),
    "a record": ("r.jsonl", "report r.jsonl"),
    "a known file": ("k.yaml", "run case.yaml --known k.yaml"),
    "a tensor": ("x.npy", "cases lint case.yaml"),
}


@pytest.mark.skipif(not Path("/dev/zero").exists() or not hasattr(os, "mkfifo"), reason="needs special files")
@pytest.mark.parametrize(("name", "line"), READERS.values(), ids=list(READERS))
def test_only_regular_files_are_read(cli, tmp_path, monkeypatch, name, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.yaml").write_text(CASE.format(f"npy: {name}"))
    if name == "k.yaml":
        (tmp_path / "case.yaml").write_text(SMALL)
    for special in special_files(tmp_path):
        (tmp_path / name).symlink_to(special)
        cli(*line.split(), cwd=tmp_path).check(2, name, out="")
        (tmp_path / name).unlink()


def test_a_large_model_is_refused_by_its_size(cli, tmp_path):
    with (tmp_path / "model.onnx").open("wb") as file:
        file.truncate(2**40)
    cli("cases", "list", tmp_path).check(2, "the limit is")


@pytest.fixture
def inputs(small, record):
    """A folder with files of every kind that is read."""
    np.save(small / "x.npy", np.zeros((1, 1, 2), np.float32))
    (small / "npy.yaml").write_text(CASE.format("npy: x.npy"))
    (small / "known-divergences.yaml").write_text("defects: []\n")
    (small / "kernel.py").write_bytes(KERNELS.read_bytes())
    (small / "linked.jsonl").symlink_to(small / "small.yaml")
    (small / "t.json").write_bytes(DATA.read_bytes())
    return {path.name: path for path in (*small.iterdir(), record)}


@pytest.mark.parametrize(
    "line",
    [
        "run CASES -t KERNEL -q -o CASES/small.yaml",
        "run CASES -t KERNEL -q --report json=CASES/linked.jsonl",
        "run CASES -t KERNEL -q -o CASES/kernel.py",
        "run CASES -t KERNEL --transcript CASES/kernel.py",
        "run CASES/t.json -t KERNEL -o CASES/t.json",
        "gate RECORD RECORD --report json=RECORD",
        "report RECORD --report text=RECORD",
        "history CASES --versions 1.31.1..1.31.1 --report json=CASES/small.yaml",
        "bisect CASES/small.yaml:ordinary --report json=CASES/small.yaml",
    ],
)
def test_no_output_replaces_an_input(cli, small, inputs, line):
    kernel = f"python:{inputs['kernel.py']}:keeps_the_seed"
    line = line.replace("RECORD", str(inputs["record.jsonl"])).replace("CASES", str(small)).replace("KERNEL", kernel)
    before = {name: path.read_bytes() for name, path in inputs.items()}
    cli(*shlex.split(line)).check(2, "is read, and must not be overwritten")
    assert {name: path.read_bytes() for name, path in inputs.items()} == before


@pytest.mark.parametrize(
    "options",
    ["-o z --report json=z", "--report json=z --report text=./z", "-o - --report json=-", "--report json -o -"],
)
def test_no_two_outputs_are_one_file(cli, small, tmp_path, options):
    cli("run", small, "-t", KERNEL, *options.split(), cwd=tmp_path).check(2, "is named twice")
    assert not (tmp_path / "z").exists()


def test_the_cache_is_listed_and_cleared(cli, tmp_path):
    folder = tmp_path / "cache/environments"
    for name in ("onnxruntime-1.0-cpython3.11-x86_64", "onnx-1.1-cpython3.11-x86_64"):
        (folder / name / "bin").mkdir(parents=True)
        (folder / f"{name}.lock").touch()
    (tmp_path / "elsewhere/kept").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    cache = {"MAXPOOL_CHECK_CACHE": str(folder.parent)}
    listed = cli("targets", "cache", **cache).out
    assert str(folder) in listed
    assert "onnx-1.1-cpython3.11-x86_64" in listed
    assert "removed onnx-1.1-cpython3.11-x86_64" in cli("targets", "cache", "--clear", **cache).out
    assert list(folder.iterdir()) == []
    assert (tmp_path / "elsewhere/kept").is_dir()
    assert "no environments" in cli("targets", "cache", **cache).out
