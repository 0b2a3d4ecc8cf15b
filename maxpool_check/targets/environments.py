"""The releases of runtimes, and isolated environments: one for each, created once and kept in the user's cache.

Some dependencies are imported on first use: most runs test what is installed.
"""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import uv
from packaging.version import Version

_FINDING_UV = threading.Lock()
"""Held while uv is located: ``sysconfig``, which locates it, is not safe for threads before Python 3.13."""


class CannotMake(RuntimeError):
    """An environment that cannot be created; the message says how to fix it."""


def cache() -> Path:
    """The folder that holds the environments; ``MAXPOOL_CHECK_CACHE`` overrides it."""
    import platformdirs

    override = os.environ.get("MAXPOOL_CHECK_CACHE")
    folder = Path(override) if override else Path(platformdirs.user_cache_dir("maxpool-check"))
    return folder.absolute() / "environments"


def interpreter(distribution: str, version: str, besides: Sequence[str] = ()) -> Path:
    """The Python of an environment that holds this release and numpy; creates the environment if it does not exist.

    ``besides`` are other distributions that it holds, without versions. Raises :class:`CannotMake`.
    """
    requirements = [f"{distribution}=={version}", *companions(distribution, version), *besides]
    return _made("+".join([f"{distribution}-{version}", *besides]), requirements)


def holding(requirements: Sequence[str]) -> Path:
    """The Python of an environment that holds these requirements and what they depend on; created if it does not exist.

    Raises :class:`CannotMake`.
    """
    digest = hashlib.sha256("\n".join(sorted(requirements)).encode()).hexdigest()
    return _made(f"requirements-{digest[:16]}", requirements)


def _made(title: str, requirements: Sequence[str]) -> Path:
    """The Python of the environment of the cache with this title. Concurrent calls for the same one wait for one another."""
    from filelock import FileLock

    python = f"{platform.python_implementation().lower()}{sys.version_info[0]}.{sys.version_info[1]}"
    name = f"{title}-{python}-{platform.machine()}"
    final = cache() / name
    if _python(final).exists():
        # Complete, as it was renamed: no lock, which a cache that cannot be written has no place for.
        return _python(final)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        # An installation that was killed has left its folder.
        _remove(path for path in cache().glob("*") if path.is_dir() and not os.path.lexists(_python(path)))
        with FileLock(final.with_name(f"{name}.lock")):
            if not _python(final).exists():
                # The interpreter that the environment was created with may have been removed since.
                shutil.rmtree(final, ignore_errors=True)
                # Renamed when complete, so that an interrupted run leaves nothing incomplete.
                with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=final.parent) as partial:
                    _fill(Path(partial, "environment"), sys.executable, requirements)
                    Path(partial, "environment").rename(final)
    except OSError as error:
        raise CannotMake(f"cannot write to {cache()}: {error}; set MAXPOOL_CHECK_CACHE to a writable folder") from error
    return _python(final)


def kept() -> dict[Path, int]:
    """The folders of the cache, each with its size in bytes: environments, and what killed installations have left."""
    folders = sorted(path for path in cache().glob("*") if path.is_dir())
    return {folder: sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) for folder in folders}


def clear() -> list[Path]:
    """Remove the folders of the cache, but those that are being installed; the removed ones. Raises ``OSError``."""
    return _remove(path for path in cache().glob("*") if path.is_dir())


def _remove(folders: Iterable[Path]) -> list[Path]:
    """Remove folders of the cache whose lock nobody holds; the removed ones."""
    from filelock import FileLock, Timeout

    removed = []
    for folder in folders:
        # An incomplete folder has the name of its environment, a dot, and random letters.
        own = [lock for lock in cache().glob("*.lock") if f"{folder.name}.".startswith(f"{lock.stem}.")]
        lock = own[0] if own else folder.with_name(f"{folder.name}.lock")
        with contextlib.suppress(Timeout), FileLock(lock, timeout=0):
            shutil.rmtree(folder)
            lock.unlink(missing_ok=True)
            removed.append(folder)
    return removed


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _fill(folder: Path, python: str, requirements: Sequence[str]) -> None:
    process = run_uv("venv", "--python", python, str(folder))
    if process.returncode == 0:
        process = run_uv("pip", "install", "--only-binary", ":all:", "--python", str(_python(folder)), *requirements)
    if process.returncode == 0:
        return
    minors = sorted({int(minor) for minor in re.findall(r"`cp3(\d+)`", process.stderr)} - {sys.version_info[1]})
    if python == sys.executable and "matching Python ABI tag" in process.stderr and minors:
        # The release has wheels for other versions of Python only: take the newest of them.
        shutil.rmtree(folder, ignore_errors=True)
        _fill(folder, f"3.{minors[-1]}", requirements)
        return
    version = platform.python_version() if python == sys.executable else python
    raise CannotMake(
        f"cannot create an environment with {' and '.join(requirements)} for Python {version}:\n"
        f"{explain(process.stderr, requirements[0].partition('==')[0])}"
    )


_PLUGINS = {"onnxruntime-ep-webgpu": ("0", "0.4.0"), "onnxruntime-qnn": ("2", "2.7.0")}
"""Distributions that contain a provider only: since which release, and the newest tested release."""


def companions(distribution: str, version: str) -> list[str]:
    """What is installed with a release: numpy, and what the release needs but does not declare."""
    release = Version(version)
    if distribution == "openvino":
        # numpy itself has no type for bfloat16.
        return ["numpy", "ml_dtypes"]
    if distribution == "onnxsim" and release < Version("0.7"):
        # Where these miss ONNX Runtime, they install it themselves.
        return ["numpy", "onnxruntime"]
    since, tested = _PLUGINS.get(distribution, (None, ""))
    if since is not None and release >= Version(since):
        # The ONNX Runtime is pinned, since results depend on both; releases after 1.26 cannot load onnxruntime-qnn 2.0 to 2.3.
        pin = "==1.26.0" if Version("2") <= release < Version("2.4") else "==1.31.1"
        return [f"onnxruntime{pin if release <= Version(tested) else ''}", "numpy"]
    # Releases before 1.19 are built against numpy 1 and do not declare it.
    return ["numpy<2"] if distribution.startswith("onnxruntime") and release < Version("1.19") else ["numpy"]


def explain(message: str, distribution: str) -> str:
    """An error message of uv about a distribution, indented, and what to do about it."""
    missing = f"The index has no such release; its page on {distribution} lists those there are."
    unreachable = "The package index or Python download cannot be reached. Environments created before work without it."
    advice_by_part = {
        "network was disabled": "uv runs offline (UV_OFFLINE). Environments created before work without a package index.",
        "there is no version": missing,
        "not found in the package registry": missing,
        "Failed to fetch": unreachable,
        "error sending request": unreachable,
        "ABI tag": "The release has no wheel for this Python; use ?python=PATH with an interpreter that has it installed.",
    }
    other = "uv manages the environments; its settings (UV_DEFAULT_INDEX and others) apply."
    advice = next((advice for part, advice in advice_by_part.items() if part in message), other)
    return f"{textwrap.indent(message.strip(), '    ')}\n{advice}"


def run_uv(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run uv with its own settings and, where those are unset, pip's index. Raises :class:`CannotMake`."""
    environment = dict(os.environ)
    for pip_name, uv_name in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_INDEX")):
        if pip_name in environment:
            environment.setdefault(uv_name, environment[pip_name])
    try:
        with _FINDING_UV:
            program = uv.find_uv_bin()
    except FileNotFoundError as error:
        raise CannotMake("uv is not installed with maxpool-check; install it with 'pip install uv'") from error
    # Not the user's folder: a project there must not configure the environment.
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [program, "--quiet", "--no-progress", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )


class NoReleases(RuntimeError):
    """The package index cannot be reached, or has no release for this Python."""


def released(distribution: str, *, pre: bool = False) -> list[Version]:
    """The versions that have a wheel for this Python, ascending; with pre-releases if ``pre``.

    They come from the index that environments are installed from. Raises :class:`NoReleases`.
    """
    versions: list[Version] = []
    requirement = distribution
    # uv has no command that lists versions: resolve the newest, then the newest before it, down to the first.
    while True:
        try:
            process = run_uv(
                *("pip", "compile", "--python", sys.executable, "--only-binary", ":all:", "--no-deps"),
                *("--no-header", "--no-annotate", "--prerelease", "allow" if pre else "disallow", "-"),
                stdin=requirement,
            )
        except (CannotMake, OSError) as error:
            raise NoReleases(f"cannot list the releases of {distribution}: {error}") from error
        if process.returncode == 0:
            version = process.stdout.strip().rpartition("==")[2]
            versions.append(Version(version))
            requirement = f"{distribution}<={version},!={version}"
        elif versions and "No solution found" in process.stderr and "network was disabled" not in process.stderr:
            return versions[::-1]
        else:
            raise NoReleases(f"cannot list the releases of {distribution}:\n{explain(process.stderr, distribution)}")
