"""The folder of an export: written as a whole, in the place of an earlier one and of nothing else."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from maxpool_check.exporting.export import MANIFEST, MANIFEST_SCHEMA, Export
from maxpool_check.files import named, read_regular

_MOST_BYTES = 2**28


class NotFree(Exception):
    """A folder that an export cannot be written to without a loss; the message says why and what to do."""


def check_folder(folder: Path, inputs: Iterable[Path]) -> list[Path]:
    """What is at the top of a folder that holds an earlier export, to be replaced.

    Raises :class:`NotFree` if it holds something else, also a file of the export that was changed, or one of the ``inputs``.
    Names at its top that begin with a dot, such as that of a repository, may be there.
    """
    if folder.exists() and not folder.is_dir():
        raise NotFree(f"{folder} is no folder; name another one")
    for path in inputs:
        if path.resolve().is_relative_to(folder.resolve()):
            raise NotFree(f"{path} is read, and lies in {folder}, which is to be written; name another folder")
    entries = list(folder.iterdir()) if folder.exists() else []
    if not any(not entry.name.startswith(".") for entry in entries):
        return []
    digests = _digests(folder)
    if digests is None:
        raise NotFree(f"{folder} is not empty and is no export of maxpool-check; name a new folder")
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if (file.is_dir() and not file.is_symlink()) or name.startswith(".") or name == MANIFEST:
            continue
        if name not in digests:
            raise NotFree(f"{file} is not of the export in {folder}; move it, or name a new folder")
        if hashlib.sha256(file.read_bytes()).hexdigest() != digests[name]:
            raise NotFree(f"{file} was changed after it was exported; move it, or name a new folder")
    return [entry for entry in entries if not entry.name.startswith(".")]


def _digests(folder: Path) -> dict[str, str] | None:
    """The digests of the files of an export, by path; None if the folder is none."""
    try:
        manifest: Any = json.loads(read_regular(folder / MANIFEST, _MOST_BYTES))
        if manifest["schema"] != MANIFEST_SCHEMA:
            return None
        return {str(name): str(digest) for name, digest in manifest["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_export(export: Export, folder: Path, earlier: Iterable[Path]) -> None:
    """Write an export to a folder that was checked; what is ``earlier`` is removed when the new files are complete.

    Raises ``OSError``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".maxpool-check-", dir=folder) as temporary:
        new = Path(temporary)
        for name, content in {**export.files, MANIFEST: export.manifest()}.items():
            path = new / name
            with named(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        for path in earlier:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        for path in sorted(new.iterdir()):
            path.rename(folder / path.name)
