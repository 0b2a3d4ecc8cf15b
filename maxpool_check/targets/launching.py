"""The programs of targets: how they are started, under their guard, and what is shown of their stderr."""

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_GUARD = _HERE / "guard.py"

# Imports the worker package, and nothing else of the folder it is in: neither that folder nor the user's own may hide a
# module of the runtime. Not by -I, which hides what the user has installed, nor -P, which is not there before Python 3.11;
# sys is built in, and nothing else may be imported before the user's folder, "", is out of the path.
_BOOT = """
import sys
sys.path[:] = filter(None, sys.path)
import runpy
sys.path.insert(0, sys.argv.pop(1))
import worker
del sys.path[0]
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""

_OF_USER = frozenset({"PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS", "NODE_PATH"})
"""Variables that make a program load what is not in its environment."""

_MOST_IN_PIPE = 2**20
"""How many bytes may wait in a pipe, so that a worker is not idle while this process does something else."""

_MOST_SHOWN = 300
_CRATES = re.compile(r"/\S*/registry/src/[^/\s]+/")
_STACK_FRAME = re.compile(r"\s+((\d+:|at |@ )\s*\S|\S.*:\d+ \[\S)")
"""Of Rust, of C++, and of Python as XLA prints it."""


def adapter(python: Sequence[str], name: str) -> list[str]:
    """The program that runs the adapter of a runtime with the Python that these words start."""
    return [*python, "-c", _BOOT, str(_HERE), "worker", name]


def contents(python: str, *names: str) -> list[str]:
    """The program that says what the environment of this Python is made of: these distributions, or all."""
    return [python, "-c", _BOOT, str(_HERE), "worker.contents", *names]


def javascript_adapter(name: str, folder: Path) -> list[str]:
    """The program that runs the adapter of a runtime which is in an environment of npm."""
    return ["node", str(_HERE / "worker" / f"{name}_adapter.mjs"), str(folder)]


def variables(*, isolated: bool) -> dict[str, str]:
    """The variables of this process; if ``isolated``, without the settings of the user for Python and Node.js."""
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1"}
    if isolated:
        environment = {name: environment[name] for name in environment.keys() - _OF_USER}
        environment["PYTHONNOUSERSITE"] = "1"
    return environment


class Launched(NamedTuple):
    """A process whose guard ends it when the other end of the ``lifeline`` is shut down."""

    process: "subprocess.Popen[bytes]"
    lifeline: socket.socket

    def end(self) -> None:
        """Kill the process and all that it has started. From any thread."""
        with contextlib.suppress(OSError):
            # Closing alone would not do: a process forked meanwhile has this end too.
            self.lifeline.shutdown(socket.SHUT_RDWR)


def launch(program: Sequence[str], memory: int | None = None, *, isolated: bool) -> Launched:
    """A program with pipes. Raises ``OSError``.

    ``memory`` limits what it may allocate, in bytes. ``isolated``: it does not see the Python settings of the user.
    """
    lifeline, guards_end = socket.socketpair()
    guard = [sys.executable, "-I", "-S", str(_GUARD), str(guards_end.fileno()), str(memory or 0)]
    try:
        process = subprocess.Popen(
            [*guard, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables(isolated=isolated),
            pass_fds=[guards_end.fileno()],
            # Ctrl-C is the parent's to handle.
            start_new_session=True,
        )
    except OSError:
        lifeline.close()
        raise
    finally:
        guards_end.close()
    if sys.platform == "linux":
        import fcntl  # no other system can

        # Linux may have given this user all that it gives.
        with contextlib.suppress(OSError):
            for pipe in filter(None, (process.stdin, process.stdout)):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _MOST_IN_PIPE)
    return Launched(process, lifeline)


def without_stack_frames(text: str) -> str:
    """A text of stderr without the lines of stack frames, which show where on this machine the runtime was called from.

    The sources of Rust crates are named without the folder of the machine that built them.
    """
    lines = (line for line in text.splitlines() if not _STACK_FRAME.match(line))
    return _CRATES.sub("", "\n".join(lines)).strip()


def shown(stderr: bytes) -> str:
    """The beginning and the end of what a program wrote before it died, without stack frames; of Python, first the exception."""
    text = without_stack_frames(stderr.decode(errors="replace"))
    if text.startswith("Traceback (most recent call last):\n"):
        text = f"{text.splitlines()[-1]}\n{text}"
    if len(text) <= 2 * _MOST_SHOWN:
        return text
    return f"{text[:_MOST_SHOWN].rstrip()}\n...\n{text[-_MOST_SHOWN:].lstrip()}"
