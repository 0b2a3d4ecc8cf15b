"""Which cases of a clause notice the wrong kernels that violate it: a clause whose cases notice none is not tested."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.kernel_faults import KernelTask, LoadedKernel, faulty_variants, task_of
from maxpool_check.evidence.kernels import DEATHS, WITH_MEMORY, WrongKernel, wrong_kernels
from maxpool_check.results.record import FAULTS
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.specifications.clauses import Clause, ClauseStatus
from maxpool_check.targets.name import parse

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


def violating(clause: Clause) -> tuple[WrongKernel, ...]:
    """The wrong kernels that violate a clause."""
    patterns = clause.violated_by
    return tuple(kernel for kernel in wrong_kernels() if any(is_named(kernel, pattern) for pattern in patterns))


def _by_clause(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The cases of each clause in the order in which they are tried: a mixture notices soon.

    The smallest case of each file comes first, then the second of each, and so on; very large ones come last.
    """
    ranks: Counter[str] = Counter()
    places = {}
    for case in sorted(cases, key=lambda case: (case.X.size, case.id)):
        file = case.id.rpartition(":")[0]
        places[case.X.size >= LARGE, ranks[file], case.X.size, case.id] = case
        ranks[file] += 1
    by_clause: dict[str, list[Case]] = {}
    for place in sorted(places):
        for clause_id in places[place].covers:
            by_clause.setdefault(clause_id, []).append(places[place])
    return by_clause


def is_named(kernel: WrongKernel, pattern: str) -> bool:
    """Whether a pattern names a kernel: ``MODULE`` or ``MODULE:NAME``, with ``*``."""
    return fnmatchcase(str(kernel) if ":" in pattern else kernel.module, pattern)


def to_json(kills: Kills) -> dict[str, Any]:
    """The kills as JSON: what each kernel does wrong, and for each clause the cases that notice each kernel."""
    kernels = sorted({kernel for by_kernel in kills.values() for kernel in by_kernel}, key=str)
    return {
        "schema": "maxpool-check/kills/1",
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
        self._functions: dict[WrongKernel, LoadedKernel] = {}
        self._excused: dict[tuple[WrongKernel, str], frozenset[str]] = {}
        self._kills: dict[tuple[WrongKernel, str], bool] = {}

    def first_kills(self, kernel: WrongKernel, cases: Sequence[Case], most: int) -> tuple[str, ...]:
        """The first cases, at most ``most``, that notice a kernel."""
        kills = (
            self._deadly(kernel, cases) if kernel.module == DEATHS else filter(partial(self._is_kill, kernel), cases)
        )
        return tuple(case.id for case in islice(kills, most))

    def _is_kill(self, kernel: WrongKernel, case: Case) -> bool:
        if (kernel, case.id) not in self._kills:
            faults = self._faults(kernel, case)
            self._kills[kernel, case.id] = any(fault not in self._faults_of_model(kernel, case) for fault in faults)
        return self._kills[kernel, case.id]

    def _faults_of_model(self, kernel: WrongKernel, case: Case) -> frozenset[str]:
        """The variants in which the correct kernel is at fault, too."""
        key = (kernel.model, case.id)
        if key not in self._excused:
            self._excused[key] = frozenset(self._faults(kernel.model, case))
        return self._excused[key]

    def _faults(self, kernel: WrongKernel, case: Case) -> Iterator[str]:
        if (case.id, kernel.specs) not in self._tasks:
            self._tasks[case.id, kernel.specs] = task_of(case, kernel.specs)
        task = self._tasks[case.id, kernel.specs]
        if task is None:
            return iter(())
        if kernel not in self._functions:
            self._functions[kernel] = LoadedKernel(kernel)
        if kernel.module != WITH_MEMORY and not kernel.is_correct:
            # It is told nothing of the outputs that are wanted: with all of them, all is said.
            task = replace(task, plans=task.plans[:1])
        return faulty_variants(self._functions[kernel], task)

    def _deadly(self, kernel: WrongKernel, cases: Sequence[Case]) -> Iterator[Case]:
        """As in process, for a kernel that ends its process."""
        if not cases:
            return
        by_id = {case.id: case for case in cases}
        executor = LocalExecutor(ExecutionConfig((parse(kernel.target),)))
        try:
            for results in executor.results(cases):
                executions = results[executor.descriptions[0].name].executions
                faults = [each for each in executions if each.verdict in FAULTS]
                if any(each.variant not in self._faults_of_model(kernel, by_id[each.case]) for each in faults):
                    yield by_id[faults[0].case]
        finally:
            executor.close()
