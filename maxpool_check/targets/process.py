"""A worker process: started, asked, and survived."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from maxpool_check.results.outcomes import Crashed, Failed, Outcome, TimedOut
from maxpool_check.targets.protocol import Request, outcome, variant
from maxpool_check.targets.worker.__main__ import PROTOCOL

START_SECONDS = 120.0
"""How long a runtime may take to import. A cold disk is slow; a hang is longer."""

MOST_BYTES = 2**30
"""The longest line a worker may write: far more than the largest answer, less than the memory of a machine."""

_STDERR_SHOWN = 300
_STDERR_READ = 2**16
_FRAME = re.compile(r"\s+(\d+:|at )\s*\S")
_PIPE = 2**16

_LOOK_SECONDS = 0.2
"""How often to look whether a process is still there whose pipes are held open by another."""

_DYING_SECONDS = 1.0
"""How long a process may take from closing its pipes to its end, when it dies."""

# Imports the worker package, and nothing else of the folder it is in: neither that folder nor the user's own may hide a
# module of the runtime.
_BOOT = """
import runpy, sys
sys.path[:] = [sys.argv.pop(1), *filter(None, sys.path)]
import worker
del sys.path[0]
runpy.run_module("worker", run_name="__main__", alter_sys=True)
"""


class CannotStart(RuntimeError):
    """A target that could not be started."""


def adapter(python: str, name: str) -> list[str]:
    """The program that is the adapter of a runtime, under some Python."""
    return [python, "-c", _BOOT, str(Path(__file__).parent), name]


def _limited(program: Sequence[str], memory: int | None) -> list[str]:
    # By the shell, before the program is there: nothing of this process is changed for it.
    if memory is None:
        return list(program)
    return ["/bin/sh", "-c", f'ulimit -v {max(1, memory // 1024)} && exec "$@"', "sh", *program]


class Worker:
    """One process that asks one runtime, one variant after another. It ends at the first death; start another.

    It may be handed further requests while it works; the outcomes come in their order. A worker that has died has an
    outcome for the first request that it has not answered, and none for those behind it.
    """

    def __init__(
        self, program: Sequence[str], options: Mapping[str, Any], *, isolated: bool, memory: int | None = None
    ) -> None:
        """Start a program that speaks the protocol; it need not be ready before it is handed requests.

        ``memory`` bounds what it may allocate, in bytes. Raises :class:`CannotStart`.
        """
        self._program = program[0]
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        try:
            self._process = subprocess.Popen(
                _limited(program, memory),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=_environment(isolated),
                # Ctrl-C is the parent's to handle.
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise CannotStart(f"{program[0]} cannot be run: {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.stdin, self.stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        for descriptor in (self.stdin, self.stdout):
            os.set_blocking(descriptor, False)
        self.outcomes: deque[Outcome] = deque()
        """The outcomes that have come, the oldest first; take them from here."""
        self._description: dict[str, Any] | None = None
        self.cannot_start: CannotStart | None = None
        """Why it never came to be ready, if that is so."""
        self._alive = True
        self._closed = False
        self._seconds: deque[float] = deque()
        self._listened = 0.0
        self._number = 0
        self._broken: str | None = None
        self._outgoing = bytearray()
        self._incoming = [b""]
        self._received = 0
        self._lines: deque[bytes] = deque()
        self._say({"protocol": PROTOCOL, "options": dict(options)}, START_SECONDS)
        self.send()

    @property
    def description(self) -> dict[str, Any]:
        """What the program says of itself; waits until it is ready. Raises :class:`CannotStart`."""
        while self._description is None:
            if not self._alive:
                raise self.cannot_start or CannotStart("it was ended before it was ready")
            listen([self])
        return self._description

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return self._alive and not self._closed and self._process.poll() is None

    @property
    def has_answered(self) -> bool:
        """Whether there is something that it has answered: what it dies of may be that, then."""
        return self._number - len(self._seconds) > 0

    @property
    def waited_for(self) -> bool:
        """Whether something is to come from it."""
        return self._alive and bool(self._seconds)

    @property
    def backlog(self) -> int:
        """The bytes that were handed over and are not on their way yet."""
        return len(self._outgoing)

    def hand(self, request: Request, seconds: float) -> None:
        """Hand over a request that is to be answered within some time, counted from the answer before it.

        It is on its way with the next :meth:`send`.
        """
        self._say(variant(self._number + 1, request), seconds)
        self._number += 1
        # What it said without having been asked is no answer to this.
        self._take_lines()

    def send(self) -> None:
        """Write what it takes of what was handed over."""
        try:
            while self._outgoing and self._alive:
                del self._outgoing[: os.write(self.stdin, self._outgoing[:_PIPE])]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # What it has answered can still be read, and is; how it has died is seen behind that.
            self._outgoing.clear()
            self._let_go("stdin")

    def ask(self, request: Request, seconds: float) -> Outcome:
        """Hand over a request, and wait for what becomes of it. Raises :class:`CannotStart` if it never got ready."""
        self.hand(request, seconds)
        self.send()
        while not self.outcomes:
            if not self._alive:
                raise self.cannot_start or CannotStart("it has ended")
            listen([self])
        return self.outcomes.popleft()

    def attend(self, readable: bool, seconds: float) -> None:
        """Write what can be written and, if it is ``readable``, read; ``seconds`` were spent on listening to it."""
        self._listened += seconds
        self.send()
        if readable:
            self._read()
        elif self._process.poll() is not None and not _ready(self.stdout):
            # Not the end of the pipe: a child of the worker may hold it open.
            self._died()
        if self._alive and self.left <= 0:
            self._kill()
            self._process.wait()
            self._end(TimedOut(self._seconds[0]), "it did not get ready in time")

    @property
    def left(self) -> float:
        """The seconds that it has left for what it works on."""
        return self._seconds[0] - self._listened if self._seconds else math.inf

    def end(self) -> None:
        """Kill the process and all it has started; what it was asked comes to a crash. From any thread."""
        self._closed = True
        if self._process.returncode is None:
            # Otherwise its number may be another's by now.
            self._kill()

    def close(self) -> None:
        """End it and let go of its pipes, when nobody is waiting any more."""
        self.end()
        self._alive = False
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _kill(self) -> None:
        # The worker leads a session of its own: what a runtime or a kernel has started goes with it.
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _say(self, message: Mapping[str, Any], seconds: float) -> None:
        line = json.dumps(message).encode() + b"\n"
        if not self._seconds:
            self._listened = 0.0
        self._seconds.append(seconds)
        self._outgoing += line

    def _read(self) -> None:
        part = os.read(self.stdout, _PIPE)
        if not part:
            self._died()
            return
        first, *others = part.split(b"\n")
        self._incoming.append(first)
        if others:
            self._lines += [b"".join(self._incoming), *others[:-1]]
            self._incoming = [others[-1]]
        self._take_lines()
        self._received = self._received + len(first) if not others else len(others[-1])
        if self._received > MOST_BYTES:
            self._broke(ValueError(f"a line of more than {MOST_BYTES} bytes"))

    def _take_lines(self) -> None:
        while self._lines and self._seconds and self._alive:
            self._take(self._lines.popleft())

    def _take(self, line: bytes) -> None:
        try:
            reply = json.loads(line)
            if not isinstance(reply, dict):
                raise ValueError(f"a line is not a JSON object: {line[:80]!r}")
            if self._description is None:
                self._introduced(reply)
            else:
                self.outcomes.append(outcome(reply, self._number - len(self._seconds) + 1))
        except Exception as error:
            # Whatever a program may say, it is not the end of the run.
            self._broke(error)
            return
        self._seconds.popleft()
        self._listened = 0.0

    def _introduced(self, reply: dict[str, Any]) -> None:
        if reply.get("type") != "ready":
            self._failed(str(reply.get("message", f"the worker said {str(reply)[:200]}")))
        elif reply.get("protocol") != PROTOCOL:
            self._failed(f"it speaks version {reply.get('protocol')} of the protocol, this is version {PROTOCOL}")
        else:
            self._description = reply

    def _failed(self, why: str) -> None:
        self.cannot_start = CannotStart(why)
        self._alive = False
        self._kill()

    def _broke(self, error: Exception) -> None:
        """What it said is not the protocol."""
        self._kill()
        self._end(
            Failed(f"the worker broke the protocol: {error}"),
            f"{self._program} does not speak the worker's protocol: {error}",
        )

    def _died(self) -> None:
        """The process has ended instead of answering."""
        self._let_go("stdout")
        how, said = _how(self._process.wait()), self._said()
        if self._broken is not None:
            self._broke(ValueError(self._broken))
            return
        self._end(Crashed(how, said), f"the worker died while starting: {how}\n{said}".rstrip())

    def _let_go(self, pipe: str) -> None:
        """End a process that does not want one of its pipes any more, if it is not about to die for itself."""
        try:
            self._process.wait(_DYING_SECONDS)
        except subprocess.TimeoutExpired:
            self._broken = self._broken or f"it closed its {pipe}"
        self._kill()

    def _end(self, last: Outcome, why: str) -> None:
        """Nothing more comes from it; the first that it has not answered has this outcome."""
        self._alive = False
        if self._description is None:
            self.cannot_start = CannotStart(why)
        elif self._seconds:
            self.outcomes.append(last)

    def _said(self) -> str:
        """How its stderr begins and ends, without the frames of backtraces: those say where it was called from."""
        self._stderr.seek(0)
        head = self._stderr.read(_STDERR_READ)
        rest = self._stderr.seek(0, os.SEEK_END) - len(head)
        self._stderr.seek(-min(rest, _STDERR_READ), os.SEEK_END)
        text = (head + (self._stderr.read() if rest > 0 else b"")).decode(errors="replace")
        said = "\n".join(line for line in text.splitlines() if not _FRAME.match(line)).strip()
        if len(said) <= 2 * _STDERR_SHOWN:
            return said
        return f"{said[:_STDERR_SHOWN].rstrip()}\n...\n{said[-_STDERR_SHOWN:].lstrip()}"


def listen(workers: Iterable[Worker]) -> None:
    """Wait until one of the workers has said something, has died, or has had its time; write what can be written.

    A worker's time is what was spent on listening: while this process does something else, nobody's runs out.
    """
    waited = [worker for worker in workers if worker.waited_for]
    poller = select.poll()
    for worker in waited:
        poller.register(worker.stdout, select.POLLIN)
        if worker.backlog:
            poller.register(worker.stdin, select.POLLOUT)
    most = min([_LOOK_SECONDS, *(worker.left for worker in waited)])
    start = time.monotonic()
    ready = {descriptor for descriptor, _ in poller.poll(max(0.0, most) * 1000)}
    # Not more than was to be waited: this process may have been stopped, and everyone with it.
    seconds = min(time.monotonic() - start, max(0.0, most))
    for worker in waited:
        worker.attend(worker.stdout in ready, seconds)


def _ready(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(0))


def _how(status: int) -> str:
    try:
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    except ValueError:
        return f"killed by signal {-status}"


def _environment(isolated: bool) -> dict[str, str]:
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1"}
    if isolated:
        for name in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(name, None)
        environment["PYTHONNOUSERSITE"] = "1"
    return environment
