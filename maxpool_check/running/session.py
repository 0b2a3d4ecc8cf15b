"""A run from its start to its last line: targets started, cases asked, everything handed on as lines of a record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.judging.known import KnownDivergence
from maxpool_check.question import BASES, Question
from maxpool_check.running.asker import Asker, Order
from maxpool_check.running.frame import Tally, footer, header
from maxpool_check.running.record import Execution, Line
from maxpool_check.running.runner import Run, decidable
from maxpool_check.targets.name import TargetName


@dataclass(frozen=True)
class Plan:
    """What is to be run: ``cases`` of a corpus, on the targets named, against what is known."""

    corpus: Corpus
    cases: Sequence[Case]
    targets: Sequence[TargetName]
    known: Sequence[KnownDivergence] = ()
    known_files: Sequence[Path] = ()
    seconds: float = 10.0
    memory: int | None = None
    jobs: int = 1
    exit_first: bool = False
    strict: bool = False
    questions: Collection[Question] = BASES


def perform(
    plan: Plan,
    sink: Callable[[Line], None],
    watch: Callable[[Iterator[Execution], int], Iterator[Execution]] = lambda executions, _: executions,
) -> None:
    """Run the plan and hand every line of its record to ``sink``, as it comes.

    ``watch`` may look at the executions on their way; it is given the number of cases times targets. A target that
    cannot be started is an error in the footer, and the others are asked. Interrupted, it ends every worker and leaves
    no footer.
    """
    names = tuple(plan.targets) if plan.cases else ()
    asker = Asker(Order(names, plan.seconds, plan.memory, plan.questions))
    with contextlib.closing(asker):
        targets = [target.description for target in asker.targets]
        sink(header(plan.cases, targets, plan.known_files))
        complete = decidable(plan.corpus.cases, plan.cases, plan.corpus.whole)
        run = Run(targets, plan.known, complete, wanted=plan.questions)
        tally = Tally()
        stopped = False
        executions = run.executions(plan.cases, asker.answers(plan.cases))
        for execution in watch(executions, len(plan.cases) * len(targets)):
            tally.add(execution)
            sink(execution)
            if plan.exit_first and execution.unexpected:
                stopped = True
                break
    sink(footer(tally, run.known(stopped), [*asker.errors, *run.errors], strict=plan.strict))
