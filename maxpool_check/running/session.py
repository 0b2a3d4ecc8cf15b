"""A run from its start to its last line: targets started, cases asked, everything handed on as lines of a record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.judging.known import KnownDivergence
from maxpool_check.results.record import Execution, Line
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.asker import Asker, Order
from maxpool_check.running.elsewhere import Elsewhere, elsewhere
from maxpool_check.running.executors import Lost
from maxpool_check.running.frame import Tally, footer, header
from maxpool_check.running.runner import Run, decidable
from maxpool_check.targets.name import TargetName


@dataclass(frozen=True)
class Plan:
    """What is to be run: ``cases`` of a corpus, on the targets named, against what is known.

    ``jobs`` is the number of processes of this machine that ask; ``dask`` the address of a scheduler whose workers do it
    instead.
    """

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
    variants: Collection[Variant] = DEFAULT_VARIANTS
    dask: str | None = None


def perform(
    plan: Plan,
    sink: Callable[[Line], None],
    watch: Callable[[Iterator[Execution], int], Iterator[Execution]] = lambda executions, _: executions,
    asker: Asker | None = None,
) -> None:
    """Run the plan and hand every line of its record to ``sink``, as it comes.

    ``asker`` is one that was started early for this plan. ``watch`` may look at the executions on their way; it is given
    the number of cases times targets. A target that cannot be started is an error in the footer, and the others are asked.
    Interrupted, it ends every worker and leaves no footer. Raises :class:`Lost` where there is nobody to ask by; nothing
    was handed on then.
    """
    with _asking(plan, asker) as asking:
        sink(header(plan.cases, asking.descriptions, plan.known_files))
        complete = decidable(plan.corpus.cases, plan.cases, plan.corpus.whole)
        run = Run(asking.descriptions, plan.known, complete, wanted=plan.variants)
        tally = Tally()
        errors = list(asking.errors)
        stopped = False
        executions = run.executions(plan.cases, asking.answers(plan.cases, lambda: run.given_up))
        try:
            for execution in watch(executions, len(plan.cases) * len(asking.descriptions)):
                tally.add(execution)
                sink(execution)
                if plan.exit_first and execution.unexpected:
                    stopped = True
                    break
        except Lost as lost:
            stopped = True
            errors.append(str(lost))
    sink(footer(tally, run.known(stopped), [*errors, *run.errors], strict=plan.strict))


def started_early(
    targets: Sequence[TargetName], seconds: float, memory: int | None, variants: Collection[Variant]
) -> Asker:
    """The targets that are installed already, on their way while the cases are read; close it, used or not."""
    return Asker(Order(tuple(targets), seconds, memory, frozenset(variants)))


def _asking(plan: Plan, asker: Asker | None) -> AbstractContextManager[Asker | Elsewhere]:
    """Those who ask: in this process, in several, or on other machines."""
    order = Order(tuple(plan.targets) if plan.cases else (), plan.seconds, plan.memory, frozenset(plan.variants))
    if asker is not None and plan.cases:
        return contextlib.closing(asker)
    if plan.dask is not None or plan.jobs > 1:
        return elsewhere(order, plan.jobs, plan.dask)
    return contextlib.closing(Asker(order))
