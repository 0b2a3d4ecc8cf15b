"""The released versions, by pip."""

import subprocess

import pytest
from packaging.version import Version

from maxpool_check.targets.releases import NoReleases, released


def answering(monkeypatch, stdout, code=0, stderr=""):
    asked = []

    def run(command, **_):
        asked.append(command)
        return subprocess.CompletedProcess(command, code, stdout, stderr)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_releases_come_in_the_order_of_versions_and_without_pre_releases(monkeypatch):
    asked = answering(monkeypatch, "thing (1.10.0)\nAvailable versions: 1.10.0, 1.9.1, 1.10.0rc1, odd!, 1.9.0\n")
    assert released("thing") == [Version("1.9.0"), Version("1.9.1"), Version("1.10.0")]
    assert "--pre" not in asked[0]
    assert Version("1.10.0rc1") in released("thing", pre=True)
    assert "--pre" in asked[1]


@pytest.mark.parametrize(("stdout", "code"), [("", 1), ("nothing of the kind", 0)])
def test_no_releases(monkeypatch, stdout, code):
    answering(monkeypatch, stdout, code, "WARNING: experimental\nERROR: No matching distribution found for thing")
    with pytest.raises(NoReleases, match="No matching distribution"):
        released("thing")
