"""The conversation with workers, written to a file as it happens."""

import contextlib
import itertools
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

    def __init__(self, file: TextIO) -> None:
        """Begin."""
        self.processes = itertools.count(1)
        """The numbers of new processes."""
        self.error: OSError | None = None
        """Why a line could not be written, and none after it."""
        self._file, self._began, self._lock = file, time.monotonic(), threading.Lock()

    def add(self, target: str, process: int, direction: str, line: bytes) -> None:
        """Write one line of a conversation."""
        message = {
            "seconds": round(time.monotonic() - self._began, 6),
            "target": target,
            "process": process,
            "direction": direction,
            "line": line.rstrip(b"\n").decode(errors="backslashreplace"),
        }
        with self._lock:
            try:
                if self.error is None and not self._file.closed:
                    self._file.write(inert.dumps(message) + "\n")
                    self._file.flush()
            except OSError as error:
                self.error = error


@contextlib.contextmanager
def transcribing(path: Path | None) -> Iterator[Transcript | None]:
    """The transcript to write to a file, if one is wanted. Raises ``OSError`` at the end if a line could not be written."""
    if path is None:
        yield None
        return
    with open_text(path) as file:
        transcript = Transcript(file)
        yield transcript
        if transcript.error is not None:
            raise transcript.error
