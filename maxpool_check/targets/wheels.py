"""The wheels that an environment was installed from: their names and digests, as the package index or the folder has them."""

import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename


def installed_wheels(environment: Path, lock: str) -> dict[str, dict[str, str]]:
    """The ``file`` and ``sha256`` of the wheel of each distribution of an environment, as far as they are known.

    ``lock`` is a lock file (``pylock.toml``) of the same versions, with all wheels that fit: the one with the tags of
    the installed distribution is that which was installed.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    tags = _installed_tags(environment)
    found = {}
    for package in tomllib.loads(lock).get("packages", ()):
        name = canonicalize_name(package["name"])
        wheels = [(_file_name(wheel), wheel.get("hashes", {}).get("sha256")) for wheel in package.get("wheels", ())]
        same = [(file, digest) for file, digest in wheels if digest and _tags(file) == tags.get(name)]
        # Of a wheel that was renamed, the tags inside are not those of its name.
        chosen = same or (wheels if len(wheels) == 1 else [])
        if name in tags and len(chosen) == 1 and chosen[0][1]:
            found[str(name)] = {"file": chosen[0][0], "sha256": chosen[0][1]}
    return found


def _installed_tags(environment: Path) -> dict[str, frozenset[str]]:
    """The tags of the wheel of each distribution, by its name."""
    folders = [*environment.glob("lib/python*/site-packages"), *environment.glob("Lib/site-packages")]
    tags: dict[str, frozenset[str]] = {}
    for distribution in metadata.distributions(path=list(map(str, folders))):
        lines = (distribution.read_text("WHEEL") or "").splitlines()
        listed = frozenset(line.partition(":")[2].strip() for line in lines if line.startswith("Tag:"))
        tags[canonicalize_name(distribution.metadata["Name"])] = listed
    return tags


def _file_name(wheel: Mapping[str, Any]) -> str:
    address = wheel.get("name") or wheel.get("path") or urlsplit(wheel.get("url", "")).path
    return unquote(address.replace("\\", "/").rpartition("/")[2])


def _tags(file: str) -> frozenset[str] | None:
    try:
        tags: Iterable[object] = parse_wheel_filename(file)[3]
    except InvalidWheelFilename:
        return None
    return frozenset(map(str, tags))
