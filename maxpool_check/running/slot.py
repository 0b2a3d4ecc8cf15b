"""The worker process of one target, made again when it has died, and the questions that are on their way to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping

from maxpool_check.corpus.case import Case
from maxpool_check.outcome import Answered, Failed, Outcome
from maxpool_check.question import BASES, Question, questions
from maxpool_check.targets.dialogue import Dialogue, Reply, dialogue
from maxpool_check.targets.process import CannotStart, Request, Worker, listen
from maxpool_check.targets.target import Target

_BACKLOG = 2**16
"""So many bytes may lie ready for a worker that does not take them yet."""


class Pending:
    """A question on its way."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self.request: Request | None = None
        """What the target was handed last, or is to be handed next."""
        self.reply: Reply | None = None
        """What came of the question, once it is known."""
        self.proceed(None)

    def proceed(self, outcome: Outcome | None) -> None:
        """Go on with what became of the request; None at the start."""
        try:
            self.request = next(self._dialogue) if outcome is None else self._dialogue.send(outcome)
        except StopIteration as end:
            self.reply = end.value

    @property
    def excluded(self) -> bool:
        """Whether the document excludes what is asked."""
        return self.request is not None and self.request.excluded


class Slot:
    """A place for one worker of a target; the first may be there already.

    Requests are handed over while the worker is busy with those before them, so that it need not wait. If it dies, what it
    was working on has its outcome, and what lay behind that is handed to the next worker.
    """

    def __init__(self, target: Target, worker: Worker | None = None) -> None:
        self.target = target
        self.worker = worker
        self._waiting: deque[Pending] = deque()
        self._handed: deque[Pending] = deque()
        self.failure: CannotStart | None = None
        """Why no other worker can be had, if that is so; what is put then has this reply."""
        self._closed = False

    def begin(self, case: Case, wanted: Collection[Question] = BASES) -> dict[Question, Pending]:
        """Put those questions of a case that are wanted. Their replies come in :func:`settled`."""
        asked = questions(case.outputs, case.specification.domain, wanted)
        pending = {question: Pending(dialogue(self.target, case, question)) for question in asked}
        self.put(pending.values())
        return pending

    def put(self, pending: Iterable[Pending]) -> None:
        """Put questions behind those that are there."""
        self._waiting += [one for one in pending if one.reply is None]
        self.attend()

    def attend(self) -> None:
        """Go on with what has come, and hand over what is next."""
        worker = self.worker
        while worker is not None and worker.outcomes:
            self._proceed(worker, worker.outcomes.popleft())
        if worker is not None and not worker.waited_for and not worker.alive:
            self._lose(worker)
        while self._waiting and self._may_hand(self._waiting[0]):
            one = self._waiting.popleft()
            living = self._living()
            if living is None:
                one.reply = Reply(Failed(f"could not be started again: {self.failure}", final=True))
                continue
            assert one.request is not None
            living.hand(one.request, self.target.seconds)
            self._handed.append(one)
        if self.worker is not None:
            self.worker.send()

    def drop(self) -> None:
        """Forget what has been put, and end the worker."""
        self._waiting.clear()
        self._handed.clear()
        if self.worker is not None:
            self.worker.close()
            self.worker = None

    def end(self) -> None:
        """Kill the worker, and give no other. From any thread."""
        self._closed = True
        if self.worker is not None:
            self.worker.end()

    def close(self) -> None:
        """Let go of what is left of it, when no thread uses it any more."""
        self.end()
        self.drop()

    def _may_hand(self, one: Pending) -> bool:
        if self._handed and (one.excluded or self._handed[-1].excluded):
            return False
        return self.worker is None or self.worker.backlog < _BACKLOG

    def _proceed(self, worker: Worker, outcome: Outcome) -> None:
        one = self._handed.popleft()
        if one.excluded and isinstance(outcome, Answered):
            worker.end()
        one.proceed(outcome)
        if one.reply is None:
            self._waiting.appendleft(one)

    def _lose(self, worker: Worker) -> None:
        worker.close()
        self.worker = None
        self._waiting.extendleft(reversed(self._handed))
        self._handed.clear()
        if worker.cannot_start is not None:
            self.failure = self.target.cannot_start(worker.cannot_start)

    def _living(self) -> Worker | None:
        """The worker, a new one if there is none and one can be had."""
        if self._closed:
            self.failure = self.failure or CannotStart("the run has ended")
        elif self.worker is None and self.failure is None:
            try:
                self.worker = self.target.worker()
            except CannotStart as error:
                self.failure = error
        return self.worker


def settled(pending: Mapping[Question, Pending], slots: Collection[Slot]) -> dict[Question, Reply]:
    """The replies to questions, by attending to the slots until they are there."""
    replies = {}
    for question, one in pending.items():
        while one.reply is None:
            listen([slot.worker for slot in slots if slot.worker is not None])
            for slot in slots:
                slot.attend()
        replies[question] = one.reply
    return replies
