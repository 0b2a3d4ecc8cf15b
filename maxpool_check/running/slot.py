"""The worker process of one target, made again when it has died, and the variants that are on their way to it."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from maxpool_check.corpus.case import Case
from maxpool_check.results.outcomes import Crashed, Failed, Outcome, Returned, TimedOut
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant, variants_of
from maxpool_check.targets.dialogue import Dialogue, Reply, dialogue
from maxpool_check.targets.process import CannotStart, Worker, listen
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import Target

_BACKLOG = 2**16
"""So many bytes may lie ready for a worker that does not take them yet."""


class Pending:
    """A variant on its way."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self.request: Request | None = None
        """What the target was handed last, or is to be handed next."""
        self.reply: Reply | None = None
        """What came of the variant, once it is known."""
        self.suspected: Crashed | None = None
        """The death of a process that may have died of this request, or of what it had answered before."""
        self.proceed(None)

    def proceed(self, outcome: Outcome | None) -> None:
        """Go on with what became of the request; None at the start."""
        try:
            self.request = next(self._dialogue) if outcome is None else self._dialogue.send(outcome)
        except StopIteration as end:
            self.reply = end.value

    def cleared(self, outcome: Outcome) -> Outcome:
        """What became of a request, after it was asked again, alone: the death is told in any case."""
        suspected, self.suspected = self.suspected, None
        if suspected is None or isinstance(outcome, (Crashed, TimedOut, Failed)):
            return outcome
        return Crashed(f"{suspected.how} after other variants; asked alone, it does not die", suspected.stderr)

    @property
    def excluded(self) -> bool:
        """Whether the document excludes what is asked."""
        return self.request is not None and self.request.excluded

    @property
    def alone(self) -> bool:
        """Whether nothing may be handed over behind it before its outcome is there."""
        return self.request is not None and (
            self.request.excluded or self.request.followed or self.suspected is not None
        )


class Slot:
    """A place for one worker of a target; the first may be there already.

    Requests are handed over while the worker is busy with those before them, so that it need not wait; always in the same
    order. If it dies, the first that it has not answered is asked again, alone, where it had answered others: did it die
    of that, or of those? What lay behind is handed to the next worker.
    """

    def __init__(self, target: Target, worker: Worker | None = None) -> None:
        self.target = target
        self.worker = worker
        self._waiting: deque[Pending] = deque()
        self._handed: deque[Pending] = deque()
        self.failure: CannotStart | None = None
        """Why no other worker can be had, if that is so; what is put then has this reply."""
        self._closed = False

    def begin(self, case: Case, wanted: Collection[Variant] = DEFAULT_VARIANTS) -> dict[Variant, Pending]:
        """Put those variants of a case that are wanted. Their replies come in :func:`settled`.

        An exception leaves nothing of what was put.
        """
        asked = variants_of(case.outputs, case.specification.domain, wanted)
        pending = {variant: Pending(dialogue(self.target, case, variant)) for variant in asked}
        self.put(pending.values())
        return pending

    def put(self, pending: Iterable[Pending]) -> None:
        """Put variants behind those that are there."""
        with _nothing_left_of([self]):
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
                if one.suspected is not None:
                    one.proceed(one.suspected)
                one.reply = one.reply or Reply(Failed(f"could not be started again: {self.failure}", final=True))
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
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.close()

    def end(self) -> None:
        """Kill the worker, and give no other. From any thread."""
        self._closed = True
        worker = self.worker
        if worker is not None:
            worker.end()

    def close(self) -> None:
        """Let go of what is left of it, when no thread uses it any more."""
        self.end()
        self.drop()

    def _may_hand(self, one: Pending) -> bool:
        if self._handed and (one.excluded or one.suspected or self._handed[-1].alone):
            return False
        return self.worker is None or self.worker.backlog < _BACKLOG

    def _proceed(self, worker: Worker, outcome: Outcome) -> None:
        one = self._handed.popleft()
        if one.excluded and isinstance(outcome, Returned):
            worker.end()
        if isinstance(outcome, Crashed) and worker.has_answered:
            one.suspected = outcome
            self._handed.appendleft(one)
            return
        one.proceed(one.cleared(outcome))
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
            if self._closed:
                self.end()
        return self.worker


def settled(pending: Mapping[Variant, Pending], slots: Collection[Slot]) -> dict[Variant, Reply]:
    """The replies to variants, by attending to the slots until they are there.

    An exception leaves nothing of what was put in the slots.
    """
    replies = {}
    with _nothing_left_of(slots):
        for variant, one in pending.items():
            while one.reply is None:
                listen([slot.worker for slot in slots if slot.worker is not None])
                for slot in slots:
                    slot.attend()
            replies[variant] = one.reply
    return replies


@contextlib.contextmanager
def _nothing_left_of(slots: Iterable[Slot]) -> Iterator[None]:
    """An interruption may leave a slot between two steps: what comes next must not be taken for what was asked before."""
    try:
        yield
    except BaseException:
        for slot in slots:
            slot.drop()
        raise
