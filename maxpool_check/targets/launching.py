"""Starts the processes of workers, under their guard."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from maxpool_check.targets.programs import variables

_GUARD = Path(__file__).with_name("guard.py")


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
    return Launched(process, lifeline)
