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
from maxpool_check.targets import npm_contents
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
                _EARLIER[python, os.environ.get("PYTHONPATH")] = contents
                self._known[python] = contents.environment
        return self._known[python]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.kill()
            process.communicate()


class _Contents(PythonEnvironment, frozen=True, kw_only=True):
    """The contents of an environment, and the state of the files that they depend on."""

    watched: dict[str, tuple[int, int, int, int]]

    @property
    def environment(self) -> PythonEnvironment:
        """The contents alone."""
        return PythonEnvironment(**{name: getattr(self, name) for name in PythonEnvironment.__struct_fields__})


_EARLIER: dict[tuple[tuple[str, ...], str | None], _Contents] = {}
"""What this process has found, by the Python and the distributions: a process may have many runs."""


def _earlier(python: tuple[str, ...]) -> PythonEnvironment | None:
    """What was found before, if no file that it depends on has changed since."""
    contents = _EARLIER.get((python, os.environ.get("PYTHONPATH")))
    if contents is None or any(_state(path) != state for path, state in contents.watched.items()):
        return None
    return contents.environment


def _state(path: str) -> tuple[int, int, int, int] | None:
    try:
        state = Path(path).stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino


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


def _contents(process: "subprocess.Popen[bytes]") -> _Contents | None:
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    try:
        # A customized Python may print something before.
        return msgspec.json.decode(output.splitlines()[-1], type=_Contents)
    except (IndexError, msgspec.MsgspecError, RecursionError):
        return None


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
