"""Isolated environments: one for each release of a runtime, created once and kept in the user's cache.

Some dependencies are imported on first use: most runs test what is installed.
"""

import contextlib
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import uv
from packaging.version import InvalidVersion, Version

from maxpool_check.targets.worker.contents import WHEELS

_FINDING_UV = threading.Lock()
"""Held while uv is located: ``sysconfig``, which locates it, is not safe for threads before Python 3.13."""


class CannotMake(RuntimeError):
    """An environment that cannot be created; the message says how to fix it."""


class NotMade(CannotMake):
    """An environment that does not exist, and may not be created; ``requirements`` are what it would hold."""

    def __init__(self, requirements: Sequence[str]) -> None:
        python = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        super().__init__(f"offline, and {cache()} has no environment with {' and '.join(requirements)} for {python}")
        self.requirements = tuple(requirements)


class NoSuchRelease(CannotMake):
    """A release that the package index, or the folder of wheels, does not have."""


@dataclass(frozen=True)
class WheelSource:
    """Where the wheels of new environments come from: the package index and ``folder``, ``offline`` the folder alone."""

    offline: bool = False
    folder: Path | None = None

    @property
    def makes_nothing(self) -> bool:
        """Whether there is no place to take wheels from, so that only the environments of the cache can be used."""
        return self.offline and self.folder is None

    @property
    def limits(self) -> list[str]:
        """The arguments that keep uv from the network."""
        return ["--offline", "--no-python-downloads"] if self.offline else []

    @property
    def arguments(self) -> list[str]:
        """The arguments that tell uv where wheels are."""
        folder = ["--find-links", str(self.folder)] if self.folder is not None else []
        return [*folder, *(["--no-index"] if self.offline else [])]


def wheel_source() -> WheelSource:
    """The source that ``MAXPOOL_CHECK_OFFLINE`` and ``MAXPOOL_CHECK_FIND_LINKS`` name."""
    offline = os.environ.get("MAXPOOL_CHECK_OFFLINE", "").lower() not in ("", "0", "false", "no", "off", "n", "f")
    folder = os.environ.get("MAXPOOL_CHECK_FIND_LINKS")
    return WheelSource(offline, Path(folder).absolute() if folder else None)


def cache() -> Path:
    """The folder that holds the environments; ``MAXPOOL_CHECK_CACHE`` overrides it."""
    import platformdirs

    override = os.environ.get("MAXPOOL_CHECK_CACHE")
    folder = Path(override) if override else Path(platformdirs.user_cache_dir("maxpool-check"))
    return folder.absolute() / "environments"


def interpreter(
    distribution: str, version: str, besides: Sequence[str] = (), source: WheelSource | None = None
) -> Path:
    """The Python of an environment that holds this release and numpy; creates the environment if it does not exist.

    ``besides`` are other distributions that it holds, without versions. ``source`` is by default that of the environment
    variables. Raises :class:`CannotMake`.
    """
    requirements = [f"{distribution}=={version}", *companions(distribution, version), *besides]
    return _made("+".join([f"{distribution}-{version}", *besides]), requirements, source or wheel_source())


def holding(requirements: Sequence[str]) -> Path:
    """The Python of an environment that holds these requirements and what they depend on; created if it does not exist.

    Raises :class:`CannotMake`.
    """
    digest = hashlib.sha256("\n".join(sorted(requirements)).encode()).hexdigest()
    try:
        return _made(f"requirements-{digest[:16]}", requirements, wheel_source())
    except NotMade as error:
        advice = "Run the same command once where there is a package index, or fill a folder for --find-links there:"
        raise CannotMake(f"{error}\n{advice}\n    {download(requirements, 'wheels')}") from error


def _made(title: str, requirements: Sequence[str], source: WheelSource) -> Path:
    """The Python of the environment of the cache with this title. Concurrent calls for the same one wait for one another."""
    from filelock import FileLock

    name = f"{title}-{_platform()}"
    final = cache() / name
    if _python(final).exists():
        # Complete, as it was renamed: no lock, which a cache that cannot be written has no place for.
        return _python(final)
    if source.makes_nothing:
        raise NotMade(requirements)
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
                    _fill(Path(partial, "environment"), sys.executable, requirements, source)
                    Path(partial, "environment").rename(final)
    except OSError as error:
        raise CannotMake(f"cannot write to {cache()}: {error}; set MAXPOOL_CHECK_CACHE to a writable folder") from error
    return _python(final)


def _platform() -> str:
    """The Python and the machine that the environments of this process are for."""
    python = f"{platform.python_implementation().lower()}{sys.version_info[0]}.{sys.version_info[1]}"
    return f"{python}-{platform.machine()}"


def made_releases(distribution: str) -> list[Version]:
    """The releases that have an environment in the cache, ascending."""
    versions = []
    for folder in cache().glob(f"{distribution}-*-{_platform()}"):
        with contextlib.suppress(InvalidVersion):
            # Others have more in them, or are those of a distribution whose name is longer.
            version = Version(folder.name.removeprefix(f"{distribution}-").removesuffix(f"-{_platform()}"))
            versions += [version] if os.path.lexists(_python(folder)) else []
    return sorted(versions)


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


def _fill(folder: Path, python: str, requirements: Sequence[str], source: WheelSource) -> None:
    process = run_uv("venv", *source.limits, "--python", python, str(folder))
    if process.returncode == 0:
        arguments = ["--only-binary", ":all:", "--python", str(_python(folder)), *source.arguments]
        process = run_uv("pip", "install", *source.limits, *arguments, *requirements)
    if process.returncode == 0:
        _write_wheels(folder, source)
        return
    minors = sorted({int(minor) for minor in re.findall(r"`cp3(\d+)`", process.stderr)} - {sys.version_info[1]})
    if python == sys.executable and "matching Python ABI tag" in process.stderr and minors:
        # The release has wheels for other versions of Python only: take the newest of them.
        shutil.rmtree(folder, ignore_errors=True)
        _fill(folder, f"3.{minors[-1]}", requirements, source)
        return
    version = platform.python_version() if python == sys.executable else python
    wanted = f"{' and '.join(requirements)} for Python {version}"
    if f"there is no version of {requirements[0]} " in process.stderr:
        where = f"{source.folder} has" if source.offline else "there is"
        raise NoSuchRelease(f"{where} no release {requirements[0].partition('==')[2]} for Python {version}")
    raise CannotMake(f"cannot create an environment with {wanted}:\n{explain(process.stderr, requirements, source)}")


def _write_wheels(folder: Path, source: WheelSource) -> None:
    """Write down which wheels a new environment was made of. Without their digests it is as good for tests."""
    from maxpool_check.targets.wheels import installed_wheels

    python = ["--python", str(_python(folder))]
    frozen = run_uv("pip", "freeze", *python).stdout
    locking = ["--no-deps", "--no-header", "--only-binary", ":all:", "--prerelease", "allow", "--format", "pylock.toml"]
    lock = run_uv("pip", "compile", *source.limits, *python, *source.arguments, *locking, "-", stdin=frozen)
    if lock.returncode == 0:
        with contextlib.suppress(ValueError, KeyError):
            (folder / WHEELS).write_text(json.dumps(installed_wheels(folder, lock.stdout), indent=1), encoding="utf-8")


_PLUGINS = {"onnxruntime-ep-webgpu": ("0", "0.4.0"), "onnxruntime-qnn": ("2", "2.7.0")}
"""Distributions that contain a provider only: since which release, and the newest tested release."""


def companions(distribution: str, version: str) -> list[str]:
    """What is installed with a release: numpy, and what the release needs but does not declare."""
    release = Version(version)
    if distribution == "openvino":
        # numpy itself has no type for bfloat16.
        return ["numpy", "ml_dtypes"]
    if distribution == "apache-tvm":
        # What imports ONNX models needs it; its version is one of the tested ones.
        return ["numpy", "onnx"]
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


def download(requirements: Sequence[str], folder: str) -> str:
    """A command that fills a folder with the wheels of requirements and of what they depend on."""
    return shlex.join(["pip", "download", "--only-binary", ":all:", "-d", folder, *requirements])


def explain(message: str, requirements: Sequence[str], source: WheelSource) -> str:
    """An error message of uv about requirements, indented, and what to do about it."""
    distribution = requirements[0].partition("==")[0]
    unreachable = "The package index or Python download cannot be reached. Environments created before work without it."
    advice_by_part = {
        "provided package locations": f"Fill the folder of wheels with: {download(requirements, str(source.folder))}",
        "network was disabled": "uv runs offline (UV_OFFLINE). Environments created before work without a package index.",
        "not found in the package registry": f"The package index has no {distribution}.",
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
