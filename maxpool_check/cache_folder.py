"""The folder of the user's cache; found without slow imports, as completion needs it."""

import os
import sys


def cache_folder() -> str:
    """The folder of the cache, as an absolute path; ``MAXPOOL_CHECK_CACHE`` overrides it."""
    if override := os.environ.get("MAXPOOL_CHECK_CACHE"):
        return os.path.abspath(override)  # noqa: PTH100 (pathlib is slow to import)
    if sys.platform == "linux":
        caches = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.join(_home(), ".cache")  # noqa: PTH118
        return os.path.join(caches, "maxpool-check")  # noqa: PTH118
    import platformdirs

    return platformdirs.user_cache_dir("maxpool-check")


def _home() -> str:
    """The user's home folder: that of the user database if HOME is unset or empty, and one that does not exist for no user."""
    if home := os.environ.get("HOME"):
        return home
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/nonexistent"
