"""What an environment of npm is made of: its packages, with the digests that npm has of them and those of their files."""

import hashlib
import json
import re
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

from maxpool_check.results.provenance import Distribution, PythonEnvironment
from maxpool_check.targets.cache import LOCK_OF_NPM

_LIBRARY = re.compile(r"\.(wasm|node|so|dylib|dll)(\.\d+)*$")

_PACKAGES = "node_modules/"


@lru_cache(8)
def contents(folder: Path, version: str) -> PythonEnvironment:
    """The contents of an environment, and the Node.js that is on PATH, of this version. Nothing in the folder changes.

    Raises ``OSError`` or ``ValueError`` if the folder is damaged.
    """
    packages = json.loads((folder / LOCK_OF_NPM).read_text(encoding="utf-8"))["packages"]
    program = shutil.which("node")
    return PythonEnvironment(
        implementation="Node.js",
        version=version,
        executable_sha256=_digest(Path(program).resolve()) if program is not None else None,
        distributions=tuple(
            _described(folder / place, place.rpartition(_PACKAGES)[2], package, packages)
            for place, package in sorted(packages.items())
            if place
        ),
    )


def _described(folder: Path, name: str, package: dict[str, Any], packages: dict[str, Any]) -> Distribution:
    """One package; the packages of others may be in its own folder."""
    nested = folder / _PACKAGES
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and nested not in path.parents
    )
    digests = {path.relative_to(folder).as_posix(): _digest(path) for path in files}
    lines = "".join(f"{digest}  {path}\n" for path, digest in digests.items())
    return Distribution(
        name=name,
        version=package["version"],
        requires=tuple(sorted(other for other in package.get("dependencies", ()) if f"{_PACKAGES}{other}" in packages)),
        integrity=package.get("integrity"),
        files_sha256=hashlib.sha256(lines.encode()).hexdigest(),
        libraries={path: digest for path, digest in digests.items() if _LIBRARY.search(path)},
    )


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()
