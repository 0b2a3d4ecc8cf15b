"""Starts the processes of workers, under their guard; one of an installed runtime also before it is needed.

A runtime and the modules of a command take about as long to be imported, so they are at the same time. Nothing here imports
more than a start needs.
"""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maxpool_check.targets.adapters import adapter
from maxpool_check.targets.isolation import variables

_GUARD = os.path.join(os.path.dirname(__file__), "guard.py")  # noqa: PTH118, PTH120 (as guard.py itself)


class Launched(NamedTuple):
    """A process whose guard ends it when the other end of the ``lifeline`` is shut down."""

    process: "subprocess.Popen[bytes]"
    lifeline: socket.socket

    def end(self) -> None:
        """Kill the process and all that it has started. From any thread."""
        with contextlib.suppress(OSError):
            # Closing alone would not do: a process forked meanwhile has this end too.
            self.lifeline.shutdown(socket.SHUT_RDWR)


_Call = tuple[tuple[str, ...], int, Mapping[str, str]]
_EARLY: list[tuple[_Call, Launched]] = []


def launch(program: Sequence[str], memory: int | None = None, *, isolated: bool) -> Launched:
    """A program with pipes, which may have been started early. Raises ``OSError``.

    ``memory`` limits what it may allocate, in bytes. ``isolated``: it does not see the Python settings of the user.
    """
    call = (tuple(program), memory or 0, variables(isolated=isolated))
    for number, (earlier, launched) in enumerate(_EARLY):
        if earlier == call:
            del _EARLY[number]
            return launched
    return _launch(call)


def launch_early(runtime: str) -> None:
    """Start the worker of an installed runtime, of which :func:`launch` makes use once."""
    from maxpool_check.targets.runtimes import RUNTIMES

    if runtime in RUNTIMES and RUNTIMES[runtime].ecosystem == "python":
        call = (tuple(adapter(sys.executable, RUNTIMES[runtime].adapter)), 0, variables(isolated=False))
        with contextlib.suppress(OSError):
            _EARLY.append((call, _launch(call)))


def end_early() -> None:
    """End what was started early and not used."""
    while _EARLY:
        _, launched = _EARLY.pop()
        launched.end()
        launched.process.wait()
        for stream in (launched.process.stdin, launched.process.stdout, launched.process.stderr, launched.lifeline):
            if stream is not None:
                stream.close()


def _launch(call: _Call) -> Launched:
    program, memory, environment = call
    lifeline, guards_end = socket.socketpair()
    guard = [sys.executable, "-I", "-S", _GUARD, str(guards_end.fileno()), str(memory)]
    try:
        process = subprocess.Popen(
            [*guard, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=[guards_end.fileno()],
            # Ctrl-C is the parent's to handle.
            start_new_session=True,
        )
    except OSError:
        lifeline.close()
        raise
    finally:
        guards_end.close()
    return Launched(process, lifeline)
