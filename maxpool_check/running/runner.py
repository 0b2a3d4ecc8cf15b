"""Asks every target every case, and gives the executions in the order of the cases, whatever the number of workers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from maxpool_check.corpus.case import Case
from maxpool_check.judging.expected import Expected
from maxpool_check.judging.known import KnownDivergence, Ledger, is_glob
from maxpool_check.judging.verdicts import COMPARED, FAULTS, Meaning, judge
from maxpool_check.outcome import Crashed, Failed, Outcome, TimedOut
from maxpool_check.question import BASES, Question, questions
from maxpool_check.reference.pooling import Pooling
from maxpool_check.running import record
from maxpool_check.running.execution import Asked, execution
from maxpool_check.running.pool import Pool
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.target import Reply, Target

DEATHS_IN_A_ROW = 20
"""After so many crashes, time-outs and failures to ask in a row a target is given up."""

_AHEAD = 4
"""Cases in flight for each worker, so that none of them waits for the judge."""


class Run:
    """One run: its executions as they come, then how the known divergences fared and what went wrong.

    ``known`` are all entries; ``complete`` tells whether a pattern of theirs can be held to this run, that is, whether
    every case it could name is asked. ``wanted`` are the questions to ask of each case, as far as it has them.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        targets: Sequence[Target],
        known: Sequence[KnownDivergence],
        complete: Callable[[str], bool],
        jobs: int = 1,
        today: date | None = None,
        wanted: Collection[Question] = BASES,
    ) -> None:
        self.errors: list[str] = []
        self._wanted = wanted
        self._cases, self._targets, self._jobs = cases, targets, jobs
        self._complete = complete
        self._given_up: dict[str, str] = {}
        self._deaths: Counter[str] = Counter()
        day = today or date.today()
        self._ledgers = {
            target.description.name: Ledger([entry for entry in known if covers(entry, target)], day)
            for target in targets
        }

    def executions(self) -> Generator[record.Execution, None, None]:
        """Ask, judge, and yield, case by case and target by target. Closing the iterator ends every worker."""
        pools = {target.description.name: Pool(target, self._jobs) for target in self._targets}
        threads = ThreadPoolExecutor(max(1, self._jobs * len(self._targets)))
        waiting: deque[Future[Asked]] = deque()
        try:
            for case, target, meaning in self._tasks():
                pool = pools[target.description.name]
                waiting.append(threads.submit(self._ask, pool, case, target, meaning))
                if len(waiting) >= _AHEAD * self._jobs * len(self._targets):
                    yield from self._judged(waiting.popleft().result())
            while waiting:
                yield from self._judged(waiting.popleft().result())
        finally:
            for future in waiting:
                future.cancel()
            for pool in pools.values():
                pool.end()
            threads.shutdown(wait=True)
            for pool in pools.values():
                pool.close()

    def known(self, ended_early: bool) -> list[record.KnownEntry]:
        """How each entry fared, by target; none can be called repaired if the run ended early."""
        entries = []
        for target, ledger in self._ledgers.items():
            whole = {
                pattern: not ended_early and self._complete(pattern) and target not in self._given_up
                for entry in ledger.entries
                for pattern in entry.cases
            }
            for entry, status, why in ledger.audit(whole):
                entries.append(
                    record.KnownEntry(
                        id=entry.id,
                        target=target,
                        status=status.value,
                        kinds=tuple(sorted(kind.value for kind in entry.kinds)),
                        reason=entry.reason,
                        issue=entry.issue,
                        message=why,
                    )
                )
        return entries

    def _tasks(self) -> Iterator[tuple[Case, Target, Meaning]]:
        for case in self._cases:
            meaning = Expected(case.X, case.meaning) if isinstance(case.meaning, Pooling) else case.meaning
            for target in self._targets:
                yield case, target, meaning

    def _ask(self, pool: Pool, case: Case, target: Target, meaning: Meaning) -> Asked:
        replies: dict[Question, Reply] = {}
        with pool.slot() as slot:
            for question in questions(case.outputs, case.specification.domain, self._wanted):
                given_up = self._given_up.get(target.description.name)
                if given_up is not None:
                    replies[question] = Reply(Failed(given_up))
                    continue
                try:
                    replies[question] = target.ask(slot.worker(), case, question)
                except CannotStart as error:
                    replies[question] = Reply(Failed(f"could not be started again: {error}", final=True))
        return Asked(case, target, meaning, replies)

    def _judged(self, asked: Asked) -> Iterator[record.Execution]:
        name = asked.target.description.name
        given_up = self._given_up.get(name)
        if given_up is not None:
            # Decided by the order of the cases: what was already under way must not change the result.
            asked = replace(asked, replies=dict.fromkeys(asked.replies, Reply(Failed(given_up))))
        for done in judged(asked, self._ledgers[name]):
            yield done
            self._count_death(name, asked.replies[Question(done.question)].outcome)

    def _count_death(self, name: str, outcome: Outcome) -> None:
        if name in self._given_up:
            return
        final = isinstance(outcome, Failed) and outcome.final
        died = isinstance(outcome, (Crashed, TimedOut, Failed))
        self._deaths[name] = self._deaths[name] + 1 if died else 0
        if final or self._deaths[name] == DEATHS_IN_A_ROW:
            why = outcome.why if isinstance(outcome, Failed) else f"{DEATHS_IN_A_ROW} deaths in a row"
            self._given_up[name] = f"not asked: the target was given up ({why})"
            self.errors.append(f"{name} was given up: {why}")


def judged(asked: Asked, ledger: Ledger) -> list[record.Execution]:
    """The executions of one case on one target, judged and held to what is known."""
    found = []
    outcomes = {question: reply.outcome for question, reply in asked.replies.items()}
    for question, judgement in judge(asked.meaning, outcomes).items():
        known, status = None, ""
        if judgement.verdict in COMPARED:
            ledger.compared(asked.case.id, question)
        if judgement.verdict in FAULTS:
            known = ledger.known(asked.case.id, question, judgement.kinds)
            status = "expected" if known else "changed" if ledger.others(asked.case.id, question) else "new"
        found.append(execution(asked, question, judgement, known.id if known else None, status))
    return found


def covers(entry: KnownDivergence, target: Target) -> bool:
    """Whether an entry is about a target."""
    said = target.description
    return entry.when.covers(said.distribution, said.version, said.provider)


def decidable(cases: Sequence[Case], asked: Sequence[Case], whole: bool) -> Callable[[str], bool]:
    """Whether a pattern of a known divergence can be held to a run over ``asked``, picked from ``cases``.

    It can if at least one of the cases it names is there, none was left out by a selection, and no other file could
    hold more: all were read, or the pattern itself names one file.
    """
    ids = {case.id for case in asked}
    known = {case.id for case in cases}

    def complete(pattern: str) -> bool:
        if is_glob(pattern):
            named = [case.id for case in cases if fnmatchcase(case.id, pattern)]
        else:
            named = [pattern] if pattern in known else []
        one_file = not is_glob(pattern.partition(":")[0])
        return bool(named) and (whole or one_file) and all(name in ids for name in named)

    return complete
