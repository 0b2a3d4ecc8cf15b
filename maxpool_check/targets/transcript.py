"""The conversation with workers, written to a file as it happens."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from maxpool_check import inert
from maxpool_check.files import open_text


class Transcript:
    """Writes each line to and from workers as a line of JSON; from any thread.

    ``seconds`` are those since the start, ``process`` counts the processes of all targets, ``direction`` is ``in`` for what
    the program reads and ``out`` for what it writes. Lines are whole, so that they can be sent to a program again.
    """

    def __init__(self, file: TextIO, path: Path) -> None:
        """Begin; ``path`` is the name of the file in errors."""
        self._file, self._path = file, path
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._processes = 0
        self._error: OSError | None = None

    def process(self) -> int:
        """The number of a new process."""
        with self._lock:
            self._processes += 1
            return self._processes

    def add(self, target: str, process: int, direction: str, line: bytes) -> None:
        """Write one line of a conversation. An error is kept for :meth:`check`."""
        message = {
            "seconds": round(time.monotonic() - self._began, 6),
            "target": target,
            "process": process,
            "direction": direction,
            "line": line.rstrip(b"\n").decode(errors="backslashreplace"),
        }
        with self._lock:
            try:
                if self._error is None and not self._file.closed:
                    self._file.write(inert.dumps(message) + "\n")
                    self._file.flush()
            except OSError as error:
                error.filename = error.filename or str(self._path)
                self._error = error

    def check(self) -> None:
        """Raise the ``OSError`` of a line that could not be written."""
        if self._error is not None:
            raise self._error


@contextlib.contextmanager
def transcribing(path: Path | None) -> Iterator[Transcript | None]:
    """The transcript to write to a file, if one is wanted. Raises ``OSError`` at the end if a line could not be written."""
    if path is None:
        yield None
        return
    with open_text(path) as file:
        transcript = Transcript(file, path)
        yield transcript
        transcript.check()
