"""The released versions of a distribution, from the package index by its ordinary client."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

from packaging.version import InvalidVersion, Version


class NoReleases(RuntimeError):
    """The index could not be asked, or has nothing for this Python."""


def released(distribution: str, *, pre: bool = False) -> list[Version]:
    """The versions that the index offers to this Python, ascending; ``pre``: pre-releases too.

    The index, and what it is asked by, are pip's: its own settings apply. Raises :class:`NoReleases`.
    """
    if importlib.util.find_spec("pip") is None:
        raise NoReleases("the releases are listed with pip, which is not installed beside maxpool-check; install it")
    # Wheels alone: what has to be built is not a release of a runtime that anyone upgrades to.
    command = [sys.executable, "-m", "pip", "index", "versions", "--only-binary", ":all:", distribution]
    done = subprocess.run([*command, *(["--pre"] if pre else [])], capture_output=True, text=True, check=False)
    listed = re.search(r"^Available versions: (.+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not listed:
        why = "\n".join(line for line in done.stderr.splitlines() if "WARNING" not in line).strip()
        raise NoReleases(f"no released version of {distribution} can be found: {why or 'the index names none'}")
    found = []
    for text in listed[1].split(","):
        try:
            found.append(Version(text.strip()))
        except InvalidVersion:
            continue
    return sorted(version for version in found if pre or not version.is_prerelease)
