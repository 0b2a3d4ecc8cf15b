"""``--offline`` and ``--find-links``: environments without a package index, as a user types it."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import zipfile

import pytest

from maxpool_check.targets.environments import CannotMake, holding, made_releases
from tests.conftest import ROOT, environment


def wheel(folder, name, version, modules=None, requires=()):
    """A wheel for every Python."""
    information = f"{name}-{version}.dist-info"
    metadata = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
        *(f"Requires-Dist: {each}" for each in requires),
    ]
    files = {
        f"{information}/METADATA": "\n".join(metadata) + "\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
        **(modules or {}),
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{information}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{information}/RECORD": record}.items():
            archive.writestr(path, text)


@pytest.fixture
def wheels(tmp_path):
    """A folder of wheels: two releases of ONNX Runtime, which cannot be imported, and numpy."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    broken = {"onnxruntime.py": "raise ImportError('it is hollow')\n"}
    for version in ("1.30.0", "1.31.1"):
        wheel(folder, "onnxruntime", version, broken, ["numpy"])
    wheel(folder, "numpy", "2.0.0", {"numpy.py": "__version__ = '2.0.0'\n"})
    return folder


@pytest.fixture
def index(monkeypatch):
    """A package index that nobody may reach: a port of this machine; counts who tried."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{listener.getsockname()[1]}/simple")
        yield listener


def reached(listener):
    try:
        listener.accept()
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def offline(cli, tmp_path, index):
    """Runs a command offline, with a cache of its own and an index that must not be reached."""

    def run(*arguments, **changed):
        folders = {
            "MAXPOOL_CHECK_CACHE": str(tmp_path / "cache"),
            "UV_CACHE_DIR": str(tmp_path / "uv"),
            "UV_HTTP_TIMEOUT": "1",
            "UV_HTTP_RETRIES": "0",
        }
        done = cli(*arguments, **folders, **changed)
        assert not reached(index)
        return done

    return run


@pytest.mark.parametrize("name", ["run", "explain"])
def test_an_environment_that_is_missing_is_named_and_how_to_make_it(offline, small, name):
    arguments = {"explain": ["small:ordinary", "-p"]}.get(name, [])
    done = offline(name, *arguments, small, "-t", "onnxruntime==1.17.3", MAXPOOL_CHECK_OFFLINE="1")
    assert done.code == 3
    text = " ".join((done.out + done.err).split())
    assert "has no environment with onnxruntime==1.17.3 and numpy<2" in text
    assert "maxpool-check targets prepare onnxruntime==1.17.3" in text
    assert "pip download --only-binary :all: -d wheels onnxruntime==1.17.3 'numpy<2'" in text


def test_the_variable_of_the_environment_does_the_same(offline, small, tmp_path):
    done = offline("gate", small, "--base", "onnxruntime==1.30.0", "--head", "onnxruntime", MAXPOOL_CHECK_OFFLINE="1")
    assert done.code == 3
    assert "targets prepare onnxruntime==1.30.0" in done.err
    assert not (tmp_path / "cache" / "environments").exists()


def test_installed_targets_run_offline(offline, small):
    assert offline("run", small, "--offline", "--known", "none").code == 1


def test_several_processes_are_offline_too(offline, small):
    done = offline("run", small, "-t", "onnxruntime", "-t", "onnxruntime==1.30.0", "-j", "2", "--offline")
    assert done.code == 3
    assert "targets prepare onnxruntime==1.30.0" in done.out


def test_environments_are_made_of_a_folder_of_wheels(offline, small, wheels, tmp_path, monkeypatch):
    made = offline("targets", "prepare", "onnxruntime==1.31.1", "--offline", "--find-links", wheels)
    assert (made.code, made.err) == (0, "")
    assert str(tmp_path / "cache/environments/onnxruntime-1.31.1") in made.out
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    assert list(map(str, made_releases("onnxruntime"))) == ["1.31.1"]
    # Its environment is used, which the wheel is broken for.
    done = offline("run", small, "-t", "onnxruntime==1.31.1", "--offline")
    assert done.code == 3
    assert "it is hollow" in done.out


def test_an_environment_knows_its_wheels_and_what_was_changed_since(offline, wheels, tmp_path):
    library = {"fast.so": "machine code\n", "plain.py": "\n"}
    wheel(wheels, "onnxruntime", "1.31.2", library, ["numpy"])
    assert offline("targets", "prepare", "onnxruntime==1.31.2", "--offline", "--find-links", wheels).code == 0
    (folder,) = (tmp_path / "cache/environments").glob("onnxruntime-1.31.2-*[!k]")

    def contents():
        words = [folder / "bin/python", ROOT / "maxpool_check/targets/worker/contents.py"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return {each["name"]: each for each in json.loads(done.stdout)["distributions"]}

    made = contents()["onnxruntime"]
    file = wheels / "onnxruntime-1.31.2-py3-none-any.whl"
    assert (made["wheel"], made["wheel_sha256"]) == (file.name, hashlib.sha256(file.read_bytes()).hexdigest())
    assert made["libraries"] == {"fast.so": hashlib.sha256(b"machine code\n").hexdigest()}
    assert contents()["numpy"]["wheel"] == "numpy-2.0.0-py3-none-any.whl"
    (installed,) = folder.glob("lib/python*/site-packages/fast.so")
    # A link to uv's cache.
    installed.unlink()
    installed.write_text("other machine code\n")
    changed = contents()["onnxruntime"]
    assert changed["libraries"] == {"fast.so": hashlib.sha256(b"other machine code\n").hexdigest()}
    assert changed["files_sha256"] != made["files_sha256"]


def test_what_the_folder_lacks(offline, wheels, tmp_path):
    done = offline("targets", "prepare", "onnxruntime==1.32.0", "tract==0.23.9", "--offline", "--find-links", wheels)
    assert done.code == 3
    assert f"{wheels} has no release 1.32.0" in done.err
    assert "Releases of onnxruntime: 1.30.0, 1.31.1\n" in done.err
    assert (
        f"Fill the folder of wheels with: pip download --only-binary :all: -d {wheels} tract==0.23.9 numpy" in done.err
    )
    missing = offline("targets", "prepare", "tract==0.23.9", "--find-links", tmp_path / "none")
    assert missing.code == 2
    assert f"Directory '{tmp_path}/none' does not exist" in missing.err


def test_the_releases_of_a_history_are_those_of_the_cache_or_the_folder(offline, small, wheels):
    none = offline("history", small, MAXPOOL_CHECK_OFFLINE="1")
    assert none.code == 3
    assert "has no environment of onnxruntime" in none.err
    folder = offline("history", small, MAXPOOL_CHECK_OFFLINE="1", MAXPOOL_CHECK_FIND_LINKS=str(wheels))
    assert [line.partition(":")[0] for line in folder.err.splitlines()] == ["1.30.0", "1.31.1"]
    shutil.rmtree(wheels)
    cache = offline("history", small, "--versions", "1.31..", MAXPOOL_CHECK_OFFLINE="1")
    assert [line.partition(":")[0] for line in cache.err.splitlines()] == ["1.31.1"]


@pytest.mark.network
def test_a_release_that_does_not_exist_names_those_next_to_it(cli, small, tmp_path):
    done = cli("run", small, "-t", "onnxruntime==1.23.7", MAXPOOL_CHECK_CACHE=str(tmp_path))
    assert done.code == 3
    assert "no release 1.23.7 for Python" in done.out
    assert "1.23.1, 1.23.2, 1.24.1, 1.24.2" in done.out


@pytest.mark.network
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_cache_that_cannot_be_written_is_enough(small, tmp_path):
    """As in an image: the environment is made, then nothing of the cache can be changed."""
    folders = environment(MAXPOOL_CHECK_CACHE=str(tmp_path / "cache"))
    program = [sys.executable, "-m", "maxpool_check"]
    subprocess.run([*program, "targets", "prepare", "onnxruntime==1.31.1"], env=folders, cwd=ROOT, check=True)
    subprocess.run(["chmod", "-R", "a-w", tmp_path / "cache"], check=True)
    # Root may write anywhere, unless it gives up that right.
    weaker = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    arguments = ["run", small, "-t", "onnxruntime==1.31.1", "--offline", "--known", "none"]
    try:
        assert subprocess.run([*weaker, "touch", tmp_path / "cache/x"], check=False, capture_output=True).returncode
        done = subprocess.run([*weaker, *program, *arguments], env=folders, cwd=ROOT, check=False, capture_output=True)
    finally:
        subprocess.run(["chmod", "-R", "u+w", tmp_path / "cache"], check=True)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"onnxruntime 1.31.1" in done.stdout


@pytest.mark.long
def test_the_workers_of_a_cluster_are_offline_too(offline, small, cluster, monkeypatch):
    # No such release: online, the message would be another one. The workers have caches of their own.
    targets = ["-t", "onnxruntime", "-t", "onnxruntime==1.2.3"]
    done = offline("run", small, *targets, "--offline", "--dask", cluster.scheduler_address)
    assert done.code == 3
    assert "targets prepare onnxruntime==1.2.3" in done.out


def test_the_environment_of_a_reproduction_is_named_too(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_OFFLINE", "1")
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path))
    with pytest.raises(CannotMake, match=r"(?s)no environment with numpy.*Run the same command once.*-d wheels numpy"):
        holding(["numpy"])
