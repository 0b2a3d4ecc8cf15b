"""JSON in the user's cache, between completions; what is broken counts as absent."""

import json
import os
from typing import Any

from maxpool_check.cache_folder import cache_folder

FOLDER = "completion"


def load(name: str) -> dict[str, Any]:
    """What was saved under a name; empty if there is nothing that can be read."""
    try:
        with open(os.path.join(cache_folder(), FOLDER, name), "rb") as file:
            data = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def save(name: str, data: dict[str, Any]) -> None:
    """Save data under a name, at once or not at all; a cache that cannot be written is left as it is."""
    path = os.path.join(cache_folder(), FOLDER, name)
    partial = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(data, file, separators=(",", ":"))
        os.replace(partial, path)
    except OSError:
        pass


def stamp(path: str) -> list[int]:
    """What changes with a file: its time and its size. Raises ``OSError``."""
    status = os.stat(path)
    return [status.st_mtime_ns, status.st_size]
