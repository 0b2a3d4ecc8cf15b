"""Reading and writing records: JSON lines, in a file that may be compressed by gzip."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from maxpool_check.results.record import SCHEMA, Execution, Line, Record, RunFooter, RunHeader

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class BadRecord(ValueError):
    """A file that is not a record."""


class CutOff(BadRecord):
    """A record that ends before its first line is complete."""


def read(path: Path) -> Record:
    """Read a record; its executions are read from the file again at each iteration.

    An incomplete last line is ignored. Raises :class:`BadRecord` or ``OSError``.
    """
    lines = _lines(path)
    header, count, footer = next(lines), 0, None
    assert isinstance(header, RunHeader)
    for line in lines:
        count += isinstance(line, Execution)
        footer = line if isinstance(line, RunFooter) else footer
    is_complete = footer is not None and footer.executions == count
    return Record(header, StoredExecutions(path, count), footer if is_complete else None)


def record_of(lines: Iterable[Line]) -> Record:
    """The record of some lines, the header first, in memory."""
    header, *rest = lines
    assert isinstance(header, RunHeader)
    footer = next((line for line in rest if isinstance(line, RunFooter)), None)
    return Record(header, tuple(line for line in rest if isinstance(line, Execution)), footer)


class StoredExecutions(Collection[Execution]):
    """The executions of a record file, decoded line by line at each iteration to save memory."""

    def __init__(self, path: Path, count: int) -> None:
        self._path, self._count = path, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Execution]:
        executions = (line for line in _lines(self._path) if isinstance(line, Execution))
        return itertools.islice(executions, self._count)

    def __contains__(self, execution: object) -> bool:
        return any(execution == stored for stored in self)


class Recorder(contextlib.ExitStack):
    """Writes the lines of a run to a record file, or to a temporary file without a path. A context manager.

    The file is opened for the first line: an interruption before it keeps an existing file.
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path
        self._streams: list[IO[bytes]] = []
        self._stored: Path | None = None
        self._header: RunHeader | None = None
        self._footer: RunFooter | None = None
        self._count = 0

    def write(self, line: Line) -> None:
        """Add one line, complete or not at all. Raises ``OSError``."""
        if not self._streams:
            self._open()
        encoded = _ENCODER.encode(line) + b"\n"
        for stream in self._streams:
            stream.write(encoded)
            stream.flush()
        if isinstance(line, Execution):
            self._count += 1
        elif isinstance(line, RunFooter):
            self._footer = line
        else:
            self._header = line

    @property
    def record(self) -> Record | None:
        """The record so far; None before its first line. It can be read until the recorder is closed."""
        if self._header is None or self._stored is None:
            return None
        return Record(self._header, StoredExecutions(self._stored, self._count), self._footer)

    def _open(self) -> None:
        if self._path is not None:
            stream: IO[bytes] = self.enter_context(self._path.open("wb"))
            if self._path.suffix == ".gz":
                # Without a name and a time, the same lines make the same file.
                stream = cast("IO[bytes]", self.enter_context(gzip.GzipFile("", "wb", 9, stream, 0)))
            self._streams.append(stream)
            self._stored = self._path
        if self._path is None or not self._path.is_file():
            # A pipe or a device cannot be read again.
            folder = self.enter_context(tempfile.TemporaryDirectory())
            self._stored = Path(folder) / "record.jsonl"
            self._streams.append(self.enter_context(self._stored.open("wb")))


def _lines(path: Path) -> Iterator[Line]:
    """The decoded lines of a record file, the header first. Raises :class:`BadRecord` or ``OSError``."""
    lines = _stored_lines(path)
    yield _header(path, lines)
    complete = itertools.takewhile(lambda line: line.endswith(b"\n"), lines)
    for number, line in enumerate(complete, 2):
        yield _decoded(path, number, line)


def _stored_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that may be compressed, each with its end; the last may have none."""
    with path.open("rb") as file:
        compressed = file.peek(2).startswith(b"\x1f\x8b")
        try:
            yield from gzip.GzipFile(fileobj=file) if compressed else file
        except EOFError:
            # The compressed stream of an interrupted run has no end, but its lines can be read.
            return
        except (zlib.error, gzip.BadGzipFile) as error:
            raise BadRecord(f"{path}: not a record: {error}") from error


def _header(path: Path, lines: Iterator[bytes]) -> RunHeader:
    line = next(lines, b"")
    if not line.endswith(b"\n") and line[:1] in (b"", b"{"):
        raise CutOff(f"{path}:1: the record is cut off before the end of its first line")
    header = _decoded(path, 1, line)
    if not isinstance(header, RunHeader):
        raise BadRecord(f"{path}:1: not a record: the first line is not a header")
    if header.schema != SCHEMA:
        raise BadRecord(f"{path}:1: a record of the schema {header.schema}; this version reads {SCHEMA}")
    return header


def _decoded(path: Path, number: int, line: bytes) -> Line:
    try:
        return _DECODER.decode(line)
    except msgspec.MsgspecError as error:
        raise BadRecord(f"{path}:{number}: not a line of a record ({error})") from error


def schema() -> Mapping[str, Any]:
    """The JSON Schema of one line."""
    (line,), definitions = msgspec.json.schema_components([Line], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "maxpool-check record, one line",
        **line,
        "$defs": definitions,
    }
