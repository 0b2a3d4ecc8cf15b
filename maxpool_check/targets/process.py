"""A worker process: started, asked, and survived."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.outcome import Answered, Crashed, Failed, NotAsked, Outcome, RefusedByTarget, TimedOut
from maxpool_check.targets.worker.__main__ import PROTOCOL
from maxpool_check.targets.worker.tensors import decoded, encoded

START_SECONDS = 120.0
"""How long a runtime may take to import. A cold disk is slow; a hang is longer."""

MOST_BYTES = 2**30
"""The longest line a worker may write: far more than the largest answer, less than the memory of a machine."""

_STDERR_SHOWN = 300
_STDERR_READ = 2**16
_FRAME = re.compile(r"\s+(\d+:|at )\s*\S")
_PIPE = 2**16
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


@dataclass(frozen=True, eq=False)
class Request:
    """What a worker is asked: X as the runtime takes it, the outputs wanted, and the model or the attributes."""

    X: np.ndarray
    outputs: tuple[str, ...]
    model: bytes
    attributes: Mapping[str, Any]


def adapter(python: str, name: str) -> list[str]:
    """The program that is the adapter of a runtime, under some Python."""
    return [python, "-c", _BOOT, str(Path(__file__).parent), name]


def _limited(program: Sequence[str], memory: int | None) -> list[str]:
    # By the shell, before the program is there: nothing of this process is changed for it.
    if memory is None:
        return list(program)
    return ["/bin/sh", "-c", f'ulimit -v {max(1, memory // 1024)} && exec "$@"', "sh", *program]


class Worker:
    """One process that asks one runtime, one question at a time. It ends at the first death; start another."""

    def __init__(
        self, program: Sequence[str], options: Mapping[str, Any], *, isolated: bool, memory: int | None = None
    ) -> None:
        """Start a program that speaks the protocol. ``memory`` bounds what it may allocate, in bytes.

        Raises :class:`CannotStart`.
        """
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
        self.asked: Request | None = None
        """The last question, as it was handed over."""
        self._timed_out = False
        self._closed = False
        self._received = b""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        try:
            reply = self._exchange({"protocol": PROTOCOL, "options": dict(options)}, START_SECONDS)
        except _Died as died:
            self.close()
            raise CannotStart(f"the worker died while starting: {died}\n{died.stderr}".rstrip()) from died
        except ValueError as error:
            self.close()
            raise CannotStart(f"{program[0]} does not speak the worker's protocol: {error}") from error
        if reply.get("type") != "ready":
            self.close()
            raise CannotStart(str(reply.get("message", f"the worker said {str(reply)[:200]}")))
        if reply.get("protocol") != PROTOCOL:
            self.close()
            raise CannotStart(f"it speaks version {reply.get('protocol')} of the protocol, this is version {PROTOCOL}")
        self.description: dict[str, Any] = reply
        self._number = 0

    def ask(
        self,
        X: np.ndarray,
        outputs: tuple[str, ...],
        model: bytes,
        attributes: Mapping[str, Any],
        seconds: float,
        setting: str | None = None,
    ) -> Outcome:
        """Ask for some outputs; whatever happens is an :data:`Outcome`. ``setting`` is one that the program knows."""
        self._number += 1
        self.asked = Request(X, outputs, model, attributes)
        request = {
            "id": self._number,
            "model": base64.b64encode(model).decode(),
            "attributes": dict(attributes),
            "inputs": {"X": encoded(X)},
            "outputs": list(outputs),
            **({"setting": setting} if setting is not None else {}),
        }
        try:
            reply = self._exchange(request, seconds)
            return _outcome(reply, self._number)
        except _Died as died:
            return TimedOut(seconds) if self._timed_out else Crashed(str(died), died.stderr)
        except (ValueError, KeyError, TypeError) as error:
            self.close()
            return Failed(f"the worker broke the protocol: {error}")

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return not self._closed and self._process.poll() is None and not self._timed_out

    def end(self) -> None:
        """Kill the process and all it has started; who is waiting for its answer is told. From any thread."""
        self._closed = True
        self._kill()

    def close(self) -> None:
        """End it and let go of its pipes, when nobody is waiting any more."""
        self.end()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _kill(self) -> None:
        # The worker leads a session of its own: what a runtime or a kernel has started goes with it.
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _exchange(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        try:
            self._send(json.dumps(request).encode() + b"\n", deadline)
            line = self._receive(deadline)
        except _TooLong:
            raise
        except (OSError, ValueError):
            # The pipe broke, or close() took it away.
            line = b""
        if not line:
            raise self._death()
        reply = json.loads(line)
        if not isinstance(reply, dict):
            raise ValueError(f"a line is not a JSON object: {line[:80]!r}")
        return reply

    def _send(self, data: bytes, deadline: float) -> None:
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(descriptor, view[:_PIPE]) :]
            except BlockingIOError:
                if not self._wait(deadline, writing=descriptor):
                    return

    def _receive(self, deadline: float) -> bytes:
        """The next line; empty if there will be none, or not in time."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        parts = [self._received]
        size = len(self._received)
        while b"\n" not in parts[-1]:
            if not self._wait(deadline, reading=descriptor):
                return b""
            part = os.read(descriptor, _PIPE)
            if not part:
                return b""
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise _TooLong(f"a line of more than {MOST_BYTES} bytes")
        line, _, self._received = b"".join(parts).partition(b"\n")
        return line

    def _wait(self, deadline: float, *, reading: int | None = None, writing: int | None = None) -> bool:
        """Wait until a pipe is ready. Not for the end of it: a child of the worker may hold it open."""
        while not self._closed:
            left = deadline - time.monotonic()
            if left <= 0:
                self._timed_out = True
                self._kill()
                return False
            ready = select.select(
                [reading] if reading is not None else [], [writing] if writing is not None else [], [], min(left, 0.2)
            )
            if ready[0] or ready[1]:
                return True
            if self._process.poll() is not None and not select.select([reading] if reading else [], [], [], 0)[0]:
                return False
        return False

    def _death(self) -> _Died:
        if not self._timed_out:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        self._kill()
        status = self._process.wait()
        return _Died(status, self._said())

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


class _TooLong(ValueError):
    """More than any answer has."""


class _Died(Exception):
    """The process ended instead of answering."""

    def __init__(self, status: int, stderr: str) -> None:
        try:
            how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
        except ValueError:
            how = f"killed by signal {-status}"
        super().__init__(how)
        self.stderr = stderr


def _outcome(reply: Mapping[str, Any], number: int) -> Outcome:
    if reply.get("id") != number:
        raise ValueError(f"the answer to question {number} has the id {reply.get('id')}")
    if reply["type"] == "answer":
        outputs = {name: np.asarray(decoded(tensor)) for name, tensor in reply["outputs"].items()}
        return Answered(outputs, reply.get("provider"))
    if reply["type"] == "refusal":
        return RefusedByTarget(_text(reply["status"]), _text(reply["message"]))
    if reply["type"] == "unable":
        return NotAsked(_text(reply["message"]))
    return Failed(_text(reply["message"]))


def _text(words: object) -> str:
    # A kernel's own words may hold what no encoding can write.
    return str(words).encode(errors="backslashreplace").decode()


def _environment(isolated: bool) -> dict[str, str]:
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1"}
    if isolated:
        for name in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(name, None)
        environment["PYTHONNOUSERSITE"] = "1"
    return environment
