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
from maxpool_check.running.frame import footer, header
from maxpool_check.running.record import Execution, Line
from maxpool_check.running.runner import Run, decidable
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.target import Target


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
    targets, errors = _started(plan) if plan.cases else ([], [])
    sink(header(plan.cases, [target.description for target in targets], plan.known_files))
    complete = decidable(plan.corpus.cases, plan.cases, plan.corpus.whole)
    run = Run(plan.cases, targets, plan.known, complete, plan.jobs, wanted=plan.questions)
    executions: list[Execution] = []
    stopped = False
    with contextlib.closing(run.executions()) as asked:
        for execution in watch(asked, len(plan.cases) * len(targets)):
            executions.append(execution)
            sink(execution)
            if plan.exit_first and execution.unexpected:
                stopped = True
                break
    sink(footer(executions, run.known(stopped), [*errors, *run.errors], strict=plan.strict))


def _started(plan: Plan) -> tuple[list[Target], list[str]]:
    targets, errors = [], []
    for name in plan.targets:
        try:
            targets.append(Target(name, plan.seconds, plan.memory))
        except CannotStart as error:
            errors.append(str(error))
    return targets, errors
