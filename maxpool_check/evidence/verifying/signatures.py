"""Verifies the signature of a bundle with the keys of OpenSSH: ``ssh-keygen -Y verify``."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from maxpool_check.evidence.bundling.bundle import NAMESPACE
from maxpool_check.evidence.bundling.signing import PROGRAM
from maxpool_check.files import read_regular

_MOST_BYTES = 2**20
_PUBLIC_KEY = re.compile(rb"(?:ssh|ecdsa|sk)-\S+ [A-Za-z0-9+/=]+")
_ANYBODY = "signer"


class WrongSignature(ValueError):
    """A signature that is not of this content, or not by one of these keys."""


class CannotVerify(ValueError):
    """No program to verify a signature, or a key that is none."""


def signer(content: bytes, signature: bytes, key: Path | None) -> str:
    """A sentence on who has signed; ``key`` is a public key of OpenSSH, or a file of allowed signers.

    Without one, the signature is compared with the content alone. Raises :class:`WrongSignature` and :class:`CannotVerify`,
    and ``OSError`` for a key that cannot be read.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise CannotVerify(
            f"{PROGRAM} not found; install the client of OpenSSH (Debian: apt-get install openssh-client)"
        )
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as temporary:
        file = Path(temporary) / "signature"
        file.write_bytes(signature)
        if key is None:
            done = _run([program, "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(file)], content)
            _check(done, "the signature is not of this manifest")
            return f"The signature is of this manifest, by {_fingerprint(done)}; --key tells whether that is whom you trust."
        messages = []
        # ssh-keygen looks at the first line of a key alone, whatever purposes it allows.
        for number, line in enumerate(_allowed(key)):
            allowed = Path(temporary) / f"allowed_signers_{number}"
            allowed.write_bytes(line)
            found = _run([program, "-Y", "find-principals", "-s", str(file), "-f", str(allowed)], b"")
            if found.returncode:
                continue
            principal = found.stdout.decode(errors="replace").splitlines()[0]
            verify = [program, "-Y", "verify", "-f", str(allowed), "-I", principal, "-n", NAMESPACE, "-s", str(file)]
            done = _run(verify, content)
            if done.returncode == 0:
                by = "" if principal == _ANYBODY else f" of {principal}"
                return f"The manifest is signed by {_fingerprint(done)}{by}, of {key}."
            messages.append(_message(done).replace(str(allowed), str(key)))
    if messages:
        raise WrongSignature(f"the signature by a key of {key} is not of this manifest ({messages[0]})")
    raise WrongSignature(f"the signature is by none of the keys of {key}")


def _allowed(key: Path) -> list[bytes]:
    """The lines of a file of allowed signers: as they are, or of public keys."""
    content = read_regular(key, _MOST_BYTES)
    lines = [line for line in content.splitlines() if line.strip() and not line.startswith(b"#")]
    if b"PRIVATE KEY" in content or not lines:
        raise CannotVerify(f"{key} is no public key and no file of allowed signers; give the file that ends with .pub")
    return [_ANYBODY.encode() + b" " + line + b"\n" if _PUBLIC_KEY.match(line) else line + b"\n" for line in lines]


def _run(command: list[str], content: bytes) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, input=content, capture_output=True, check=False)


def _check(done: "subprocess.CompletedProcess[bytes]", what: str) -> None:
    if done.returncode:
        message = _message(done)
        raise WrongSignature(f"{what}{f' ({message})' if message else ''}")


def _message(done: "subprocess.CompletedProcess[bytes]") -> str:
    return done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()


def _fingerprint(done: "subprocess.CompletedProcess[bytes]") -> str:
    match = re.search(r"with (\S+ key SHA256:\S+)", done.stdout.decode(errors="replace"))
    return f"the {match[1]}" if match is not None else "an unknown key"
