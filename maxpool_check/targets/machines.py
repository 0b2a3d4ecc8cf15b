"""Other processors: ``?machine=`` and ``?cpu=`` of a target, by an emulator where they are not those of the host.

The emulator is that of qemu for programs of Linux, from PATH. Of another architecture, a Python and the C library that it needs are
taken from the packages of Debian or Ubuntu, which apt downloads and dpkg unpacks into the cache: nothing is installed.
"""

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from maxpool_check.results.details import ARCHITECTURES
from maxpool_check.targets.cache import CannotMake, cache, made, python_of

HOST = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
"""The architecture of this machine."""

OPTIONS = ("machine", "cpu", "sysroot")
"""The options of a target that say which processor executes it."""

NOT_OF_RUNTIME = {"python", "disable", *OPTIONS}
"""The options of targets that the tool takes, and not the runtime or its provider."""

_OF_DEBIAN = {"aarch64": "arm64", "x86_64": "amd64"}
_PACKAGES = ("python3-minimal", "libpython3-stdlib", "libstdc++6")

_PYTHONS = ("usr/bin/python3", "usr/local/bin/python3", "bin/python3")
"""Where folders of a machine have Python: that of Debian, that of an image of a container."""

SLOWER = 6
"""How many times as long as on a processor an execution may take in an emulator: runtimes compile kernels."""

_NEWEST_NEEDED = 10
"""The version of qemu in which ONNX Runtime 1.32 on aarch64 starts: 7.2 dies while 1.29 and later are imported."""


@dataclass(frozen=True)
class Machine:
    """A processor: its ``architecture``, and ``cpu``, the model that the emulator is asked for, if one is.

    ``sysroot`` is a folder with a Python of that architecture and the libraries that it needs; None: one of the cache.
    """

    architecture: str = HOST
    cpu: str | None = None
    sysroot: Path | None = None

    @property
    def title(self) -> str:
        """The end of the names of its environments in the cache."""
        other = "" if self.sysroot is None else f"-{hashlib.sha256(bytes(self.sysroot)).hexdigest()[:8]}"
        return f"{self.architecture}{other}"

    @property
    def is_foreign(self) -> bool:
        """Whether the host cannot execute its programs."""
        return self.architecture != HOST

    @property
    def is_emulated(self) -> bool:
        """Whether an emulator executes its programs."""
        return self.is_foreign or self.cpu is not None


THIS = Machine()
"""This machine, without an emulator."""


def machine_of(options: Mapping[str, str]) -> Machine:
    """The machine that the options of a target name. Raises ``ValueError`` if there is no such one."""
    architecture = options.get("machine", HOST)
    if architecture not in ARCHITECTURES:
        raise ValueError(f"machine must be one of {', '.join(ARCHITECTURES)}, got {architecture}")
    if "sysroot" in options and architecture == HOST:
        raise ValueError("sysroot is for a machine other than this one")
    sysroot = options.get("sysroot")
    return Machine(architecture, options.get("cpu"), Path(sysroot).absolute() if sysroot else None)


def emulator(machine: Machine) -> str:
    """The path of the emulator. Raises :class:`CannotMake` if it is not on PATH."""
    name = f"qemu-{machine.architecture}"
    program = shutil.which(name) or shutil.which(f"{name}-static")
    if program is None:
        raise CannotMake(
            f"{name} is not on PATH, which executes programs of {machine.architecture}; install it (Debian: qemu-user)"
        )
    return program


def too_old(machine: Machine) -> str:
    """Why the emulator may be what fails; empty if it is as new as is needed."""
    done = subprocess.run([emulator(machine), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\S*", done.stdout)
    if found is None or int(found[1]) >= _NEWEST_NEEDED:
        return ""
    return f"The emulator is qemu {found[0]}; releases of today need {_NEWEST_NEEDED}.0 (Debian 12 has it in its backports)."


def interpreter(machine: Machine, python: str) -> list[str]:
    """The words that start the Python of an environment on a machine. Raises :class:`CannotMake`."""
    if not machine.is_emulated:
        return [python]
    root = sysroot(machine) if machine.is_foreign else None
    program = os.path.realpath(python) if root is None else str(_python_in(root))
    # Python finds its environment by the name with which it is called, -0.
    return [*_emulated(machine, root), "-0", python, program]


def _emulated(machine: Machine, root: Path | None) -> list[str]:
    # The variable may name kernels for this processor, which the emulated one cannot execute.
    words = [emulator(machine), "-U", "OPENBLAS_CORETYPE", "-cpu", machine.cpu or "max"]
    return [*words, *(["-L", str(root)] if root is not None else [])]


def write_environment(folder: Path, machine: Machine, *, offline: bool = False) -> None:
    """An empty environment whose Python is a program of a foreign machine, in the emulator. Raises :class:`CannotMake`."""
    root = sysroot(machine, offline=offline)
    python, own = _python_in(root), python_of(folder)
    version = python.name.removeprefix("python")
    own.parent.mkdir(parents=True)
    (folder / f"lib/python{version}/site-packages").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\nversion_info = {version}\n")
    words = shlex.join(_emulated(replace(machine, cpu=None), root))
    own.write_text(f'#!/bin/sh\nexec {words} -0 "$0" {shlex.quote(str(python))} "$@"\n')
    own.chmod(0o755)


def sysroot(machine: Machine, *, offline: bool = False) -> Path:
    """The folder with a Python of a foreign machine; that of the cache is made if it may be. Raises :class:`CannotMake`."""
    folder = machine.sysroot
    if folder is None:
        final = cache() / f"python-of-{machine.architecture}"
        if offline and not final.exists():
            raise CannotMake(
                f"offline, and the cache has no Python of {machine.architecture}; name one by ?sysroot=DIR"
            )
        folder = made(final, final / "usr/bin/python3", lambda partial: _unpack(partial, machine))
    _python_in(folder)
    return folder


def _python_in(folder: Path) -> Path:
    for name in _PYTHONS:
        if (folder / name).exists():
            return (folder / name).resolve()
    raise CannotMake(
        f"{folder} has none of {', '.join(_PYTHONS)}; sysroot= names a folder with a Python of that machine"
    )


def _unpack(folder: Path, machine: Machine) -> None:
    """Download the packages and unpack them. Not by the settings of the system: nothing of it is read but its sources."""
    missing = [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]
    if missing:
        raise CannotMake(
            f"{' and '.join(missing)}, which get a Python of {machine.architecture}, are not here; name a folder that has one by "
            f"?sysroot=DIR, or use a machine of that architecture"
        )
    work = folder / "packages"
    for name in ("lists/partial", "archives/partial"):
        (work / name).mkdir(parents=True)
    name = _OF_DEBIAN[machine.architecture]
    settings = {
        "APT::Architecture": name, "APT::Architectures": name, "Dir::State": work, "Dir::State::lists": work / "lists",
        "Dir::State::status": os.devnull, "Dir::Cache": work, "Debug::NoLocking": "1", "APT::Sandbox::User": "",
    }  # fmt: skip
    apt = ["apt-get", "-qq", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]
    # Sources that have nothing of that architecture are no reason to give up.
    _run([*apt, "update"])
    done = _run([*apt, "install", "--yes", "--download-only", "--no-install-recommends", *_PACKAGES])
    for package in sorted(work.glob("archives/*.deb")):
        done = done if done.returncode else _run(["dpkg-deb", "--extract", str(package), str(folder)])
    shutil.rmtree(work)
    if done.returncode or not (folder / "usr/bin/python3").exists():
        message = f"apt has no Python of {machine.architecture}:\n{done.stderr.strip()}"
        raise CannotMake(f"{message}\nName a folder that has one by ?sysroot=DIR.")


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False)
