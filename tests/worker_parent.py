"""The process that the workers of ``forked_workers`` are forked from: ``python worker_parent.py SOCKET TARGETS``.

A message on the socket starts a worker: its adapter, folder and environment, with its three streams, its lifeline, which ends
it when it is shut down, and a socket that is told its number and, when it has ended, its exit status and processor time.
"""

import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys


def main():
    # The folder of this file is of the tests.
    control, sys.path[0] = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    import worker.messages
    import worker.python_adapter  # noqa: F401

    del sys.path[0]
    gc.freeze()
    if os.fork():
        os._exit(0)
    os.setsid()
    ended, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    workers = {}
    while True:
        readable = select.select([control, ended, *(lifeline for lifeline, _ in workers.values())], [], [])[0]
        if control in readable:
            message, ends, *_ = socket.recv_fds(control, 2**18, 5)
            if not message:
                break
            pid = os.fork()
            if pid == 0:
                become(json.loads(message), ends[:3])
                return
            for end in ends[:3]:
                os.close(end)
            lifeline, status = (socket.socket(fileno=end) for end in ends[3:])
            workers[pid] = lifeline, status
            status.send(b"%d" % pid)
        for pid in [pid for pid, (lifeline, _) in workers.items() if lifeline in readable]:
            kill(pid)
        if ended in readable:
            os.read(ended, 4096)
        reap(workers)
    for pid in workers:
        kill(pid)


def become(start, streams):
    """Be a worker, as in a session of its own and a new Python."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(start["folder"])
    os.environ.clear()
    os.environ.update(start["environment"])
    sys.argv = ["-c", start["adapter"]]
    runpy.run_module("worker", run_name="__main__", alter_sys=True)


def kill(worker):
    """End a worker, and what has stayed in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker, signal.SIGKILL)


def reap(workers):
    """Tell how the workers ended that have."""
    for pid in [*workers]:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            kill(pid)
            lifeline, told = workers.pop(pid)
            with lifeline, told, contextlib.suppress(OSError):
                told.send(f"{os.waitstatus_to_exitcode(status)} {usage.ru_utime + usage.ru_stime}".encode())


if __name__ == "__main__":
    main()
