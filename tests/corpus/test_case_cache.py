"""Compiled cases: the same as from the file, used only where they fit, and never the reason for an error."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from maxpool_check import file_cache
from maxpool_check.corpus import case_sequence
from maxpool_check.corpus.case import Refusal, Shape, Undefined, Values
from maxpool_check.corpus.collection import collect, digest_of, duplicates
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.corpus.selection import select
from maxpool_check.corpus.shipped import NAME
from maxpool_check.graphs.context import Context
from maxpool_check.reference.dtypes import bits
from maxpool_check.reference.policies import Policies
from maxpool_check.results.storage import read
from tests.conftest import CASES, SMALL, environment, shipped, untimed

FILES = shipped().files
"""The case files of the corpus, which is read before a test has a cache of its own."""

CASE = """
cases:
  - id: ordinary
    input: {dtype: float32, npy: X.npy}
    attributes: {kernel_shape: [2]}
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A new cache."""
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/cases"


@pytest.fixture
def folder(tmp_path):
    """A case file and its tensor."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "x.yaml").write_text(CASE)
    np.save(corpus / "X.npy", np.array([[[1, 2, 3]]], np.float32))
    return corpus


def everything(case):
    """All fields of a case, tensors with their bits, and what was computed of it."""

    def plain(value):
        if isinstance(value, np.ndarray):
            return value.dtype.name, value.shape, bits(value).tobytes(), value.flags.writeable
        if isinstance(value, Values):
            return plain(value.Y), plain(value.Indices)
        return type(value), value if isinstance(value, Policies) else repr(value)

    return [plain(getattr(case, field.name)) for field in fields(case)], case.sha256


def is_used(folder, **options):
    """Whether the cases of a folder come from the cache."""
    kept = file_cache.folder("cases")
    before = {path: path.stat().st_ino for path in kept.glob("*")}
    (case,) = collect([folder], cached=True, **options).cases
    assert everything(case) == everything(collect([folder], **options).cases[0])
    return before == {path: path.stat().st_ino for path in kept.glob("*")} and case.is_checked


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.long)])
def test_every_case_of_the_corpus_is_the_same_in_every_field(cache, step):
    paths = FILES[::step]
    fresh, first, second = collect(paths), collect(paths, cached=True), collect(paths, cached=True)
    assert len(fresh.cases) == len(first.cases) == len(second.cases)
    assert {type(case.expect) for case in fresh.cases} == {Values, Shape, Refusal, Undefined, type(None)}
    assert {type(case.context) for case in fresh.cases} == {Context, type(None)}
    for plain, kept, again in zip(fresh.cases, first.cases, second.cases, strict=True):
        assert plain.conforming_outputs is None
        assert everything(plain) == everything(kept) == everything(again)
        assert kept.conforming_outputs == list(again.conforming_outputs)
        assert {names: (model.model, plain.model(names).model) for names, model in again.models.items()} == {
            names: (model.model, model.model) for names, model in kept.models.items()
        }
        assert pickle.loads(pickle.dumps(again)).conforming_outputs == again.conforming_outputs
    assert fresh.sha256 == second.sha256
    assert (cache.stat().st_mode & 0o777, {path.stat().st_mode & 0o777 for path in cache.iterdir()}) == (0o700, {0o600})
    assert {case.origin.path for case in collect([Path(f"{NAME}:edge/ties")], cached=True).cases} == {
        "corpus:edge/ties.yaml"
    }


def test_executions_are_the_same_with_and_without_it(cli, cache, kernel_target, tmp_path):
    names = ("signed-zero", "neg-inf-sonnx", "empty-windows", "valid-ceil", "global")
    words = ["run", *(f"corpus:edge/{name}" for name in names), "corpus:contexts/outputs", "-q"]
    words += ["--variants", "default,twice,batch-split,oldest-opset"]
    words += ["-t", "onnxruntime", "-t", kernel_target("names_the_last_tie")]
    records = []
    for number, more in enumerate([("--no-cache",), (), ()]):
        path = tmp_path / f"{number}.jsonl"
        cli(*words, "-o", path, *more)
        records.append(untimed(read(path).executions))
        assert cache.exists() == (number > 0)
    assert records[0] == records[1] == records[2]
    assert {each.verdict.value for each in records[0]} > {"conforms", "diverges", "undefined", "refuses"}


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float64"])
def test_a_large_tensor_of_few_values_takes_few_bytes(cache, tmp_path, dtype):
    """Also where values are equal, and their bits are not."""
    value, others = (0, [5, 0]) if dtype == "uint8" else ("-0.0", ["0.0", ".nan"])
    cells = [f"{{at: [0, 0, {at}], to: {other}}}" for at, other in zip((70_000, 199_999), others, strict=True)]
    case = (
        f"cases: [{{id: x, input: {{dtype: {dtype}, shape: [1, 1, 200000], fill: {value}, set: [{', '.join(cells)}]}}, "
        "attributes: {kernel_shape: [2]}}]"
    )
    (tmp_path / "x.yaml").write_text(case)
    assert not is_used(tmp_path)
    assert is_used(tmp_path)
    (path,) = cache.iterdir()
    assert path.stat().st_size < 2000


def test_it_is_used_until_something_changes(cache, folder):
    assert not is_used(folder)
    assert is_used(folder)
    assert not is_used(folder, most_cells=10)
    assert is_used(folder, most_cells=10)
    np.save(folder / "X.npy", np.array([[[1, 2, 4]]], np.float32))
    assert not is_used(folder)
    assert is_used(folder)
    (folder / "x.yaml").write_text(CASE.replace("[2]", "[3]"))
    assert not is_used(folder)
    (folder / "x.yaml").rename(folder / "y.yaml")
    assert not is_used(folder)
    assert is_used(folder)


def test_a_tensor_that_is_gone_or_leads_out_of_the_corpus_is_the_mistake_that_it_is(cache, folder, tmp_path):
    is_used(folder)
    (folder / "X.npy").rename(tmp_path / "X.npy")
    with pytest.raises(CorpusError, match="there is no file"):
        collect([folder], cached=True)
    (folder / "X.npy").symlink_to(tmp_path / "X.npy")
    with pytest.raises(CorpusError, match="leads out of the corpus"):
        collect([folder], cached=True)


def test_a_file_with_a_mistake_or_a_contradiction_is_not_kept(cache, cli, folder):
    (folder / "x.yaml").write_text(CASE + "    expect: {Y: [[[2, 4]]]}\n")
    for _ in range(2):
        assert collect([folder], cached=True).cases[0].conforming_outputs is None
        assert "the reference has 3" in cli("run", folder).err
    assert not list(cache.glob("*"))


@pytest.mark.parametrize(
    "damaged",
    [lambda data: b"", lambda data: data[:-1], lambda data: data[:40], lambda data: data + b"x",
     *(lambda data, at=at: data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in (0, 30, 60, -1))],
)  # fmt: skip
def test_what_is_damaged_is_ignored_and_written_again(cache, folder, damaged):
    is_used(folder)
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damaged(whole))
    assert not is_used(folder)
    assert path.read_bytes() == whole
    assert is_used(folder)


def test_what_others_can_write_is_not_used(cache, folder):
    is_used(folder)
    (path,) = cache.iterdir()
    path.chmod(0o620)
    assert not is_used(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    cache.chmod(0o777)
    assert collect([folder], cached=True).cases
    path.unlink()
    collect([folder], cached=True)
    assert not list(cache.iterdir())
    if os.geteuid() == 0:
        cache.chmod(0o700)
        os.chown(cache, 12345, -1)
        collect([folder], cached=True)
        assert not list(cache.iterdir())


def test_a_cache_that_cannot_be_written_is_no_error(cache, cli, folder, tmp_path):
    tmp_path.joinpath("cache").write_text("a file")
    assert cli("list", folder).code == 0
    assert cli("list", folder, MAXPOOL_CHECK_CACHE="/proc/nothing").code == 0


def test_a_link_in_its_place_is_not_followed(cache, folder, tmp_path):
    is_used(folder)
    (path,) = cache.iterdir()
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert not is_used(folder)
    assert not path.is_symlink()


def test_another_tool_does_not_use_it(cache, folder):
    """A process of its own for each: what a process knows of its tool, it keeps."""
    program = (
        "import os, sys; from pathlib import Path; from maxpool_check import file_cache\n"
        "from maxpool_check.corpus.collection import collect\n"
        "if sys.argv[2]: file_cache._PACKAGE = Path(sys.argv[2])\n"
        "collect([Path(sys.argv[1])], cached=True)\n"
    )
    other = folder.parent / "other"
    other.mkdir()
    (other / "__init__.py").write_text("__version__ = '1'\n")
    more = other / "more.py"

    def edit():
        """As a copy that keeps the time of a file, which has another content of the same size."""
        status = more.stat()
        more.write_text("a > b")
        os.utime(more, ns=(status.st_atime_ns, status.st_mtime_ns))

    def lock():
        """As an editor does it."""
        (other / ".#more.py").symlink_to("somebody@somewhere.1")

    installed = folder.parent / "installed"

    def install(name):
        return lambda: (installed / name).mkdir(parents=True)

    files = []
    for package, change in (("", None), ("", None), (other, None), (other, lambda: more.write_text("a < b")), (other, edit),
                            (other, lock), (other, install("numpy-99.1.dist-info")), (other, install("numpy_financial-1.dist-info")),
                            (other, install("PyYAML-7.0.egg-info"))):  # fmt: skip
        if change is not None:
            change()
        subprocess.run(
            [sys.executable, "-c", program, folder, package], check=True, env=environment(PYTHONPATH=str(installed))
        )
        files.append(len(list(cache.iterdir())))
    assert files == [1, 1, 2, 3, 4, 4, 5, 5, 6]


def test_two_processes_at_once_leave_whole_files(cache, tmp_path):
    words = [sys.executable, "-m", "maxpool_check", "list", str(CASES / "documents"), "--format", "json"]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, env=environment()) for _ in range(2)]
    first, second = (json.loads(process.communicate()[0]) for process in running)
    assert first == second
    assert not [path for path in cache.iterdir() if len(path.name) != 64]
    assert all(case.is_checked for case in collect([CASES / "documents"], cached=True).cases)


def test_the_oldest_are_dropped(cache, folder, monkeypatch):
    is_used(folder)
    (path,) = cache.iterdir()
    now = time.time()
    for number in range(4):
        other = cache / f"{number}"
        other.write_bytes(path.read_bytes())
        os.utime(other, (now - 1000 * number, now - 1000 * number))
    monkeypatch.setattr(file_cache, "MOST_BYTES", 3 * path.stat().st_size)
    file_cache.make_room.cache_clear()
    is_used(folder, most_cells=10)
    left = {path.name for path in cache.iterdir()}
    assert {"2", "3"} & left == set()
    assert len(left) == 4


def test_lint_and_check_references_do_without_it(cli, cache, tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL)
    assert cli("lint", tmp_path / "small.yaml").code == 0
    assert cli("run", tmp_path / "small.yaml", "--check-references", "-q").code in (0, 1)
    assert not cache.exists()
    assert cli("list", tmp_path / "small.yaml").code == 0
    assert len(list(cache.iterdir())) == 1


def test_the_cache_shows_and_removes_them(cli, cache, folder):
    is_used(folder)
    (cache / "folder").mkdir()
    (cache / "folder/file").write_text("")
    assert cli("targets", "--cache", "--format", "json").json["cases"]["files"] == 1
    assert "1 compiled case file" in cli("targets", "--cache").out
    assert "removed 1 compiled case file" in cli("targets", "--cache", "--clear").out
    assert not cache.exists()


def test_the_cache_shows_files_of_every_kind(cli, cache):
    for kind in file_cache.KINDS:
        file_cache.save_value(file_cache.path_of(kind), [kind])
    shown = cli("targets", "--cache", "--format", "json").json
    assert [shown[kind]["files"] for kind in file_cache.KINDS] == [1] * len(file_cache.KINDS)
    assert [shown[kind]["path"] for kind in file_cache.KINDS] == [str(cache.parent / kind) for kind in file_cache.KINDS]
    assert cli("targets", "--cache").out.count("\n") == len(file_cache.KINDS) + 1


def test_the_cache_says_why_it_is_not_used(cli, cache, folder):
    def shown(**variables):
        done = cli("targets", "--cache", **variables)
        return done.code, done.out.splitlines()[1:], done.err

    assert shown() == (0, [], "")
    assert shown(MAXPOOL_CHECK_NO_CACHE="1")[1] == ["No cached file is used: MAXPOOL_CHECK_NO_CACHE is set."]
    assert shown(MAXPOOL_CHECK_CACHE="/proc/nothing")[1][0].startswith("No file is written to the cache: /proc cannot")
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert shown()[1] == [f"No file of this folder is used: others can write to {cache}."]
    cache.parent.rename(cache.parent.with_name("moved"))
    cache.parent.write_text("a file")
    assert shown() == (3, [], f"error: {cache.parent / 'environments'}: Not a directory\n")


def test_nothing_that_is_cached_is_used_without_the_cache(process, cache):
    """In processes of their own: one reads its defects, its clauses and what an environment is made of once."""
    words = ("run", "corpus:edge/ties", "-q", "-o", os.devnull)
    assert process(*words, "--no-cache").code == 0
    assert process("trace", "--spec", "sonnx", MAXPOOL_CHECK_NO_CACHE="true").code == 0
    assert not cache.parent.exists()
    assert process(*words, MAXPOOL_CHECK_NO_CACHE="0").code == 0
    assert {path.name for path in cache.parent.iterdir()} == {"cases", "results", "defects", "clauses", "inspections"}
    written = [*cache.parent.glob("*/*")]
    for path in written:
        path.write_bytes(b"damaged")
    assert process(*words, "--no-cache").code == 0
    assert {path.read_bytes() for path in written} == {b"damaged"}


MANY = """
  - id: n{number}-{stride}
    input: {{dtype: float32, data: [[[1, {number}, 1, 1]]]}}
    attributes: {{kernel_shape: [2], strides: [{stride}]}}
    tags: [{tag}]
"""


@pytest.fixture
def many(tmp_path, monkeypatch):
    """A corpus with more cases than are held in memory: 6 files of 8."""
    monkeypatch.setattr(case_sequence, "MOST_IN_MEMORY", 17)
    corpus = tmp_path / "many"
    corpus.mkdir()
    for number in range(6):
        tag = "odd" if number % 2 else "even"
        cases = [MANY.format(number=number, tag=tag, stride=stride) for stride in range(1, 9)]
        (corpus / f"{number}.yaml").write_text(f"cases:{''.join(cases)}")
    return corpus


@pytest.mark.parametrize("cached", [False, True])
def test_very_many_cases_are_read_when_they_are_used(cache, many, cached):
    plain = collect([many])
    expected = [everything(case) for case in plain.cases]
    for _ in range(2):
        corpus = collect([many], cached=cached)
        cases = corpus.cases
        assert not isinstance(cases, tuple)
        assert len(cases) == 48
        assert [everything(case) for case in cases] == expected
        assert cases[47].id == cases[-1].id == "5:n5-8"
        assert [case.id for case in cases[5:48:7]] == [cases[number].id for number in range(5, 48, 7)]
        assert corpus.sha256 == plain.sha256 == digest_of(list(cases))
        odd = select(cases, ["tag:odd"])
        assert [case.id for case in odd] == [case.id for case in cases if case.tags == ("odd",)]
        assert digest_of(odd) == digest_of(list(odd))
        assert len(list(duplicates(cases))) == 0


def test_very_many_cases_are_run_as_few_are(cli, cache, many, tmp_path, kernel_target, monkeypatch):
    def executions(*options):
        cli("run", many, "-t", kernel_target("names_the_last_tie"), "-q", "-o", tmp_path / "r.jsonl", *options)
        record = read(tmp_path / "r.jsonl")
        return untimed(record.executions), record.header.cases_sha256, record.footer.summary

    streamed = [executions(*options) for options in ((), ("--no-cache",), ("-k", "*:n3-*"))]
    monkeypatch.setattr(case_sequence, "MOST_IN_MEMORY", 10_000)
    assert streamed == [executions(*options) for options in ((), ("--no-cache",), ("-k", "*:n3-*"))]


def test_the_same_id_twice_among_very_many_is_a_mistake(many):
    shutil.copytree(many, many.parent / "copy")
    with pytest.raises(CorpusError, match="is also used in") as error:
        collect([many, many.parent / "copy"])
    assert len(error.value.problems) == 48


def test_a_cache_that_is_cleared_meanwhile_is_said(cli, cache, many):
    cases = collect([many], cached=True).cases
    file_cache.clear()
    with pytest.raises(OSError, match="removed or changed while they were in use"):
        list(cases)


def test_a_cached_file_that_is_replaced_meanwhile_is_said(cache, folder, monkeypatch):
    monkeypatch.setattr(case_sequence, "MOST_IN_MEMORY", 0)
    cases = collect([folder], cached=True).cases
    np.save(folder / "X.npy", np.array([[[1, 2, 4]]], np.float32))
    assert collect([folder], cached=True).cases[0].X.max() == 4
    with pytest.raises(OSError, match="removed or changed while they were in use"):
        list(cases)


@pytest.mark.parametrize("part", [slice(None, None, -1), slice(5, 0, -2), slice(2, 7, 3), slice(7, 2), slice(100, 200)])
def test_parts_of_stored_cases_are_those_of_a_tuple(cache, many, part):
    every = collect([many], cached=True).cases
    stored = case_sequence.stored(collect([many / "3.yaml"], cached=True).cases)
    ids = [case.id for case in every]
    assert [case.id for case in every[part]] == ids[part]
    assert [case.id for case in stored[part]] == [case.id for case in tuple(stored)[part]]
    assert stored[-1].id == ids[31]
