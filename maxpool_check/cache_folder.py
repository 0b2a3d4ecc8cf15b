"""The folder of the user's cache; found without slow imports, as completion needs it."""

import os
import sys


def cache_folder() -> str:
    """The folder of the cache, as an absolute path; ``MAXPOOL_CHECK_CACHE`` overrides it."""
    if override := os.environ.get("MAXPOOL_CHECK_CACHE"):
        return os.path.abspath(override)  # noqa: PTH100 (pathlib is slow to import)
    if sys.platform == "linux":
        home = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")  # noqa: PTH111
        return os.path.join(home, "maxpool-check")  # noqa: PTH118
    import platformdirs

    return platformdirs.user_cache_dir("maxpool-check")
