"""Traces clauses to cases, executions and wrong kernels, and cases to clauses. Nothing is executed here.

The document of ``--report json`` is a :class:`Trace`, and its schema follows from these types.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.evidence.kills import Kills
from maxpool_check.results.record import COMPARED, FAULTS, Execution, Record, Verdict
from maxpool_check.specifications.clauses import (
    Clause,
    ClauseKind,
    ClauseStatus,
    Edition,
    Erratum,
    clause_files,
    clauses,
    edition_name,
)

SCHEMA = "maxpool-check/trace/1"


class ExecutedTwice(ValueError):
    """Two records have the same case in the same variant on the same target; the message has it."""


class Gap(str, Enum):
    """What a clause lacks that a test could violate: a case, or a case that notices a kernel which violates it."""

    NO_CASE = "no-case"
    NO_KILL = "no-kill"


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


class TracedDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """The clauses of one document, or of the versions of one operator, with their editions and errata."""

    name: str
    editions: dict[str, Edition]
    errata: tuple[Erratum, ...]
    clauses: tuple[TracedClause, ...]

    @property
    def edition_names(self) -> list[str]:
        """The documents with their editions, as ``sonnx@seed``."""
        return [*map(edition_name, self.editions)]


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


@dataclass(frozen=True)
class TraceScope:
    """What is traced: ``cases``, and the clauses of ``documents``.

    ``others`` are the ids of cases of the same files that are left out. ``whole``: clauses without a case are listed, since
    all cases of the documents are there. ``clauses``: only these; None: all.
    """

    cases: Sequence[Case]
    documents: Collection[str]
    others: Collection[str] = ()
    whole: bool = True
    clauses: Collection[str] | None = None

    def lists(self, clause: Clause) -> bool:
        """Whether a clause may be listed: it holds in one of the documents, and is wanted."""
        holds = any(document in self.documents for document in clause.documents)
        return holds and (self.clauses is None or clause.id in self.clauses)


class _Executions:
    """The executions of records, by case and target, as far as their cases are as they were."""

    def __init__(self, scope: TraceScope) -> None:
        self._digests, self._others = {case.id: case.sha256 for case in scope.cases}, frozenset(scope.others)
        self._by_case: dict[tuple[str, str], list[Execution]] = defaultdict(list)
        self._seen: set[tuple[str, str, str]] = set()
        self.targets: dict[str, str] = {}
        self.defects: dict[str, str] = {}

    def read(self, name: str, record: Record) -> TracedRecord:
        """Add the executions of a record. Raises :class:`ExecutedTwice`."""
        header = record.header
        decides = {target.name: target.decides for target in header.targets if not target.computes}
        changed, missing, counted = dict[str, None](), dict[str, None](), 0
        for execution in record.executions:
            key = (execution.target, execution.case, execution.variant)
            if key in self._seen:
                raise ExecutedTwice(
                    f"{name}: {execution.case} ({execution.variant}) on {execution.target} is in another record, too; "
                    "each execution counts once: leave one of the records out"
                )
            self._seen.add(key)
            if execution.target in decides:
                continue
            if self._digests.get(execution.case) == execution.case_sha256:
                self._by_case[execution.case, execution.target].append(execution)
                counted += 1
            elif execution.case in self._digests:
                changed[execution.case] = None
            elif execution.case not in self._others:
                missing[execution.case] = None
        self.targets |= {target.name: target.software() for target in header.targets if target.computes}
        for entry in record.footer.known if record.footer else ():
            self.defects.setdefault(entry.id, " ".join((entry.title or entry.reason).split()))
        return TracedRecord(
            name=name, tool=header.tool, started=header.started, targets=tuple(each.name for each in header.targets),
            complete=record.footer is not None, executions=len(record.executions), counted=counted,
            changed=tuple(changed), missing=tuple(missing), decides=decides,
        )  # fmt: skip

    def results(self, cases: Sequence[Case], *, of_clause: bool = False) -> dict[str, TracedResult]:
        """What the executions of some cases came to, by target."""
        results, alone = {}, {case.id for case in cases if len(case.covers) == 1}
        for target in self.targets:
            executions = [each for case in cases for each in self._by_case.get((case.id, target), ())]
            if executions:
                counts = Counter(each.verdict for each in executions)
                failed = sum(each.verdict in FAULTS and each.case in alone for each in executions)
                results[target] = TracedResult(
                    cases=len({each.case for each in executions}),
                    verdicts={verdict.value: counts[verdict] for verdict in Verdict if counts[verdict]},
                    unexpected=sum(each.unexpected for each in executions),
                    defects=tuple(dict.fromkeys(each.known for each in executions if each.known is not None)),
                    kinds=tuple(dict.fromkeys(kind for each in executions for kind in each.kinds)),
                    failed_alone=failed if of_clause else None,
                )
        return results


def trace(scope: TraceScope, records: Mapping[str, Record], kills: Kills | None = None) -> Trace:
    """The trace of cases and clauses, with the executions of ``records``, by name.

    An execution counts for the clauses that its case is about now, if the case has not changed since. ``kills`` are None if
    no wrong kernels were run. Raises :class:`ExecutedTwice`.
    """
    executions = _Executions(scope)
    traced_records = tuple(executions.read(name, record) for name, record in records.items())
    cases = tuple(
        TracedCase(
            id=case.id, title=case.title, document=case.spec, origin=f"{case.origin.path}:{case.origin.line}",
            sha256=case.sha256, clauses=case.covers, results=executions.results([case]),
        )
        for case in scope.cases
    )  # fmt: skip
    by_clause: dict[str, list[Case]] = defaultdict(list)
    for case in scope.cases:
        for clause in case.covers:
            by_clause[clause].append(case)
    documents = []
    for name, file in clause_files().items():
        editions = {document: edition for document, edition in file.editions.items() if document in scope.documents}
        traced = tuple(
            _clause(clause, editions, by_clause.get(clause.id, ()), kills, executions)
            for clause in (clauses()[each.id] for each in file.clauses)
            if scope.lists(clause) and (scope.whole or clause.id in by_clause)
        )
        if traced:
            documents.append(TracedDocuments(name=name, editions=editions, errata=file.errata, clauses=traced))
    shown = sorted({defect for case in cases for result in case.results.values() for defect in result.defects})
    listed = {clause.id for each in documents for clause in each.clauses}
    kernels = {kernel for clause, each in (kills or {}).items() if clause in listed for kernel in each}
    return Trace(
        tool=maxpool_check.__version__, documents=tuple(documents), cases=cases, targets=executions.targets,
        records=traced_records, defects={name: executions.defects.get(name, "") for name in shown},
        kernels={str(kernel): kernel.sentence for kernel in sorted(kernels, key=str)},
    )  # fmt: skip


def _clause(
    clause: Clause, documents: Collection[str], cases: Sequence[Case], kills: Kills | None, executions: _Executions
) -> TracedClause:
    is_testable, targets, kernels, gap = clause.status is ClauseStatus.TESTABLE, executions.targets, None, None
    if is_testable:
        if kills is not None:
            kernels = {str(kernel): noticing for kernel, noticing in kills.get(clause.id, {}).items()}
        is_noticed = kernels is None or any(kernels.values())
        gap = Gap.NO_CASE if not cases else None if is_noticed else Gap.NO_KILL
    holds = tuple(document for document in documents if document in clause.documents)
    results = executions.results(cases, of_clause=True)
    compared = {target for target, each in results.items() if COMPARED & {*map(Verdict, each.verdicts)}}
    not_compared = tuple(each for each in targets if each not in compared) if is_testable and cases else ()
    return TracedClause(
        id=clause.id, documents=holds, where=clause.where, states=" ".join(clause.states.split()), kind=clause.kind,
        status=clause.status, anchor=clause.anchor, reason=" ".join(clause.reason.split()), origin=clause.origin,
        policy=clause.policy, erratum=clause.erratum, cases=tuple(case.id for case in cases),
        without_case=tuple(document for document in holds if all(case.spec != document for case in cases)),
        results=results, kernels=kernels, gap=gap,
        not_compared=not_compared, never_compared=bool(targets) and len(not_compared) == len(targets),
    )  # fmt: skip


def trace_schema() -> Mapping[str, Any]:
    """The JSON Schema of a trace."""
    (schema,), definitions = msgspec.json.schema_components([Trace], ref_template="#/$defs/{name}")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "maxpool-check evidence trace"}
    return {**head, **schema, "$defs": definitions}
