"""Runs a program, and ends it with everything that it has started when the tool ends, however that happens.

Started as ``python -I -S guard.py LIFELINE MEMORY PROGRAM ARGUMENT...``; the program keeps stdin, stdout and stderr. When
the other end of the socket LIFELINE is shut down, or its process is gone, the program is killed. ``MEMORY`` limits what it
may allocate, in bytes; 0: no limit. The exit status is the program's.

A process of its own, because nothing else survives a SIGKILL of the tool, and programs of users know nothing of this. It
has one thread, because Linux sends a parent-death signal when the *thread* that started a process ends. On Linux, processes
that left the program's session and parent become its children, so that it finds them; on other systems it finds those in
the program's process group. Windows would need a job object with JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE instead.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress

_SECONDS = 5.0
"""How long killed processes may take to be gone."""

# Of Linux, <linux/prctl.h>.
_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _SET_CHILD_SUBREAPER = 1, 4, 36


def main() -> None:
    """Run the program, and exit as it does."""
    lifeline, memory, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    os.set_inheritable(lifeline, False)
    _prctl(_SET_CHILD_SUBREAPER, 1)
    ended, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    guard = os.getpid()
    worker = os.fork()
    if worker == 0:
        _execute(program, memory, guard)
    # The pipes are the program's alone, so that the tool sees when it closes them.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    status = None
    while status is None:
        readable, _, _ = select.select([lifeline, ended], [], [])
        if lifeline in readable:
            break
        os.read(ended, 4096)
        status = _reap(worker)
    _kill_all(worker)
    if status is not None and os.WIFSIGNALED(status):
        _die_of(os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status or 0))


def _execute(program: list[str], memory: int, guard: int) -> None:
    """Become the program, in a session of its own."""
    os.setsid()
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    # Python ignores them, and a program inherits that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        os.execvp(program[0], program)
    except (OSError, ValueError) as error:
        import json  # as slow as the rest of the start

        why = error.strerror if isinstance(error, OSError) else error
        if "/" not in program[0] and os.path.isfile(program[0]):  # noqa: PTH113
            why = f"{why} (did you mean './{program[0]}'?)"
        message = {"type": "failed", "message": f"{program[0]} cannot be run: {why}"}
        os.write(1, json.dumps(message).encode() + b"\n")
    os._exit(127)


def _reap(worker: int) -> int | None:
    """Collect the processes that have ended; the program's status if it is one of them."""
    found = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == worker:
                found = ended[1]
    return found


def _kill_all(worker: int) -> None:
    """Kill the program's process group, and all children until there are none: those of a killed one become children."""
    with suppress(OSError):
        os.killpg(worker, signal.SIGKILL)
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        children = b""
        with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children", "rb") as stream:  # noqa: PTH123
            children = stream.read()
        for child in map(int, children.split()):
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.001)
        except ChildProcessError:
            return


def _die_of(number: int) -> None:
    """End as the program ended, without a second core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_SET_DUMPABLE, 0)
    with suppress(OSError):
        # SIGKILL has no handler.
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
