"""Bundles of evidence: what is in them, and that the same input makes the same bytes."""

import hashlib

import pytest

from maxpool_check.evidence.archive import unpacked


@pytest.fixture
def record(cli, small, tmp_path):
    """A record of a few cases."""
    assert cli("run", small, "-q", "-o", tmp_path / "record.jsonl").code in (0, 1)
    return tmp_path / "record.jsonl"


def test_a_bundle_has_the_record_and_its_cases_and_a_manifest_of_every_member(cli, small, record, tmp_path):
    done = cli("evidence", "build", record, "--cases", small, "-o", tmp_path / "evidence.tar")
    assert done.code == 0, done.err
    members = unpacked(tmp_path / "evidence.tar")
    assert members["cases/small.yaml"] == (small / "small.yaml").read_bytes()
    listed = dict(reversed(line.split("  ")) for line in members.pop("MANIFEST.sha256").decode().splitlines())
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
