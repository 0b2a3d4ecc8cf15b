"""Traces clauses to cases, executions and wrong kernels, and cases to clauses. Nothing is executed here."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.evidence.kills import Kills
from maxpool_check.evidence.tracing.trace import (
    Gap,
    Trace,
    TracedCase,
    TracedClause,
    TracedDocuments,
    TracedRecord,
    TracedResult,
)
from maxpool_check.results.record import Execution, Record, Verdict
from maxpool_check.specifications.clauses import Clause, ClauseStatus, clause_files, clauses


class ExecutedTwice(ValueError):
    """Two records have the same case in the same variant on the same target; the message has it."""


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


@dataclass
class _Tally:
    """Executions of a case on a target, while they are counted."""

    verdicts: Counter[str] = field(default_factory=Counter)
    unexpected: int = 0
    defects: dict[str, None] = field(default_factory=dict)
    kinds: dict[str, None] = field(default_factory=dict)

    def add(self, execution: Execution) -> None:
        self.verdicts[execution.verdict.value] += 1
        self.unexpected += execution.unexpected
        if execution.known is not None:
            self.defects[execution.known] = None
        self.kinds.update(dict.fromkeys(execution.kinds))

    def result(self) -> TracedResult:
        return TracedResult(
            cases=1, verdicts=_in_order(self.verdicts), unexpected=self.unexpected, defects=tuple(self.defects),
            kinds=tuple(self.kinds),
        )  # fmt: skip


class _Executions:
    """The executions of records, by case and target, as far as their cases are as they were."""

    def __init__(self, scope: TraceScope) -> None:
        self._digests = {case.id: case.sha256 for case in scope.cases}
        self._others = frozenset(scope.others)
        self._seen: set[tuple[str, str, str]] = set()
        self.tallies: dict[str, dict[str, _Tally]] = defaultdict(lambda: defaultdict(_Tally))
        self.targets: dict[str, str] = {}
        self.defects: dict[str, str] = {}

    def read(self, name: str, record: Record) -> TracedRecord:
        """Count the executions of a record. Raises :class:`ExecutedTwice`."""
        header = record.header
        decides = {target.name: target.decides for target in header.targets if not target.computes}
        changed: dict[str, None] = {}
        missing: dict[str, None] = {}
        counted = 0
        for execution in record.executions:
            key = (execution.target, execution.case, execution.variant)
            if key in self._seen:
                raise ExecutedTwice(
                    f"{name}: {execution.case} ({execution.variant}) on {execution.target} is in another record, too; "
                    "each execution counts once: leave one of the records out"
                )
            self._seen.add(key)
            digest = self._digests.get(execution.case)
            if execution.target in decides:
                continue
            if digest == execution.case_sha256:
                self.tallies[execution.case][execution.target].add(execution)
                counted += 1
            elif digest is not None:
                changed[execution.case] = None
            elif execution.case not in self._others:
                missing[execution.case] = None
        self.targets.update({target.name: target.software() for target in header.targets if target.computes})
        for entry in record.footer.known if record.footer else ():
            self.defects.setdefault(entry.id, " ".join((entry.title or entry.reason).split()))
        return TracedRecord(
            name=name, tool=header.tool, started=header.started, targets=tuple(each.name for each in header.targets),
            complete=record.footer is not None, executions=len(record.executions), counted=counted,
            changed=tuple(changed), missing=tuple(missing), decides=decides,
        )  # fmt: skip


def trace(scope: TraceScope, records: Mapping[str, Record], kills: Kills | None = None) -> Trace:
    """The trace of cases and clauses, with the executions of ``records``, by name.

    An execution counts for the clauses that its case is about now, if the case has not changed since. ``kills`` are None if
    no wrong kernels were run. Raises :class:`ExecutedTwice`.
    """
    executions = _Executions(scope)
    traced_records = tuple(executions.read(name, record) for name, record in records.items())
    cases = tuple(_traced(case, executions) for case in scope.cases)
    by_clause: dict[str, list[TracedCase]] = defaultdict(list)
    for case in cases:
        for clause in case.clauses:
            by_clause[clause].append(case)
    targets = tuple(executions.targets)
    files = (_documents(name, scope, by_clause, kills, targets) for name in clause_files())
    documents = tuple(each for each in files if each.clauses)
    shown = {defect for case in cases for result in case.results.values() for defect in result.defects}
    listed = {clause.id for each in documents for clause in each.clauses}
    kernels = {kernel for clause, each in (kills or {}).items() if clause in listed for kernel in each}
    return Trace(
        tool=maxpool_check.__version__, documents=documents, cases=cases, targets=executions.targets,
        records=traced_records, defects={name: executions.defects.get(name, "") for name in sorted(shown)},
        kernels={str(kernel): kernel.sentence for kernel in sorted(kernels, key=str)},
    )  # fmt: skip


def _traced(case: Case, executions: _Executions) -> TracedCase:
    origin = case.origin
    return TracedCase(
        id=case.id, title=case.title, document=case.spec, origin=f"{origin.path}:{origin.line}", sha256=case.sha256,
        clauses=case.covers,
        results={target: tally.result() for target, tally in executions.tallies.get(case.id, {}).items()},
    )  # fmt: skip


def _documents(
    name: str,
    scope: TraceScope,
    by_clause: Mapping[str, Sequence[TracedCase]],
    kills: Kills | None,
    targets: Sequence[str],
) -> TracedDocuments:
    file = clause_files()[name]
    editions = {document: edition for document, edition in file.editions.items() if document in scope.documents}
    traced = tuple(
        _clause(clause, editions, by_clause.get(clause.id, ()), kills, targets)
        for clause in (clauses()[each.id] for each in file.clauses)
        if scope.lists(clause) and (scope.whole or clause.id in by_clause)
    )
    return TracedDocuments(name=name, editions=editions, errata=file.errata, clauses=traced)


def _clause(
    clause: Clause, documents: Collection[str], cases: Sequence[TracedCase], kills: Kills | None, targets: Sequence[str]
) -> TracedClause:
    kernels, gap = None, None
    if kills is not None and clause.status is ClauseStatus.TESTABLE:
        kernels = {str(kernel): noticing for kernel, noticing in kills.get(clause.id, {}).items()}
    if clause.status is ClauseStatus.TESTABLE:
        is_noticed = kernels is None or any(kernels.values())
        gap = Gap.NO_CASE if not cases else None if is_noticed else Gap.NO_KILL
    holds = tuple(document for document in documents if document in clause.documents)
    tested = {case.document for case in cases}
    results = _together(cases)
    not_compared: tuple[str, ...] = ()
    if clause.status is ClauseStatus.TESTABLE and cases:
        not_compared = tuple(each for each in targets if each not in results or not results[each].compared)
    return TracedClause(
        id=clause.id, documents=holds, where=clause.where, states=" ".join(clause.states.split()), kind=clause.kind,
        status=clause.status, anchor=clause.anchor, reason=" ".join(clause.reason.split()), origin=clause.origin,
        policy=clause.policy, erratum=clause.erratum, cases=tuple(case.id for case in cases),
        without_case=tuple(document for document in holds if document not in tested),
        results=results, kernels=kernels, gap=gap,
        not_compared=not_compared, never_compared=bool(targets) and len(not_compared) == len(targets),
    )  # fmt: skip


def _together(cases: Iterable[TracedCase]) -> dict[str, TracedResult]:
    """The results of all cases of a clause, by target."""
    by_target: dict[str, list[TracedResult]] = defaultdict(list)
    alone: Counter[str] = Counter()
    for case in cases:
        for target, result in case.results.items():
            by_target[target].append(result)
            if len(case.clauses) == 1:
                alone[target] += result.failed
    return {
        target: TracedResult(
            cases=len(several),
            verdicts=_in_order(sum((Counter(each.verdicts) for each in several), Counter())),
            unexpected=sum(each.unexpected for each in several),
            defects=tuple(dict.fromkeys(defect for each in several for defect in each.defects)),
            kinds=tuple(dict.fromkeys(kind for each in several for kind in each.kinds)),
            failed_alone=alone[target],
        )
        for target, several in by_target.items()
    }


def _in_order(verdicts: Mapping[str, int]) -> dict[str, int]:
    return {verdict.value: verdicts[verdict.value] for verdict in Verdict if verdicts.get(verdict.value)}
