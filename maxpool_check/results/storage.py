"""Reading and writing records: JSON lines, in a file that may be compressed: by gzip, or to be read by xz, too."""

import contextlib
import gzip
import io
import itertools
import lzma
import math
import re
import sys
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from maxpool_check import inert
from maxpool_check.files import RECORD_SUFFIXES, STDOUT, named, open_regular
from maxpool_check.reference.numbering import Layout
from maxpool_check.results.details import Cell, Entering, Input
from maxpool_check.results.outputs import StoredOutput, unpacked
from maxpool_check.results.record import FAULTS, SCHEMA, Execution, Line, Record, RunFooter, RunHeader
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import ALL_VARIANTS

_ENCODER = msgspec.json.Encoder()
MAX_LINE = 256 * 2**20
"""The longest line of a record that is read, in bytes."""
_MOST_IN_MEMORY = 10_000
"""So many executions are kept when a record is read, about 30 MB; those of a larger one are read again at each iteration."""
_MOST_MISTAKES = 10
_VARIANTS = frozenset(variant.name for variant in ALL_VARIANTS)
_ORIGIN = re.compile(r".*:[0-9]{1,9}", re.DOTALL)
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class BadRecord(ValueError):
    """A file that is not a record."""


class CutOff(BadRecord):
    """A record that ends before its first line is complete."""


def read(path: Path) -> Record:
    """Read a record. An incomplete last line is ignored. Raises :class:`BadRecord` or ``OSError``."""
    lines = lines_of(path)
    header, summary, footer, mistakes = next(lines), RunSummary(), None, list[str]()
    assert isinstance(header, RunHeader)
    executions, outputs = list[Execution](), dict[str, StoredOutput]()
    for number, line in enumerate(itertools.chain([header], lines), 1):
        if isinstance(line, StoredOutput):
            outputs[line.sha256] = line
        if isinstance(line, Execution):
            summary.add(line)
            executions += [line] if summary.executions <= _MOST_IN_MEMORY else []
        if len(mistakes) < _MOST_MISTAKES:
            mistakes += [f"{path}:{number}: {mistake}" for mistake in _mistakes(line, number, summary, footer)]
        footer = line if isinstance(line, RunFooter) else footer
    is_complete = footer is not None and footer.executions == summary.executions
    return Record(
        header,
        executions if len(executions) == summary.executions else StoredExecutions(path, summary.executions),
        footer if is_complete else None,
        tuple(mistakes),
        outputs,
    )


def name_of(path: Path) -> str:
    """The name of a record: that of its file, without what says its form."""
    return next((path.name.removesuffix(suffix) for suffix in RECORD_SUFFIXES if path.name.endswith(suffix)), path.name)


def decompressed(file: io.BufferedReader) -> IO[bytes]:
    """The content of a file that may be compressed, by how it begins."""
    first = file.peek(6)
    if first.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    return cast("IO[bytes]", lzma.LZMAFile(file)) if first.startswith(b"\xfd7zXZ\0") else file


def record_of(lines: Iterable[Line]) -> Record:
    """The record of some lines, the header first, in memory."""
    header, *rest = lines
    assert isinstance(header, RunHeader)
    footer = next((line for line in rest if isinstance(line, RunFooter)), None)
    outputs = {line.sha256: line for line in rest if isinstance(line, StoredOutput)}
    return Record(header, tuple(line for line in rest if isinstance(line, Execution)), footer, outputs=outputs)


class StoredExecutions(Collection[Execution]):
    """The executions of a large record file, decoded line by line at each iteration to save memory."""

    def __init__(self, path: Path, count: int) -> None:
        self._path, self._count = path, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Execution]:
        executions = (line for line in lines_of(self._path) if isinstance(line, Execution))
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
        self._streams: list[tuple[Path, IO[bytes]]] = []
        self._stored = Path()
        self._header: RunHeader | None = None
        self._footer: RunFooter | None = None
        self._executions, self._count = list[Execution](), 0
        self._outputs: dict[str, StoredOutput] = {}

    def write(self, line: Line) -> None:
        """Add one line, complete or not at all. Raises ``OSError``."""
        if not self._streams:
            self._open()
        encoded = inert.ascii_json(_ENCODER.encode(line)) + b"\n"
        for path, stream in self._streams:
            with named(path):
                stream.write(encoded)
                stream.flush()
        match line:
            case RunHeader():
                self._header = line
            case RunFooter():
                self._footer = line
            case StoredOutput():
                self._outputs[line.sha256] = line
            case Execution():
                self._count += 1
                if self._count <= _MOST_IN_MEMORY:
                    self._executions.append(line)
                else:
                    self._executions.clear()

    @property
    def record(self) -> Record | None:
        """The record so far; None before its first line. It can be read until the recorder is closed."""
        if self._header is None:
            return None
        is_whole = self._count == len(self._executions)
        executions = tuple(self._executions) if is_whole else StoredExecutions(self._stored, self._count)
        return Record(self._header, executions, self._footer, outputs=self._outputs)

    def _open(self) -> None:
        if self._path == STDOUT:
            self._streams.append((STDOUT, sys.stdout.buffer))
        elif self._path is not None:
            stream: IO[bytes] = self._closed_at_exit(self._path, self._path.open("wb"))
            if self._path.suffix == ".gz":
                # Without a name and a time, the same lines make the same file.
                compressing = cast("IO[bytes]", gzip.GzipFile("", "wb", 9, stream, 0))
                stream = self._closed_at_exit(self._path, compressing)
            self._streams.append((self._path, stream))
            self._stored = self._path
        if self._path is None or not self._path.is_file():
            # A pipe or a device cannot be read again.
            folder = self.enter_context(tempfile.TemporaryDirectory())
            self._stored = Path(folder) / "record.jsonl"
            self._streams.append((self._stored, self._closed_at_exit(self._stored, self._stored.open("wb"))))

    def _closed_at_exit(self, path: Path, stream: IO[bytes]) -> IO[bytes]:
        def close() -> None:
            with named(path):
                stream.close()

        self.callback(close)
        return stream


def lines_of(path: Path) -> Iterator[Line]:
    """The decoded lines of a record file, the header first. Raises :class:`BadRecord` or ``OSError``."""
    lines = _stored_lines(path)
    first = next(lines, b"")
    if not first.endswith(b"\n") and first[:1] in (b"", b"{"):
        raise CutOff(f"{path}:1: the record is cut off before the end of its first line")
    header = _decoded(path, 1, first)
    if not isinstance(header, RunHeader):
        raise BadRecord(f"{path}:1: not a record: the first line is not a header")
    if header.schema != SCHEMA:
        raise BadRecord(f"{path}:1: a record of the schema {header.schema}; this version reads {SCHEMA}")
    yield header
    complete = itertools.takewhile(lambda line: line.endswith(b"\n"), lines)
    targets = {target.name for target in header.targets}
    for number, line in enumerate(complete, 2):
        decoded = _decoded(path, number, line)
        if isinstance(decoded, Execution) and decoded.target not in targets:
            raise BadRecord(f"{path}:{number}: not a line of this record: its header names no target {decoded.target}")
        yield decoded


def _stored_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that may be compressed, each with its end; the last may have none."""
    with open_regular(path) as file:
        stream = decompressed(file)
        try:
            for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE + 1), b""), 1):
                if len(line) > MAX_LINE:
                    raise BadRecord(f"{path}:{number}: the line is longer than {MAX_LINE} bytes; is this a record?")
                yield line
        except EOFError:
            # The compressed stream of an interrupted run has no end, but its lines can be read.
            return
        except (zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise BadRecord(f"{path}: not a record: {error}") from error


def _decoded(path: Path, number: int, line: bytes) -> Line:
    try:
        decoded = _DECODER.decode(line)
        _check(decoded)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise BadRecord(f"{path}:{number}: not a line of a record ({reason})") from error
    return decoded


def _check(line: Line) -> None:
    """Raise ``ValueError`` for what the types allow and no run writes: reports rely on it."""
    if isinstance(line, RunHeader):
        for target in line.targets:
            _check_depth(target.session_options)
    elif isinstance(line, Execution):
        if not _ORIGIN.fullmatch(line.origin):
            raise ValueError("the origin is not FILE:LINE")
        if line.input is not None:
            _check_depth(line.input.attributes)
            _check_values(line.input)
            _check_values(line.input.pooled)
        if not 0 <= line.seconds < math.inf:
            raise ValueError("the seconds are no time")
        if not all(_fits(cell, line) for cell in line.cells):
            raise ValueError("one of the cells is not a cell of an output")
        for text in (text for by_sort in line.wrong.values() for text in by_sort.values()):
            unpacked(text)
    elif isinstance(line, StoredOutput):
        line.tensor()


def _mistakes(line: Line, number: int, summary: RunSummary, footer: RunFooter | None) -> Iterator[str]:
    """What no run writes and reports do not rely on; ``summary`` is that of the executions so far."""
    if footer is not None:
        yield "a line behind the footer"
    if isinstance(line, Execution):
        yield from _mistakes_of_execution(line)
    if isinstance(line, (Execution, StoredOutput)):
        return
    if isinstance(line, RunHeader) and number > 1:
        yield "a second header"
    name = "started" if isinstance(line, RunHeader) else "finished"
    try:
        datetime.fromisoformat(getattr(line, name))
    except ValueError:
        yield f"'{name}' is no time"
    if isinstance(line, RunFooter) and line.executions == summary.executions:
        if line.summary != summary.verdicts:
            yield "'summary' does not count the executions"
        codes = {int(summary.exit_code(line.known, line.errors, strict=strict)) for strict in (False, True)}
        if line.exit_code not in codes:
            yield f"'exit_code' is not {' or '.join(map(str, sorted(codes)))}, which follows from the executions"


def _mistakes_of_execution(line: Execution) -> Iterator[str]:
    if not 0 <= line.size < 2**63:
        yield "'size' is not that of a tensor"
    if line.variant not in _VARIANTS:
        yield f"there is no variant '{line.variant}'"
    if line.verdict in FAULTS and not line.kinds:
        yield f"'kinds' is empty, and the verdict is {line.verdict.value}"


def _check_values(given: Input | Entering) -> None:
    if any(not 0 <= size < 2**63 for size in given.shape):
        raise ValueError("the shape of the input is not one of a tensor")
    if given.values is not None and len(given.values) != math.prod(given.shape):
        raise ValueError("the values of the input are not those of its shape")


def _fits(cell: Cell, execution: Execution) -> bool:
    """Whether a wrong cell and its window can be those of the input."""
    layout, given = execution.layout, execution.input
    if not cell.at or not cell.window or min(cell.at) < 0:
        return False
    if given is None:
        return True
    at, shape = layout.sizes(cell.at), layout.sizes(given.pooled.shape)
    if not len(at) == len(shape) == len(cell.window) + 2 or len(cell.outside) not in (0, len(cell.window)):
        return False
    if any(each is not None and len(each) != len(cell.at) for each in (cell.chosen, cell.got_cell)):
        return False
    sizes = zip(cell.window, shape[2:], strict=True)
    inside = all(0 <= tap < size and len(taps) <= size for taps, size in sizes for tap in taps)
    return inside and at[1] < shape[1] and (layout is Layout.IMAGE or at[0] < shape[0])


def _check_depth(value: Any, depth: int = 64) -> None:
    if depth == 0:
        raise ValueError("nested too deeply")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_depth(inner, depth - 1)


def schema() -> Mapping[str, Any]:
    """The JSON Schema of one line."""
    (line,), definitions = msgspec.json.schema_components([Line], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "maxpool-check record, one line",
        **line,
        "$defs": definitions,
    }
