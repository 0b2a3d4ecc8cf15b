"""Which cases of a clause notice the wrong kernels that violate it: a clause whose cases notice none is not tested."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.kernel_faults import KernelTask, faulty_variants, load, task_of
from maxpool_check.evidence.kernels import DEATHS, WITH_MEMORY, WrongKernel, all_kernels, wrong_kernels
from maxpool_check.results.record import FAULTS
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.specifications.clauses import Clause, ClauseStatus
from maxpool_check.targets.name import parse
from maxpool_check.targets.worker import python_adapter

SCHEMA = "maxpool-check/kills/1"

LARGE = 2**17
"""Cases with so many cells take most of the time, and few kernels need them."""

Kills = Mapping[str, Mapping[WrongKernel, tuple[str, ...]]]
"""For each clause the kernels that violate it, and the ids of cases of this clause that notice them."""


def kills_by_clause(cases: Iterable[Case], clauses: Iterable[Clause], most: int = 3) -> Kills:
    """For each testable clause the wrong kernels that violate it, each with up to ``most`` cases of this clause that notice it.

    A case notices a kernel where its execution is a fault, and that of the correct kernel is not.
    """
    executed, by_clause = _ExecutedKernels(), _by_clause(cases)
    return {
        clause.id: {
            kernel: executed.first_kills(kernel, by_clause.get(clause.id, ()), most) for kernel in violating(clause)
        }
        for clause in clauses
        if clause.status is ClauseStatus.TESTABLE
    }


def _mixed(cases: Iterable[Case]) -> list[Case]:
    """The smallest case of each file, the second of each, and so on: a mixture notices soon. Very large ones come last."""
    ranks: Counter[str] = Counter()
    places = []
    for case in sorted(cases, key=lambda case: (case.X.size, case.id)):
        file = case.id.rpartition(":")[0]
        places.append(((case.X.size >= LARGE, ranks[file], case.X.size, case.id), case))
        ranks[file] += 1
    return [case for _, case in sorted(places, key=itemgetter(0))]


def doubtful_kills(
    kills: Kills, cases: Iterable[Case], clauses: Iterable[Clause], most: int
) -> Iterator[tuple[str, str]]:
    """The clauses and kernels whose ``kills`` are not what :func:`kills_by_clause` may give: each listed case is executed.

    Where fewer cases than ``most`` are listed, it looks for more.
    """
    executed, by_clause = _ExecutedKernels(), _by_clause(cases)
    testable = {clause.id: clause for clause in clauses if clause.status is ClauseStatus.TESTABLE}
    for clause_id in dict.fromkeys([*testable, *kills]):
        expected = {str(each): each for each in violating(testable[clause_id])} if clause_id in testable else {}
        listed = {str(kernel): cases for kernel, cases in kills.get(clause_id, {}).items()}
        of_clause = by_clause.get(clause_id, [])
        for name in sorted({*expected, *listed}):
            claimed = listed.get(name, ())
            tried = of_clause if len(claimed) < most else [case for case in of_clause if case.id in claimed]
            is_named_right = name in expected and name in listed
            if not is_named_right or executed.first_kills(expected[name], tried, most) != tuple(claimed):
                yield clause_id, name


def violating(clause: Clause) -> tuple[WrongKernel, ...]:
    """The wrong kernels that violate a clause."""
    return _named(clause.violated_by)


@cache
def _named(patterns: tuple[str, ...]) -> tuple[WrongKernel, ...]:
    return tuple(kernel for kernel in wrong_kernels() if any(is_named(kernel, pattern) for pattern in patterns))


def _by_clause(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The cases of each clause, in the order in which they are tried."""
    by_clause: dict[str, list[Case]] = {}
    for case in _mixed(cases):
        for clause_id in case.covers:
            by_clause.setdefault(clause_id, []).append(case)
    return by_clause


def is_named(kernel: WrongKernel, pattern: str) -> bool:
    """Whether a pattern names a kernel: ``MODULE`` or ``MODULE:NAME``, with ``*``."""
    return fnmatchcase(str(kernel) if ":" in pattern else kernel.module, pattern)


def to_json(kills: Kills) -> dict[str, Any]:
    """The kills as JSON: what each kernel does wrong, and for each clause the cases that notice each kernel."""
    kernels = sorted({kernel for by_kernel in kills.values() for kernel in by_kernel}, key=str)
    return {
        "schema": SCHEMA,
        "kernels": {str(kernel): kernel.sentence for kernel in kernels},
        "clauses": {
            clause_id: {str(kernel): list(killing) for kernel, killing in by_kernel.items()}
            for clause_id, by_kernel in kills.items()
        },
    }


class _ExecutedKernels:
    """Executes kernels on cases, each pair once."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, tuple[str, ...]], KernelTask | None] = {}
        self._functions: dict[WrongKernel, python_adapter.Runtime] = {}
        self._excused: dict[tuple[WrongKernel, str], frozenset[str]] = {}
        self._kills: dict[tuple[WrongKernel, str], bool] = {}

    def first_kills(self, kernel: WrongKernel, cases: Sequence[Case], most: int) -> tuple[str, ...]:
        """The first cases, at most ``most``, that notice a kernel."""
        kills = self._deadly(kernel, cases) if kernel.module == DEATHS else self._in_process(kernel, cases)
        return tuple(case.id for case in islice(kills, most))

    def _in_process(self, kernel: WrongKernel, cases: Iterable[Case]) -> Iterator[Case]:
        for case in cases:
            if (kernel, case.id) not in self._kills:
                self._kills[kernel, case.id] = any(
                    fault not in self._faults_of_the_correct(kernel.model, case) for fault in self._faults(kernel, case)
                )
            if self._kills[kernel, case.id]:
                yield case

    def _faults_of_the_correct(self, kernel: WrongKernel, case: Case) -> frozenset[str]:
        """The variants in which a correct kernel is at fault."""
        key = (kernel, case.id)
        if key not in self._excused:
            self._excused[key] = frozenset(self._faults(kernel, case))
        return self._excused[key]

    def _faults(self, kernel: WrongKernel, case: Case) -> Iterator[str]:
        task = self._task(case, kernel.specs)
        if task is None:
            return iter(())
        if kernel.module != WITH_MEMORY and not kernel.is_correct:
            # It is told nothing of the outputs that are wanted: with all of them, all is said.
            task = replace(task, plans=task.plans[:1])
        return faulty_variants(self._function(kernel), task)

    def _function(self, kernel: WrongKernel) -> python_adapter.Runtime:
        """A kernel, loaded with the others of its module when one of them is needed."""
        if kernel not in self._functions:
            of_module = [each for each in all_kernels() if each.module == kernel.module]
            self._functions |= zip(of_module, load(*of_module), strict=True)
        return self._functions[kernel]

    def _task(self, case: Case, specs: tuple[str, ...]) -> KernelTask | None:
        key = (case.id, specs)
        if key not in self._tasks:
            self._tasks[key] = task_of(case, specs)
        return self._tasks[key]

    def _deadly(self, kernel: WrongKernel, cases: Sequence[Case]) -> Iterator[Case]:
        """As in process, for a kernel that ends its process."""
        if not cases:
            return
        by_id = {case.id: case for case in cases}
        executor = LocalExecutor(ExecutionConfig((parse(kernel.target),)))
        try:
            for results in executor.results(cases):
                for execution in results[executor.descriptions[0].name].executions:
                    case = by_id[execution.case]
                    if execution.verdict in FAULTS and execution.variant not in self._faults_of_the_correct(
                        kernel.model, case
                    ):
                        yield case
                        break
        finally:
            executor.close()
