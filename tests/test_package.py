"""The wheel and the source distribution, as they are installed."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

import maxpool_check
from maxpool_check.evidence.wrong_kernels import scan
from tests.conftest import CASES, ROOT, environment
from tests.packages import Installed, built, shared

pytestmark = pytest.mark.network


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return shared(tmp_path_factory, "wheel", built)


def test_the_wheel_has_the_whole_corpus_and_the_types(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    shipped = {f"maxpool_check/corpus_data/{path.relative_to(CASES)}" for path in CASES.rglob("*") if path.is_file()}
    assert shipped <= names
    assert {name for name in names if name.startswith("maxpool_check/corpus_data/")} == shipped
    assert "maxpool_check/py.typed" in names
    pages = {f"maxpool_check/docs/{path.name}" for path in (ROOT / "maxpool_check/docs").glob("*.md")}
    assert pages
    assert pages <= names
    kernels = {f"maxpool_check/evidence/wrong_kernels/{path.name}" for path in Path(scan.__file__).parent.glob("*.*")}
    assert "maxpool_check/evidence/wrong_kernels/kernels.yaml" in kernels
    assert kernels <= names
    assert not [name for name in names if name.startswith(("tests", "reports"))]


def test_the_source_distribution_builds_the_same_wheel(wheel, tmp_path):
    with tarfile.open(built(tmp_path / "source", kind="--sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("maxpool_check-*")
    again = built(tmp_path / "again", unpacked)
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {each.filename: each.CRC for each in one.infolist()} == {
            each.filename: each.CRC for each in other.infolist()
        }


@pytest.mark.parametrize("clean", [False, True])
def test_an_installed_tool_runs_its_corpus_and_lets_a_user_own_it(wheel, tmp_path, clean):
    installed = Installed(tmp_path, wheel, clean=clean)
    work = tmp_path / "work"
    work.mkdir()
    version = installed.run("maxpool-check", "--version", cwd=work)
    assert version.stdout == f"maxpool-check {maxpool_check.__version__}\n"
    # Without a path, the whole corpus.
    paths = [] if clean else ["corpus:edge/ties"]
    done = installed.run("maxpool-check", "run", *paths, "-o", "record.jsonl", cwd=work)
    assert done.returncode == 0, done.stdout + done.stderr
    if clean:
        assert " 0 unexpected" in done.stdout
    record = (work / "record.jsonl").read_text()
    assert '"origin":"corpus:edge/ties.yaml:' in record
    assert str(tmp_path) not in record
    assert installed.run("maxpool-check", "cases", "lint", "corpus:sonnx", cwd=work).returncode == 0
    copied = installed.run("maxpool-check", "cases", "copy", "mine", cwd=work)
    assert copied.returncode == 0, copied.stderr
    assert {path.relative_to(work / "mine") for path in (work / "mine").rglob("*.yaml")} == {
        path.relative_to(CASES) for path in CASES.rglob("*.yaml")
    }
    assert (ROOT / "cases/edge/ties.yaml").read_bytes() == (work / "mine/edge/ties.yaml").read_bytes()


def test_the_tests_install_nothing_into_the_environment_of_runs_and_reports():
    def steps(*targets):
        words = ["make", "--dry-run", "--always-make", *targets]
        return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment(), check=True).stdout

    tests = steps("test", "test-slow", "format", "generated", "bench")
    assert "--constraint tests/constraints.txt" in tests
    assert ".venv/" not in tests
    assert ".venv-tests" not in steps("run", "site")
    assert "tests.make_reports --tool .venv/bin/maxpool-check" in steps("reports")
