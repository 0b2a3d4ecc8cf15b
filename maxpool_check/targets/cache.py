"""The folder of the user's cache that holds isolated environments, and what cannot be made there."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import platformdirs

_PARTIAL = ".partial"
"""How the name of a folder ends that is being filled: renamed when complete, so that what is interrupted leaves nothing else."""


class CannotMake(RuntimeError):
    """An environment that cannot be created; the message says how to fix it."""


class NotMade(CannotMake):
    """An environment that does not exist, and may not be created; ``requirements`` are what it would hold."""

    def __init__(self, requirements: Sequence[str], interpreter: str | None = None) -> None:
        interpreter = interpreter or f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        super().__init__(
            f"offline, and {cache()} has no environment with {' and '.join(requirements)} for {interpreter}"
        )
        self.requirements = tuple(requirements)


class NoSuchRelease(CannotMake):
    """A release that the package index, or the folder of wheels, does not have."""


def cache() -> Path:
    """The folder that holds the environments, in that of the user's cache; ``MAXPOOL_CHECK_CACHE`` is another one."""
    folder = os.environ.get("MAXPOOL_CHECK_CACHE") or platformdirs.user_cache_dir("maxpool-check")
    return Path(folder, "environments").absolute()


def made(final: Path, mark: Path, fill: Callable[[Path], None]) -> Path:
    """A folder of the cache, filled by ``fill`` unless it has the file ``mark``. Concurrent calls for the same one wait for one another.

    Raises :class:`CannotMake`.
    """
    from filelock import FileLock

    if mark.exists():
        # Complete, as it was renamed: no lock, which a cache that cannot be written has no place for.
        return final
    partial = final.with_name(f"{final.name}{_PARTIAL}")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        # An installation that was killed has left its folder.
        _remove(cache().glob(f"*{_PARTIAL}"))
        with FileLock(final.with_name(f"{final.name}.lock")):
            if not mark.exists():
                # The interpreter that the environment was created with may have been removed since.
                shutil.rmtree(final, ignore_errors=True)
                try:
                    fill(partial)
                    partial.rename(final)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise CannotMake(f"cannot write to {cache()}: {error}; set MAXPOOL_CHECK_CACHE to a writable folder") from error
    return final


def sizes() -> dict[Path, int]:
    """The folders of the cache, each with its size in bytes: environments, and what killed installations have left.

    Raises ``OSError``.
    """
    try:
        folders = sorted(Path(entry) for entry in os.scandir(cache()) if entry.is_dir())
    except FileNotFoundError:
        folders = []
    return {folder: sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) for folder in folders}


def clear() -> list[Path]:
    """Remove the folders of the cache, but those that are being installed; the removed ones. Raises ``OSError``."""
    return _remove(path for path in cache().glob("*") if path.is_dir())


def _remove(folders: Iterable[Path]) -> list[Path]:
    """Remove folders of the cache whose lock nobody holds; the removed ones."""
    from filelock import FileLock, Timeout

    removed = []
    for folder in folders:
        lock = folder.with_name(f"{folder.name.removesuffix(_PARTIAL)}.lock")
        with contextlib.suppress(Timeout), FileLock(lock, timeout=0):
            if folder.is_symlink():
                folder.unlink()
            else:
                shutil.rmtree(folder)
            lock.unlink(missing_ok=True)
            removed.append(folder)
    return removed


def python_of(folder: Path) -> Path:
    """The Python of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
