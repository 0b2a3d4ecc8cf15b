"""A worker process: its start, its requests and outcomes, and its end."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from maxpool_check.results.outcomes import Crashed, Failed, Outcome, TimedOut
from maxpool_check.targets.launching import launch
from maxpool_check.targets.mistakes import about_line
from maxpool_check.targets.protocol import (
    line_of,
    message_of,
    outcome_of,
    parsed,
    parsed_message,
    text_of,
    without_bytes,
)
from maxpool_check.targets.stderr import shown
from maxpool_check.targets.worker.__main__ import PROTOCOL

START_SECONDS = 120.0
"""How long a runtime may take to import. A cold disk is slow; a hang is longer."""

PIPE_BYTES = 2**15
"""How many bytes fit into a pipe: a write does not block if it and what is unread are no more."""

_STDERR_KEPT = 2**16

_MOST_LINES = 16
"""How many lines that nobody has read are kept: a worker that writes more than it is asked waits."""

_POLL_SECONDS = 0.2
"""How often to check that a process still exists: its pipes may be held open by a child."""

_EXIT_SECONDS = 5.0
"""How long a process may take from closing its pipes to its exit."""


class CannotStart(RuntimeError):
    """A target that could not be started."""


class RefusesOptions(CannotStart):
    """A target whose adapter refuses its options or its provider."""


class Worker:
    """One process that executes requests for one runtime. It ends at the first death; start another.

    Requests may be written ahead while it works; their outcomes come in the same order.
    """

    def __init__(
        self, program: Sequence[str], options: Mapping[str, Any], *, isolated: bool, memory: int | None = None,
        heard: Callable[[str, bytes], None] = lambda *_: None, frames: bool = False, start_seconds: float = START_SECONDS,
    ) -> None:  # fmt: skip
        """Start a program that speaks the protocol; requests may be written before it is ready.

        ``isolated``: it does not see the Python settings of the user. ``memory`` limits what it may allocate, in bytes.
        ``heard`` gets each line that it reads (``in``) and writes (``out``), from two threads. ``frames``: it is a worker of
        the tool, which may get frames, not only lines. ``start_seconds`` limit how long it takes to become ready. Raises
        :class:`CannotStart`.
        """
        self._start_seconds = start_seconds
        self._program, self._heard, self._frames = program[0], heard, frames
        try:
            self._launched = launch(program, memory, isolated=isolated)
        except OSError as error:
            raise CannotStart(f"{self._program} cannot be run: {error.strerror}") from error
        self._process = self._launched.process
        self._lines: queue.Queue[tuple[float, bytes]] = queue.Queue(_MOST_LINES)
        self._closed_pipe: str | None = None
        self._ended = self._expired = False
        self.executed, self.arrived = 0, 0.0
        """How many requests have had an outcome, and when the last line that was read had arrived (``time.monotonic``)."""
        self._stderr = bytearray()
        # Threads read, so that waiting can have a time limit on every operating system.
        threading.Thread(target=self._read_lines, daemon=True).start()
        self._reading_stderr = threading.Thread(target=self._read_stderr, daemon=True)
        self._reading_stderr.start()
        try:
            self.write(json.dumps({"protocol": PROTOCOL, "options": dict(options)}).encode() + b"\n", start_seconds)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of the process that guards it and ends when it ends."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can execute another request."""
        return not self._ended and self._process.poll() is None

    @cached_property
    def description(self) -> dict[str, Any]:
        """The program's description of itself; waits until it is ready. Raises :class:`CannotStart`."""
        try:
            line = self.next_line(self._start_seconds)
            if not line:
                death = self.death()
                why = f"{death.how}\n{death.stderr}" if isinstance(death, Crashed) else death.why
                raise CannotStart(f"the worker died while starting: {why}".rstrip())
            message = parsed(line)
        except TimeoutError:
            self.end()
            why = "" if self._start_seconds == START_SECONDS else " (--timeout): is its first line whole, and flushed?"
            raise CannotStart(f"it was not ready within {self._start_seconds:g} s{why}") from None
        except ValueError as error:
            self.end()
            raise CannotStart(
                f"{self._program} does not speak the worker's protocol: {text_of(error)}{about_line(line)}"
            ) from error
        if message.get("type") == "ready" and message.get("protocol") == PROTOCOL:
            return message
        self.end()
        if message.get("type") == "ready":
            version = text_of(message.get("protocol"))
            raise CannotStart(f"it speaks version {version} of the protocol, not version {PROTOCOL}{about_line(line)}")
        if message.get("type") == "failed" and "message" in message:
            failure = RefusesOptions if message.get("refused") is True else CannotStart
            raise failure(text_of(message["message"]))
        raise CannotStart(
            f"{self._program} does not speak the worker's protocol: the first line of stdout must be "
            f'{{"type": "ready", "protocol": {PROTOCOL}}}, or of the type failed with a message{about_line(line)}'
        )

    def write(self, line: bytes, seconds: float) -> None:
        """Send a request. It does not block if this line and those without an outcome fit into a pipe.

        Raises :class:`CannotStart` if a program that must be ready before never became so.
        """
        stream = self._process.stdin
        assert stream is not None
        self._heard("in", line)
        # Only what does not fit into the pipe can block, and only a worker that hangs makes it block for long.
        limit = threading.Timer(seconds, self._expire) if len(line) > PIPE_BYTES else None
        if limit is not None:
            # A runtime that takes long to import reads nothing until it is ready.
            _ = self.description
            limit.start()
        try:
            stream.write(line)
            stream.flush()
        except OSError:
            # What the worker has written can still be read; its death is noticed after that.
            self._closed_pipe = "stdin"
        finally:
            if limit is not None:
                limit.cancel()

    def read(self, number: int, seconds: float) -> Outcome:
        """The outcome of the oldest request without one, which has this ``id`` and may take ``seconds`` from now on.

        Raises :class:`CannotStart` if the program never became ready.
        """
        _ = self.description
        line = b""
        try:
            # After the pipe is closed, there is only what was written before.
            line = self.next_line(_EXIT_SECONDS if self._closed_pipe else seconds)
            if not line:
                return TimedOut(seconds) if self._expired else self.death()
            message = parsed_message(line) if self._frames else parsed(line)
            outcome = outcome_of(message, number)
        except TimeoutError:
            if self._closed_pipe:
                return self.death()
            self.end()
            return TimedOut(seconds)
        except Exception as error:
            # Whatever a program writes, it does not end the run.
            self.end()
            return Failed(f"the worker broke the protocol: {text_of(error)}{about_line(without_bytes(line))}")
        self.executed += 1
        return outcome

    def end_input(self) -> None:
        """Close its stdin: a program that speaks the protocol ends."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._closed_pipe = "stdin"

    def end(self) -> None:
        """Kill the process and all that it has started. From any thread."""
        self._ended = True
        self._launched.end()

    def close(self) -> None:
        """End it and close its pipes. From the thread that reads."""
        self.end()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            # The guard was stopped: what it guards ends with it.
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._launched.lifeline):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def _expire(self) -> None:
        self._expired = True
        self.end()

    def _read_lines(self) -> None:
        """Read lines until the end of the stream, which is an empty line in the queue. In a thread of its own."""
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while line := message_of(stream) if self._frames else line_of(stream):
                self._heard("out", line)
                if not self._put(line):
                    break
        self._put(b"")
        stream.close()

    def _put(self, line: bytes) -> bool:
        """Queue a line, as soon as there is room; False if the process has ended."""
        arrived = time.monotonic()
        while True:
            with contextlib.suppress(queue.Full):
                self._lines.put((arrived, line), timeout=_POLL_SECONDS)
                return True
            if self._ended:
                return False

    def _read_stderr(self) -> None:
        """Read stderr until its end, and keep the beginning and the end of it. In a thread of its own."""
        stream = self._process.stderr
        assert stream is not None
        while chunk := os.read(stream.fileno(), _STDERR_KEPT):
            self._stderr += chunk
            del self._stderr[_STDERR_KEPT:-_STDERR_KEPT]
        stream.close()

    def next_line(self, seconds: float) -> bytes:
        """The next line, b"" at the end. Raises ``TimeoutError``."""
        left = seconds
        while True:
            step = min(_POLL_SECONDS, left)
            try:
                self.arrived, line = self._lines.get(timeout=step)
                return line
            except queue.Empty:
                # Counted by steps: while this process is stopped, nobody's time runs out.
                left -= step
            if self._process.poll() is not None:
                # A child may hold the pipe open.
                with contextlib.suppress(queue.Empty):
                    self.arrived, line = self._lines.get(timeout=_POLL_SECONDS)
                    return line
                return b""
            if left <= 0:
                raise TimeoutError

    def death(self) -> Crashed | Failed:
        """How the process ended."""
        try:
            status = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            return Failed(f"the worker broke the protocol: it closed its {self._closed_pipe or 'stdout'}")
        self._ended = True
        # Only where the guard cannot find all that the process has started may something still hold it open.
        self._reading_stderr.join(_EXIT_SECONDS)
        name = next((each.name for each in signal.Signals if each == -status), f"signal {-status}")
        return Crashed(
            f"exited with status {status}" if status >= 0 else f"killed by {name}", shown(bytes(self._stderr))
        )
