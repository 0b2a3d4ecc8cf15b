"""The types of a record: what a run is made of, and what each execution came to.

A record is JSON lines: a header, one line per execution, a footer. Every report is made from records.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

import msgspec

from maxpool_check.reference.layout import Layout

SCHEMA = "maxpool-check/record/1"


class Verdict(str, Enum):
    """The verdict on an execution. A closed list, in the order reports show it."""

    CONFORMS = "conforms"
    """The outputs are the document's, or the document excludes the graph and the runtime refused it."""
    DIVERGES = "diverges"
    """The outputs are wrong, or there should have been none."""
    REFUSES = "refuses"
    """The runtime refused a graph that the document allows."""
    CRASHES = "crashes"
    """The target's process died."""
    TIMES_OUT = "times-out"
    """The target returned nothing in time."""
    UNSTABLE = "unstable"
    """The same request, executed twice, returned different outputs."""
    UNDEFINED = "undefined"
    """The document gives no result for some windows, and the rest is right: recorded, not judged."""
    NOT_EXPRESSIBLE = "not-expressible"
    """Nothing that the target accepts means the same as the case: not executed."""
    ERROR = "error"
    """The execution failed in a way that says nothing about the target."""

    def __str__(self) -> str:
        return self.value


COMPARED = frozenset(
    {Verdict.CONFORMS, Verdict.DIVERGES, Verdict.REFUSES, Verdict.CRASHES, Verdict.TIMES_OUT, Verdict.UNSTABLE}
)
"""The verdicts that compare a target with a document. A run without any of them proves nothing."""

FAULTS = COMPARED - {Verdict.CONFORMS}
"""The verdicts that fail a run unless a known divergence expects them."""

DEATHS = frozenset({Verdict.CRASHES, Verdict.TIMES_OUT, Verdict.ERROR})
"""The verdicts after which the target's process is gone, or as good as gone."""


class KnownStatus(str, Enum):
    """What became of a known divergence in a run."""

    EXPECTED = "expected"
    """It occurred, exactly as written."""
    STALE = "stale"
    """It no longer occurs and must be removed."""
    EXPIRED = "expired"
    """Its date has passed; it no longer excuses anything."""
    NOT_EXECUTED = "not-executed"
    """None of its cases was compared."""

    def __str__(self) -> str:
        return self.value


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    AS_EXPECTED = 0
    UNEXPECTED = 1
    USAGE = 2
    INCOMPLETE = 3
    NOTHING_COMPARED = 4
    INTERRUPTED = 130


class TargetDescription(msgspec.Struct, frozen=True, kw_only=True):
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


class RunHeader(msgspec.Struct, frozen=True, kw_only=True, tag="header"):
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
    targets: tuple[TargetDescription, ...]
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

    def __str__(self) -> str:
        return f"{self.output}{list(self.at)} is {self.got}, expected {self.expected}"


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
    otherwise. ``counts`` gives the wrong cells of each kind. ``digests`` holds the SHA-256 of each output. ``opset`` is the
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
    layout: Layout = Layout.CHANNELS_FIRST
    interpretations: dict[str, tuple[str, ...]] = {}
    causes: tuple[Cause, ...] = ()
    digests: dict[str, str] = {}
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
    status: KnownStatus
    kinds: tuple[str, ...]
    reason: str
    issue: str | None = None
    message: str = ""


class RunFooter(msgspec.Struct, frozen=True, kw_only=True, tag="footer"):
    """The end of a complete run: counts by target and verdict, known divergences, problems of targets, exit code."""

    finished: str
    executions: int
    summary: dict[str, dict[str, int]]
    known: tuple[KnownEntry, ...]
    errors: tuple[str, ...]
    exit_code: int


Line = RunHeader | Execution | RunFooter


@dataclass(frozen=True)
class Record:
    """A whole record; ``footer`` is None if the run did not end.

    ``executions`` may be a tuple, or read from a file at each iteration.
    """

    header: RunHeader
    executions: Collection[Execution]
    footer: RunFooter | None
