"""A worker process: its start, its requests and outcomes, and its end."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maxpool_check.results.outcomes import Crashed, Failed, Outcome, TimedOut
from maxpool_check.targets.launching import launch, shown
from maxpool_check.targets.protocol import MOST_BYTES, about_line, in_message, outcome_of, parsed, text_of
from maxpool_check.targets.worker.__main__ import PROTOCOL

START_SECONDS = 120.0
"""How long a runtime may take to import. A cold disk is slow; a hang is longer."""

_STDERR_KEPT = 2**16

_CHUNK = 2**18
"""How many bytes are read at once. A worker that writes more than is read waits."""

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

    Requests may be written ahead while it works; their outcomes come in the same order. Its pipes are read and written in the
    thread that waits for a line, by one loop.
    """

    def __init__(
        self, program: Sequence[str], options: Mapping[str, Any], *, isolated: bool, is_own: bool = True,
        memory: int | None = None, heard: Callable[[str, bytes], None] | None = None, start_seconds: float = START_SECONDS,
    ) -> None:  # fmt: skip
        """Start a program that speaks the protocol; requests may be written before it is ready.

        ``isolated``: it does not see the Python settings of the user. ``is_own``: it is a program of the tool, whose messages
        need no check before they are read. ``memory`` limits what it may allocate, in bytes.
        ``heard`` gets each line that it reads (``in``) and writes (``out``). ``start_seconds`` limit how long it takes to become
        ready. Raises :class:`CannotStart`.
        """
        self._start_seconds = start_seconds
        self._program, self._heard = program[0], heard or (lambda *_: None)
        self._is_own = is_own
        try:
            self._launched = launch(program, memory, isolated=isolated)
        except OSError as error:
            raise CannotStart(f"{self._program} cannot be run: {error.strerror}") from error
        self._process = process = self._launched.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin, self._stdout, self._stderr = (
            each.fileno() for each in (process.stdin, process.stdout, process.stderr)
        )
        self._poll = select.poll()
        for pipe, event in ((self._stdin, 0), (self._stdout, select.POLLIN), (self._stderr, select.POLLIN)):
            os.set_blocking(pipe, False)
            self._poll.register(pipe, event)
        self._open = {self._stdin, self._stdout, self._stderr}
        self._unwritten, self._unread, self._said = deque[memoryview](), bytearray(), bytearray()
        self._ended = self._polls_stdin = False
        self._description: dict[str, Any] | None = None
        self.executed, self.arrived = 0, 0.0
        """How many requests have had an outcome, and when the last line that was read had arrived (``time.monotonic``)."""
        self.seconds: Any = None
        """How long the worker says that the last one took."""
        try:
            self.write(json.dumps({"protocol": PROTOCOL, "options": dict(options)}).encode() + b"\n")
            self.flush()
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

    @property
    def description(self) -> dict[str, Any]:
        """The program's description of itself; waits until it is ready. Raises :class:`CannotStart`."""
        # A cached property of Python 3.11 has one lock for all workers, which would start one after another.
        if self._description is None:
            self._description = self._first_line()
        return self._description

    def _first_line(self) -> dict[str, Any]:
        line = b""
        try:
            line = self.next_line(self._start_seconds)
            message = parsed(line) if line else {}
        except TimeoutError:
            self.end()
            why = "" if self._start_seconds == START_SECONDS else " (--timeout): is its first line whole, and flushed?"
            raise CannotStart(f"it was not ready within {self._start_seconds:g} s{why}") from None
        except ValueError as error:
            self.end()
            raise self._speaks_otherwise(text_of(error), line) from error
        if not line:
            death = self.death()
            why = f"{death.how}\n{death.stderr}" if isinstance(death, Crashed) else death.why
            raise CannotStart(f"the worker died while starting: {why}".rstrip())
        kind, version = message.get("type"), message.get("protocol")
        if (kind, version) == ("ready", PROTOCOL):
            return message
        self.end()
        if kind == "failed" and "message" in message:
            failure = RefusesOptions if message.get("refused") is True else CannotStart
            raise failure(text_of(message["message"]))
        if kind == "ready":
            other = f"it speaks version {text_of(version)} of the protocol, not version {PROTOCOL}"
            raise CannotStart(f"{other}{about_line(line)}")
        expected = f'{{"type": "ready", "protocol": {PROTOCOL}}}, or of the type failed with a message'
        raise self._speaks_otherwise(f"the first line of stdout must be {expected}", line)

    def _speaks_otherwise(self, why: str, line: bytes) -> CannotStart:
        return CannotStart(f"{self._program} does not speak the worker's protocol: {why}{about_line(line)}")

    def write(self, line: bytes) -> None:
        """Send a request, which is written by :meth:`flush`, and as its pipe takes it while :meth:`next_line` waits."""
        self._heard("in", line)
        if self._stdin in self._open:
            self._unwritten.append(memoryview(line))

    def read(self, number: int, seconds: float, *, takes_bytes: bool = False) -> Outcome:
        """The outcome of the oldest request without one, which has this ``id`` and may take ``seconds`` from now on.

        ``takes_bytes``: those of outputs may follow its line. Raises :class:`CannotStart` if the program never became ready.
        """
        _ = self.description
        line = b""
        try:
            # After the pipe is closed, there is only what was written before.
            line = self.next_line(seconds if self._stdin in self._open else _EXIT_SECONDS)
            if not line:
                return self.death()
            message = parsed(line)
            if not self._is_own and (mistake := in_message(message, number)):
                raise ValueError(mistake)
            for tensor in message["outputs"].values() if takes_bytes and message.get("type") == "result" else ():
                if isinstance(tensor["data"], int):
                    tensor["data"] = self._next_bytes(tensor["data"], seconds)
            outcome = outcome_of(message, number)
        except EOFError:
            return self.death()
        except TimeoutError:
            if self._stdin not in self._open:
                return self.death()
            self.end()
            return TimedOut(seconds)
        except Exception as error:
            # Whatever a program writes, it does not end the run.
            self.end()
            return Failed(f"the worker broke the protocol: {text_of(error)}{about_line(line)}")
        self.executed += 1
        self.seconds = message.get("seconds")
        return outcome

    def end_input(self) -> None:
        """Close its stdin: a program that speaks the protocol ends."""
        self._close(self._stdin)

    def end(self) -> None:
        """Kill the process and all that it has started. From any thread."""
        self._ended = True
        self._launched.end()

    def close(self) -> None:
        """End it and close its pipes. From the thread that uses it."""
        self.end()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            # The guard was stopped: what it guards ends with it.
            self._process.kill()
            self._process.wait()
        for pipe in (self._stdin, self._stdout, self._stderr):
            self._close(pipe)
        self._launched.lifeline.close()

    def _close(self, pipe: int) -> None:
        if pipe in self._open:
            self._open.remove(pipe)
            self._poll.unregister(pipe)
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                if stream is not None and not stream.closed and stream.fileno() == pipe:
                    with contextlib.suppress(OSError):
                        stream.close()

    def exchange(self, seconds: float) -> None:
        """Write and read what the pipes take and have; wait at most so many seconds for the first of it."""
        if self._stdin in self._open and self._polls_stdin != bool(self._unwritten):
            self._polls_stdin = not self._polls_stdin
            self._poll.modify(self._stdin, select.POLLOUT if self._polls_stdin else 0)
        for pipe, event in self._poll.poll(seconds * 1000):
            if pipe == self._stdin:
                self.flush()
                if event & (select.POLLERR | select.POLLHUP):
                    # What the worker has written can still be read; its death is noticed after that.
                    self._close(self._stdin)
            elif content := self._content_of(pipe):
                if pipe == self._stdout:
                    self._unread += content
                    self.arrived = time.monotonic()
                else:
                    self._said += content
                    del self._said[_STDERR_KEPT:-_STDERR_KEPT]

    def flush(self) -> None:
        """Write as much as the pipe takes now."""
        try:
            while self._unwritten:
                written = os.write(self._stdin, self._unwritten[0])
                self._unwritten[0] = self._unwritten[0][written:]
                if not self._unwritten[0]:
                    self._unwritten.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._unwritten.clear()
            self._close(self._stdin)

    def _content_of(self, pipe: int) -> bytes:
        """What a pipe has; at its end it is closed."""
        try:
            content = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            content = b""
        if not content:
            self._close(pipe)
        return content

    def next_line(self, seconds: float) -> bytes:
        """The next line, b"" at the end. Raises ``TimeoutError``."""
        line = self._next(seconds, lambda searched: self._unread.find(b"\n", searched) + 1)
        self._heard("out", line)
        return line

    def _next_bytes(self, count: int, seconds: float) -> bytes:
        """So many bytes behind a line. Raises ``TimeoutError``, ``ValueError``, and ``EOFError`` if there are fewer."""
        if not 0 <= count <= MOST_BYTES:
            raise ValueError(f"{count} bytes behind a line")
        content = self._next(seconds, lambda _: count if len(self._unread) >= count else 0) if count else b""
        if len(content) < count:
            raise EOFError
        return content

    def _next(self, seconds: float, end_of: Callable[[int], int]) -> bytes:
        """What is read up to the end that is found (0: not yet) from where was searched before; all that is left at the end."""
        left, searched = seconds, 0
        while True:
            end = end_of(searched)
            searched = len(self._unread)
            if end or searched > MOST_BYTES or (searched and self._stdout not in self._open):
                taken = bytes(self._unread[: end or searched])
                del self._unread[: len(taken)]
                return taken
            if self._stdout not in self._open:
                return b""
            if left <= 0:
                raise TimeoutError
            before = time.monotonic()
            self.exchange(min(_POLL_SECONDS, left))
            # Counted by steps: while this process is stopped, nobody's time runs out.
            left -= min(time.monotonic() - before, _POLL_SECONDS)
            if len(self._unread) == searched and self._process.poll() is not None:
                # A child may hold the pipe open.
                self.exchange(_POLL_SECONDS)
                if len(self._unread) == searched:
                    self._close(self._stdout)

    def death(self) -> Crashed | Failed:
        """How the process ended."""
        try:
            status = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            closed = "stdout" if self._stdin in self._open else "stdin"
            # It would cost as long again at each request.
            return Failed(f"the worker broke the protocol: it closed its {closed}", final=True)
        self._ended = True
        # Only where the guard cannot find all that the process has started may something still hold it open.
        left = _EXIT_SECONDS
        while self._stderr in self._open and left > 0:
            before = time.monotonic()
            self.exchange(_POLL_SECONDS)
            left -= time.monotonic() - before
        name = next((each.name for each in signal.Signals if each == -status), f"signal {-status}")
        return Crashed(f"exited with status {status}" if status >= 0 else f"killed by {name}", shown(bytes(self._said)))
