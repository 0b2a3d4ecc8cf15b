"""Says what an environment is made of: its Python, and its distributions with the digests that their RECORD files state.

Run by the Python of the environment, with the names of distributions to begin with; what they need follows. Without names,
all distributions. It prints one JSON object. It runs on Python 3.8 and later, and imports nothing but the standard library.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import platform
import re
import sys
from pathlib import Path
from typing import Any

_LIBRARY = re.compile(r"\.(so|dylib|dll|pyd)(\.\d+)*$", re.IGNORECASE)

_OF_INSTALLER = re.compile(
    r"\.pyc$|^(\.\./)+(bin|Scripts)/|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json|uv_\w+\.json)$"
)
"""Files that an installer adds to those of the wheel, or changes: scripts have the folder of the environment in their first line."""

WHEELS = "wheels.json"
"""The file of an environment that has the name and digest of the wheel of each distribution; who makes it writes it."""


def main(names: list[str]) -> None:
    """Print the contents of this environment."""
    try:
        wheels = json.loads((Path(sys.prefix) / WHEELS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        wheels = {}
    installed = distributions(names)
    contents = {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "executable_sha256": digest(Path(sys.executable)),
        "distributions": [described(name, installed, wheels.get(name)) for name in sorted(installed)],
    }
    sys.stdout.write(json.dumps(contents) + "\n")


def normalized(name: str) -> str:
    """The name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(distribution: Any) -> list[str]:
    """The names that a distribution requires, whatever the marker says, but not those of its extras."""
    lines = [line for line in distribution.requires or () if not re.search(r";.*\bextra\b", line)]
    matches = (re.match(r"\s*([A-Za-z0-9._-]+)", line) for line in lines)
    return sorted({normalized(match[1]) for match in matches if match})


def distributions(names: list[str]) -> dict[str, Any]:
    """The installed ones of these distributions and of what they require, by name; without names, all."""
    # Of several with one name, the first one is that which is imported.
    # The tool, which imports this module, starts a worker first.
    from importlib import metadata

    named = [(each.metadata["Name"], each) for each in metadata.distributions()]
    installed = {normalized(name): each for name, each in reversed(named) if name}
    if not names:
        return installed
    needed: dict[str, Any] = {}
    waiting = [normalized(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in installed and name not in needed:
            needed[name] = installed[name]
            waiting += requirements(installed[name])
    return needed


def described(name: str, installed: dict[str, Any], wheel: dict[str, str] | None) -> dict[str, Any]:
    """One distribution, with the digests that its RECORD states; without them if no RECORD lists its files."""
    distribution = installed[name]
    description = {
        "name": name,
        "version": distribution.version,
        "requires": [other for other in requirements(distribution) if other in installed and other != name],
    }
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if "dir_info" in origin and origin["dir_info"].get("editable"):
        # Its RECORD has a pointer to a folder, and none of the files that are imported.
        return description
    archive = origin.get("archive_info", {})
    sha256 = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").partition("sha256=")[2]
    if sha256:
        wheel = {"file": origin["url"].rpartition("/")[2], "sha256": sha256}
    if wheel:
        description.update(wheel=wheel["file"], wheel_sha256=wheel["sha256"])
    rows = csv.reader((distribution.read_text("RECORD") or "").splitlines())
    listed = sorted([*row, "", ""][:3] for row in rows if row and not _OF_INSTALLER.search(row[0]))
    files = [(path, _hexadecimal(sha256), size) for path, sha256, size in listed]
    if files:
        lines = "".join("%s  %s\n" % (sha256, path) for path, sha256, _ in files)
        description["files_sha256"] = hashlib.sha256(lines.encode()).hexdigest()
        description["libraries"] = {path: sha256 for path, sha256, _ in files if _LIBRARY.search(path)}
        description["changed"] = [
            path for path, _, size in files if size and size != _size(distribution.locate_file(path))
        ]
    return description


def _hexadecimal(stated: str) -> str:
    """A digest of a RECORD as ``sha256sum`` writes it; as it is stated, if it is not a SHA-256."""
    algorithm, _, value = stated.partition("=")
    return base64.urlsafe_b64decode(value + "=").hex() if algorithm == "sha256" else stated


def _size(file: Any) -> str:
    """The size of a file in bytes, as a RECORD states it; empty if there is no such file."""
    try:
        return str(Path(str(file)).stat().st_size)
    except OSError:
        return ""


def digest(file: Path) -> str | None:
    """The SHA-256 of a file in hexadecimal, read in parts; None if it cannot be read."""
    sha256 = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            for chunk in iter(lambda: stream.read(2**20), b""):
                sha256.update(chunk)
    except OSError:
        return None
    return sha256.hexdigest()


if __name__ == "__main__":
    main(sys.argv[1:])
