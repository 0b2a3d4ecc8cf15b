"""Asks all targets of a run one case after another, in one process, and judges while they work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.corpus.case import Case
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judged, judge
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Failed
from maxpool_check.results.record import Execution, TargetDescription
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.execution import Asked, execution
from maxpool_check.running.slot import Pending, Slot, settled
from maxpool_check.targets.dialogue import Reply
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.target import Target

DEATHS_IN_A_ROW = 20
"""After so many crashes, time-outs and failures to ask in a row a target is given up."""

_AHEAD = 4
"""Cases in flight, so that no worker waits for the judge."""


@dataclass(frozen=True)
class Order:
    """Whom to ask and how: all that a process needs to be told once."""

    targets: tuple[TargetName, ...]
    seconds: float = 10.0
    memory: int | None = None
    variants: Collection[Variant] = DEFAULT_VARIANTS


@dataclass(frozen=True)
class Answer:
    """What one case came to on one target: a line for each variant, not yet held to what is known.

    There are none if the target was given up. ``final`` are the variants after which nothing more can be asked of it.
    """

    lines: tuple[Execution, ...] = ()
    final: tuple[str, ...] = ()


class Patience:
    """Whether a target is worth asking, decided by its lines in the order of the cases."""

    def __init__(self) -> None:
        self.lost: str | None = None
        """Why it was given up, if it was."""
        self._deaths = 0

    def count(self, line: Execution, *, final: bool) -> None:
        """Take note of a line; ``final``: nothing more can be asked."""
        if self.lost is not None:
            return
        died = line.verdict in ("crashes", "times-out", "error")
        self._deaths = self._deaths + 1 if died else 0
        if final or self._deaths == DEATHS_IN_A_ROW:
            self.lost = line.message if line.verdict == "error" else f"{DEATHS_IN_A_ROW} deaths in a row"


class Asker:
    """The targets of a run in one process; each has one worker. Close it at the end."""

    def __init__(self, order: Order) -> None:
        """Begin to start them, all at once; who needs to know what they are waits for it."""
        self._order = order
        self._closed = False
        self._slots: dict[str, Slot] = {}
        self._begun: list[Worker] = []
        self._starting: list[Future[Target]] = []
        for name in order.targets:
            future: Future[Target] = Future()
            self._starting.append(future)
            # Of no executor: those are waited for when the program ends, and a runtime may hang when it is imported.
            threading.Thread(target=self._start, args=(name, future), daemon=True).start()

    @cached_property
    def targets(self) -> list[Target]:
        """Those that could be started."""
        return [future.result() for future in self._starting if future.exception() is None]

    @cached_property
    def errors(self) -> list[str]:
        """Why the others could not."""
        found = [future.exception() for future in self._starting]
        for error in found:
            if error is not None and not isinstance(error, CannotStart):
                raise error
        return [str(error) for error in found if error is not None]

    @property
    def descriptions(self) -> list[TargetDescription]:
        """What the targets say of themselves."""
        return [target.description for target in self.targets]

    def answers(
        self, cases: Iterable[Case], given_up: Callable[[], Collection[str]]
    ) -> Generator[Mapping[str, Answer], None, None]:
        """By target, case by case in their order: the next ones are asked while one is judged.

        A target that was given up, before or by what it answers here, is not asked.
        """
        patience = {target.description.name: Patience() for target in self.targets}
        for name in given_up():
            patience[name].lost = "given up"
        waiting: deque[tuple[Case, dict[str, dict[Variant, Pending]]]] = deque()
        for case in cases:
            asked = {
                name: self._slots[name].begin(case, self._order.variants)
                for name, one in patience.items()
                if one.lost is None
            }
            waiting.append((case, asked))
            if len(waiting) >= _AHEAD:
                yield self._judged(*waiting.popleft(), patience)
        while waiting:
            yield self._judged(*waiting.popleft(), patience)

    def end(self) -> None:
        """Kill every worker, whatever it is doing; nothing more can be asked. From any thread."""
        self._closed = True
        for worker in list(self._begun):
            worker.end()
        for slot in list(self._slots.values()):
            slot.end()

    def close(self) -> None:
        """End every worker, and let go of them."""
        self.end()
        for slot in list(self._slots.values()):
            slot.close()

    def _begin(self, worker: Worker) -> None:
        """Know of a worker that is being started: it may never get ready."""
        self._begun.append(worker)
        if self._closed:
            worker.end()

    def _start(self, name: TargetName, future: Future[Target]) -> None:
        try:
            target = Target(name, self._order.seconds, self._order.memory, keep=True, begun=self._begin)
        except BaseException as error:
            future.set_exception(error)
            return
        slot = self._slots[str(name)] = Slot(target, target.kept)
        if self._closed:
            slot.close()
        future.set_result(target)

    def _judged(
        self, case: Case, asked: Mapping[str, Mapping[Variant, Pending]], patience: Mapping[str, Patience]
    ) -> dict[str, Answer]:
        # Once for all targets, and while they are asked.
        oracle = meaning_of(case)
        if isinstance(oracle, Oracle):
            _ = oracle.pooled
        answers = {name: Answer() for name in patience}
        for name, pending in asked.items():
            if patience[name].lost is not None:
                continue
            replies = settled(pending, self._slots.values())
            lines = tuple(judged(Asked(case, name, oracle, replies)))
            answers[name] = Answer(lines, tuple(q.name for q, reply in replies.items() if is_final(reply)))
            for line in lines:
                patience[name].count(line, final=line.variant in answers[name].final)
            if patience[name].lost is not None:
                self._slots[name].drop()
        return answers


def meaning_of(case: Case) -> Judged:
    """What the document makes of a case, ready to hold answers to it."""
    return Oracle(case.X, case.resolved) if isinstance(case.resolved, Pooling) else case.resolved


def is_final(reply: Reply) -> bool:
    """Whether nothing more can be asked."""
    return isinstance(reply.outcome, Failed) and reply.outcome.final


def judged(asked: Asked) -> list[Execution]:
    """The lines of one case on one target, judged, and not yet held to what is known."""
    outcomes = {variant: reply.outcome for variant, reply in asked.replies.items()}
    return [execution(asked, variant, judgement) for variant, judgement in judge(asked.oracle, outcomes).items()]
