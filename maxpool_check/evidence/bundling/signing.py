"""Signs and verifies the manifest of a bundle with keys of OpenSSH: ``ssh-keygen -Y``."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from maxpool_check.evidence.bundling.contents import DESCRIPTION, MANIFEST, SIGNATURE, BadBundle, manifest
from maxpool_check.files import read_regular

_PROGRAM = "ssh-keygen"
_NAMESPACE = "maxpool-check-evidence"
"""What a signature is for, in the words of ``ssh-keygen -n``."""

_MOST_BYTES = 2**20
_FORM = re.compile(rb"-----BEGIN SSH SIGNATURE-----\n[A-Za-z0-9+/=\n]+-----END SSH SIGNATURE-----\n")
"""A signature as ssh-keygen writes it. ssh-keygen itself ignores bytes behind a signature."""

_PUBLIC_KEY = re.compile(rb"(?:ssh|ecdsa|sk)-\S+ [A-Za-z0-9+/=]+")
_ANYBODY = "signer"


class CannotSign(ValueError):
    """A key that cannot sign or verify, or no program to do so."""


class WrongSignature(ValueError):
    """A signature that is not of this content, or not by one of these keys."""


def signed(members: Mapping[str, bytes], key: Path) -> dict[str, bytes]:
    """The members with the signature of their manifest, by a private key, or a public one whose agent is running.

    Raises :class:`BadBundle` for members that are signed already or do not match their manifest, and :class:`CannotSign`.
    """
    if DESCRIPTION not in members or MANIFEST not in members:
        missing = MANIFEST if DESCRIPTION in members else DESCRIPTION
        raise BadBundle(f"it has no {missing}; is this a bundle of evidence?")
    if SIGNATURE in members:
        raise BadBundle("it is signed already; to sign it with another key, build it again")
    if manifest(members) != members[MANIFEST]:
        text = "its files are not those of its manifest, so that it is not signed"
        raise BadBundle(f"{text}; 'maxpool-check evidence verify' names them")
    if not key.is_file():
        raise CannotSign(f"no key {key}; 'ssh-keygen -t ed25519 -f {key}' makes one")
    # It asks for the passphrase of a key on the terminal.
    done = _keygen("sign", "-q", "-f", str(key), content=members[MANIFEST])
    if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise CannotSign(f"{_PROGRAM} does not sign with {key}: {_message(done) or f'exit status {done.returncode}'}")
    return {**members, SIGNATURE: done.stdout}


def signer(content: bytes, signature: bytes, key: Path | None) -> str:
    """A sentence on who has signed; ``key`` is a public key of OpenSSH, or a file of allowed signers.

    Without one, the signature is compared with the content alone. Raises :class:`WrongSignature` and :class:`CannotSign`,
    and ``OSError`` for a key that cannot be read.
    """
    if not _FORM.fullmatch(signature):
        raise WrongSignature("the file is not one signature of OpenSSH, and nothing besides")
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as temporary:
        file, allowed = Path(temporary) / "signature", Path(temporary) / "allowed_signers"
        file.write_bytes(signature)
        if key is None:
            done = _keygen("check-novalidate", "-s", str(file), content=content)
            if done.returncode:
                raise WrongSignature(f"the signature is not of this manifest ({_message(done)})")
            return f"The signature is of this manifest, by {_fingerprint(done)}; --key tells whether that is whom you trust."
        message, of_key = "", read_regular(key, _MOST_BYTES)
        lines = [line for line in of_key.splitlines() if line.strip() and not line.startswith(b"#")]
        if b"PRIVATE KEY" in of_key or not lines:
            raise CannotSign(
                f"{key} is no public key and no file of allowed signers; give the file that ends with .pub"
            )
        # ssh-keygen looks at the first line of a key alone, whatever purposes it allows.
        for line in lines:
            allowed.write_bytes((f"{_ANYBODY} ".encode() if _PUBLIC_KEY.match(line) else b"") + line + b"\n")
            found = _keygen("find-principals", "-s", str(file), "-f", str(allowed))
            if found.returncode == 0:
                principal = found.stdout.decode(errors="replace").splitlines()[0]
                verify = ("verify", "-f", str(allowed), "-I", principal, "-s", str(file))
                done = _keygen(*verify, content=content)
                if done.returncode == 0:
                    by = "" if principal == _ANYBODY else f" of {principal}"
                    return f"The manifest is signed by {_fingerprint(done)}{by}, of {key}."
                message = message or _message(done).replace(str(allowed), str(key))
    if message:
        raise WrongSignature(f"the signature by a key of {key} is not of this manifest ({message})")
    raise WrongSignature(f"the signature is by none of the keys of {key}")


def _keygen(action: str, *options: str, content: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run ``ssh-keygen -Y``. Raises :class:`CannotSign` if it is not there."""
    program = shutil.which(_PROGRAM)
    if program is None:
        text = "install the client of OpenSSH (Debian: apt-get install openssh-client)"
        raise CannotSign(f"{_PROGRAM} not found; {text}")
    purpose = () if action == "find-principals" else ("-n", _NAMESPACE)
    command = [program, "-Y", action, *purpose, *options]
    return subprocess.run(command, input=content, capture_output=True, check=False)


def _message(done: "subprocess.CompletedProcess[bytes]") -> str:
    return done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()


def _fingerprint(done: "subprocess.CompletedProcess[bytes]") -> str:
    match = re.search(r"with (\S+ key SHA256:\S+)", done.stdout.decode(errors="replace"))
    return f"the {match[1]}" if match is not None else "an unknown key"
