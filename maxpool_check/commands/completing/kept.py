"""JSON that is kept in the user's cache between completions; what is broken counts as absent."""

import json
import os
import sys
from typing import Any

FOLDER = "completion"


def cache_folder() -> str:
    """The folder of the cache, as :func:`maxpool_check.targets.cache.cache` has it, without its imports."""
    if override := os.environ.get("MAXPOOL_CHECK_CACHE"):
        return os.path.abspath(override)
    if sys.platform == "linux":
        home = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return os.path.join(home, "maxpool-check")
    import platformdirs

    return platformdirs.user_cache_dir("maxpool-check")


def load(name: str) -> dict[str, Any]:
    """What was kept under a name; empty if there is nothing that can be read."""
    try:
        with open(os.path.join(cache_folder(), FOLDER, name), "rb") as file:
            data = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def save(name: str, data: dict[str, Any]) -> None:
    """Keep data under a name, at once or not at all; a cache that cannot be written is left as it is."""
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
