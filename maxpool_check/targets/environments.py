"""Isolated environments: one for each release of a runtime, created once and kept in the user's cache.

Some dependencies are imported on first use: most runs test what is installed.
"""

import contextlib
import functools
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import uv
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from maxpool_check.targets.cache import CannotMake, NoSuchRelease, NotMade, cache, made, python_of
from maxpool_check.targets.machines import THIS, Machine, write_environment
from maxpool_check.targets.worker.contents import WHEELS

_FINDING_UV = threading.Lock()
"""Held while uv is located: ``sysconfig``, which locates it, is not safe for threads before Python 3.13."""


PLATFORM = f"{platform.python_implementation().lower()}{sys.version_info[0]}.{sys.version_info[1]}-{platform.machine()}"
"""The Python and the machine that the environments of this process are for."""

_SILENT_SECONDS = 10
"""How long uv may take before it is said what is waited for."""

_WAITING = (
    "waiting for uv, and perhaps for a package index that does not answer: uv {}\n"
    "UV_HTTP_TIMEOUT (in seconds, 30 if unset) and UV_HTTP_RETRIES (3) limit how long an answer may take\n"
)

_MAKING = threading.BoundedSemaphore(4)
"""Held while an environment is made: so many are made at the same time."""


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

    @property
    def title(self) -> str:
        """What is added to the names of its environments: a digest of the folder's wheels; empty for the index alone.

        So no folder of wheels can replace an environment of the index. Raises ``OSError``.
        """
        if self.folder is None:
            return ""
        wheels = tuple((each, each.stat().st_mtime_ns) for each in sorted(self.folder.glob("*.whl")))
        return f"-wheels-{_digest_of(wheels)[:16]}"


@functools.cache
def _digest_of(wheels: tuple[tuple[Path, int], ...]) -> str:
    """The digest of the names and digests of files, which are read again when their time of change is another one."""
    digests = [f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n" for path, _ in wheels]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def wheel_source() -> WheelSource:
    """The source that ``MAXPOOL_CHECK_OFFLINE`` and ``MAXPOOL_CHECK_FIND_LINKS`` name."""
    offline = os.environ.get("MAXPOOL_CHECK_OFFLINE", "").lower() not in ("", "0", "false", "no", "off", "n", "f")
    folder = os.environ.get("MAXPOOL_CHECK_FIND_LINKS")
    return WheelSource(offline, Path(folder).absolute() if folder else None)


def interpreter(
    distribution: str, version: str, besides: Sequence[str] = (), source: WheelSource | None = None,
    machine: Machine = THIS,
) -> Path:  # fmt: skip
    """The Python of an environment that holds this release and numpy; creates the environment if it does not exist.

    ``besides`` are other distributions that it holds, without versions. ``source`` is by default that of the environment
    variables. Raises :class:`CannotMake`.
    """
    requirements = [f"{distribution}=={version}", *companions(distribution, version), *besides]
    return _made("+".join([f"{distribution}-{version}", *besides]), requirements, source or wheel_source(), machine)


def holding(requirements: Sequence[str], machine: Machine = THIS) -> Path:
    """The Python of an environment that holds these requirements and what they depend on; created if it does not exist.

    Raises :class:`CannotMake`.
    """
    digest = hashlib.sha256("\n".join(sorted(requirements)).encode()).hexdigest()
    try:
        return _made(f"requirements-{digest[:16]}", requirements, wheel_source(), machine)
    except NotMade as error:
        advice = "Run the same command once where there is a package index, or fill a folder for --find-links there:"
        raise CannotMake(f"{error}\n{advice}\n    {download(requirements, 'wheels')}") from error


def _made(title: str, requirements: Sequence[str], source: WheelSource, machine: Machine = THIS) -> Path:
    """The Python of the environment of the cache with this title."""
    try:
        final = cache() / f"{title}{source.title}-{machine.title if machine.is_foreign else PLATFORM}"
    except OSError as error:
        raise CannotMake(f"cannot read the folder of wheels: {error}") from error
    if source.makes_nothing and not python_of(final).exists():
        raise NotMade(requirements)

    def fill(folder: Path) -> None:
        with _MAKING:
            _fill(folder, sys.executable, requirements, source, machine)

    return python_of(made(final, python_of(final), fill))


def made_releases(distribution: str, machine: str = PLATFORM) -> list[Version]:
    """The releases that have an environment in the cache, ascending."""
    versions = []
    for folder in cache().glob(f"{distribution}-*-{machine}"):
        # Others have more in them, or are those of a distribution whose name is longer.
        with contextlib.suppress(InvalidVersion):
            versions.append(Version(folder.name.removeprefix(f"{distribution}-").removesuffix(f"-{machine}")))
    return sorted(versions)


def _fill(folder: Path, python: str, requirements: Sequence[str], source: WheelSource, machine: Machine = THIS) -> None:
    process = None
    if machine.is_foreign:
        write_environment(folder, machine, offline=source.offline)
    else:
        process = run_uv("venv", *source.limits, "--python", python, str(folder))
    if process is None or process.returncode == 0:
        arguments = ["--only-binary", ":all:", "--python", str(python_of(folder)), *source.arguments]
        # Of a wheel of a folder that another one of the same name has replaced, uv would install what it has in its cache.
        arguments += ["--reinstall"] if source.folder is not None else []
        process = run_uv("pip", "install", *source.limits, *arguments, *requirements)
    if process.returncode == 0:
        _write_wheels(folder, source)
        return
    minors = sorted({int(minor) for minor in re.findall(r"`cp3(\d+)`", process.stderr)} - {sys.version_info[1]})
    if not machine.is_foreign and python == sys.executable and "matching Python ABI tag" in process.stderr and minors:
        # The release has wheels for other versions of Python only: take the newest of them.
        shutil.rmtree(folder, ignore_errors=True)
        _fill(folder, f"3.{minors[-1]}", requirements, source)
        return
    version = platform.python_version() if python == sys.executable else python
    version = f"of {machine.architecture}" if machine.is_foreign else version
    wanted = f"{' and '.join(requirements)} for Python {version}"
    if f"there is no version of {requirements[0]} " in process.stderr:
        where = f"{source.folder} has" if source.offline else "there is"
        raise NoSuchRelease(f"{where} no release {requirements[0].partition('==')[2]} for Python {version}")
    raise CannotMake(f"cannot create an environment with {wanted}:\n{explain(process.stderr, requirements, source)}")


def _write_wheels(folder: Path, source: WheelSource) -> None:
    """Write down the ``file`` and ``sha256`` of the wheel of each distribution of a new environment, as far as they are known.

    Without them it is as good for tests.
    """
    from importlib import metadata

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    packages = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
    installed = {
        canonicalize_name(each.metadata["Name"]): each for each in metadata.distributions(path=list(map(str, packages)))
    }
    # A lock file of the same versions has all wheels that fit: that was installed which has the tags of what is there.
    pins = "\n".join(f"{name}=={each.version}" for name, each in installed.items())
    locking = ["--no-deps", "--no-header", "--only-binary", ":all:", "--prerelease", "allow", "--format", "pylock.toml"]
    locking += [*source.limits, "--python", str(python_of(folder)), *source.arguments, "-"]
    lock = run_uv("pip", "compile", *locking, stdin=pins)
    found = {}
    with contextlib.suppress(ValueError, KeyError):
        for package in tomllib.loads(lock.stdout).get("packages", ()):
            name = canonicalize_name(package["name"])
            lines = (installed[name].read_text("WHEEL") or "").splitlines()
            tags = {line.partition(":")[2].strip() for line in lines if line.startswith("Tag:")}
            listed = package.get("wheels", ())
            wheels = {_file_name(wheel): wheel.get("hashes", {}).get("sha256") for wheel in listed}
            # Of a wheel that was renamed, the tags inside are not those of its name.
            same = [file for file in wheels if _tags(file) == tags] or [*wheels]
            if len(same) == 1 and wheels[same[0]]:
                found[name] = {"file": same[0], "sha256": wheels[same[0]]}
        (folder / WHEELS).write_text(json.dumps(found, indent=1), encoding="utf-8")


def _file_name(wheel: Mapping[str, Any]) -> str:
    address = wheel.get("name") or wheel.get("path") or urlsplit(wheel.get("url", "")).path
    return unquote(address.replace("\\", "/").rpartition("/")[2])


def _tags(file: str) -> set[str]:
    try:
        return set(map(str, parse_wheel_filename(file)[3]))
    except InvalidWheelFilename:
        return set()


_COMPANIONS = {
    # numpy itself has no type for bfloat16.
    "openvino": ["ml_dtypes"],
    # What imports ONNX models needs it; its version is one of the tested ones.
    "apache-tvm": ["onnx"],
    "iree-base-compiler": ["iree-base-runtime=={version}", "onnx"],
    # It writes models.
    "ai-edge-litert": ["tflite"],
    "aidge-backend-cpu": ["aidge-core=={version}", "aidge-onnx=={version}"],
    # It imports keras.engine, which Keras 3 does not have.
    "acetone-nnet": ["tensorflow<2.13"],
}
"""What any release of a distribution needs and does not declare."""

_PLUGINS = {"onnxruntime-ep-webgpu": ("0", "0.4.0"), "onnxruntime-qnn": ("2", "2.7.0")}
"""Distributions that contain a provider only: since which release, and the newest tested release."""


def companions(distribution: str, version: str) -> list[str]:
    """What is installed with a release: numpy, and what the release needs but does not declare."""
    release = Version(version)
    if distribution in _COMPANIONS:
        return ["numpy", *(each.format(version=version) for each in _COMPANIONS[distribution])]
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
    # A project, in which the cache may be, must not configure the environment: uv looks for its files in all folders above.
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    command = [program, "--quiet", "--no-progress", *arguments]
    waiting = threading.Timer(_SILENT_SECONDS, lambda: sys.stderr.write(_WAITING.format(shlex.join(arguments))))
    waiting.start()
    try:
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, cwd=folder.anchor, env=environment, check=False
        )
    finally:
        waiting.cancel()
