"""Says what an environment is made of: its Python, and its distributions with digests of their files.

Run by the Python of the environment, with the names of distributions to begin with; what they need follows. Without names,
all distributions. It prints one JSON object. It runs on Python 3.8 and later, and imports nothing but the standard library.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Iterable, Iterator

_LIBRARY = re.compile(r"\.(so|dylib|dll|pyd|exe)(\.\d+)*$", re.IGNORECASE)
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How files of machine code begin: on Linux, Windows and macOS."""

_OF_INSTALLER = re.compile(r"\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json|uv_\w+\.json)$")
"""Files that an installer adds to those of the wheel."""

_CHUNK = 2**20
WHEELS = "wheels.json"
"""The file of an environment that has the name and digest of the wheel of each distribution; who makes it writes it."""


WATCHED: dict[str, list[int]] = {}
"""The files and folders that the contents depend on, as they were before they were read: while they are so, so are these."""


def watch(path: str) -> None:
    """Note how a file or folder is before it is read."""
    try:
        state = os.stat(path)  # noqa: PTH116 - as the reader of this list does
    except OSError:
        return
    WATCHED.setdefault(path, [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino])


def main(names: list[str]) -> None:
    """Print the contents of this environment."""
    installed = needed(names) if names else everything()
    wheels = _wheels()
    for folder in sys.path:
        watch(folder)
    contents = {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "executable_sha256": _digest_or_none(Path(sys.executable)),
        "distributions": [described(name, installed, wheels.get(name)) for name in sorted(installed)],
        "watched": WATCHED,
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


def everything() -> dict[str, Any]:
    """All distributions, by name."""
    installed: dict[str, Any] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        # The first one is that which is imported.
        if name:
            installed.setdefault(normalized(name), distribution)
    return installed


def needed(names: Iterable[str]) -> dict[str, Any]:
    """These distributions and what they require, by name, as far as they are installed."""
    installed: dict[str, Any] = {}
    waiting = [normalized(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name not in installed:
            try:
                installed[name] = metadata.distribution(name)
            except metadata.PackageNotFoundError:
                continue
            waiting += requirements(installed[name])
    return installed


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
        listed = dict(_listed(distribution, record))
        description["libraries"] = {path: digest for path, (digest, is_library) in listed.items() if is_library}
        lines = "".join("%s  %s\n" % (digest, path) for path, (digest, _) in sorted(listed.items()))
        description["files_sha256"] = hashlib.sha256(lines.encode()).hexdigest()
    return description


def _listed(distribution: Any, record: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    """The files of a list, by name: their digest, and whether they are libraries or programs."""
    for row in csv.reader(record.splitlines()):
        path, listed = row[0], row[1] if len(row) > 1 else ""
        if path.endswith(".pyc") or _OF_INSTALLER.search(path):
            if path.endswith("/RECORD"):
                located = _located(path, distribution)
                for other in (
                    located,
                    located.parent,
                    located.with_name("METADATA"),
                    located.with_name("direct_url.json"),
                ):
                    watch(str(other))
            continue
        is_library = bool(_LIBRARY.search(path)) or (
            "." not in path.rpartition("/")[2] and _is_program(path, distribution)
        )
        # Scripts have the folder of the environment in their first line.
        if is_library or not path.startswith(("..", "/")):
            digest = "" if is_library or not listed else _in_hexadecimal(listed)
            yield path, (digest or _digest_or_none(_located(path, distribution)) or "missing", is_library)


def _located(path: str, distribution: Any) -> Path:
    return Path(str(distribution.locate_file(path)))


def _is_program(path: str, distribution: Any) -> bool:
    """Whether a file without a suffix is machine code, such as the compiler of a runtime."""
    try:
        with _located(path, distribution).open("rb") as stream:
            return stream.read(4).startswith(_PROGRAMS)
    except OSError:
        return False


def _in_hexadecimal(listed: str) -> str:
    """The digest of a list, which is ``sha256=`` and base64 without padding."""
    algorithm, _, value = listed.partition("=")
    if algorithm != "sha256":
        return listed
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()


def _digest_or_none(file: Path) -> str | None:
    digest = hashlib.sha256()
    watch(str(file))
    try:
        with file.open("rb") as stream:
            while True:
                chunk = stream.read(_CHUNK)
                if not chunk:
                    return digest.hexdigest()
                digest.update(chunk)
    except OSError:
        return None


def _wheels() -> dict[str, dict[str, str]]:
    watch(str(Path(sys.prefix) / WHEELS))
    try:
        with (Path(sys.prefix) / WHEELS).open(encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    main(sys.argv[1:])
