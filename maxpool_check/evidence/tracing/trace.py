"""A trace, as types: each clause of the documents with its cases and results, each case with its clauses and results.

The document of ``--format json`` is a :class:`Trace`, and its schema follows from these types.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import msgspec

from maxpool_check.results.record import COMPARED, FAULTS
from maxpool_check.specifications.clauses import ClauseKind, ClauseStatus, Edition, Erratum

SCHEMA = "maxpool-check/trace/1"


class Gap(str, Enum):
    """What a clause lacks that a test could violate."""

    NO_CASE = "no-case"
    """No case is about it."""
    NO_KILL = "no-kill"
    """None of its cases notices a kernel that violates it."""


class TracedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the executions of a case, or of all cases of a clause, came to on one target.

    ``cases`` is the number of executed cases, ``verdicts`` the number of executions by verdict, ``unexpected`` the number of
    those that no known defect expects. ``defects`` are the known ones that they show, ``kinds`` the kinds of divergence.
    ``failed_alone``, of a clause: how many of those that fail are of a case that is about this clause alone.
    """

    cases: int
    verdicts: dict[str, int]
    unexpected: int = 0
    defects: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    failed_alone: int | None = None

    @property
    def compared(self) -> int:
        """The number of executions that were compared with a document."""
        return sum(self.verdicts.get(verdict.value, 0) for verdict in COMPARED)

    @property
    def failed(self) -> int:
        """The number of executions that are wrong, known defects among them."""
        return sum(self.verdicts.get(verdict.value, 0) for verdict in FAULTS)


class TracedCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case: its document, the clauses that it is about, its results by target; ``origin`` is FILE:LINE."""

    id: str
    title: str
    document: str
    origin: str
    sha256: str
    clauses: tuple[str, ...]
    results: dict[str, TracedResult] = {}


class TracedClause(msgspec.Struct, frozen=True, kw_only=True):
    """A clause as its file states it, its cases, their results by target, and the wrong kernels that they notice.

    ``documents`` are those of the trace in which it holds, ``without_case`` those of them of which no case is about it.
    ``kernels`` has the wrong kernels that violate it, each with some cases that notice it; None if none were run. ``gap`` is
    empty unless it is testable. ``not_compared`` are the targets of the records on which none of its cases was compared, if it
    is testable and has cases; ``never_compared``: these are all of them.
    """

    id: str
    documents: tuple[str, ...]
    where: str
    states: str
    kind: ClauseKind
    status: ClauseStatus
    anchor: str = ""
    reason: str = ""
    origin: tuple[str, ...] = ()
    policy: str | None = None
    erratum: int | None = None
    cases: tuple[str, ...] = ()
    without_case: tuple[str, ...] = ()
    results: dict[str, TracedResult] = {}
    kernels: dict[str, tuple[str, ...]] | None = None
    gap: Gap | None = None
    not_compared: tuple[str, ...] = ()
    never_compared: bool = False

    @property
    def noticed(self) -> int:
        """The number of wrong kernels that its cases notice."""
        return sum(bool(cases) for cases in (self.kernels or {}).values())

    @property
    def unexpected(self) -> int:
        """The number of executions that no known defect expects, on all targets."""
        return sum(result.unexpected for result in self.results.values())

    @property
    def failed(self) -> int:
        """The number of executions that are wrong, on all targets."""
        return sum(result.failed for result in self.results.values())


class TracedDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """The clauses of one document, or of the versions of one operator, with their editions and errata."""

    name: str
    editions: dict[str, Edition]
    errata: tuple[Erratum, ...]
    clauses: tuple[TracedClause, ...]

    @property
    def edition_names(self) -> list[str]:
        """The documents with their editions, as ``sonnx@seed``."""
        return [f"{document}@{edition.name}" for document, edition in self.editions.items()]


class TracedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record of the trace: ``counted`` of its executions are those of a case as it is.

    ``changed`` are cases that have changed since it was made, ``missing`` those that the files do not have any more.
    ``decides`` has the targets that compute no values, with what they decide: their executions count for no clause.
    """

    name: str
    tool: str
    started: str
    targets: tuple[str, ...]
    complete: bool
    executions: int
    counted: int
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    decides: dict[str, str] = {}


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """Clauses and cases, traced in both directions. ``targets`` are those of the records, with the software of each.

    ``defects`` has the titles of known defects, ``kernels`` the sentences of wrong kernels, both by name.
    """

    schema: str = SCHEMA
    tool: str
    documents: tuple[TracedDocuments, ...]
    cases: tuple[TracedCase, ...]
    targets: dict[str, str] = {}
    records: tuple[TracedRecord, ...] = ()
    defects: dict[str, str] = {}
    kernels: dict[str, str] = {}

    @property
    def clauses(self) -> Iterator[TracedClause]:
        """All clauses, in the order of their documents."""
        return (clause for each in self.documents for clause in each.clauses)

    @property
    def testable(self) -> int:
        """The number of testable clauses."""
        return sum(clause.status is ClauseStatus.TESTABLE for clause in self.clauses)

    def gaps(self, gap: Gap) -> list[TracedClause]:
        """The clauses with this gap."""
        return [clause for clause in self.clauses if clause.gap is gap]

    @property
    def never_compared(self) -> list[TracedClause]:
        """The testable clauses with cases of which none was compared on any target of the records."""
        return [clause for clause in self.clauses if clause.never_compared]

    def not_compared(self, target: str) -> list[TracedClause]:
        """The testable clauses with cases of which none was compared on this target."""
        return [clause for clause in self.clauses if target in clause.not_compared]

    @property
    def unnamed(self) -> list[TracedCase]:
        """The cases that are about no clause."""
        return [case for case in self.cases if not case.clauses]


def trace_schema() -> Mapping[str, Any]:
    """The JSON Schema of a trace."""
    (trace,), definitions = msgspec.json.schema_components([Trace], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "maxpool-check trace",
        **trace,
        "$defs": definitions,
    }
