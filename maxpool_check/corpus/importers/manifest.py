"""The manifest of an export, which has the digests of the files beside it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from maxpool_check.corpus.importers import Broken
from maxpool_check.corpus.vectors import MANIFEST_SCHEMA
from maxpool_check.files import read_regular

NAME = "manifest.json"
_MOST_BYTES = 2**30
_AGAIN = f"export the cases again, or remove {NAME} if the change is meant"


def check_files(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raise :class:`Broken` for a file of an export that is not there any more, or was changed."""
    for name, digest in _digests(manifest).items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise Broken(f"its key files has '{name}', which is outside of the folder")
        try:
            content = read_regular(folder / name, _MOST_BYTES)
        except OSError as error:
            raise Broken(f"{name} of this export cannot be read: {error.strerror}; {_AGAIN}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise Broken(f"{name} of this export was changed; {_AGAIN}")


def check_beside(file: Path, content: bytes) -> None:
    """Raise :class:`Broken` for a file with this content that the manifest beside it has with another digest."""
    try:
        manifest = json.loads(read_regular(file.parent / NAME, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return
    if not isinstance(manifest, dict) or manifest.get("schema") != MANIFEST_SCHEMA:
        return
    digest = _digests(manifest).get(file.name)
    if digest is not None and digest != hashlib.sha256(content).hexdigest():
        raise Broken(f"{NAME} beside it has another digest: the file was changed; {_AGAIN}")


def _digests(manifest: Mapping[str, Any]) -> dict[str, Any]:
    files = manifest.get("files")
    return files if isinstance(files, dict) else {}
