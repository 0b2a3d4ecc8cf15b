"""The wheel and the source distribution, as they are installed."""

import tarfile
import zipfile

import pytest

import maxpool_check
from tests.conftest import CASES, ROOT
from tests.packages import Installed, built, shared

pytestmark = pytest.mark.network


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return shared(tmp_path_factory, "wheel", built)


def test_the_wheel_has_the_corpus_and_every_file_and_the_source_distribution_builds_the_same(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        files = {each.filename: each.CRC for each in archive.infolist() if ".dist-info/" not in each.filename}
    shipped = {f"maxpool_check/corpus_data/{path.relative_to(CASES)}" for path in CASES.rglob("*") if path.is_file()}
    own = [path for path in (ROOT / "maxpool_check").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert files.keys() == {*shipped, *(str(path.relative_to(ROOT)) for path in own)}
    with tarfile.open(built(tmp_path / "source", kind="--sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("maxpool_check-*")
    with zipfile.ZipFile(built(tmp_path / "again", unpacked)) as archive:
        again = {each.filename: each.CRC for each in archive.infolist()}
    assert again == {**files, **{name: CRC for name, CRC in again.items() if ".dist-info/" in name}}


def test_an_installed_tool_runs_its_corpus_and_lets_a_user_own_it(wheel, tmp_path):
    installed, work = Installed(tmp_path, wheel), tmp_path / "work"
    work.mkdir()
    version = installed.run("maxpool-check", "--version", cwd=work)
    assert version.stdout == f"maxpool-check {maxpool_check.__version__}\n"
    # Without a path, the whole corpus.
    done = installed.run("maxpool-check", "run", "-o", "record.jsonl", cwd=work)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 new, " in done.stdout
    record = (work / "record.jsonl").read_text()
    assert '"origin":"corpus:edge/ties.yaml:' in record
    assert str(tmp_path) not in record
    assert installed.run("maxpool-check", "cases", "lint", "corpus:sonnx", cwd=work).returncode == 0
    assert installed.run("maxpool-check", "cases", "copy", "mine", cwd=work).returncode == 0
    copied = {path.relative_to(work / "mine"): path.read_bytes() for path in (work / "mine").rglob("*.yaml")}
    assert copied == {path.relative_to(CASES): path.read_bytes() for path in CASES.rglob("*.yaml")}
