"""Signatures of bundles, by keys of OpenSSH."""

import shutil
import subprocess

import pytest

from maxpool_check.evidence.bundling.archive import packed, unpacked
from tests.conftest import SMALL, command

SIGNATURE = "MANIFEST.sha256.sig"


@pytest.fixture
def key(tmp_path):
    """A private key without a passphrase."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen (Debian: apt-get install openssh-client)")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tester", "-f", tmp_path / "key"], check=True)
    return tmp_path / "key"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A bundle of one case."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "small.yaml").write_text(SMALL)
    for words in (
        ("run", "small.yaml", "-k", "ordinary", "-q", "-o", "record.jsonl"),
        ("evidence", "build", "record.jsonl", "--cases", "small.yaml", "-o", "evidence.tar"),
    ):
        assert command(*words, cwd=folder).code == 0
    return folder / "evidence.tar"


@pytest.fixture
def bundle(built, tmp_path):
    """The bundle, to be signed."""
    return shutil.copy(built, tmp_path / "evidence.tar")


def test_a_signature_is_one_of_the_manifest_that_ssh_keygen_verifies(cli, bundle, key):
    before = unpacked(bundle)
    done = cli("evidence", "sign", bundle, "--key", key)
    assert done.code == 0, done.err
    members = unpacked(bundle)
    (bundle.parent / "signature").write_bytes(members.pop(SIGNATURE))
    assert members == before
    (bundle.parent / "signers").write_text(f"tester {key.with_suffix('.pub').read_text()}")
    verify = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        "signers",
        "-I",
        "tester",
        "-n",
        "maxpool-check-evidence",
        "-s",
        "signature",
    ]
    for content, code in ((members["MANIFEST.sha256"], 0), (members["MANIFEST.sha256"] + b"\n", 255)):
        process = subprocess.run(verify, input=content, cwd=bundle.parent, capture_output=True, check=False)
        assert process.returncode == code, process.stderr


def altered(bundle, key):
    members = unpacked(bundle)
    bundle.write_bytes(packed({**members, "limitations.md": b"None."}))


def signed(bundle, key):
    assert command("evidence", "sign", bundle, "--key", key).code == 0


def unknown(bundle, key):
    key.unlink()


def public(bundle, key):
    shutil.copy(key.with_suffix(".pub"), key)


def foreign(bundle, key):
    bundle.write_text("no bundle")


def missing(bundle, key):
    bundle.unlink()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (altered, "evidence.tar: its files are not those of its manifest"),
        (signed, "evidence.tar: it is signed already; to sign it with another key, build it again"),
        (unknown, "no key "),
        (public, "ssh-keygen does not sign with "),
        (foreign, "evidence.tar: not an archive of evidence"),
        (missing, "evidence.tar' not found; 'maxpool-check evidence build' writes a bundle"),
    ],
)
def test_what_cannot_be_signed_stays_as_it_is(cli, bundle, key, change, message):
    change(bundle, key)
    before = {path: path.read_bytes() for path in bundle.parent.rglob("*") if path.is_file()}
    done = cli("evidence", "sign", bundle, "--key", key)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert {path: path.read_bytes() for path in bundle.parent.rglob("*") if path.is_file()} == before


def test_without_ssh_keygen_the_error_says_what_to_install(cli, bundle, key, tmp_path):
    done = cli("evidence", "sign", bundle, "--key", key, PATH=str(tmp_path))
    assert done.code == 2
    assert "ssh-keygen not found; install the client of OpenSSH" in done.err
