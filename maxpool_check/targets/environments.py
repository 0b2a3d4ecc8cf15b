"""Isolated environments: one per released version of a runtime, made once and kept in the user's cache.

What only they need is imported where one is made or looked for: most runs ask what is installed.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uv
from packaging.version import Version


class CannotMake(RuntimeError):
    """An environment that could not be made, and how to mend it."""


def cache() -> Path:
    """The folder that holds the environments; ``MAXPOOL_CHECK_CACHE`` overrides it."""
    import platformdirs

    given = os.environ.get("MAXPOOL_CHECK_CACHE")
    folder = Path(given) if given else Path(platformdirs.user_cache_dir("maxpool-check"))
    return folder.absolute() / "environments"


def interpreter(distribution: str, version: str) -> Path:
    """The Python of an environment that holds this release and numpy, made if it is not there yet.

    Safe against other runs that make the same one: they wait. Raises :class:`CannotMake`.
    """
    from filelock import FileLock

    python = f"{platform.python_implementation().lower()}{sys.version_info[0]}.{sys.version_info[1]}"
    name = f"{distribution}-{version}-{python}-{platform.machine()}"
    final = cache() / name
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(final.with_name(f"{name}.lock")):
            if not _python(final).exists():
                # Whole or not there: what has no Python any more was made by one that has gone.
                shutil.rmtree(final, ignore_errors=True)
                _make(final, distribution, version)
    except OSError as error:
        raise CannotMake(
            f"cannot write to {cache()}: {error}; set MAXPOOL_CHECK_CACHE to a folder that can be written"
        ) from error
    return _python(final)


def fresh(folder: Path, requirements: Sequence[str]) -> Path:
    """The Python of a new environment in ``folder`` that holds these requirements alone. Raises :class:`CannotMake`."""
    try:
        # uv is run from there.
        cache().mkdir(parents=True, exist_ok=True)
        _fill(folder, sys.executable, requirements)
    except OSError as error:
        raise CannotMake(f"cannot make an environment in {folder}: {error}") from error
    return _python(folder)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(final: Path, distribution: str, version: str) -> None:
    # Made beside its place and moved there when it is complete, so that an interrupted run leaves nothing half done.
    partial = Path(tempfile.mkdtemp(prefix=f"{final.name}.", dir=final.parent))
    try:
        requirements = [f"{distribution}=={version}", *_companions(distribution, version)]
        _fill(partial / "environment", sys.executable, requirements)
        (partial / "environment").rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _fill(folder: Path, python: str, requirements: Sequence[str]) -> None:
    made = _uv("venv", "--python", python, str(folder))
    if made.returncode == 0:
        made = _uv("pip", "install", "--only-binary", ":all:", "--python", str(_python(folder)), *requirements)
    if made.returncode == 0:
        return
    others = sorted({int(minor) for minor in re.findall(r"`cp3(\d+)`", made.stderr)} - {sys.version_info[1]})
    if python == sys.executable and "matching Python ABI tag" in made.stderr and others:
        # The release has no wheel for this Python, but for others: take the newest of those.
        shutil.rmtree(folder, ignore_errors=True)
        _fill(folder, f"3.{others[-1]}", requirements)
        return
    raise CannotMake(
        f"cannot make an environment with {' and '.join(requirements)} for Python {_named(python)}:\n"
        f"{_indented(made.stderr)}\n{_advice(made.stderr)}"
    )


def _companions(distribution: str, version: str) -> list[str]:
    if distribution == "openvino":
        # Without a numpy type for bfloat16 it could not be asked for one.
        return ["numpy", "ml_dtypes"]
    known = _PLUGINS.get(distribution)
    if known is not None and Version(version) >= Version(known[0]):
        return [_beside(known, version), "numpy"]
    # Releases before 1.19 are built against numpy 1 and do not say so.
    return ["numpy<2"] if distribution.startswith("onnxruntime") and Version(version) < Version("1.19") else ["numpy"]


_PLUGINS = {"onnxruntime-ep-webgpu": ("0", "0.4.0"), "onnxruntime-qnn": ("2", "2.7.0")}
"""Distributions that hold a provider alone: from the first of these releases on; the second is the newest tried.

Releases of onnxruntime-qnn before 2 hold an ONNX Runtime themselves.
"""


def _beside(plugin: tuple[str, str], version: str) -> str:
    """The ONNX Runtime beside a plugin: always the same one, since the answers are of both."""
    if Version("2") <= Version(version) < Version("2.4"):
        return "onnxruntime==1.26.0"  # later ones refuse to load it
    return "onnxruntime==1.31.1" if Version(version) <= Version(plugin[1]) else "onnxruntime"


def _advice(said: str) -> str:
    if "there is no version" in said or "not found in the package registry" in said:
        return "See the released versions with 'pip index versions', and write one of them after '=='."
    if "Failed to fetch" in said or "error sending request" in said:
        return "The package index or the Python it offers cannot be reached. Environments once made work without it."
    if "ABI tag" in said:
        return "The release has no wheel for this Python; name an interpreter that has it installed with ?python=PATH."
    return "Environments are made with uv; its own settings (UV_DEFAULT_INDEX and others) apply."


def _uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ)
    for pip_name, uv_name in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_INDEX")):
        if pip_name in environment:
            environment.setdefault(uv_name, environment[pip_name])
    try:
        program = uv.find_uv_bin()
    except FileNotFoundError as error:
        raise CannotMake("uv is not installed beside maxpool-check; install it with pip install uv") from error
    # Not in the user's folder: a project there must not configure the environment.
    return subprocess.run(
        [program, "--quiet", "--no-progress", *arguments],
        capture_output=True,
        text=True,
        cwd=cache(),
        env=environment,
        check=False,
    )


def _named(python: str) -> str:
    return ".".join(map(str, sys.version_info[:2])) if python == sys.executable else python


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())
