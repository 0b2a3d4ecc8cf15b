"""What a target is made of: the distributions of its environments and the files of a kernel, by their digests.

Nothing but the Python or Node.js of an environment and the files of a kernel is read for it: what installed the distributions has
left the digests of their files.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from maxpool_check.results.details import Distribution, PythonEnvironment
from maxpool_check.results.record import TargetDescription
from maxpool_check.targets.launching import contents, variables
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.npm_environments import LOCK
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import Target
from maxpool_check.targets.worker.contents import digest

_SECONDS = 120.0
"""How long the inspection of an environment may take: one of many thousand files on a slow disk is left out."""

_OF_WORKER = ("numpy", "ml_dtypes")
"""The distributions that the worker itself uses."""

_OF_TOOLS = ("onnx", "onnx-ir", "onnxruntime", "numpy")
"""The distributions that results of a tool depend on, where they are installed."""

_PACKAGES = "node_modules/"


def inspect(target: Target, description: TargetDescription) -> TargetDescription:
    """The description of a target, with what it is made of. What cannot be inspected is left out."""
    # A tool may be in the environment of the runtime.
    pythons = dict.fromkeys(_pythons(target))
    environments = [found for python, names in pythons if (found := _contents(python, names)) is not None]
    if target.npm_folder is not None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            node = str(description.session_options.get("node", "")).removeprefix("v")
            environments = [_contents_of_npm(target.npm_folder, node)]
    program = program_files(target.name)
    return msgspec.structs.replace(description, environments=tuple(environments), program=program)


def contents_json(python: str, names: Sequence[str]) -> bytes:
    """What the environment of a Python is made of: a JSON object, the last line of these.

    Raises ``OSError`` or ``subprocess.TimeoutExpired``.
    """
    return subprocess.run(
        contents(python, *names),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=variables(isolated=python != sys.executable),
        timeout=_SECONDS,
        check=False,
    ).stdout


def program_files(name: TargetName) -> dict[str, str]:
    """The SHA-256 of the files of a kernel, by the words of the target's name that name them."""
    words = name.program or (name.function or ())[:1] or ([] if name.outputs is None else [name.outputs])
    paths = {word: shutil.which(word) if word is words[0] and name.program else word for word in words}
    # A pipe or a device has no end, and a word may be too long for the name of a file, of which Path.is_file() raises.
    digests = {word: digest(Path(path)) for word, path in paths.items() if path and os.path.isfile(path)}  # noqa: PTH113
    return {word: sha256 for word, sha256 in digests.items() if sha256 is not None}


def _pythons(target: Target) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The Pythons of a target, each with the distributions that it needs there; with none if all are for this target."""
    name = target.name
    if name.function is not None:
        yield target.python, _OF_WORKER
    elif name.is_released and target.npm_folder is None:
        runtime = RUNTIMES[name.runtime]
        # A plugin is beside the ONNX Runtime that loads it.
        loading = ("onnxruntime",) if runtime.adapter == "onnxruntime" else ()
        yield target.python, () if name.version is not None else (runtime.distribution, *loading, *_OF_WORKER)
    if name.tool is not None:
        yield target.tools_python, () if name.tool.version is not None else (name.distribution, *_OF_TOOLS)


def _contents(python: str, names: Sequence[str]) -> PythonEnvironment | None:
    try:
        # A customized Python may print something before.
        return msgspec.json.decode(contents_json(python, names).splitlines()[-1], type=PythonEnvironment)
    except (OSError, subprocess.TimeoutExpired, IndexError, msgspec.MsgspecError, RecursionError):
        return None


def _contents_of_npm(folder: Path, version: str) -> PythonEnvironment:
    """The contents of an environment of npm as its lock file lists them, and the Node.js that is on PATH, of this version.

    Raises ``OSError``, ``ValueError`` or ``KeyError`` if the folder is damaged.
    """
    packages = json.loads((folder / LOCK).read_text(encoding="utf-8"))["packages"]
    program = shutil.which("node")
    return PythonEnvironment(
        implementation="Node.js",
        version=version,
        executable_sha256=digest(Path(program).resolve()) if program is not None else None,
        distributions=tuple(_package(place, packages) for place in sorted(packages) if place),
    )


def _package(place: str, packages: dict[str, Any]) -> Distribution:
    package = packages[place]
    return Distribution(
        name=place.rpartition(_PACKAGES)[2],
        version=package["version"],
        requires=tuple(sorted(other for other in package.get("dependencies", ()) if f"{_PACKAGES}{other}" in packages)),
        integrity=package.get("integrity"),
    )
