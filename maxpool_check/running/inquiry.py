"""One case asked of one target by itself, outside a run."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from maxpool_check.corpus.case import Case
from maxpool_check.judging.expected import Expected
from maxpool_check.judging.verdicts import Judgement, Meaning, judge
from maxpool_check.outcome import Failed
from maxpool_check.question import BASES, Question, questions
from maxpool_check.reference.pooling import Pooling
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.target import Reply, Target


@dataclass(frozen=True)
class Inquiry:
    """What the document makes of a case, what the target did each time, and the verdicts."""

    meaning: Meaning
    replies: Mapping[Question, Reply]
    judgements: Mapping[Question, Judgement]


def inquire(case: Case, target: Target, wanted: Collection[Question] = BASES) -> Inquiry:
    """Ask a case all the wanted questions that it has, in a worker of its own; a new one after a death."""
    meaning = Expected(case.X, case.meaning) if isinstance(case.meaning, Pooling) else case.meaning
    replies: dict[Question, Reply] = {}
    worker: Worker | None = None
    try:
        for question in questions(case.outputs, case.specification.domain, wanted):
            try:
                if worker is None or not worker.alive:
                    if worker is not None:
                        worker.close()
                    worker = target.worker()
                replies[question] = target.ask(worker, case, question)
            except CannotStart as error:
                replies[question] = Reply(Failed(f"could not be started again: {error}", final=True))
    finally:
        with contextlib.suppress(OSError):
            if worker is not None:
                worker.close()
    return Inquiry(meaning, replies, judge(meaning, {question: reply.outcome for question, reply in replies.items()}))
