"""``--offline`` and ``--find-links``: environments without a package index, as a user types it."""

import hashlib
import shutil
import socket
import zipfile

import pytest

from maxpool_check.targets.environments import PLATFORM, made_releases
from tests.targets.test_contents import contents, record_of


def wheel(folder, name, version, modules=(), requires=(), tag="py3"):
    """A wheel, for every Python 3, with a script."""
    information = f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = {
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{information}/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}-none-any\n",
        f"{information}/entry_points.txt": f"[console_scripts]\n{name}-script = {name}:main\n",
        **dict(modules),
    }
    record = record_of(files) + f"{information}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}-none-any.whl", "w") as archive:
        for path, text in {**files, f"{information}/RECORD": record}.items():
            archive.writestr(path, text)


@pytest.fixture
def wheels(tmp_path):
    """A folder of wheels: two releases of ONNX Runtime, which cannot be imported, and numpy."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    broken = {"onnxruntime.py": "raise ImportError('it is hollow')\n", "fast.so": "machine code\n"}
    for version in ("1.30.0", "1.31.1"):
        wheel(folder, "onnxruntime", version, broken, ["numpy"])
    wheel(folder, "numpy", "2.0.0", {"numpy.py": "__version__ = '2.0.0'\n"})
    return folder


@pytest.fixture
def offline(cli, tmp_path, monkeypatch):
    """Runs a command offline, with a cache of its own and an index, a port of this machine, that must not be reached."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{listener.getsockname()[1]}/simple")
        for name, value in (("MAXPOOL_CHECK_CACHE", tmp_path / "cache"), ("UV_CACHE_DIR", tmp_path / "uv")):
            monkeypatch.setenv(name, str(value))
        monkeypatch.setenv("UV_HTTP_TIMEOUT", "1")
        monkeypatch.setenv("UV_HTTP_RETRIES", "0")

        def run(*arguments, **changed):
            done = cli(*arguments, **changed)
            with pytest.raises(BlockingIOError):
                listener.accept()
            return done

        yield run


OFF = {"MAXPOOL_CHECK_OFFLINE": "1"}
PREPARE = "maxpool-check targets prepare onnxruntime==1.17.3"


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        ("run SMALL -t onnxruntime==1.17.3", OFF),
        ("explain small:ordinary -p SMALL -t onnxruntime==1.17.3", OFF),
        ("gate SMALL --base onnxruntime==1.17.3 --head onnxruntime", OFF),
        # Several processes are offline too.
        ("run SMALL -t onnxruntime -t onnxruntime==1.17.3 -j 2 --offline", {}),
    ],
)
def test_an_environment_that_is_missing_is_named_and_how_to_make_it(offline, small, tmp_path, arguments, variables):
    done = offline(*arguments.replace("SMALL", str(small)).split(), **variables)
    text = " ".join((done.out + done.err).split())
    assert (done.code, PREPARE in text) == (3, True)
    assert "has no environment with onnxruntime==1.17.3 and numpy<2" in text
    assert "pip download --only-binary :all: -d wheels onnxruntime==1.17.3 'numpy<2'" in text
    assert not (tmp_path / "cache/environments").exists()


def test_installed_targets_run_offline(offline, small):
    assert offline("run", small, "--offline", "--known", "none").code == 1


def test_environments_of_a_folder_of_wheels_are_others_and_know_what_was_changed_since(
    offline, small, wheels, tmp_path
):
    prepared = offline("targets", "prepare", "onnxruntime==1.31.1", "--offline", "--find-links", wheels)
    prepared.check(0, str(tmp_path / "cache/environments/onnxruntime-1.31.1-wheels-"))
    assert prepared.err == "preparing onnxruntime==1.31.1\n"
    # It is used by whoever names the folder, and the wheel is broken; without, a folder never becomes that of the index.
    run = ("run", small, "-t", "onnxruntime==1.31.1", "--offline")
    offline(*run, MAXPOOL_CHECK_FIND_LINKS=str(wheels)).check(3, "it is hollow")
    assert made_releases("onnxruntime") == []
    offline(*run).check(3, "has no environment with onnxruntime==1.31.1")
    # Other wheels are another environment.
    wheel(wheels, "numpy", "2.0.0", {"numpy.py": "__version__ = '2.0.0'  # changed\n"})
    offline("targets", "prepare", "onnxruntime==1.31.1", "--offline", "--find-links", wheels).check(0)
    folders = [*(tmp_path / "cache/environments").glob("onnxruntime-1.31.1-*[!k]")]
    one, other = [contents(folder / "bin/python") for folder in folders]
    # They differ by what differs, and not by scripts, which have the folder in them.
    assert one["onnxruntime"] == other["onnxruntime"]
    assert one["numpy"]["wheel"] == other["numpy"]["wheel"] == "numpy-2.0.0-py3-none-any.whl"
    for name in ("wheel_sha256", "files_sha256"):
        assert one["numpy"][name] != other["numpy"][name]
    file = wheels / "onnxruntime-1.31.1-py3-none-any.whl"
    made = other["onnxruntime"]
    assert (made["wheel"], made["wheel_sha256"]) == (file.name, hashlib.sha256(file.read_bytes()).hexdigest())
    assert (made["libraries"], made["changed"]) == ({"fast.so": hashlib.sha256(b"machine code\n").hexdigest()}, [])
    (installed,) = folders[1].glob("lib/python*/site-packages/fast.so")
    # A link to uv's cache.
    installed.unlink()
    installed.write_text("other machine code\n")
    assert contents(folders[1] / "bin/python")["onnxruntime"] == {**made, "changed": ["fast.so"]}


def test_a_project_around_the_cache_does_not_configure_environments(offline, wheels, tmp_path):
    (tmp_path / "uv.toml").write_text("no TOML")
    offline("targets", "prepare", "onnxruntime==1.31.1", "--offline", "--find-links", wheels).check(0)


def test_what_the_folder_lacks(offline, wheels, tmp_path):
    prepare = ("targets", "prepare", "tract==0.23.9", "--offline", "--find-links")
    done = offline(*prepare, wheels, "onnxruntime==1.32.0").check(3, err=f"{wheels} has no release 1.32.0")
    fill = f"Fill the folder of wheels with: pip download --only-binary :all: -d {wheels} tract==0.23.9 numpy"
    assert [each for each in ("Releases of onnxruntime: 1.30.0, 1.31.1\n", fill) if each not in done.err] == []
    offline(*prepare, tmp_path / "none").check(2, f"Directory '{tmp_path}/none' does not exist")


def test_the_releases_of_a_history_are_those_of_the_cache_or_the_folder(offline, small, wheels, tmp_path):
    offline("history", small, **OFF).check(3, err="has no environment of onnxruntime")
    folder = offline("history", small, MAXPOOL_CHECK_FIND_LINKS=str(wheels), **OFF)
    assert [line.partition(":")[0] for line in folder.err.splitlines()] == ["1.30.0", "1.31.1"]
    for version in ("1.30.0", "1.31.1"):
        (made,) = (tmp_path / "cache/environments").glob(f"onnxruntime-{version}-*[!k]")
        made.rename(made.with_name(f"onnxruntime-{version}-{PLATFORM}"))
    shutil.rmtree(wheels)
    cache = offline("history", small, "--versions", "1.31..", **OFF)
    assert [line.partition(":")[0] for line in cache.err.splitlines()] == ["1.31.1"]
