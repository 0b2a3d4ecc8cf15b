"""Says what an environment is made of: its Python, and its distributions with digests of their files.

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
from typing import Any, Iterator

_LIBRARY = re.compile(r"\.(so|dylib|dll|pyd|exe)(\.\d+)*$", re.IGNORECASE)
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How files of machine code begin: on Linux, Windows and macOS."""

_OF_INSTALLER = re.compile(r"\.pyc$|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json|uv_\w+\.json)$")
"""Files that an installer adds to those of the wheel."""

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
    """One distribution, with digests of its files."""
    distribution = installed[name]
    description = {
        "name": name,
        "version": distribution.version,
        "requires": [other for other in requirements(distribution) if other in installed and other != name],
    }
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if "dir_info" in origin and origin["dir_info"].get("editable"):
        # Its list has a pointer to a folder, and none of the files that are imported.
        return description
    archive = origin.get("archive_info", {})
    sha256 = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").partition("sha256=")[2]
    if sha256:
        wheel = {"file": origin["url"].rpartition("/")[2], "sha256": sha256}
    if wheel:
        description.update(wheel=wheel["file"], wheel_sha256=wheel["sha256"])
    record = distribution.read_text("RECORD")
    if record is not None:
        files = sorted({*_files(distribution, record)})
        description["libraries"] = {path: sha256 for path, sha256, is_library in files if is_library}
        lines = "".join("%s  %s\n" % (sha256, path) for path, sha256, _ in files)
        description["files_sha256"] = hashlib.sha256(lines.encode()).hexdigest()
    return description


def _files(distribution: Any, record: str) -> Iterator[tuple[str, str, bool]]:
    """The files of a list: the name, the digest, and whether it is a library or a program.

    The digests of libraries and programs are those of the files that are there, the others' are those of the list.
    """
    for path, *more in filter(None, csv.reader(record.splitlines())):
        listed = more[0] if more else ""
        if _OF_INSTALLER.search(path):
            continue
        file = Path(str(distribution.locate_file(path)))
        is_library = bool(_LIBRARY.search(path)) or ("." not in path.rpartition("/")[2] and _is_program(file))
        # Scripts have the folder of the environment in their first line.
        if not is_library and path.startswith(("..", "/")):
            continue
        algorithm, _, value = listed.partition("=")
        if is_library or not listed:
            yield path, digest(file) or "missing", is_library
        elif algorithm == "sha256":
            yield path, base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex(), False
        else:
            yield path, listed, False


def _is_program(file: Path) -> bool:
    """Whether a file without a suffix is machine code, such as the compiler of a runtime."""
    try:
        with file.open("rb") as stream:
            return stream.read(4).startswith(_PROGRAMS)
    except OSError:
        return False


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
