"""The ids of the cases of a folder or a file, cached until their file changes."""

import os
import time
from collections.abc import Iterable
from typing import Any

from maxpool_check.commands.completing import json_cache

_SUFFIXES = (".yaml", ".yml")
_SECONDS = 4.0
"""How long files may be read that have changed; those that are left are read the next time."""
_MOST_FILES = 5000

Entry = dict[str, Any]
"""What is cached of a file: ``cases`` with their ids and titles, and the ``tags``, ``covers``, ``dtypes`` and ``specs`` in use."""


def entries(path: str) -> list[Entry]:
    """What the case files below a path have."""
    path = os.path.abspath(path)
    name = f"cases-{_digest(path)}.json"
    data = json_cache.load(name)
    old = data.get("files", {}) if data.get("path") == path else {}
    deadline = time.monotonic() + _SECONDS
    new: dict[str, Entry] = {}
    changed = []
    for file in _files(path, deadline):
        try:
            stamp = json_cache.stamp(file)
        except OSError:
            continue
        if file in old and old[file].get("stamp") == stamp:
            new[file] = old[file]
        else:
            changed.append((file, stamp))
    if changed:
        new |= _read(path, changed, deadline)
    if changed or len(new) != len(old):
        json_cache.save(name, {"path": path, "files": new})
    return list(new.values())


def _digest(path: str) -> str:
    import hashlib

    return hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:16]


def _files(path: str, deadline: float) -> Iterable[str]:
    if os.path.isfile(path):
        return [path] if path.endswith(_SUFFIXES) else []
    files: list[str] = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith(_SUFFIXES)]
        if len(files) > _MOST_FILES or time.monotonic() > deadline:
            break
    return files[:_MOST_FILES]


def _read(path: str, changed: Iterable[tuple[str, list[int]]], deadline: float) -> dict[str, Entry]:
    """Read files that have changed, as many as there is time for."""
    import gc
    from pathlib import Path

    from maxpool_check.corpus.case_file import read_cases
    from maxpool_check.corpus.collection import is_defect_file, root_of
    from maxpool_check.corpus.problems import CorpusError

    gc.disable()
    root, new = root_of(Path(path)), dict[str, Entry]()
    for file, stamp in changed:
        try:
            cases = [] if is_defect_file(Path(file)) else read_cases(Path(file), root)
        except (CorpusError, OSError):
            # lint says what is wrong with it.
            cases = []
        new[file] = {
            "stamp": stamp,
            "cases": [[case.id, case.title] for case in cases],
            "tags": sorted({tag for case in cases for tag in case.tags}),
            "covers": sorted({clause for case in cases for clause in case.covers}),
            "dtypes": sorted({case.X.dtype.name for case in cases}),
            "specs": sorted({case.spec for case in cases}),
        }
        if time.monotonic() > deadline:
            break
    return new
