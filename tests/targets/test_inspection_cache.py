"""What environments are made of, kept between runs."""

import os

import pytest

from maxpool_check import file_cache
from maxpool_check.results.storage import read
from maxpool_check.targets.inspection_cache import WatchedEnvironment, load, save
from tests.conftest import KERNELS, SMALL, eventually

KEY = ("/usr/bin/python3", "numpy", None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "inspections"


@pytest.fixture
def contents(tmp_path):
    library = tmp_path / "library.so"
    library.write_bytes(b"0123")
    state = library.stat()
    watched = {str(library): (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)}
    found = WatchedEnvironment(
        implementation="CPython", version="3.11.7", executable_sha256="0" * 64, distributions=(), watched=watched
    )
    assert eventually(lambda: found.is_settled)
    return library, found


def test_what_is_kept_holds_until_a_file_changes(folder, contents):
    library, found = contents
    save(KEY, found)
    assert load(KEY) == found
    assert load((*KEY, "/more")) is None
    assert oct(folder.stat().st_mode)[-3:] == "700"
    library.write_bytes(b"4567")
    assert load(KEY) is None
    library.unlink()
    assert load(KEY) is None


def test_what_changed_a_moment_ago_is_not_kept(folder, contents):
    library, _ = contents
    os.utime(library)
    state = library.stat()
    changed = {str(library): (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)}
    save(
        KEY,
        WatchedEnvironment(implementation="", version="", executable_sha256=None, distributions=(), watched=changed),
    )
    assert load(KEY) is None


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"{}", b"[" * 100_000, b'{"watched": {"\\u0000": [0, 0, 0, 0]}}'])
def test_what_is_damaged_counts_as_absent(folder, contents, damage):
    _, found = contents
    save(KEY, found)
    (path,) = folder.iterdir()
    path.write_bytes(damage)
    assert load(KEY) is None
    file_cache.save_value(path, {"implementation": "", "version": "", "distributions": 5, "watched": {}})
    assert load(KEY) is None


def test_a_folder_that_others_can_write_is_not_read(folder, contents):
    _, found = contents
    save(KEY, found)
    folder.chmod(0o777)
    assert load(KEY) is None
    folder.chmod(0o700)
    assert load(KEY) == found


def test_it_goes_with_the_rest_of_the_cache(cli, folder, contents):
    _, found = contents
    save(KEY, found)
    assert cli("targets", "--cache", "--clear").code == 0
    assert not folder.exists()


def test_a_cache_that_cannot_be_written_is_left_as_it_is(folder, contents):
    _, found = contents
    folder.parent.mkdir()
    folder.write_text("a file where the folder should be")
    save(KEY, found)
    assert load(KEY) is None
    assert folder.read_text() == "a file where the folder should be"


def test_a_run_looks_at_an_environment_once(process, tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL)

    def run(name):
        words = (tmp_path / "small.yaml", "-k", "small:ordinary", "-q", "-t", f"python:{KERNELS}:right")
        process("run", *words, "-o", tmp_path / name, MAXPOOL_CHECK_CACHE=str(tmp_path / "cache"))
        return read(tmp_path / name).header.targets[0].environments

    first = run("first.jsonl")
    (path,) = (tmp_path / "cache" / "inspections").iterdir()
    assert run("second.jsonl") == first
    # Only so can it be seen that nobody looked again.
    file_cache.save_value(path, {**file_cache.load_value(path, dict), "version": "2.7.18"})
    assert run("third.jsonl")[0].version == "2.7.18"
