"""What a target is made of: the distributions of its environments and the files of a kernel, by their digests."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from maxpool_check.results.provenance import PythonEnvironment
from maxpool_check.results.record import TargetDescription
from maxpool_check.targets import inspection_cache, npm_contents
from maxpool_check.targets.inspection_cache import WatchedEnvironment
from maxpool_check.targets.isolation import variables
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import Target

_SECONDS = 120.0
"""How long the inspection of an environment may take: one of many gigabytes on a slow disk is left out."""

_CHUNK = 2**20
_CONTENTS = str(Path(__file__).with_name("worker") / "contents.py")

# It finds what the worker finds: neither what is beside the script nor what is in the user's folder.
_BOOT = """
import sys
sys.path[:] = filter(None, sys.path)
import runpy
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""

_OF_WORKER = ("numpy", "ml_dtypes")
"""The distributions that the worker itself uses."""

_OF_TOOLS = ("onnx", "onnx-ir", "onnxruntime", "numpy")
"""The distributions that results of a tool depend on, where they are installed."""


class Inspection:
    """The inspection of a target. Its environments are inspected in processes of their own while its worker starts."""

    def __init__(self, target: Target) -> None:
        """Begin it."""
        self._target = target
        self._known = {(python, *names): _earlier((python, *names)) for python, names in _pythons(target)}
        self._processes: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}
        for python, known in self._known.items():
            # The worker's own start says so if there is no such program.
            with contextlib.suppress(OSError):
                if known is None:
                    self._processes[python] = _process(*python)

    def added_to(self, description: TargetDescription) -> TargetDescription:
        """The description with what was found; waits for it. What cannot be inspected is left out."""
        found = [contents for python in self._known if (contents := self._found(python)) is not None]
        if self._target.npm_folder is not None:
            with contextlib.suppress(OSError, ValueError, KeyError):
                node = str(description.session_options.get("node", "")).removeprefix("v")
                found = [npm_contents.contents(self._target.npm_folder, node)]
        return msgspec.structs.replace(description, environments=tuple(found), program=program_files(self._target.name))

    def _found(self, python: tuple[str, ...]) -> PythonEnvironment | None:
        process = self._processes.pop(python, None)
        if process is not None:
            contents = _contents(process)
            if contents is not None:
                _EARLIER[_key(python)] = contents
                inspection_cache.save(_key(python), contents)
                self._known[python] = contents.environment
        return self._known[python]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.kill()
            process.communicate()


_EARLIER: dict[tuple[str | None, ...], WatchedEnvironment] = {}
"""What this process has found: a process may have many runs, and there may be no cache."""


def _key(python: tuple[str, ...]) -> tuple[str | None, ...]:
    """What the contents of an environment depend on, besides its files: the Python, the distributions, and who looks at them."""
    return (*python, os.environ.get("PYTHONPATH"), _digest(Path(_CONTENTS)))


def _earlier(python: tuple[str, ...]) -> PythonEnvironment | None:
    """What was found before, if no file that it depends on has changed since."""
    key = _key(python)
    contents = _EARLIER.get(key) or inspection_cache.load(key)
    if contents is None or not contents.is_unchanged:
        return None
    _EARLIER[key] = contents
    return contents.environment


def program_files(name: TargetName) -> dict[str, str]:
    """The SHA-256 of the files of a kernel, by the words of the target's name that name them."""
    words = name.program or (name.function or ())[:1]
    digests = {}
    for number, word in enumerate(words):
        path = shutil.which(word) if number == 0 and name.program else word
        # A pipe or a device has no end.
        if path is not None and Path(path).is_file():
            with contextlib.suppress(OSError):
                digests[word] = _digest(Path(path))
    return digests


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
    if name.tool is not None and target.tools_python is not None:
        yield target.tools_python, () if name.tool.version is not None else (name.distribution, *_OF_TOOLS)


def _process(python: str, *names: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [python, "-c", _BOOT, _CONTENTS, *names],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=variables(isolated=python != sys.executable),
    )


def _contents(process: "subprocess.Popen[bytes]") -> WatchedEnvironment | None:
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    try:
        # A customized Python may print something before.
        return msgspec.json.decode(output.splitlines()[-1], type=WatchedEnvironment)
    except (IndexError, msgspec.MsgspecError, RecursionError):
        return None


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
