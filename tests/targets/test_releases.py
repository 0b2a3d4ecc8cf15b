"""The released versions, listed by uv from a package index in a folder."""

import zipfile

import pytest
from packaging.version import Version

from maxpool_check.targets.releases import NoReleases, between, newest_of_minors, released

VERSIONS = ("1.9.0", "1.9.1", "1.10.0rc1", "1.10.0", "1.10.0.1")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that serves ``thing``: wheels for every Python, one for Python 2.7, and one release without a wheel."""
    folder = tmp_path / "simple/thing"
    folder.mkdir(parents=True)
    for version, tag in [*((version, "py3") for version in VERSIONS), ("2.0", "py27")]:
        information = f"thing-{version}.dist-info"
        with zipfile.ZipFile(folder / f"thing-{version}-{tag}-none-any.whl", "w") as wheel:
            wheel.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: thing\nVersion: {version}\n")
            wheel.writestr(f"{information}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}-none-any\n")
            wheel.writestr(f"{information}/RECORD", "")
    (folder / "thing-3.0.tar.gz").write_bytes(b"")
    (folder / "index.html").write_text("".join(f'<a href="{file.name}">{file.name}</a>' for file in folder.iterdir()))
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder.parent.as_uri()


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "PIP_INDEX_URL"])
def test_releases_with_a_wheel_for_this_python_in_the_order_of_versions(index, monkeypatch, variable):
    monkeypatch.setenv(variable, index)
    assert released("thing") == [Version("1.9.0"), Version("1.9.1"), Version("1.10.0"), Version("1.10.0.1")]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        ("1.27.0", "1.31", ["1.27.0", "1.27.0.post1", "1.31.0rc1", "1.31.0", "1.31.1"]),
        ("1.27.0.post1", "1.31.0", ["1.27.0.post1", "1.31.0rc1", "1.31.0"]),
        (None, "1.27.0", ["1.0.20261020", "1.27.0", "1.27.0.post1"]),
        ("1.31.0rc1", "1.31.0rc1", ["1.31.0rc1"]),
        (None, "1.0", ["1.0.20261020"]),
        ("2026", "2026.3", ["2026.3.0", "2026.3.1"]),
    ],
)
def test_the_ends_of_a_range_are_included_with_all_of_their_releases(low, high, found):
    names = [
        "1.0.20261020",
        "1.27.0",
        "1.27.0.post1",
        "1.31.0rc1",
        "1.31.0",
        "1.31.1",
        "2026.3.0",
        "2026.3.1",
        "2026.4.1",
    ]
    ends = [Version(end) if end else None for end in (low, high)]
    assert [str(version) for version in between(map(Version, names), *ends)] == found


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        ("1.26.1 1.27.0 1.27.0.post1 1.28.0", "1.26.1 1.27.0.post1 1.28.0"),
        ("2025.4.1 2026.4.0 2026.4.1", "2025.4.1 2026.4.1"),
        ("1.0.20260114 1.0.20261020", "1.0.20260114 1.0.20261020"),
        ("4.12.0.86 4.12.0.88 5.0.0.93", "4.12.0.88 5.0.0.93"),
        ("1.31.0rc1 1.31.0 1.32.0rc1", "1.31.0 1.32.0rc1"),
        ("1 1.0.1 2", "1.0.1 2"),
    ],
)
def test_the_newest_release_of_each_minor_version_a_date_makes_one(names, newest):
    assert [str(version) for version in newest_of_minors(map(Version, names.split()))] == newest.split()


def test_pre_releases_are_listed_on_request(index, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    assert released("thing", pre=True) == [Version(version) for version in VERSIONS]


def test_a_distribution_that_the_index_does_not_have(index, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    with pytest.raises(NoReleases, match=r"(?s)cannot list the releases of other:.*The package index has no other"):
        released("other")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple", "cannot be reached"),
        ("UV_OFFLINE", "1", r"offline \(UV_OFFLINE\)"),
        ("MAXPOOL_CHECK_CACHE", "/dev/null/cache", "Not a directory"),
    ],
)  # fmt: skip
def test_an_index_that_cannot_be_used(index, monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    with pytest.raises(NoReleases, match=rf"(?s)cannot list the releases of thing:.*{message}"):
        released("thing")
