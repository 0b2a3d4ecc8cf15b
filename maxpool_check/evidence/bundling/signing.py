"""Signs the manifest of a bundle with a key of OpenSSH: ``ssh-keygen -Y sign``."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from maxpool_check.evidence.bundling.bundle import DESCRIPTION, MANIFEST, NAMESPACE, SIGNATURE, manifest
from maxpool_check.evidence.bundling.contents import BadBundle

PROGRAM = "ssh-keygen"


class CannotSign(ValueError):
    """A key that cannot sign, or no program to do so."""


def signed(members: Mapping[str, bytes], key: Path) -> dict[str, bytes]:
    """The members with the signature of their manifest, by a private key, or a public one whose agent is running.

    Raises :class:`BadBundle` for members that are signed already or do not match their manifest, and :class:`CannotSign`.
    """
    if DESCRIPTION not in members or MANIFEST not in members:
        raise BadBundle(
            f"it has no {MANIFEST if DESCRIPTION in members else DESCRIPTION}; is this a bundle of evidence?"
        )
    if SIGNATURE in members:
        raise BadBundle("it is signed already; to sign it with another key, build it again")
    if manifest(members) != members[MANIFEST]:
        raise BadBundle(
            "its files are not those of its manifest, so that it is not signed; 'maxpool-check evidence verify' names them"
        )
    return {**members, SIGNATURE: signature(members[MANIFEST], key)}


def signature(content: bytes, key: Path) -> bytes:
    """The signature of some content, in the form of ``ssh-keygen``. Raises :class:`CannotSign`."""
    if not key.is_file():
        raise CannotSign(f"no key {key}; 'ssh-keygen -t ed25519 -f {key}' makes one")
    program = shutil.which(PROGRAM)
    if program is None:
        raise CannotSign(f"{PROGRAM} not found; install the client of OpenSSH (Debian: apt-get install openssh-client)")
    # It asks for the passphrase of a key on the terminal.
    done = subprocess.run(
        [program, "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE], input=content, capture_output=True, check=False
    )
    if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        message = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise CannotSign(f"{PROGRAM} does not sign with {key}: {message}")
    return done.stdout
