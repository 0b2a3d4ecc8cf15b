"""Starts workers by forking a process that has imported numpy, which saves most of the processor time of a start.

The tests' own environment, which does not change, is inspected once: ``inspect`` takes the place of ``inspection.contents_json``.

For tests that need workers and are not about how they start: ``launch`` takes the place of that of ``targets.launching``. Each
worker is a process of its own here, too, and imports its adapter and its runtime itself. The process that they are forked
from is no child of this one, serves also the processes that this one forks, and ends after them.
"""

import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from maxpool_check.targets import launching
from maxpool_check.targets.inspection import contents_json as _contents_json
from maxpool_check.targets.launching import adapter, variables

_starting = threading.Lock()
_seconds = []


def seconds():
    """The processor time of the workers that have ended: they are no children of this process."""
    return sum(_seconds)


def launch(program, memory=None, *, isolated):
    """As ``launching.launch``; forked where that is the same."""
    environment, name = variables(isolated=isolated), program[-1]
    if list(program) != adapter([sys.executable], name) or memory or _for_python(environment) != _FOR_PYTHON:
        return launching.launch(program, memory, isolated=isolated)
    with _starting:
        parent = _parent()
    (stdin, reads), (stdout, writes), (stderr, complains) = os.pipe()[::-1], os.pipe(), os.pipe()
    (lifeline, guarded), (status, tells) = socket.socketpair(), socket.socketpair()
    message = json.dumps({"adapter": name, "folder": str(Path.cwd()), "environment": environment}).encode()
    with guarded, tells:
        socket.send_fds(parent, [message], [reads, writes, complains, guarded.fileno(), tells.fileno()])
    for end in (reads, writes, complains):
        os.close(end)
    return launching.Launched(Forked(status, stdin, stdout, stderr), lifeline)


def inspect(python, names):
    """As ``inspection.contents_json``; what an earlier process has written where that is the same."""
    is_own = python == sys.executable and _for_python(os.environ) == _FOR_PYTHON
    return _inspected(names) if is_own else _contents_json(python, names)


@functools.cache
def _inspected(names):
    return _contents_json(sys.executable, names)


def _for_python(environment):
    """The variables that change how Python starts: what is forked has started."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


_FOR_PYTHON = _for_python(os.environ)


class Forked:
    """What is used of ``subprocess.Popen``."""

    def __init__(self, status, stdin, stdout, stderr):
        self._status, self.returncode = status, None
        self.stdin, self.stdout, self.stderr = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb")
        self.pid = int(status.recv(64))

    def poll(self):
        return self._after(0)

    def wait(self, timeout=None):
        if self._after(timeout) is None:
            raise subprocess.TimeoutExpired("a forked worker", timeout)
        return self.returncode

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def _after(self, timeout):
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            code, used = self._status.recv(64).split()
            self.returncode = int(code)
            _seconds.append(float(used))
            self._status.close()
        return self.returncode


@functools.cache
def _parent():
    """The socket of the process that forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        program = [sys.executable, Path(__file__).with_name("worker_parent.py"), str(theirs.fileno())]
        subprocess.run(
            [*program, Path(launching.__file__).parent], pass_fds=[theirs.fileno()], check=True,
            # It must have one thread.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    return ours
