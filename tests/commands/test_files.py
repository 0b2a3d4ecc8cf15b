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
from tests.conftest import KERNELS, ROOT, SMALL, command, environment

KERNEL = f"python:{KERNELS}:keeps_the_seed"
DATA = ROOT / "tests/data/testgenonnx/MaxPool_int8_BD-011_T4.json"

full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(line, *arguments):
    """What a shell makes of a line, in which $@ is ``maxpool-check`` with arguments."""
    program = [sys.executable, "-m", "maxpool_check", *map(str, arguments)]
    return subprocess.run(
        ["sh", "-c", line, "sh", *program], capture_output=True, text=True, cwd=ROOT, env=environment(), check=False
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The record of a run, of which each test has a copy."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "corpus").mkdir()
    (folder / "corpus/small.yaml").write_text(SMALL)
    done = command("run", folder / "corpus", "-t", KERNEL, "--known", "none", "-q", "-o", folder / "record.jsonl")
    assert done.code == 1
    return (folder / "record.jsonl").read_bytes()


@pytest.fixture
def record(small, recorded):
    path = small.parent / "record.jsonl"
    path.write_bytes(recorded)
    return path


@full_disk
@pytest.mark.parametrize("arguments", [["run", "--report", "json"], ["run"], ["cases", "list"], ["cases", "lint"]])
def test_a_full_disk_under_stdout_is_named(small, arguments):
    targets = ["-t", KERNEL] if arguments[0] == "run" else []
    done = shell('"$@" > /dev/full', *arguments, small, *targets)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "stdout: No space left on device" in done.stderr


@full_disk
@pytest.mark.parametrize("options", [["-o", "/dev/full"], ["--report", "json=/dev/full"]])
def test_a_full_disk_under_a_file_is_named(cli, small, options):
    done = cli("run", small, "-t", KERNEL, "-q", *options)
    assert (done.code, done.err) == (3, "error: /dev/full: No space left on device\n")


@full_disk
def test_a_full_disk_under_stderr_is_no_traceback():
    done = shell('"$@" 2> /dev/full', "cases", "list", "absent")
    assert (done.returncode, done.stdout) == (3, "")


@pytest.mark.parametrize(
    ("line", "out", "err"),
    [
        ('"$@" >&-', "", "error: stdout is closed\n"),
        ('"$@" 2>&-', "error: stderr is closed\n", ""),
        ('"$@" >&- 2>&-', "", ""),
    ],
)
def test_a_closed_stream_is_a_mistake_of_the_caller(small, line, out, err):
    done = shell(line, "run", small, "-t", KERNEL)
    assert (done.returncode, done.stdout, done.stderr) == (2, out, err)


def test_an_argument_that_is_not_utf_8_is_named(small):
    done = shell('"$@" "$(printf "cases\\377")"', "cases", "list")
    assert done.returncode == 2
    assert "'cases\\udcff' is not UTF-8" in done.stderr


def test_a_file_name_that_is_not_utf_8_is_named(cli, small):
    name = os.fsdecode(b"a\xff.yaml")
    (small / name).write_text("cases: []\n")
    done = cli("run", small, "-t", KERNEL)
    assert done.code == 2
    assert "a\\udcff.yaml:1:1: the name of the file is not UTF-8" in done.err


HUGE = "9" * 100_000
CASE_FILES = {
    "fill of an integer": ("shape: [1, 1, 2], fill: '0xHUGE', dtype: int8", "1:49: int8 holds -128 to 127, not the text '0x99"),
    "bits of 32 for float16": ("dtype: float16, bits: [[['00000000']]]", "1:50: expected 4 hexadecimal digits"),
    "bits of 16 for float32": ("dtype: float32, bits: [[['3c00']]]", "1:50: expected 8 hexadecimal digits"),
    "bits of 4 for int8": ("dtype: int8, bits: [[['7']]]", "1:47: expected 2 hexadecimal digits"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), CASE_FILES.values(), ids=list(CASE_FILES))
def test_a_hostile_tensor_is_named_with_its_place(cli, tmp_path, fields, message):
    path = tmp_path / "c.yaml"
    attributes = "attributes: {kernel_shape: [1]}"
    path.write_text(f"cases: [{{id: a, input: {{{fields.replace('HUGE', HUGE)}}}, {attributes}}}]\n")
    done = cli("cases", "lint", path)
    assert done.code == 2
    assert f"{path}:{message}" in done.err
    assert len(done.err) < 1000


@pytest.mark.parametrize("when", [f"python == {HUGE}", f"python >= 1.{HUGE}", f"python == 1!{HUGE}.*"])
def test_a_version_of_100_000_digits_is_named_with_its_place(cli, small, when):
    known = small / "known-divergences.yaml"
    known.write_text(f"known:\n  - {{id: e, when: '{when}', cases: ['small:*'], kinds: [shape], reason: r}}\n")
    for words in (["cases", "lint", small], ["run", small, "-t", KERNEL]):
        done = cli(*words)
        assert done.code == 2
        assert f"{known}:2:19: " in done.err
        assert len(done.err) < 1000


@pytest.mark.parametrize("name", ["[a]", "{a: b}"])
def test_an_id_that_is_no_text_is_named_with_its_place(cli, small, name):
    known = small / "known-divergences.yaml"
    known.write_text(f"known:\n  - {{id: {name}, when: python, cases: ['small:*'], kinds: [shape], reason: r}}\n")
    done = cli("run", small, "-t", KERNEL)
    assert done.code == 2
    assert f"{known}:2:10: expected " in done.err


def tampered(record, change):
    """A record with one change to its first execution that has cells."""
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    number = next(n for n, line in enumerate(lines) if line.get("cells") and line["input"]["values"])
    change(lines[number])
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return number + 1


def change_cell(**fields):
    return lambda execution: execution["cells"][0].update(fields)


TAMPERED = {
    "no line": (lambda execution: execution.update(origin="a:b:c"), "origin"),
    "a long line": (lambda execution: execution.update(origin=f"a:{'9' * 5000}"), "origin"),
    "out of range": (change_cell(at=[9, 9, 9, 9]), "cells"),
    "too few axes": (change_cell(at=[]), "cells"),
    "negative": (change_cell(at=[0, -1, 0, 0]), "cells"),
    "a huge window": (change_cell(window=[[0, 10**12], [0, 1]]), "cells"),
    "no window": (change_cell(window=[]), "cells"),
    "a huge shape": (lambda execution: execution["input"].update(shape=[1, 1, 10**30, 1]), "shape"),
    "too few values": (lambda execution: execution["input"].update(values=["1"]), "input"),
    "surrogates": (lambda execution: execution.update(title="\ud800"), ""),
    "deep attributes": (lambda execution: execution["input"].update(attributes=nested(900)), ""),
}


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(("change", "words"), TAMPERED.values(), ids=list(TAMPERED))
def test_a_tampered_record_is_named_with_its_line(cli, record, change, words):
    number = tampered(record, change)
    for form in ("text", "markdown", "json", "junit", "github", "sarif"):
        done = cli("report", record, "--report", form)
        assert done.code == 2
        assert f"{record}:{number}: not a line of a record (" in done.err
        assert words in done.err


@pytest.mark.parametrize("line", [b'{"type":"execution","title":"\xe9"}', b"[" * 100_000, b'{"a":' * 100_000])
def test_lines_that_are_no_json_are_named(cli, record, line):
    lines = record.read_bytes().splitlines()
    record.write_bytes(b"\n".join([lines[0], line, *lines[1:]]) + b"\n")
    done = cli("report", record)
    assert done.code == 2
    assert f"{record}:2: not a line of a record (" in done.err


@pytest.mark.parametrize("compressed", [False, True])
def test_the_length_of_a_line_is_limited(cli, record, monkeypatch, compressed):
    monkeypatch.setattr(storage, "MAX_LINE", 10_000)
    lines = record.read_bytes().splitlines(keepends=True)
    content = lines[0] + b" " * 20_000 + b"\n"
    record.write_bytes(gzip.compress(content) if compressed else content)
    done = cli("report", record)
    assert done.code == 2
    assert f"{record}:2: the line is longer than 10000 bytes" in done.err


SUITE_FILES = {
    "sizes of 1e30": ({"input": {"shape": [1e30, 0], "values": []}}, "input.shape"),
    "large sizes": ({"input": {"shape": [10**30, 0], "values": []}}, "input.shape"),
    "surrogates in its class": ({"class": "\ud800"}, "surrogate"),
    "surrogates in a predicate": ({"class_predicates": ["\udfff"]}, "surrogate"),
    "surrogates in an attribute": ({"attributes": {"\ud800": 1}}, "surrogate"),
}


@pytest.mark.parametrize(("changed", "message"), SUITE_FILES.values(), ids=list(SUITE_FILES))
def test_a_hostile_test_of_a_suite_is_named(cli, tmp_path, changed, message):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(json.loads(DATA.read_text()) | changed))
    done = cli("run", path, "-t", KERNEL)
    assert done.code == 2
    assert f"{path}:1:1: " in done.err
    assert message in done.err


def special_files(folder):
    """Paths that are no regular files, each below a link with this suffix."""
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(folder)
        server.bind("socket")
    return [Path("/dev/zero"), Path("/proc/self/status"), folder / "fifo", folder / "folder", folder / "socket"]


READERS = {
    "a case file": ("c.yaml", ["cases", "lint", "{}"]),
    "a case file in JSON": ("c.json", ["cases", "lint", "{}"]),
    "a model": ("model.onnx", ["cases", "list", "{}"]),
    "a model to import": ("model.onnx", ["cases", "import", "onnx-testdata", "{}", "-o", "imported"]),
    "a test to import": ("t.json", ["cases", "import", "testgenonnx", "{}", "-o", "imported"]),
    "a record": ("r.jsonl", ["report", "{}"]),
    "a known file": ("k.yaml", ["run", "cases/sonnx/int.yaml", "--known", "{}"]),
    "a tensor": ("x.npy", ["cases", "lint", "case.yaml"]),
}


@pytest.mark.skipif(not Path("/dev/zero").exists() or not hasattr(os, "mkfifo"), reason="needs special files")
@pytest.mark.parametrize(("name", "arguments"), READERS.values(), ids=list(READERS))
def test_only_regular_files_are_read(cli, tmp_path, monkeypatch, name, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.yaml").write_text(
        f"cases:\n  - {{id: a, input: {{npy: {name}}}, attributes: {{kernel_shape: [1]}}}}\n"
    )
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    for special in special_files(tmp_path):
        link = tmp_path / name
        link.symlink_to(special)
        done = cli(*(argument.format(link) for argument in arguments), cwd=tmp_path)
        assert (done.code, done.out) == (2, ""), special
        assert name in done.err, special
        link.unlink()


def test_a_large_model_is_refused_by_its_size(cli, tmp_path):
    with (tmp_path / "model.onnx").open("wb") as file:
        file.truncate(2**40)
    done = cli("cases", "list", tmp_path)
    assert done.code == 2
    assert "the limit is" in done.err


@pytest.fixture
def inputs(small, record):
    """A folder with files of every kind that is read."""
    np.save(small / "x.npy", np.zeros((1, 1, 2), np.float32))
    (small / "npy.yaml").write_text("cases: [{id: a, input: {npy: x.npy}, attributes: {kernel_shape: [1]}}]\n")
    (small / "known-divergences.yaml").write_text("known: []\n")
    (small / "kernel.py").write_bytes(KERNELS.read_bytes())
    (small / "linked.jsonl").symlink_to(small / "small.yaml")
    (small / "t.json").write_bytes(DATA.read_bytes())
    return {path.name: path for path in (*small.iterdir(), record)}


@pytest.mark.parametrize("name", ["small.yaml", "linked.jsonl", "x.npy", "known-divergences.yaml", "kernel.py"])
@pytest.mark.parametrize("option", ["-o {}", "--report json={}"])
def test_no_output_of_run_replaces_an_input(cli, small, inputs, name, option):
    before = inputs[name].read_bytes()
    done = cli("run", small, "-t", f"python:{inputs['kernel.py']}:right", "-q", *option.format(inputs[name]).split())
    assert done.code == 2
    assert f"{inputs[name]} is read, and must not be overwritten" in done.err
    assert inputs[name].read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        "gate {record} {record} --report json={record}",
        "report {record} --report json={record}",
        "report {record} --corpus {cases} --report text={cases}/small.yaml",
        "gate {cases} --base onnxruntime --head {kernel} --report json={cases}/small.yaml",
        "gate {cases} --base onnxruntime --head {kernel} -o {cases}/kernel.py",
        "history {cases} --versions 1.31.1..1.31.1 --report json={cases}/small.yaml",
        "bisect {cases}/small.yaml:ordinary --report json={cases}/small.yaml",
        "run {cases}/t.json -t {kernel} -o {cases}/t.json",
    ],
)
def test_no_output_of_other_commands_replaces_an_input(cli, small, inputs, line):
    kernel = f"python:{inputs['kernel.py']}:keeps_the_seed"
    before = {name: path.read_bytes() for name, path in inputs.items()}
    done = cli(*shlex.split(line.format(record=inputs["record.jsonl"], cases=small, kernel=kernel)))
    assert done.code == 2
    assert "is read, and must not be overwritten" in done.err
    assert {name: path.read_bytes() for name, path in inputs.items()} == before


@pytest.mark.parametrize(
    "options", ["-o z --report json=z", "--report json=z --report text=./z", "-o - --report json=-"]
)
def test_no_two_outputs_are_one_file(cli, small, tmp_path, options):
    done = cli("run", small, "-t", KERNEL, *options.split(), cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "is named twice" in done.err
    assert not (tmp_path / "z").exists()


def test_a_dash_is_stdout(cli, small, tmp_path):
    def run(*options):
        return cli("run", small, "-t", KERNEL, "--known", "none", *options, cwd=tmp_path)

    assert run("--report", "json=-").json["exit_code"] == 1
    lines = [json.loads(line) for line in run("-o", "-").out.splitlines()]
    assert (lines[0]["type"], lines[-1]["type"]) == ("header", "footer")
    assert "is named twice" in run("--report", "json", "-o", "-").err
    (tmp_path / "r.jsonl").write_text(run("-q", "-o", "-").out)
    assert cli("report", "r.jsonl", "--report", "text=-", cwd=tmp_path).out.startswith("python:")
    assert [path.name for path in tmp_path.iterdir() if path.name == "-"] == []


def test_the_step_summary_is_appended_to(cli, small, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("# Of another step\n")
    for count in (1, 2):
        done = cli("run", small, "-t", KERNEL, "-q", "--report", f"github={summary}", GITHUB_STEP_SUMMARY=str(summary))
        assert done.code == 1
        text = summary.read_text()
        assert text.startswith("# Of another step\n")
        assert text.count("# MaxPool conformance") == count


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache/environments"
    for name, size in (("onnxruntime-1.0-cpython3.11-x86_64", 3000), ("onnx-1.1-cpython3.11-x86_64", 500)):
        (folder / name / "bin").mkdir(parents=True)
        (folder / name / "bin/python").write_bytes(b"x" * size)
        (folder / f"{name}.lock").touch()
    return folder


def test_the_cache_is_listed_and_cleared(cli, cache):
    def environments(*options):
        return cli("targets", "cache", *options, MAXPOOL_CHECK_CACHE=str(cache.parent))

    listed = environments()
    assert listed.code == 0
    assert str(cache) in listed.out
    assert "onnx-1.1-cpython3.11-x86_64" in listed.out
    cleared = environments("--clear")
    assert cleared.code == 0
    assert "removed onnx-1.1-cpython3.11-x86_64" in cleared.out
    assert list(cache.iterdir()) == []
    assert "no environments" in environments().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "cases"], "Directory 'cases' not found; name case files, folders of them, or 'corpus'"),
        (["cases", "lint", "mine.yaml"], "File 'mine.yaml' not found"),
        (["explain", "mine:x", "-p", "mine"], "Directory 'mine' not found; pass the case files with -p PATH"),
        (["explain", "mine.yaml:x"], "File 'mine.yaml' not found"),
        (["run", "--known", "known.yaml"], "File 'known.yaml' not found"),
        (["report", "record"], "File 'record' not found; 'maxpool-check run -o record' writes a record"),
        (["model", "my.onnx"], "File 'my.onnx' not found"),
    ],
)
def test_a_path_that_leads_nowhere_is_named_without_a_line(cli, tmp_path, arguments, message):
    done = cli(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert ":1:1" not in done.err
