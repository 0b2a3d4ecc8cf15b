"""The record of a run: JSON lines, a header, one line per execution, a footer.

A record is written line by line as the run goes. Without its footer it is incomplete, whatever it says. Every report is
made from records.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import operator
import os
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

import msgspec

SCHEMA = "maxpool-check/record/1"

Verdict = Literal[
    "conforms", "diverges", "refuses", "crashes", "times-out", "unstable", "undefined", "not-expressible", "error"
]
"""What an execution came to. A closed list, in the order reports show it."""


Layout = Literal["channels-first", "channels-last", "image"]
"""The order of the axes: N x C x D1 x ... x Dn, N x D1 x ... x Dn x C, D1 x ... x Dn x C."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Who was asked. ``newest_opset`` is the newest operator set it loads, None for one not asked with ONNX models.

    ``speaks`` is what it is asked in; ``indices`` how it counts: ``whole``, ``plane``, or None where it gives none.
    """

    name: str
    distribution: str
    version: str
    provider: str
    providers: tuple[str, ...]
    session_options: dict[str, Any]
    python: str
    numpy: str
    newest_opset: int | None
    speaks: str = "onnx"
    indices: str | None = "whole"


class Header(msgspec.Struct, frozen=True, kw_only=True, tag="header"):
    """What was run, with what, on what, by what interpretation.

    ``profile`` holds the policies of each document that was used, by its name. The digests are SHA-256, of all cases
    asked and of the files of known divergences (None: none were used).
    """

    schema: str = SCHEMA
    tool: str
    started: str
    python: str
    system: str
    cpu: str
    libraries: dict[str, str]
    targets: tuple[Target, ...]
    profile: dict[str, dict[str, str]]
    cases: int
    cases_sha256: str
    known_sha256: str | None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong cell: where in the outputs, what was expected and got (text, exact), and the window on X.

    ``window`` lists, for each spatial axis, the positions of the taps inside X; ``values`` the cells there, row-major,
    None if there are many; ``got_cell`` the cell of X that a wrong index names.
    """

    at: tuple[int, ...]
    output: str
    expected: str
    got: str
    kind: str
    window: tuple[tuple[int, ...], ...]
    values: tuple[str, ...] | None
    got_cell: tuple[int, ...] | None


class AllowedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One cell in which an answer that conforms has other bits than the reference's (text, exact)."""

    at: tuple[int, ...]
    output: str
    reference: str
    got: str


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake that gives exactly what came: the whole answer, or one ``output`` of ``cells`` cells."""

    kind: str
    output: str | None
    cells: int


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, for an execution that needs explaining.

    ``policies`` are those that the case reads otherwise than its document; ``values`` the cells of X, row-major, None if
    there are many.
    """

    dtype: str
    shape: tuple[int, ...]
    attributes: dict[str, Any]
    values: tuple[str, ...] | None
    policies: dict[str, str] = {}


class Execution(msgspec.Struct, frozen=True, kw_only=True, tag="execution", omit_defaults=True):
    """One variant asked of one target.

    ``known`` is the entry that expects its kinds; ``status`` is ``expected``, ``new`` or ``changed`` for a fault, empty
    otherwise. ``counts`` gives the wrong cells of each kind. ``answer`` holds the digest of each output. ``opset`` is the
    operator set it was asked in; ``translation`` says how a case of a document that is not ONNX's was put there.
    ``layout`` is that of X and of all coordinates. ``interpretations`` gives, by point that its document leaves open, the interpretations
    that the answer agrees with, or ``mixed``; ``causes`` are the mistakes that explain what is wrong; ``differences`` are the first cells in which an answer that conforms is not the reference's. ``size`` is the
    number of cells of X.
    """

    target: str
    case: str
    variant: str
    verdict: Verdict
    title: str
    spec: str
    case_sha256: str
    origin: str
    kinds: tuple[str, ...] = ()
    known: str | None = None
    status: str = ""
    message: str = ""
    information: tuple[str, ...] = ()
    limit: bool = False
    opset: int | None = None
    translation: tuple[str, ...] = ()
    layout: Layout = "channels-first"
    interpretations: dict[str, tuple[str, ...]] = {}
    causes: tuple[Cause, ...] = ()
    answer: dict[str, str] = {}
    counts: dict[str, int] = {}
    cells: tuple[Cell, ...] = ()
    differences: tuple[AllowedDifference, ...] = ()
    size: int = 0
    input: Input | None = None
    clauses: tuple[str, ...] = ()
    erratum: str | None = None

    @property
    def unexpected(self) -> bool:
        """Whether it makes the run fail."""
        return self.status in ("new", "changed") or self.verdict == "error"


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """How a known divergence fared on one target: expected, repaired, expired or not-asked."""

    id: str
    target: str
    status: str
    kinds: tuple[str, ...]
    reason: str
    issue: str | None = None
    message: str = ""


class Footer(msgspec.Struct, frozen=True, kw_only=True, tag="footer"):
    """The end of a complete run: counts by target and verdict, known divergences, problems of targets, exit code."""

    finished: str
    executions: int
    summary: dict[str, dict[str, int]]
    known: tuple[KnownEntry, ...]
    errors: tuple[str, ...]
    exit_code: int


Line = Header | Execution | Footer


class BadRecord(ValueError):
    """A file that is not a record."""


class CutOff(BadRecord):
    """A record that ends before its first line is whole."""


@dataclass(frozen=True)
class Record:
    """A whole record; ``footer`` None if the run did not end."""

    header: Header
    executions: Sequence[Execution]
    footer: Footer | None


_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file to write a record to, compressed if its name ends in ``.gz``."""
    with path.open("wb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # No name and no time in it: the same lines are the same file.
        with gzip.GzipFile("", "wb", 9, file, 0) as compressed:
            yield cast("IO[bytes]", compressed)


class Writer:
    """Writes a record, each line as soon as it is there."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, line: Line) -> None:
        """Add one line, whole or not at all."""
        self._stream.write(_ENCODER.encode(line) + b"\n")
        self._stream.flush()


class Kept(Sequence[Execution]):
    """The executions of a run in their order: so many are held in memory, those behind them in a temporary file."""

    def __init__(self, held: int = 10_000) -> None:
        self._most = held
        self._held: list[Execution] = []
        self._file: IO[bytes] | None = None
        self._ends = array("Q", [0])
        """Where in the file the lines end; before the first, where it begins."""

    def append(self, execution: Execution) -> None:
        """Add one."""
        if len(self._held) < self._most:
            self._held.append(execution)
            return
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(suffix=".jsonl")  # noqa: SIM115 (it lives as long as this)
        self._ends.append(self._ends[-1] + self._file.write(_ENCODER.encode(execution) + b"\n"))

    def __len__(self) -> int:
        return len(self._held) + len(self._ends) - 1

    def __iter__(self) -> Iterator[Execution]:
        yield from self._held
        if self._file is None:
            return
        self._file.flush()
        # Several may read at once, each with a position of its own.
        with Path(self._file.name).open("rb") as lines:
            for line in lines:
                yield cast("Execution", _DECODER.decode(line))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[place] for place in range(len(self))[at]]
        place = range(len(self))[at]
        if place < len(self._held):
            return self._held[place]
        assert self._file is not None
        self._file.flush()
        begin, end = self._ends[place - len(self._held) : place - len(self._held) + 2]
        return _DECODER.decode(os.pread(self._file.fileno(), end - begin, begin))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and len(self) == len(other) and all(map(operator.eq, self, other))

    def close(self) -> None:
        """Let go of the temporary file."""
        if self._file is not None:
            self._file.close()


def read(path: Path) -> Record:
    """Read a record. A last line that is cut off is left out. Raises :class:`BadRecord` or ``OSError``."""
    lines = _stored(path)
    header = _header(path, lines)
    whole = itertools.takewhile(lambda line: line.endswith(b"\n"), lines)
    return gather(itertools.chain([header], (_decoded(path, number, line) for number, line in enumerate(whole, 2))))


def _stored(path: Path) -> Iterator[bytes]:
    """The lines of a file that may be compressed, each with its end; the last may have none."""
    with path.open("rb") as file:
        compressed = file.peek(2).startswith(b"\x1f\x8b")
        try:
            yield from gzip.GzipFile(fileobj=file) if compressed else file
        except EOFError:
            # As far as it goes: an interrupted run leaves a stream without its end.
            return
        except (zlib.error, gzip.BadGzipFile) as error:
            raise BadRecord(f"{path}: not a record: {error}") from error


def _header(path: Path, lines: Iterator[bytes]) -> Header:
    line = next(lines, b"")
    if not line.endswith(b"\n") and line[:1] in (b"", b"{"):
        raise CutOff(f"{path}:1: the record is cut off before the end of its first line")
    found = _decoded(path, 1, line)
    if not isinstance(found, Header):
        raise BadRecord(f"{path}:1: not a record: the first line is not a header")
    if found.schema != SCHEMA:
        raise BadRecord(f"{path}:1: a record of the schema {found.schema}; this version reads {SCHEMA}")
    return found


def _decoded(path: Path, number: int, line: bytes) -> Line:
    try:
        return _DECODER.decode(line)
    except msgspec.MsgspecError as error:
        raise BadRecord(f"{path}:{number}: not a line of a record ({error})") from error


def gather(lines: Iterable[Line]) -> Record:
    """The record that the lines make, header first; no more of it is in memory than :class:`Kept` holds."""
    rest = iter(lines)
    header = next(rest)
    assert isinstance(header, Header)
    executions, footer = Kept(), None
    for line in rest:
        if isinstance(line, Execution):
            executions.append(line)
        elif isinstance(line, Footer):
            footer = line
    return Record(header, executions, footer if footer and footer.executions == len(executions) else None)


def schema() -> Mapping[str, Any]:
    """The JSON Schema of one line."""
    (line,), definitions = msgspec.json.schema_components([Line], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "maxpool-check record, one line",
        **line,
        "$defs": definitions,
    }
